"""Progress of a plan: its journal, replayed. Pure: ``drift`` judges the state of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kreplica.execution.journal import Entry, Event, Result
from kreplica.execution.plan import PartitionKey, Plan
from kreplica.execution.plan_journal import Operation, Phase, phase_after


class State(StrEnum):
    """States of one partition of a plan.

    ``under-way`` was intended and its result is not known: only the cluster can tell. ``already`` was found
    done before its turn: somebody else did it, so that a rollback leaves it alone.
    """

    PENDING = "pending"
    UNDER_WAY = "under-way"
    DONE = "done"
    ALREADY = "already"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a plan as its journal records it.

    Args:
        phase: The plan's phase.
        apply: State of each partition's change.
        rollback: State of each partition's rollback; only partitions whose rollback was begun.
        results: The last result of each partition that has one.
        message: Why the last run stopped early, empty if it did not.
    """

    phase: Phase
    apply: Mapping[PartitionKey, State]
    rollback: Mapping[PartitionKey, State]
    results: Mapping[PartitionKey, Result]
    message: str = ""


def replay(plan: Plan, entries: Iterable[Entry]) -> Progress:
    """Replays the entries of a plan's journal."""
    apply = {change.key: State.PENDING for change in plan.changes}
    rollback: dict[PartitionKey, State] = {}
    results: dict[PartitionKey, Result] = {}
    phase, message = Phase.NEW, ""
    for one in entries:
        states = rollback if one.operation is Operation.ROLLBACK else apply
        states.update(dict.fromkeys(one.partitions, State.UNDER_WAY))
        states.update({result.key: _state(result) for result in one.results})
        results.update({result.key: result for result in one.results})
        phase = phase_after(phase, one.event, one.operation)
        message = one.message if one.event is Event.STOPPED else ""
    if phase in (Phase.CANCELLED, Phase.ROLLING_BACK, Phase.ROLLED_BACK):
        apply = {key: State.DROPPED if state is State.PENDING else state for key, state in apply.items()}
    return Progress(phase, apply, rollback, results, message)


def _state(result: Result) -> State:
    if not result.done:
        return State.FAILED
    return State.ALREADY if result.already else State.DONE
