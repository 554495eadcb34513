"""The answer of roll next: what may restart, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from commands.shared.stop_gate import Verdict
    from kreplica.execution.roll.plan import RollPlan
    from kreplica.execution.roll.progress import RollState
    from kreplica.monitoring.clusters import Reading


class Word(StrEnum):
    """First words of the verdict."""

    next = "next"
    wait = "wait"
    unsafe = "unsafe"
    incomplete = "incomplete"
    finished = "finished"
    partial = "partial"


_CODES = {
    Word.next: ExitCode.OK,
    Word.wait: ExitCode.FINDINGS,
    Word.unsafe: ExitCode.FINDINGS,
    Word.incomplete: ExitCode.INCOMPLETE,
    Word.finished: ExitCode.OK,
    Word.partial: ExitCode.FINDINGS,
}


@dataclass(frozen=True, slots=True)
class Told:
    """The answer of roll next.

    Args:
        path: The plan's file.
        plan: The plan.
        word: First word of the verdict.
        state: Progress of the roll.
        reading: The cluster as it was read last.
        verdict: Whether the nodes can be stopped now; None if it is not their turn.
    """

    path: Path
    plan: RollPlan
    word: Word
    state: RollState
    reading: Reading
    verdict: Verdict | None = None

    @property
    def exit_code(self) -> ExitCode:
        """0 when nodes are named or every node of the plan is done."""
        return _CODES[self.word]

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that could not be read or are not known."""
        if self.verdict is not None:
            return self.verdict.last.missing
        return tuple(gap.message for gap in self.reading.snapshots[0].gaps)
