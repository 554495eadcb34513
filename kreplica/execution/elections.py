"""Applies a plan of leaders: runs the elections of preferred leaders that are still to be done.

An accepted election is no proof: the controller may fall back to another replica. So the cluster is read again
afterwards, and only the leaders read then count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.execution.executor import Session, read_settled, run_steps, still_to_apply
from kreplica.execution.journal import Result
from kreplica.execution.plan_journal import Operation
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.control.elect import ElectionResult
    from kreplica.execution.plan import LeaderChange, PartitionKey, Plan, Step
    from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one election.

    Args:
        change: The requested change.
        leader: Leader afterwards, None for none.
        error: The controller's error, empty if it accepted.
    """

    change: LeaderChange
    leader: int | None
    error: str

    @property
    def done(self) -> bool:
        """True if the preferred leader leads now."""
        return self.leader == self.change.to_leader


def elect(
    handle: ClusterHandle, changes: Sequence[LeaderChange], *, allow_zookeeper_write: bool = False
) -> tuple[Outcome, ...]:
    """Runs the elections and returns the leaders afterwards.

    Args:
        handle: The cluster; its brokers are asked, or, where only its ZooKeeper is named, the controller through that.
        changes: Partitions whose preferred replicas are to lead.
        allow_zookeeper_write: Whether ZooKeeper may be written to.

    Raises:
        ChangeRefusedError: The handle is read-only, or ZooKeeper would be written to and may not be.
        UnreachableError: The cluster stopped answering.
    """
    results = _ask(handle, [change.key for change in changes], allow_zookeeper_write)
    errors = {(result.topic, result.partition): _error(result) for result in results}
    leaders = _leaders_afterwards(handle, changes, errors)
    return tuple(
        Outcome(change, leaders.get(change.key), errors.get(change.key, "no answer for this partition"))
        for change in changes
    )


def _ask(
    handle: ClusterHandle, partitions: Sequence[PartitionKey], allow_zookeeper_write: bool
) -> tuple[ElectionResult, ...]:
    if handle.by_zookeeper:
        from kreplica.control.zookeeper_election import elect_preferred_by_zookeeper

        return elect_preferred_by_zookeeper(handle, partitions, allowed=allow_zookeeper_write)
    from kreplica.control.elect import elect_preferred

    return elect_preferred(handle, partitions)


def _error(result: ElectionResult) -> str:
    """The controller's error, empty if it accepted; an election that was not needed is no failure."""
    from kreplica.control.elect import ELECTED, NOT_NEEDED

    if result.outcome in (ELECTED, NOT_NEEDED):
        return ""
    return f"{result.outcome}: {result.message}" if result.message else result.outcome


def _leaders_afterwards(
    handle: ClusterHandle, changes: Sequence[LeaderChange], errors: dict[tuple[str, int], str]
) -> dict[tuple[str, int], int | None]:
    """Leaders by partition, read again until those that were accepted lead, or the time is up."""
    accepted = [change for change in changes if not errors.get(change.key)]

    def lead(snapshot: ClusterSnapshot) -> bool:
        return all(_leader(snapshot, change) == change.to_leader for change in accepted)

    snapshot = read_settled(handle, Facet.PARTITIONS, lead)
    return {change.key: _leader(snapshot, change) for change in changes}


def _leader(snapshot: ClusterSnapshot, change: LeaderChange) -> int | None:
    try:
        leader = snapshot.partition(*change.key)["leader"]
    except KeyError:  # deleted meanwhile
        return None
    assert leader is None or isinstance(leader, int)
    return None if leader == -1 else leader


def apply(session: Session, *, allow_zookeeper_write: bool = False) -> str:
    """Runs the steps of a plan that are still to be done.

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
