"""A rehearsal on the screen: the verdict, the moves that came to harm, the worst run and how to replay it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from commands.rebalance.rehearse.answer import replay_line
from commands.shared.printing.screen import print_cluster, print_lines, print_rows, print_verdict
from commands.shared.printing.verdicts import COLORS
from kreplica.execution.rehearsal.rows import RehearsedMove
from kreplica.model.tables.rows import names_of
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted, listed

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.execution.rehearsal.rehearse import RehearsedPlan, WorstRun

MOST_LISTED = 10
"""Moves that are listed; the other forms have all."""
MOST_RECORDS = 3
_WRONG = {"lost": "acknowledged records lost", "unseen": "acknowledged records that nobody can read"}


def show(found: RehearsedPlan, path: Path, again: str, console: Console) -> None:
    """Prints a rehearsal for a person.

    Args:
        found: What was played.
        path: The plan's file.
        again: Options of the command that replays a run, but plan, runs and seed.
    """
    print_verdict(console, found.word, COLORS[found.exit_code], _sentence(found))
    print_cluster(console, found.reading.snapshots[0], f"Kafka {found.staged.stage.version} played")
    print_lines(console, "played", [_played(found)])
    print_lines(console, "missing", found.gaps)
    print_lines(console, "note", [one for one in found.warnings if one not in found.gaps])
    _show_moves(found, console)
    if found.worst is None:
        print_lines(console, "writes", ["every partition took every write within a second"])
        return
    print_lines(console, "writes", [f"{_seconds(found.unwritten_ms)} in one run without writes to some partition"])
    print_lines(console, "worst", _worst(found.worst))
    if len(found.verdicts) == 1:
        print_lines(console, "story", [f"{one.time_ms:g} ms {one.what}" for one in found.worst.story])
    else:
        print_lines(console, "next", [replay_line(found, path, again)], whole=True)


def _sentence(found: RehearsedPlan) -> str:
    if len(found.verdicts) == 1:
        return _sentence_on_one(found)
    runs = counted(len(found.verdicts), "run")
    if not found.failing:
        return f"none of {runs} lost an acknowledged record or broke an invariant"
    wrong = ", ".join(f"{_WRONG.get(name, name)} in {number}" for name, number in found.wrong.items())
    same = found.failing_without
    also = f"{same} of them {'fail' if same > 1 else 'fails'}" if same else "none of them fails"
    return f"{found.failing} of {runs}: {wrong}; {also} without the plan, too"


def _sentence_on_one(found: RehearsedPlan) -> str:
    run = f"the run of seed {found.options.seed}"
    if not found.failing:
        return f"{run} lost no acknowledged record and broke no invariant"
    wrong = ", ".join(_WRONG.get(name, name) for name in found.wrong)
    return f"{run}: {wrong}; {'so it does' if found.failing_without else 'not so'} without the plan"


def _played(found: RehearsedPlan) -> str:
    failures = counted(found.options.failures, "failure of a broker", "failures of brokers")
    kinds = ", ".join(f"{kind} {played} of {able}" for kind, (able, played) in found.kinds.items())
    return f"{len(found.rows)} of {counted(len(found.plan.changes), 'move')}, {failures} in each run; {kinds}"


def _show_moves(found: RehearsedPlan, console: Console) -> None:
    """Prints the moves to which most happened, those first that lost records."""
    harmed = [row for row in found.rows if row.worst_seed is not None]
    worst_first = sorted(harmed, key=lambda row: (row.lost, row.unseen, row.unwritten_ms), reverse=True)
    hidden = {"kinds", "unseen", *(() if any(row.runs_unseen for row in harmed) else ("runs_unseen",))}
    hidden |= set() if any(row.lost for row in harmed) else {"lost"}
    shown = tuple(name for name in names_of(RehearsedMove) if name not in hidden)
    listed_rows = worst_first[:MOST_LISTED]
    print_rows(console, RehearsedMove, listed_rows, shown=shown, cells={"unwritten_ms": lambda ms: f"{ms:.0f}"})
    if len(listed_rows) < len(harmed):
        console.print(f"and {len(harmed) - len(listed_rows)} more; -o csv lists all")


def _worst(worst: WorstRun) -> Iterator[str]:
    topic, number = worst.key
    harm = worst.harm
    told = [
        f"lost {listed(harm.lost, MOST_RECORDS)}" if harm.lost else "",
        f"nobody can read {listed(harm.unseen, MOST_RECORDS)}" if harm.unseen else "",
        f"no writes for {_seconds(harm.unwritten_ms)}" if harm.unwritten_ms else "",
    ]
    yield f"{topic}-{number} in the run of seed {worst.verdict.seed}: {'; '.join(filter(None, told))}"
    yield from worst.failures
    if worst.why:
        yield worst.why


def _seconds(milliseconds: float) -> str:
    return spell_duration(round(milliseconds / 1000, 1))
