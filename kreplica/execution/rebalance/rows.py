"""Rows of rebalance: elections that could be run, and changes of a plan with their state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct, field

from kreplica.execution.progress import State
from kreplica.model.tables.rows import Int32, Meaning, of_partition

if TYPE_CHECKING:
    from kreplica.execution.drift import StepCheck
    from kreplica.execution.journal import Result
    from kreplica.execution.plan import LeaderChange
    from kreplica.execution.rebalance.plan_state import PlanState

DRIFTED, IMPOSSIBLE = "drifted", "impossible"


class ElectionRow(Struct, frozen=True):
    """A partition that its preferred leader does not lead."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    from_leader: Annotated[Int32 | None, Meaning("who leads now, null if none")] = field(name="from")
    to_leader: Annotated[Int32 | None, Meaning("the preferred leader")] = field(name="to")
    electable: Annotated[bool, Meaning("whether it is alive and in sync, so that it can be elected", drop=1)]
    reason: Annotated[str, Meaning("why it can be elected, or why not", fold=True)]
    leader_after: Annotated[Int32 | None, Meaning("who leads after the elections; null in a dry run")]
    done: Annotated[bool | None, Meaning("whether the preferred leader leads afterwards; null in a dry run")]


class ChangeRow(Struct, frozen=True):
    """A change of a plan, how far it has come, and the way back."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    from_leader: Annotated[Int32 | None, Meaning("who led when the plan was made, null if nobody did")] = field(
        name="from"
    )
    to_leader: Annotated[Int32 | None, Meaning("who is to lead")] = field(name="to")
    step: Annotated[Int32, Meaning("number of its step in the plan", drop=2)]
    state: Annotated[
        str,
        Meaning(
            "pending, under-way (begun, and not known how it ended), done, already (led before its turn), failed,"
            " dropped (by cancel or rollback), or drifted (it no longer fits the cluster)"
        ),
    ]
    leader: Annotated[Int32 | None, Meaning("who leads now, null if nobody does or it was not asked", drop=1)]
    reason: Annotated[str, Meaning("what has drifted, why it failed, or who has come to lead since", fold=True)]
    rollback: Annotated[
        str | None,
        Meaning("the way back: pending, under-way, done, already, failed, impossible; null where there is none"),
    ]
    rollback_reason: Annotated[str, Meaning("why it failed or is impossible", fold=True)]


def change_rows(state: PlanState) -> list[ChangeRow]:
    """One row for each change of a plan, in the order of its steps."""
    return [_row(state, step.number, change) for step in state.plan.steps for change in step.changes]


def _row(state: PlanState, step: int, change: LeaderChange) -> ChangeRow:
    check, result = state.checks.get(change.key), state.progress.results.get(change.key)
    word, reason = _state(state, change, check, result)
    rollback, rollback_reason = _rollback(state, change, result)
    return ChangeRow(
        topic=change.topic,
        partition=change.partition,
        from_leader=change.from_leader,
        to_leader=change.to_leader,
        step=step,
        state=word,
        leader=check.leader if check is not None else None,
        reason=reason,
        rollback=rollback,
        rollback_reason=rollback_reason,
    )


def _state(plan: PlanState, change: LeaderChange, check: StepCheck | None, result: Result | None) -> tuple[str, str]:
    state, back = plan.progress.apply[change.key], change.key in plan.progress.rollback
    if state is State.ALREADY:
        return str(state), "it led before its turn"
    if state is State.FAILED and result is not None:
        return str(state), result.error or f"{_who(result.leader)} led after the election"
    if check is None:
        return str(state), ""
    if state in (State.PENDING, State.UNDER_WAY):
        return (DRIFTED, check.drift) if check.drift else (str(state), "it leads already" if check.already else "")
    changed = state is State.DONE and not check.already and not back
    return str(state), f"{_who(check.leader)} has come to lead since" if changed else ""


def _who(leader: int | None) -> str:
    return f"broker {leader}" if leader is not None else "nobody"


def _rollback(plan: PlanState, change: LeaderChange, result: Result | None) -> tuple[str | None, str]:
    state, check = plan.progress.rollback.get(change.key), plan.back.get(change.key)
    if change.key in plan.reordered:
        return str(State.UNDER_WAY), "the replica order is not restored yet"
    if state is State.FAILED and result is not None:
        return str(state), result.error
    if check is None:
        return (str(state), _since(plan, change)) if state is not None else (None, "")
    if check.drift:
        return IMPOSSIBLE, check.drift
    return str(state or State.PENDING), ""


def _since(plan: PlanState, change: LeaderChange) -> str:
    """The broker that has led since a leader was brought back, in words; empty if no other has."""
    now = plan.checks.get(change.key)
    return "" if now is None or now.leader == change.from_leader else f"{_who(now.leader)} has come to lead since"
