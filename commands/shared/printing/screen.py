"""The layout of a verdict: a word in colour and a sentence, then lines under short titles.

Plain aligned columns: nothing is cut off, and 200,000 rows print in a second.

Partitions in one line: ``orders 0,3-7; clicks 1; and 7 more topics``.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from commands.shared.printing.output import ROWS_AT_ONCE
from commands.shared.printing.terminal import printable
from kreplica.model.durations import spell_duration

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from kreplica.model.snapshot import ClusterSnapshot


INDENT = 9
"""Columns that titles take."""


def counted(number: int, noun: str, nouns: str = "") -> str:
    """``1 entry``, ``2 entries``; ``nouns`` only where it is not the noun with an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"


def utc(moment: datetime) -> str:
    """A time to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def read_at(snapshot: ClusterSnapshot) -> str:
    """The source of a snapshot and its time; of a dump its age, too."""
    return f"{snapshot.source} at {utc(snapshot.taken_at)}{aged(snapshot, ', ')}"


def aged(snapshot: ClusterSnapshot, before: str = "; the dump is ") -> str:
    """Age of a dump, after ``before``; empty for a live cluster."""
    from kreplica.model.snapshot import utc_now

    age = snapshot.age_seconds(utc_now())
    if age is None:
        return ""
    length = spell_duration(round(abs(age)))
    return f"{before}{length} old" if age >= 0 else f"{before}of {length} in the future"


def print_cluster(console: Console, snapshot: ClusterSnapshot, size: str = "") -> None:
    """Prints the cluster that the answer is about, and the time of its snapshot."""
    name = snapshot.name if snapshot.cluster_id in (None, snapshot.name) else f"{snapshot.name} ({snapshot.cluster_id})"
    print_lines(console, "cluster", [", ".join([name, *([size] if size else []), read_at(snapshot)])])


def print_verdict(console: Console, word: str, color: str, sentence: str) -> None:
    """Prints the word in bold colour and the sentence after it."""
    from rich.text import Text

    head, *rest = _wrapped(console, f"{word} {sentence}")
    console.print(Text.assemble((word, f"bold {color}"), head.removeprefix(word)))
    for line in rest:
        console.print(" " * INDENT + line)


def print_lines(console: Console, title: str, texts: Iterable[str], *, whole: bool = False) -> None:
    """Prints texts below one another, the title before the first; nothing if there are none.

    Args:
        console: Where to.
        title: At most eight characters.
        texts: One entry each; those too long for the terminal continue below, indented.
        whole: Never break a text, because it is meant to be copied.
    """
    lead = title
    for text in texts:
        for line in [printable(text)] if whole else _wrapped(console, text):
            console.print(f"{lead:<{INDENT}}{line}".rstrip())
            lead = ""


def _wrapped(console: Console, text: str) -> list[str]:
    text = printable(text)
    if not console.is_terminal:
        return [text]
    kept = text[: len(text) - len(text.lstrip())]
    width = max(20, console.width - INDENT - len(kept))
    lines = textwrap.wrap(text.strip(), width, break_long_words=False, break_on_hyphens=False)
    return [kept + line for line in lines] or [text]


_BOOLEANS = {True: "yes", False: "no"}
MEASURED = 10_000
"""Rows that set the width of the columns, where rows are printed while they are found."""
BOLD, RESET = "\x1b[1m", "\x1b[0m"


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, color: bool, measured: int | None = None
) -> None:
    """Prints rows under a header to stdout.

    Args:
        header: Column titles.
        rows: Cells; None prints as ``-``, lists joined by commas (an empty list as ``-`` too).
        color: Whether the header may be emphasised.
        measured: Number of rows that set the widths of the columns; all if None. Later rows are printed as they come:
            a longer cell moves the rest of its line to the right.
    """
    coming = iter(rows)
    columns = [[title, *map(_cell, values)] for title, *values in zip(header, *islice(coming, measured), strict=True)]
    form = "  ".join(f"{{:<{max(map(len, column))}}}" for column in columns).format
    lines = [form(*cells).rstrip() for cells in zip(*columns, strict=True)]
    if color and os.environ.get("TERM") != "dumb":
        lines[0] = f"{BOLD}{lines[0]}{RESET}"
    sys.stdout.write("\n".join(lines) + "\n")
    while piece := [form(*map(_cell, cells)).rstrip() for cells in islice(coming, ROWS_AT_ONCE)]:
        sys.stdout.write("\n".join(piece) + "\n")


def _cell(value: object) -> str:
    if isinstance(value, str):
        return printable(value)
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return printable(",".join(map(str, value))) or "-"
    return _BOOLEANS[value] if isinstance(value, bool) else str(value)


MOST_SHOWN = 4
"""Topics that a line names at most; the rest are counted."""


def places(partitions: Iterable[tuple[object, object]], most: int = MOST_SHOWN) -> str:
    """Topics with their partitions, in the order in which they come.

    Args:
        partitions: Topic and partition, those of one topic in order; pairs without a topic are left out.
        most: Number of topics that are named.
    """
    numbers: dict[object, list[int]] = {}
    for topic, number in partitions:
        if topic is not None and isinstance(number, int):
            numbers.setdefault(topic, []).append(number)
    topics = [f"{topic} {_ranges(some)}" for topic, some in numbers.items()]
    rest = len(topics) - most
    more = [f"and {rest} more topic{'s' * (rest > 1)}"] if rest > 0 else []
    return "; ".join([*topics[:most], *more])


def _ranges(numbers: Sequence[int]) -> str:
    """``0,3-7``; two neighbours stay apart."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
