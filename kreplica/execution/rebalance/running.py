"""A plan carried out under its journal's lock, and everything read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kreplica.control.boundary import require_writable
from kreplica.errors import KreplicaError
from kreplica.execution.executor import FACETS, Pace, Session, Tell
from kreplica.execution.journal import JOURNAL
from kreplica.execution.progress import Progress, replay
from kreplica.execution.rebalance.plan_state import PlanState, compared
from kreplica.monitoring.clusters import read_clusters

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


def _say_nothing(*_: str) -> None:
    """Takes what is reported or asked where nobody listens."""


@dataclass(frozen=True, slots=True)
class RebalanceOptions:
    """Options of elections and rollbacks.

    Args:
        pace: Most partitions at once, and the pause between two batches.
        allow_zookeeper_write: Whether elections may be written to ZooKeeper where no brokers are named.
        confirm: Called before the first change with the cluster's id and the change, an imperative; refuses it by a
            ``ChangeRefusedError``.
        report: Called with each event, one clause.
    """

    pace: Pace = field(default_factory=Pace)
    allow_zookeeper_write: bool = False
    confirm: Callable[[str, str], None] = _say_nothing
    report: Tell = _say_nothing


DEFAULTS = RebalanceOptions()


def require_elections_allowed(handle: ClusterHandle, options: RebalanceOptions) -> None:
    """Refuses elections before anybody is asked to confirm them; each request refuses them, too.

    Raises:
        ChangeRefusedError: The handle may not be changed, or ZooKeeper would be written to and may not be.
    """
    require_writable(handle)
    if handle.by_zookeeper:
        from kreplica.control.zookeeper_election import require_allowed

        require_allowed(handle, allowed=options.allow_zookeeper_write)


def carry_out(
    state: PlanState,
    handle: ClusterHandle,
    work: Callable[[Session], str],
    options: RebalanceOptions,
    allowed: Callable[[PlanState], None],
) -> PlanState:
    """Runs a plan under its journal's lock and reads everything again.

    Args:
        state: The plan as it was read before.
        handle: The cluster.
        work: Applies or rolls back.
        options: Pace and reports.
        allowed: Refuses the request if the plan is not ready for it; called again under the lock.

    Raises:
        ChangeRefusedError: Another process carries out the plan, or has done so meanwhile.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    with JOURNAL.open(state.path, state.plan, state.digest) as journal:
        progress = replay(state.plan, journal.entries)
        allowed(replace(state, progress=progress, running=False))
        work(Session(handle, state.plan, progress, journal, options.pace, options.report))
        progress = replay(state.plan, journal.entries)
    return _look_again(state, handle, progress, options.report)


def _look_again(state: PlanState, handle: ClusterHandle, progress: Progress, report: Tell) -> PlanState:
    afterwards = replace(state, progress=progress, running=False)
    try:
        reading = read_clusters((handle,), FACETS)
    except KreplicaError as error:  # what was done must be reported all the same
        report(f"the cluster could not be read afterwards: {error}")
        return replace(afterwards, checks={}, back={})
    return compared(replace(afterwards, reading=reading))
