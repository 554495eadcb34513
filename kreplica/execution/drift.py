"""Comparison of a cluster with the facts its plan was made from, partition by partition. Pure.

A plan rests on facts; one that has changed since is drift, and the plan is refused, naming it. Only changes that keep
the plan valid are harmless: a partition that its preferred replica leads already, a changed ISR that still contains
it, a partition epoch or zkVersion that moved with that ISR. A new leader epoch under the same leader is drift:
there was another election in between, and the plan's facts no longer hold.

A fact that either side does not know is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kreplica.engine.projection.preferred import leader_obstacles
from kreplica.execution.plan import LeaderChange, PartitionFacts, PartitionKey, Plan, Precondition, Step
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import UNAVAILABLE, UNDER_MIN_ISR, Predicate
from kreplica.model.wording.words import ids

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot

Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StepCheck:
    """State of one planned change in the cluster.

    Args:
        leader: Leader now; None for none, or for a partition that does not exist.
        already: Whether the change has been made already, by anybody.
        drift: The fact that is no longer as planned, empty if none; always empty when ``already`` is true.
    """

    leader: int | None
    already: bool
    drift: str


@dataclass(frozen=True, slots=True)
class _Case:
    facts: PartitionFacts
    change: LeaderChange
    now: Row
    obstacle: str


def look(
    plan: Plan,
    changes: Sequence[LeaderChange],
    preconditions: Sequence[Precondition],
    snapshot: ClusterSnapshot,
) -> dict[PartitionKey, StepCheck]:
    """Compares planned changes with the cluster.

    Args:
        plan: The plan.
        changes: Those of its changes, or of its inverse, to compare.
        preconditions: What must hold of each.
        snapshot: The cluster now.
    """
    facts, found = plan.facts, {change.key: StepCheck(None, False, _gone(snapshot)) for change in changes}
    there = [(change, row) for change in changes if (row := _row_number(snapshot, change)) is not None]
    obstacles = _obstacles(snapshot, there)
    for change, row in there:
        case = _Case(facts[change.key], change, snapshot.partitions.row(row), obstacles.get(change.key, ""))
        found[change.key] = _check(case, preconditions)
    return found


def look_at_steps(plan: Plan, steps: Sequence[Step], snapshot: ClusterSnapshot) -> dict[PartitionKey, StepCheck]:
    """Compares whole steps with the cluster, those with the same preconditions together."""
    alike: dict[tuple[Precondition, ...], list[LeaderChange]] = {}
    for step in steps:
        alike.setdefault(step.preconditions, []).extend(step.changes)
    found: dict[PartitionKey, StepCheck] = {}
    for preconditions, changes in alike.items():
        found |= look(plan, changes, preconditions, snapshot)
    return found


def _row_number(snapshot: ClusterSnapshot, change: LeaderChange) -> int | None:
    try:
        return snapshot.row_number(*change.key)
    except KeyError:
        return None


def _obstacles(snapshot: ClusterSnapshot, there: Sequence[tuple[LeaderChange, int]]) -> dict[PartitionKey, str]:
    """Obstacles to electing each change's new leader; empty where there is none or it is no replica."""
    replicas = snapshot.lists("replicas")
    keys, rows, places = [], [], []
    for change, row in there:
        assigned = replicas[row] or []
        if change.to_leader in assigned:
            keys.append(change.key)
            rows.append(row)
            places.append(assigned.index(change.to_leader))
    found = leader_obstacles(snapshot, np.array(rows, dtype=np.intp), np.array(places, dtype=np.int64))
    return {key: obstacle or "" for key, obstacle in zip(keys, found, strict=True)}


def _check(case: _Case, preconditions: Sequence[Precondition]) -> StepCheck:
    leader = case.now["leader"]
    assert leader is None or isinstance(leader, int)
    led = None if leader == -1 else leader
    same = not _CHECKS[Precondition.SAME_TOPIC](case) and not _CHECKS[Precondition.SAME_REPLICAS](case)
    if same and led == case.change.to_leader:
        return StepCheck(led, True, "")
    for precondition in preconditions:
        if reason := _CHECKS[precondition](case):
            return StepCheck(led, False, reason)
    return StepCheck(led, False, "")


def _gone(snapshot: ClusterSnapshot) -> str:
    hidden = any(gap.kind == "hidden-topics" for gap in snapshot.gaps)
    return "not there: deleted, or hidden from these credentials" if hidden else "deleted"


