"""whatif validate on the screen: the verdict, the changes by rule, what is refused."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commands.shared.printing.screen import print_lines, print_rows, print_verdict
from commands.shared.printing.verdicts import COLORS
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.errors import ExitCode
from kreplica.formats.traces.kraft.rows import TraceChange
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.formats.traces.kraft.validation import Validation

MOST_REFUSED = 10
"""Refused records that the screen lists; the rest are counted."""


def show(validation: Validation, words: Sequence[str], console: Console, *, everything: bool) -> None:
    """Prints the verdict for a person.

    Args:
        validation: The judged log.
        words: Paths and options that decide on the answer, as they were typed.
        console: To print on.
        everything: Whether every change is listed.
    """
    refused = validation.refused
    print_verdict(console, *_verdict(validation))
    cluster = f"{validation.cluster_id}, " if validation.cluster_id else ""
    print_lines(console, "cluster", [f"{cluster}{validation.home}, by the rules of {validation.version}"])
    print_lines(console, "rules", [f"{validation.counts[one]:>7}  {one.value}" for one in _used(validation)])
    print_lines(console, "refused", [_place(one) for one in refused[:MOST_REFUSED]])
    if len(refused) > MOST_REFUSED:
        print_lines(console, "", [f"and {len(refused) - MOST_REFUSED} more"])
    if everything:
        print_rows(console, TraceChange, validation.rows)
    if refused:
        again = " ".join(map(shlex.quote, words))
        print_lines(console, "next", [f"kreplica whatif validate {again} -o json"], whole=True)


def _used(validation: Validation) -> list[TraceRule]:
    return [rule for rule in TraceRule if validation.counts[rule]]


def _verdict(validation: Validation) -> tuple[str, str, str]:
    """Word, colour and sentence."""
    code = validation.exit_code
    explained = counted(sum(validation.counts.values()), "change")
    read = validation.end > validation.begin
    where = f"offsets {validation.begin} to {validation.end - 1}" if read else "no records"
    if code is ExitCode.FINDINGS:
        refused = validation.refused
        first = f"the first at offset {refused[0].offset}"
        return "REFUSED", COLORS[code], f"{counted(len(refused), 'fault')}, {first}; {explained} explained in {where}"
    used = _used(validation)
    rules = f" explained by {counted(len(used), 'rule')}" if used else ""
    held = f"; {counted(validation.checkpoints, 'checkpoint')} hold the same" if validation.checkpoints else ""
    sentence = f"{explained} in {where}{rules}{held}"
    if code is ExitCode.INCOMPLETE:
        return "INCOMPLETE", COLORS[code], f"{sentence}; part of the log could not be read"
    return "VALID", COLORS[code], sentence


def _place(row: TraceChange) -> str:
    what = "" if row.topic is None else f"{row.topic}-{row.partition}: "
    return f"offset {row.offset}: {what}{row.refused}"
