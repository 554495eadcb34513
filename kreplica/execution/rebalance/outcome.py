"""Outcome of a request about a plan: its changes as rows, their states counted, the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kreplica.errors import ExitCode
from kreplica.execution.rebalance.rows import DRIFTED, IMPOSSIBLE, ChangeRow, change_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kreplica.execution.rebalance.plan_state import PlanState

UNFINISHED = ("pending", "under-way", "failed", DRIFTED)
UNFINISHED_BACK = ("pending", "under-way", "failed", IMPOSSIBLE)


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """A plan after it was looked at, carried out, cancelled or rolled back.

    Args:
        state: The plan.
        rows: Its changes, in the order of its steps.
        executed: Whether anything was done.
        exit_code: Exit code of the command.
        remarks: Remarks on what was done.
    """

    state: PlanState
    rows: Sequence[ChangeRow]
    executed: bool = False
    exit_code: ExitCode = ExitCode.OK
    remarks: tuple[str, ...] = ()

    @property
    def counts(self) -> Counter[str]:
        """Number of changes in each state."""
        return Counter(row.state for row in self.rows)

    @property
    def rollback_counts(self) -> Counter[str]:
        """Number of changes in each state of the way back, those left out that have none."""
        return Counter(row.rollback for row in self.rows if row.rollback is not None)

    @property
    def warnings(self) -> list[str]:
        """Remarks on the cluster and on what was done."""
        reading = self.state.reading
        return [*(reading.warnings() if reading is not None else []), *self.remarks]


def status_outcome(state: PlanState) -> PlanOutcome:
    """Returns the outcome of a plan that was only looked at: 1 while anything is left, failed or has drifted."""
    outcome = PlanOutcome(state, change_rows(state))
    counts, unfinished = (outcome.rollback_counts, UNFINISHED_BACK) if state.rolled else (outcome.counts, UNFINISHED)
    return _with_code(outcome, ExitCode.FINDINGS, any(counts[name] for name in unfinished))


def apply_outcome(state: PlanState, *, executed: bool) -> PlanOutcome:
    """Returns the outcome of an application: 4 where it is refused, stopped early, or an election failed.

    Args:
        state: The plan afterwards.
        executed: Whether anything was done.
    """
    outcome = PlanOutcome(state, change_rows(state), executed)
    counts = outcome.counts
    left = counts["pending"] + counts["under-way"]
    refused = counts[DRIFTED] or counts["failed"] or (executed and (left or state.progress.message))
    return _with_code(outcome, ExitCode.CHANGE_REFUSED, bool(refused))


def rollback_outcome(state: PlanState, *, executed: bool) -> PlanOutcome:
    """Returns the outcome of a rollback: 4 where a leader was not, or cannot be, brought back.

    Args:
        state: The plan afterwards.
        executed: Whether anything was done.
    """
    outcome = PlanOutcome(state, change_rows(state), executed)
    counts = outcome.rollback_counts
    left = counts["pending"] + counts["under-way"]
    refused = counts["failed"] or counts[IMPOSSIBLE] or (executed and (left or state.progress.message))
    return _with_code(outcome, ExitCode.CHANGE_REFUSED, bool(refused))


def _with_code(outcome: PlanOutcome, code: ExitCode, holds: bool) -> PlanOutcome:
    seen = ExitCode.INCOMPLETE if outcome.state.incomplete else ExitCode.OK
    return replace(outcome, exit_code=code if holds else seen)
