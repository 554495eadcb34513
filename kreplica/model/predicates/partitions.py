"""Conditions on a partition, wrong or worth knowing: each declared once, for describe, check and audit.

Where Kafka itself has two definitions of one word, both are here under their own names.
"""

from __future__ import annotations

from dataclasses import dataclass

from kreplica.model.predicates.expressions import (
    Alive,
    Column,
    Contains,
    Difference,
    Expression,
    First,
    If,
    Least,
    Not,
    OrEmpty,
    Overlaps,
    RackCount,
    Size,
)

LEADER = Column("leader")
REPLICAS = Column("replicas")
ISR = Column("isr")
ADDING = Column("adding")
REMOVING = Column("removing")
MIN_ISR = Column("min_isr")

HAS_LEADER = LEADER.differs(-1)
PREFERRED_LEADER = First(REPLICAS)
MISSING = Difference(REPLICAS, ISR)
"""OSR = AR \\ ISR as sets (KAFKA-9672)."""

_MOVING = Overlaps(REPLICAS, ADDING) | Overlaps(REPLICAS, REMOVING)

REPLICATION_FACTOR = If(_MOVING, Size(REPLICAS) - Size(OrEmpty(ADDING)), Size(REPLICAS))
"""Replicas less adding ones while a reassignment runs (TopicCommand.getReplicationFactor).

Where the source does not know of reassignments there is nothing to subtract: Kafka's tool, too, falls back to the
replica count when brokers cannot list reassignments.
"""

ONE_REPLICA = REPLICATION_FACTOR.equals(1)
EFFECTIVE_MIN_ISR = Least(MIN_ISR, Size(REPLICAS))
EFFECTIVE_RACKS = Least(RackCount(), REPLICATION_FACTOR)
"""Number of racks over which the replicas could be spread."""

UNCLEAN_ENABLED = Column("unclean_leader_election")

IMBALANCE_PERCENTAGE = 10
"""Default of leader.imbalance.per.broker.percentage; the ZooKeeper controller acts strictly above it."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on a partition.

    Args:
        name: Its field name in rows and counts.
        expression: Boolean; null means "cannot be known from this source".
        meaning: One clause for the user.
        source: Kafka's class, KIP or issue.
        label: The words of the screen; empty if the screen does not count it. With them it is a field of rows.
    """

    name: str
    expression: Expression
    meaning: str
    source: str
    label: str = ""


UNDER_REPLICATED = Predicate(
    "under_replicated",
    REPLICATION_FACTOR - Size(ISR) > 0,
    "fewer in-sync replicas than the replication factor",
    "TopicCommand.isUnderReplicated",
    "under-replicated",
)
UNDER_REPLICATED_METRIC = Predicate(
    "under_replicated_metric",
    HAS_LEADER & UNDER_REPLICATED.expression,
    "under-replicated as the UnderReplicatedPartitions metric counts: only where there is a leader",
    "Partition.isUnderReplicated, KIP-352",
)
UNDER_REPLICATED_BEFORE_2_5 = Predicate(
    "under_replicated_before_2_5",
    Size(ISR) < Size(REPLICAS),
    "under-replicated as Kafka counted before 2.5: replicas being added count too",
    "KIP-352",
)
MASKED = Predicate(
    "masked",
    (Size(MISSING) > 0)  # follows from the last term, but is known where adding is not
    & Not(UNDER_REPLICATED.expression)
    & _MOVING
    & Overlaps(ADDING, ISR)
    & (Size(Difference(Difference(REPLICAS, ADDING), ISR)) > 0),
    "an original replica is out of sync, hidden by an adding replica that is in sync",
    "kreplica",
    "masked under-replicated",
)
UNDER_MIN_ISR = Predicate(
    "under_min_isr",
    Not(HAS_LEADER) | (Size(ISR) < MIN_ISR),
    "no leader, or fewer in-sync replicas than min.insync.replicas",
    "TopicCommand.isUnderMinIsr",
    "under min ISR",
)
UNDER_MIN_ISR_BROKER = Predicate(
    "under_min_isr_broker",
    HAS_LEADER & (Size(ISR) < EFFECTIVE_MIN_ISR),
    "the leader refuses acks=all writes: fewer in-sync replicas than min.insync.replicas, which counts as the replica"
    " count where it is above that",
    "Partition.isUnderMinIsr, KAFKA-15583",
)
AT_MIN_ISR = Predicate(
    "at_min_isr",
    Size(ISR).equals(MIN_ISR),
    "as many in-sync replicas as min.insync.replicas: one more lost and acks=all writes fail",
    "TopicCommand.isAtMinIsrPartitions",
    "at min ISR",
)
OFFLINE = Predicate(
    "offline",
    LEADER.equals(-1),
    "no leader",
    "ControllerMetricsChanges, OfflinePartitionsCount",
    "offline (no leader)",
)
UNAVAILABLE = Predicate(
    "unavailable",
    Not(HAS_LEADER) | Not(Alive(LEADER)),
    "no leader, or a leader that is not a live broker",
    "TopicCommand.hasUnavailablePartitions",
    "unavailable",
)
NON_PREFERRED = Predicate(
    "non_preferred",
    LEADER.differs(PREFERRED_LEADER),
    "led by another than the preferred leader, the first of the replicas, or by none",
    "ReplicationControlManager.imbalancedPartitions",
    "not led by the preferred leader",
)
_MOVED_IN = Contains(ADDING, PREFERRED_LEADER)
NON_PREFERRED_TO_ZOOKEEPER = (_MOVED_IN & Contains(ISR, PREFERRED_LEADER)) | (
    Not(_MOVED_IN) & LEADER.differs(PREFERRED_LEADER)
)
"""Partitions in a ZooKeeper controller's PreferredReplicaImbalanceCount (ControllerContext.hasPreferredLeader).

A preferred leader that a reassignment is adding counts only once it is in sync, until the reassignment ends.
"""
REASSIGNING = Predicate(
    "reassigning",
    (Size(ADDING) > 0) | (Size(REMOVING) > 0),
    "a reassignment is adding or removing replicas",
    "KIP-455",
    "reassigning",
)

PREDICATES: tuple[Predicate, ...] = (
    UNDER_REPLICATED,
    UNDER_REPLICATED_METRIC,
    UNDER_REPLICATED_BEFORE_2_5,
    MASKED,
    UNDER_MIN_ISR,
    UNDER_MIN_ISR_BROKER,
    AT_MIN_ISR,
    UNAVAILABLE,
    OFFLINE,
    NON_PREFERRED,
    REASSIGNING,
)
"""All predicates, in the order in which they are counted and shown."""


def predicate(name: str) -> Predicate:
    """The predicate of that name; KeyError if there is none."""
    for candidate in PREDICATES:
        if candidate.name == name:
            return candidate
    raise KeyError(name)
