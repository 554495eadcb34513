"""Preferred leaders elected after moves: another order of replicas changes no leader by itself.

Elected are partitions of the plan that have their new replicas and another preferred leader than before, in batches so
that no single broker bears a whole batch, those of internal topics last and few at a time: groups and transaction
coordinators move with their leaders. Before each batch the cluster is read again. What has changed meanwhile, or cannot
be elected now, is left and told; a cluster that got worse stops the elections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kreplica.execution.drift import got_worse, trouble
from kreplica.execution.moves.cluster import MoveCluster
from kreplica.execution.moves.plans.journal import ElectionNote, Event, entry
from kreplica.execution.plan import LeaderChange
from kreplica.model.internal_topics import INTERNAL_TOPICS
from kreplica.model.wording.words import counted
from kreplica.planner.preferred_leaders import Election, batches, plan_elections, spread

if TYPE_CHECKING:
    from kreplica.execution.elections import Outcome
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.moves.session import Journal, MoveOptions
    from kreplica.execution.plan import PartitionKey
    from kreplica.execution.plan_journal import Operation
    from kreplica.model.snapshot import ClusterSnapshot

BATCH, INTERNAL_BATCH = 100, 5
"""Partitions in one batch."""


class ElectingCluster(MoveCluster, Protocol):
    """A cluster whose preferred leaders can be elected."""

    def elect(self, changes: Sequence[LeaderChange]) -> tuple[Outcome, ...]:
        """Has the controller elect preferred leaders; returns the leaders afterwards."""


@dataclass(frozen=True, slots=True)
class Electing:
    """Elections after a run.

    Args:
        cluster: The cluster.
        journal: The plan's journal.
        operation: The operation, for the journal.
        options: Reports, and whether nothing more is to begin.
    """

    cluster: ElectingCluster
    journal: Journal
    operation: Operation
    options: MoveOptions


def elect_preferred_leaders(
    electing: Electing, made: Sequence[ReplicaChange], before: ClusterSnapshot
) -> tuple[str, tuple[str, ...]]:
    """Elects the preferred leaders of partitions whose replicas were changed.

    Args:
        electing: What to work with.
        made: Changes that were made.
        before: The cluster as it was when the run began.

    Returns:
        Why it stopped early, empty if it did not; and clauses on those that are not elected.

    Raises:
        ChangeRefusedError: The credentials may not elect leaders.
        UnreachableError: The cluster stopped answering.
    """
    reordered = {change.key: change for change in made if change.from_replicas[0] != change.to_replicas[0]}
    if not reordered:
        return "", ()
    wanted, left = _electable(electing.cluster.snapshot(), reordered)
    for batch in _batches(wanted):
        if electing.options.stopping():
            return "stopped by the user, not every preferred leader is elected", ()
        snapshot = electing.cluster.snapshot()
        if worse := got_worse(trouble(before), trouble(snapshot)):
            return f"the cluster got worse, {worse}; not every preferred leader is elected", ()
        now, not_now = _electable(snapshot, {one.key: reordered[one.key] for one in batch})
        left |= not_now | _failed(_elect(electing, now))
    told = [f"{topic}-{number}, {why}" for (topic, number), why in list(left.items())[:3]]
    more = f" and {len(left) - len(told)} more" * (len(left) > len(told))
    remark = f"{counted(len(left), 'preferred leader')} not elected: {'; '.join(told)}{more}"
    return "", (remark,) if left else ()


def _electable(
    snapshot: ClusterSnapshot, changes: Mapping[PartitionKey, ReplicaChange]
) -> tuple[list[LeaderChange], dict[PartitionKey, str]]:
    """Elections that can be made now, and why each other partition is not led as planned."""
    ready, left = [], {}
    for one in plan_elections(snapshot):
        key = (one.topic, one.partition)
        if key in changes:
            why = _why_not(snapshot, one, changes[key])
            if why:
                left[key] = why
            else:
                ready.append(LeaderChange(*key, one.leader, one.preferred))
    return ready, left


def _why_not(snapshot: ClusterSnapshot, election: Election, change: ReplicaChange) -> str:
    row = snapshot.row_number(*change.key)
    if snapshot.lists("adding")[row] or snapshot.lists("removing")[row]:
        return "it is being reassigned again"
    if tuple(snapshot.lists("replicas")[row] or ()) != change.to_replicas:
        return "somebody else changed its replicas"
    return "" if election.electable else election.reason


def _batches(changes: Sequence[LeaderChange]) -> list[tuple[LeaderChange, ...]]:
    internal = [one for one in changes if one.topic in INTERNAL_TOPICS]
    others = [one for one in changes if one.topic not in INTERNAL_TOPICS]
    found: list[tuple[LeaderChange, ...]] = []
    for some, size in ((others, BATCH), (internal, INTERNAL_BATCH)):
        found += batches(spread(some, lambda one: one.to_leader or 0), size)
    return found


def _elect(electing: Electing, changes: Sequence[LeaderChange]) -> tuple[Outcome, ...]:
    if not changes:
        return ()
    notes = tuple(ElectionNote(*one.key, one.from_leader, one.to_leader) for one in changes)
    electing.journal.append(entry(Event.ELECTING, electing.operation, elections=notes))
    outcomes = electing.cluster.elect(changes)
    notes = tuple(
        ElectionNote(*one.change.key, one.change.from_leader, one.change.to_leader, one.leader, _error(one))
        for one in outcomes
    )
    electing.journal.append(entry(Event.ELECTED, electing.operation, elections=notes))
    electing.options.tell(f"{counted(sum(one.done for one in outcomes), 'preferred leader')} elected")
    return outcomes


def _failed(outcomes: Sequence[Outcome]) -> dict[PartitionKey, str]:
    return {one.change.key: _error(one) for one in outcomes if not one.done}


def _error(outcome: Outcome) -> str:
    if outcome.done:
        return ""
    return outcome.error or ("nobody leads it" if outcome.leader is None else f"broker {outcome.leader} leads it")
