"""Applies a plan of leaders: elections of preferred leaders, as many as are still to be done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kreplica.execution.executor import Session, run_steps, still_to_apply
from kreplica.execution.journal import Operation, Result
from kreplica.execution.leaders import Outcome, elect

if TYPE_CHECKING:
    from kreplica.config import ClusterHandle
    from kreplica.execution.plan import Plan, Step


def apply(session: Session, *, allow_zookeeper_write: bool = False) -> str:
    """Runs what is still to be done of a plan.

    Args:
        session: What to work with.
        allow_zookeeper_write: Whether ZooKeeper may be written to where no brokers are named.

    Returns:
        Why it stopped early, empty if it did not.

    Raises:
        ChangeRefusedError: The plan belongs to another cluster, or the handle may not be changed.
        UnreachableError: The cluster did not answer before anything was begun.
    """

    def elect_step(handle: ClusterHandle, _: Plan, step: Step) -> tuple[Result, ...]:
        return _results(elect(handle, step.changes, allow_zookeeper_write=allow_zookeeper_write))

    return run_steps(session, Operation.APPLY, still_to_apply(session.plan, session.progress), elect_step)


def _results(outcomes: Sequence[Outcome]) -> tuple[Result, ...]:
    return tuple(
        Result(outcome.change.topic, outcome.change.partition, outcome.leader, outcome.done, outcome.error)
        for outcome in outcomes
    )