def _same_topic(case: _Case) -> str:
    before, now = case.facts.topic_id, case.now["topic_id"]
    if before is None or now is None or before == now:
        return ""
    return f"topic was deleted and created again (id {before}, now {now})"


def _same_replicas(case: _Case) -> str:
    now = _brokers(case.now["replicas"])
    if now == case.facts.replicas:
        return ""
    return f"replicas changed from {ids(case.facts.replicas)} to {ids(now)}"


def _not_reassigning(case: _Case) -> str:
    adding, removing = _brokers(case.now["adding"]), _brokers(case.now["removing"])
    if (adding, removing) == (_brokers(case.facts.adding), _brokers(case.facts.removing)) or not (adding or removing):
        return ""
    return f"a reassignment has begun (adding {ids(adding)}, removing {ids(removing)})"


def _same_leader(case: _Case) -> str:
    before, now = case.facts.leader, case.now["leader"]
    assert now is None or isinstance(now, int)
    if before is not None and now is not None and before != now:
        return f"leader changed from {_leader(before)} to {_leader(now)}"
    epoch, epoch_now = case.facts.leader_epoch, case.now["leader_epoch"]
    if epoch is None or epoch_now is None or epoch == epoch_now:
        return ""
    return f"leader epoch changed from {epoch} to {epoch_now}"


def _eligible(case: _Case) -> str:
    if case.change.to_leader is None:
        return "nobody led before: there is no leader to bring back"
    return case.obstacle


def _all_in_sync(case: _Case) -> str:
    missing = [broker for broker in case.facts.replicas if broker not in _brokers(case.now["isr"])]
    return f"broker {ids(missing)} is not in sync, so that the replica order must not be touched" if missing else ""


_CHECKS: dict[Precondition, Callable[[_Case], str]] = {
    Precondition.SAME_TOPIC: _same_topic,
    Precondition.SAME_REPLICAS: _same_replicas,
    Precondition.NOT_REASSIGNING: _not_reassigning,
    Precondition.SAME_LEADER: _same_leader,
    Precondition.ELIGIBLE: _eligible,
    Precondition.ALL_IN_SYNC: _all_in_sync,
}


def _brokers(value: object) -> tuple[int, ...]:
    assert value is None or isinstance(value, list | tuple), "a list of broker ids, or not known"
    return tuple(value or ())


def _leader(broker: int) -> str:
    return "none" if broker == -1 else str(broker)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Partitions of a cluster that are in trouble, by kind. A change must not add any."""

    unavailable: frozenset[PartitionKey]
    under_min_isr: frozenset[PartitionKey]
    known: frozenset[PartitionKey]


def trouble(snapshot: ClusterSnapshot) -> Trouble:
    """Partitions of the whole cluster that are unavailable or under min ISR, as far as is known."""
    evaluator = Evaluator(snapshot)
    topics, numbers = snapshot.partitions["topic"].to_list(), snapshot.partitions["partition"].to_list()
    keys: list[PartitionKey] = list(zip(topics, numbers, strict=True))  # type: ignore[arg-type]

    def matching(predicate: Predicate) -> frozenset[PartitionKey]:
        return frozenset(keys[row] for row in evaluator.boolean(predicate.expression).is_true().nonzero()[0])

    return Trouble(matching(UNAVAILABLE), matching(UNDER_MIN_ISR), frozenset(keys))


def got_worse(before: Trouble, after: Trouble) -> str:
    """Names what got worse among the partitions that both know, up to three of them; empty if nothing did."""
    unavailable = (after.unavailable - before.unavailable) & before.known
    under_min_isr = (after.under_min_isr - before.under_min_isr - unavailable) & before.known
    return ", ".join(
        text
        for text in (
            _told(unavailable, "has no live leader", "have no live leader"),
            _told(under_min_isr, "is under min ISR", "are under min ISR"),
        )
        if text
    )


def _told(keys: frozenset[PartitionKey], one: str, many: str) -> str:
    if not keys:
        return ""
    what = f"1 partition {one}" if len(keys) == 1 else f"{len(keys)} partitions {many}"
    return f"{what} now ({_partition_names(keys)})"


def _partition_names(keys: frozenset[PartitionKey]) -> str:
    shown = [f"{topic}-{number}" for topic, number in sorted(keys)[:3]]
    return ", ".join(shown) + (", …" if len(keys) > len(shown) else "")
