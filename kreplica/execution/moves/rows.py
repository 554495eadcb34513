"""Rows of plans of replicas: each planned change, how far it has come, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct, field

from kreplica.execution.moves.directories.moves import why_stuck_within
from kreplica.execution.moves.directories.stage import DirectoryCheck, DirectoryStage
from kreplica.execution.moves.plans.progress import MoveState
from kreplica.execution.moves.plans.stage import Stage
from kreplica.model.tables.rows import Int32, Meaning, of_partition

if TYPE_CHECKING:
    from kreplica.execution.moves.plan_state import MovePlanState
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory

DRIFTED, WAITING = "drifted", "waiting"


class MoveRow(Struct, frozen=True):
    """A change of a plan of replicas."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    from_replicas: Annotated[list[Int32], Meaning("replicas before, the preferred leader first")] = field(name="from")
    to_replicas: Annotated[list[Int32], Meaning("replicas afterwards, the preferred leader first")] = field(name="to")
    adding: Annotated[list[Int32], Meaning("brokers that get a replica", drop=3)]
    removing: Annotated[list[Int32], Meaning("brokers that lose their replica", drop=2)]
    size: Annotated[int | None, Meaning("bytes that are copied, null where they are not known", drop=4)] = field(
        name="bytes"
    )
    bytes_left: Annotated[int | None, Meaning("bytes that are still to be copied, of moves in flight", drop=1)]
    offset_lag: Annotated[
        int | None,
        Meaning("records that the copy in the new log directory lacks; null where none is on its way", drop=5),
    ]
    directories: Annotated[
        list[str],
        Meaning("log directories that are chosen, as broker:path; of a broker that has the replica already, a new one"),
    ]
    state: Annotated[
        str,
        Meaning(
            "pending, waiting (it cannot begin now), under-way, done, already (made before its turn), failed, left-out"
            " or drifted (it no longer fits the cluster), cancelled (taken back in flight), dropped"
        ),
    ]
    rollback: Annotated[
        str | None,
        Meaning("the way back: pending, under-way, done, already, failed, left-out; null where there is none"),
    ]
    reason: Annotated[str, Meaning("why it waits, failed or is left out, or why it is stuck", fold=True)]


def move_rows(state: MovePlanState) -> list[MoveRow]:
    """One row for each change of a plan: those of log directories, which begin first, then the others in order."""
    within = [_row_within(state, change) for change in state.plan.changed_directories]
    return [*within, *(_row(state, change) for change in state.plan.changes)]


def _row_within(state: MovePlanState, change: ChangedDirectory) -> MoveRow:
    now, reason = _state_within(state, change)
    check = state.within.get(change.replica)
    replicas = list(state.plan.facts[change.key].replicas)
    return MoveRow(
        topic=change.topic,
        partition=change.partition,
        from_replicas=replicas,
        to_replicas=replicas,
        adding=[],
        removing=[],
        size=change.size,
        bytes_left=check.left if check is not None else None,
        offset_lag=check.lag if check is not None else None,
        directories=[f"{change.broker}:{change.destination}"],
        state=now,
        rollback=_rollback_within(state, change),
        reason=reason,
    )


def _state_within(state: MovePlanState, change: ChangedDirectory) -> tuple[str, str]:
    progress = state.progress.within
    known, result = progress.apply[change.replica], progress.results.get(change.replica)
    check = None if state.progress.rolled else state.within.get(change.replica)
    if check is not None and known is MoveState.UNDER_WAY:
        return str(known), why_stuck_within(check)
    if check is not None and known is MoveState.PENDING:
        return _pending_within(check)
    return str(known), result.reason if result is not None else ""


def _pending_within(check: DirectoryCheck) -> tuple[str, str]:
    if check.stage is DirectoryStage.AFTER:
        return str(MoveState.PENDING), "it is in that directory already"
    if check.stage is DirectoryStage.MOVING:
        return DRIFTED, "somebody else moves it"
    if check.stage is DirectoryStage.ELSEWHERE:
        return DRIFTED, check.reason
    return (WAITING, check.reason) if check.reason else (str(MoveState.PENDING), "")


def _rollback_within(state: MovePlanState, change: ChangedDirectory) -> str | None:
    known = state.progress.within.rollback.get(change.replica)
    if known is not None:
        return str(known)
    left = {one.replica for one in state.ways_back_within} if state.progress.rolled else set()
    return str(MoveState.PENDING) if change.replica in left else None


def _row(state: MovePlanState, change: ReplicaChange) -> MoveRow:
    now, reason = _state(state, change)
    known = change.size is not None
    return MoveRow(
        topic=change.topic,
        partition=change.partition,
        from_replicas=list(change.from_replicas),
        to_replicas=list(change.to_replicas),
        adding=list(change.adding),
        removing=list(change.removing),
        size=change.total_bytes if known else None,
        bytes_left=state.bytes_left.get(change.key),
        offset_lag=None,
        directories=[f"{broker}:{path}" for broker, path in change.directories],
        state=now,
        rollback=_rollback(state, change),
        reason=reason,
    )


def _state(state: MovePlanState, change: ReplicaChange) -> tuple[str, str]:
    known, result = state.progress.apply[change.key], state.progress.results.get(change.key)
    if known is MoveState.UNDER_WAY:
        return str(known), state.stuck.get(change.key, "")
    if known is MoveState.PENDING and not state.progress.rolled:
        check = state.checks.get(change.key)
        if check is not None and check.stage is Stage.AFTER:
            return str(known), "it has its new replicas already"
        if check is not None and check.stage is not Stage.BEFORE:
            return DRIFTED, check.reason or "somebody else moves it"
        why = state.waiting.get(change.key, "")
        return (WAITING, why) if why else (str(known), "")
    return str(known), result.reason if result is not None else ""


def _rollback(state: MovePlanState, change: ReplicaChange) -> str | None:
    known = state.progress.rollback.get(change.key)
    if known is not None:
        return str(known)
    return str(MoveState.PENDING) if state.progress.rolled and change.key in state.still_to_roll_back else None
