"""Progress of a plan, and its end before all its steps."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.execution.journal import JOURNAL, Event, entry
from kreplica.execution.plan_journal import Operation, Phase
from kreplica.execution.progress import replay
from kreplica.execution.rebalance.outcome import PlanOutcome, status_outcome
from kreplica.execution.rebalance.plan_state import PlanState, look_at_plan, open_plan
from kreplica.execution.rebalance.rows import change_rows

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


def rebalance_status(handle: ClusterHandle, path: Path) -> PlanOutcome:
    """Holds a plan and its journal against the cluster.

    Args:
        handle: The cluster.
        path: The plan's file; its journal lies beside it.

    Returns:
        The plan; its exit code is 1 while changes are left, failed or have drifted.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster.
        UnreachableError: The cluster did not answer.
    """
    return status_outcome(look_at_plan(path, handle))


def rebalance_cancel(path: Path, *, execute: bool = False) -> PlanOutcome:
    """Drops what is left of a plan, by a note in its journal; asks no cluster.

    Args:
        path: The plan's file; its journal lies beside it.
        execute: Whether the note is made.

    Returns:
        The plan afterwards.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan is being carried out, or was finished, cancelled or rolled back before.
        UsageError: The journal cannot be written.
    """
    state = open_plan(path)
    _require_unfinished(state)
    if execute:
        with JOURNAL.open(path, state.plan, state.digest) as journal:
            state = replace(state, progress=replay(state.plan, journal.entries), running=False)
            _require_unfinished(state)
            journal.append(entry(Event.COMPLETED, Operation.CANCEL, pid=os.getpid()))
            state = replace(state, progress=replay(state.plan, journal.entries))
    return PlanOutcome(state, change_rows(state), execute)


def _require_unfinished(state: PlanState) -> None:
    if state.progress.phase not in (Phase.NEW, Phase.APPLYING):
        raise state.refusal("there is nothing to cancel")
