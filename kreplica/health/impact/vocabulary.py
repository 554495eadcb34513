"""Impact of brokers that leave, stopped, failed or restarted: the one vocabulary of all these judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kreplica.health.quorum import Quorum
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.tables.columns import Mask


class Impact(StrEnum):
    """Impacts on a partition, or with ``quorum_lost`` on the cluster."""

    QUORUM_LOST = "quorum_lost"
    UNCLEAN_LEADER = "unclean_leader"
    UNAVAILABLE = "unavailable"
    LAST_IN_SYNC = "last_in_sync"
    ISR_FROZEN = "isr_frozen"
    UNDER_MIN_ISR = "under_min_isr"
    NEW_LEADER = "new_leader"
    SMALLER_ISR = "smaller_isr"

    @property
    def harmful(self) -> bool:
        """True if something is lost or cannot be used meanwhile."""
        return self not in (Impact.NEW_LEADER, Impact.SMALLER_ISR)


STOP_IMPACTS = (Impact.UNDER_MIN_ISR, Impact.UNAVAILABLE, Impact.LAST_IN_SYNC, Impact.QUORUM_LOST)
"""Impacts that speak against a stop, each judged by itself: a partition can have several."""

FAILURE_IMPACTS = (
    Impact.UNCLEAN_LEADER,
    Impact.UNAVAILABLE,
    Impact.ISR_FROZEN,
    Impact.UNDER_MIN_ISR,
    Impact.NEW_LEADER,
    Impact.SMALLER_ISR,
)
"""Impacts of a failure or a restart, the worst first: a partition has the first of them that holds."""

PREDICATES = {Impact.UNDER_MIN_ISR: known.UNDER_MIN_ISR_BROKER, Impact.UNAVAILABLE: known.UNAVAILABLE}
"""Impacts that are predicates of the partition afterwards."""

MENDABLE = (Impact.UNAVAILABLE, Impact.UNDER_MIN_ISR)
"""Earlier harm that a changed setting can end."""


@dataclass(frozen=True, slots=True)
class PartitionImpact:
    """One impact of a stop on one partition; on none for ``quorum_lost``.

    Args:
        topic: Topic, None for the quorum.
        partition: Partition, None for the quorum.
        effect: The impact.
        already: True if it is so already.
        accepted: Option that accepted it: ``rf-one`` or ``topic``; None if nothing did.
        reason: Why there is no room for the stop.
        waiting_helps: Whether replicas that come back would make room.
        out_of_sync: Replicas that are out of sync already, where these are the reason.
        leader: Leader now, None for none.
        leader_after: Leader afterwards, None for none.
        replicas: The assignment.
        isr: In sync now.
        isr_after: In sync afterwards.
        min_isr: min.insync.replicas, None where not known.
    """

    topic: str | None
    partition: int | None
    effect: Impact
    already: bool
    accepted: str | None
    reason: str
    waiting_helps: bool
    out_of_sync: Sequence[int] = ()
    leader: int | None = None
    leader_after: int | None = None
    replicas: Sequence[int] | None = None
    isr: Sequence[int] | None = None
    isr_after: Sequence[int] | None = None
    min_isr: int | None = None


def is_true(snapshot: ClusterSnapshot, predicate: known.Predicate) -> Mask:
    """Partitions of which a predicate is known to hold."""
    return Evaluator(snapshot).boolean(predicate.expression).is_true()


def is_null(snapshot: ClusterSnapshot, predicate: known.Predicate) -> Mask:
    """Partitions of which it is not known whether a predicate holds."""
    return Evaluator(snapshot).boolean(predicate.expression).is_null()


def held_in(snapshot: ClusterSnapshot) -> dict[Impact, Mask]:
    """Partitions of a snapshot that have each impact that is a predicate."""
    return {impact: is_true(snapshot, predicate) for impact, predicate in PREDICATES.items()}


def quorum_not_known(snapshot: ClusterSnapshot, quorum: Quorum | None) -> bool:
    """True if there is a controller quorum of which nothing is known."""
    return quorum is None and snapshot.mode is not MetadataMode.ZOOKEEPER
