"""The rules of ``kreplica check`` and ``kreplica audit``, declared once for arrays and for Spark.

A rule says when it is broken, what to report to the user and which facts prove it. A partition rule judges each
partition by an expression; a group rule aggregates the partitions of a topic, or those a broker is preferred to lead,
into facts and judges these.
The names are fixed: scripts filter by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.expressions import Column, Expression, RacksOf, Size


class Severity(StrEnum):
    """Severity of a finding: the word in rows and options, compared by its rank."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def word(self) -> str:
        """The word in rows and options."""
        return self.value

    @property
    def rank(self) -> int:
        """1 for the least, 3 for the worst."""
        return _RANKS[self]

    def __lt__(self, other: str) -> bool:
        return self.rank < Severity(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Severity(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Severity(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Severity(other).rank


_RANKS = {severity: rank for rank, severity in enumerate(Severity, start=1)}


@dataclass(frozen=True, slots=True)
class PartitionRule:
    """A rule broken by single partitions.

    Args:
        name: Fixed name.
        severity: Of a finding, unless it escalates.
        when: Boolean over the partition's columns; a finding where it is true.
        message: What the user reads, with ``{fact}`` in place of facts, ``{fact:noun}`` of a number of things.
        facts: Name and expression (an integer or a list) of what the message and the evidence show.
        why: What it means for the user, for the reference.
        escalates: Boolean; where true the finding has ``escalated`` severity instead.
        escalated: See ``escalates``.
    """

    name: str
    severity: Severity
    when: Expression
    message: str
    facts: tuple[tuple[str, Expression], ...]
    why: str
    escalates: Expression | None = None
    escalated: Severity = Severity.CRITICAL


class Aggregate:
    """Base of the aggregates over the partitions of a group."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Rows(Aggregate):
    """Number of partitions in the group."""


@dataclass(frozen=True, slots=True)
class RowsWhere(Aggregate):
    """Number of partitions for which a condition is true."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Smallest(Aggregate):
    """Smallest known integer of the group; null if none is known."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Largest(Aggregate):
    """Largest known integer of the group; null if none is known."""

    value: Expression


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A rule broken by a topic or by a broker.

    Args:
        name: Fixed name.
        severity: Of a finding.
        key: None to group by topic, otherwise an expression that gives a broker id.
        facts: Name and aggregate of what is gathered.
        when: Boolean over the facts, as columns by their names.
        message: What the user reads, with ``{fact}`` in place of facts, ``{fact:noun}`` of a number of things.
        why: What it means for the user, for the reference.
    """

    name: str
    severity: Severity
    key: Expression | None
    facts: tuple[tuple[str, Aggregate], ...]
    when: Expression
    message: str
    why: str


_REPLICA_FACTS: tuple[tuple[str, Expression], ...] = (
    ("leader", known.LEADER),
    ("replicas", known.REPLICAS),
    ("isr", known.ISR),
)
_MATCHING = Column("matching") > 0

UNDER_REPLICATED = PartitionRule(
    "under-replicated",
    Severity.WARNING,
    known.UNDER_REPLICATED.expression,
    "{in_sync} of {replication_factor} replicas in sync, missing {missing}",
    (
        ("in_sync", Size(known.ISR)),
        ("replication_factor", known.REPLICATION_FACTOR),
        ("missing", known.MISSING),
        *_REPLICA_FACTS,
    ),
    "fewer copies than were asked for: the next failure costs more",
)
MASKED_UNDER_REPLICATED = PartitionRule(
    "masked-under-replicated",
    Severity.WARNING,
    known.MASKED.expression,
    "original replica out of sync, hidden by an adding one that is in sync: missing {missing}, adding {adding}",
    (("missing", known.MISSING), ("adding", known.ADDING), *_REPLICA_FACTS),
    "Kafka's own listing does not show it",
)
UNDER_MIN_ISR = PartitionRule(
    "under-min-isr",
    Severity.WARNING,
    known.UNDER_MIN_ISR.expression,
    "{in_sync:in-sync replica}, min.insync.replicas {min_isr}",
    (("in_sync", Size(known.ISR)), ("min_isr", known.MIN_ISR), *_REPLICA_FACTS),
    "acks=all writes fail; only a warning where the replica count itself is below min.insync.replicas and all"
    " replicas are in sync, since brokers from 3.7 on accept these writes",
    escalates=known.UNDER_MIN_ISR_BROKER.expression | known.OFFLINE.expression,
)
AT_MIN_ISR = PartitionRule(
    "at-min-isr",
    Severity.INFO,
    known.AT_MIN_ISR.expression,
    "{in_sync:in-sync replica}, exactly min.insync.replicas",
    (("in_sync", Size(known.ISR)), ("min_isr", known.MIN_ISR), *_REPLICA_FACTS),
    "one more replica lost and acks=all writes fail; a warning where one is lost already",
    escalates=known.UNDER_REPLICATED.expression,
    escalated=Severity.WARNING,
)
OFFLINE = PartitionRule(
    "offline",
    Severity.CRITICAL,
    known.OFFLINE.expression,
    "no leader: replicas {replicas}, in sync {isr}",
    (*_REPLICA_FACTS, ("offline_replicas", Column("offline_replicas"))),
    "can be neither read nor written",
)
RACK_VIOLATION = PartitionRule(
    "rack-violation",
    Severity.WARNING,
    RacksOf(known.REPLICAS) < known.EFFECTIVE_RACKS,
    "replicas {replicas} stand in {racks:rack}, {possible} are possible",
    (("racks", RacksOf(known.REPLICAS)), ("possible", known.EFFECTIVE_RACKS), ("replicas", known.REPLICAS)),
    "the loss of one rack takes more copies than it has to",
)
LEADER_IMBALANCE = GroupRule(
    "leader-imbalance",
    Severity.WARNING,
    known.PREFERRED_LEADER,
    (("preferred_partitions", Rows()), ("non_preferred", RowsWhere(known.NON_PREFERRED.expression))),
    Column("non_preferred") * 100 > Column("preferred_partitions") * known.IMBALANCE_PERCENTAGE,
    "does not lead {non_preferred} of the {preferred_partitions:partition} it is preferred for",
    "load stands on other brokers than planned (leader.imbalance.per.broker.percentage, 10 by default)",
)
RF_ONE = GroupRule(
    "rf-one",
    Severity.WARNING,
    None,
    (("matching", RowsWhere(known.ONE_REPLICA)), ("partitions", Rows())),
    _MATCHING,
    "{matching} of {partitions:partition} with one replica only",
    "unavailable whenever that broker restarts, lost with its disk",
)
MIN_ISR_EQUALS_RF = GroupRule(
    "min-isr-equals-rf",
    Severity.WARNING,
    None,
    (
        (
            "matching",
            RowsWhere((known.REPLICATION_FACTOR > 1) & known.MIN_ISR.equals(known.REPLICATION_FACTOR)),
        ),
        ("partitions", Rows()),
        ("min_isr", Largest(known.MIN_ISR)),
    ),
    _MATCHING,
    "min.insync.replicas {min_isr} equals the replication factor in {matching} of {partitions:partition}",
    "one replica out of sync stops acks=all writes, so every broker restart causes an outage",
)
MIN_ISR_ABOVE_RF = GroupRule(
    "min-isr-above-rf",
    Severity.WARNING,
    None,
    (
        ("matching", RowsWhere(known.MIN_ISR > known.REPLICATION_FACTOR)),
        ("partitions", Rows()),
        ("min_isr", Largest(known.MIN_ISR)),
    ),
    _MATCHING,
    "min.insync.replicas {min_isr} is above the replication factor in {matching} of {partitions:partition}",
    'before 3.7 every acks=all write fails; from 3.7 on it acts like "all replicas" (KAFKA-15583)',
)
UNCLEAN_ENABLED = GroupRule(
    "unclean-enabled",
    Severity.WARNING,
    None,
    (("matching", RowsWhere(known.UNCLEAN_ENABLED)), ("partitions", Rows())),
    _MATCHING,
    "unclean.leader.election.enable is true for {partitions:partition}",
    "a replica out of sync may become leader: acknowledged records can be lost",
)
MIXED_RF = GroupRule(
    "mixed-rf",
    Severity.INFO,
    None,
    (
        ("least", Smallest(known.REPLICATION_FACTOR)),
        ("most", Largest(known.REPLICATION_FACTOR)),
        ("partitions", Rows()),
    ),
    Column("least").differs(Column("most")),
    "partitions have from {least} to {most} replicas",
    "often the rest of a reassignment that was given up",
)

PARTITION_RULES: tuple[PartitionRule, ...] = (
    OFFLINE,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    MASKED_UNDER_REPLICATED,
    AT_MIN_ISR,
    RACK_VIOLATION,
)
GROUP_RULES: tuple[GroupRule, ...] = (
    LEADER_IMBALANCE,
    RF_ONE,
    MIN_ISR_EQUALS_RF,
    MIN_ISR_ABOVE_RF,
    UNCLEAN_ENABLED,
    MIXED_RF,
)
ALL_RULES: tuple[PartitionRule | GroupRule, ...] = (*PARTITION_RULES, *GROUP_RULES)
"""Every rule, in the order in which they are documented."""
