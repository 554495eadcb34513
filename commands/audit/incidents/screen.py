"""audit incidents on the screen: a verdict, one line a cause, what no cause explains, and what to type next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from commands.audit.applied_mutes import print_mutes
from commands.audit.moments import MOMENTS
from commands.shared.printing.screen import print_lines, print_rows, print_verdict
from kreplica.errors import ExitCode
from kreplica.fleet.incidents.rows import IncidentRow
from kreplica.health.rules import Severity
from kreplica.model.words import counted, listed

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.fleet.incidents.fleet import FoundIncidents

MOST_INCIDENTS = 25


def show(found: FoundIncidents, history: str, code: ExitCode, console: Console) -> None:
    """Prints the incidents for a person; the verdict says what the exit code says."""
    print_verdict(console, *_word(found, code), _sentence(found))
    names = found.names if len(set(found.names.values())) == len(found.names) else {}
    print_mutes(found.mutes, names, console)
    if found.incidents:
        console.print()
        cells = {**MOMENTS, "cluster": lambda label: names.get(label, label)}
        print_rows(console, IncidentRow, found.rows[:MOST_INCIDENTS], cells=cells)
        if len(found.incidents) > MOST_INCIDENTS:
            console.print(f"the worst {MOST_INCIDENTS} of {len(found.incidents)}: -o jsonl gives all")
    rules = Counter(one.rule for one in found.left_over)
    if rules:
        told = listed([f"{count} {rule}" for rule, count in sorted(rules.items())])
        print_lines(console, "left", [f"no cause is known of {counted(len(found.left_over), 'finding')}: {told}"])
    print_lines(console, "next", _next(found, history), whole=True)


def _word(found: FoundIncidents, code: ExitCode) -> tuple[str, str]:
    if code is ExitCode.INCOMPLETE:
        return "INCOMPLETE", "yellow"
    real = [one.severity for one in found.incidents if not one.is_planned]
    if not real:
        return "OK", "green"
    return max(real, default=Severity.INFO).word.upper(), "red" if code is ExitCode.FINDINGS else "yellow"


def _sentence(found: FoundIncidents) -> str:
    real = [one for one in found.incidents if not one.is_planned]
    planned = len(found.incidents) - len(real)
    going = sum(one.valid_to_ms is None for one in real)
    new = "" if found.earlier is None else "new "
    number = counted(len(real), f"{new}incident") if real else f"no {new}incident"
    parts = [
        f"{number} in {counted(len(found.names), 'cluster')} and {counted(found.snapshots, 'snapshot')}",
        *([f"{counted(sum(len(one.findings) for one in real), 'finding')} explained"] if real else []),
        *([f"{going} still there"] if going else []),
        *([f"{planned} planned"] if planned else []),
        *([f"{len(found.muted)} muted"] if found.muted else []),
        *([f"{found.earlier} in the baseline"] if found.earlier else []),
        *([f"{counted(found.chosen.left_out, 'month')} left out"] if found.chosen.left_out else []),
    ]
    return ", ".join(parts)


def _next(found: FoundIncidents, history: str) -> Iterator[str]:
    for one in found.incidents[:1]:
        yield f"kreplica audit incident {one.id} {shlex.quote(history)}"
