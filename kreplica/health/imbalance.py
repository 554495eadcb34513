"""Partitions not led by their preferred leader, whether the controller will elect it, and skew between brokers.

The ratio is the ZooKeeper controller's; a KRaft controller has none and counts partitions.

Skew is judged by leaders, preferred partitions, replicas and bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from kreplica.engine.projection.preferred import preferred_obstacles
from kreplica.engine.rules.controller.balance import zookeeper_balances
from kreplica.model.balancing import AUTO_REBALANCE, Balancing, balancing_of
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.tables.columns import IntColumn
from kreplica.model.tables.rows import Int32, Meaning

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NonPreferred:
    """A partition that its preferred leader does not lead.

    Args:
        topic: Topic name.
        partition: Partition index.
        leader: Current leader, None for none.
        preferred: Preferred leader.
        obstacle: Why the preferred leader cannot be elected now, None if it can.
    """

    topic: str
    partition: int
    leader: int | None
    preferred: int
    obstacle: str | None


class BrokerBalance(Struct, frozen=True):
    """Leaders, replicas and bytes of one broker."""

    broker: Annotated[Int32, Meaning("broker id")]
    rack: Annotated[str | None, Meaning("broker.rack", drop=3)]
    alive: Annotated[bool | None, Meaning("registered and able to lead", drop=4)]
    preferred_partitions: Annotated[
        int, Meaning("partitions it is preferred for: it is the first of their replicas", label="PREFERRED")
    ]
    non_preferred: Annotated[
        int, Meaning("those of them that another leads, or nobody: what KRaft counts", label="ELSEWHERE")
    ]
    ratio: Annotated[
        float | None,
        Meaning("non_preferred / preferred_partitions, as a ZooKeeper controller counts; null if preferred for none"),
    ]
    electable: Annotated[int, Meaning("those of them that it could be elected for now", screen=False)]
    leaders: Annotated[int, Meaning("partitions it leads")]
    replicas: Annotated[int, Meaning("replicas assigned to it", drop=1)]
    bytes: Annotated[int | None, Meaning("size of the replicas on it; null where not known", label="SIZE", drop=2)]
    controller_would_act: Annotated[
        bool | None,
        Meaning(
            "whether the controller's next pass elects it for any of them; null where a ZooKeeper and a KRaft"
            " controller would differ and it is not known which it is",
            screen=False,
        ),
    ]
    reason: Annotated[str, Meaning("why, or why not", label="CONTROLLER", fold=True)]


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A cluster's balance.

    Args:
        brokers: In order of their ids.
        partitions: Those that their preferred leader does not lead, in order.
        unknown: Partitions of which the leader is not known.
        balancing: Settings by which the controller decides.
        mode: Which controller it is; None where not known.
        metric: Value that the active controller reports as kafka.controller:type=KafkaController,
            name=PreferredReplicaImbalanceCount; None where reassignments are not known to a ZooKeeper controller's
            count, or the controllers' two counts differ and it is not known which it is.
    """

    brokers: tuple[BrokerBalance, ...]
    partitions: tuple[NonPreferred, ...]
    unknown: int
    balancing: Balancing
    mode: MetadataMode | None
    metric: int | None

    @property
    def electable(self) -> int:
        """Number of preferred leaders that could be elected now."""
        return sum(item.obstacle is None for item in self.partitions)


def imbalance_of(snapshot: ClusterSnapshot) -> Imbalance:
    """Returns the balance of a cluster, as far as its snapshot shows it."""
    evaluator = Evaluator(snapshot)
    partitions = _non_preferred(snapshot, evaluator)
    balancing = balancing_of(snapshot)
    preferred = _known(evaluator.integer(known.PREFERRED_LEADER))
    leaders = _known(evaluator.integer(known.LEADER))
    replicas = snapshot.lists("replicas").values
    assigned = {*preferred.tolist(), *leaders[leaders >= 0].tolist(), *np.unique(replicas).tolist()}
    registered = [broker for broker in snapshot.brokers["broker"].to_list() if isinstance(broker, int)]
    counts = {
        "preferred": Counter(preferred.tolist()),
        "leaders": Counter(leaders.tolist()),
        "replicas": Counter(replicas.tolist()),
        "non_preferred": Counter(item.preferred for item in partitions),
        "electable": Counter(item.preferred for item in partitions if item.obstacle is None),
    }
    sizes = _sizes(snapshot)
    return Imbalance(
        tuple(_broker(snapshot, balancing, one, counts, sizes) for one in sorted({*registered, *assigned})),
        partitions,
        int(evaluator.boolean(known.NON_PREFERRED.expression).is_null().sum()),
        balancing,
        snapshot.mode,
        _metric(snapshot.mode, evaluator, len(partitions)),
    )


def _metric(mode: MetadataMode | None, evaluator: Evaluator, kraft_count: int) -> int | None:
    if mode is MetadataMode.KRAFT:
        return kraft_count
    counted = evaluator.boolean(known.NON_PREFERRED_TO_ZOOKEEPER)
    led = ~evaluator.boolean(known.NON_PREFERRED.expression).is_null()
    if (counted.is_null() & led).any():
        return None
    count = int(counted.is_true().sum())
    return count if mode or count == kraft_count else None


def _known(column: IntColumn) -> Numbers:
    return column.values if column.valid is None else column.values[column.valid]


def _non_preferred(snapshot: ClusterSnapshot, evaluator: Evaluator) -> tuple[NonPreferred, ...]:
    rows = np.flatnonzero(evaluator.boolean(known.NON_PREFERRED.expression).is_true())
    topics, numbers = (
        snapshot.strings("topic").take(rows).to_list(),
        snapshot.integers("partition").take(rows).to_list(),
    )
    leaders = snapshot.integers("leader").take(rows).to_list()
    preferred = evaluator.integer(known.PREFERRED_LEADER).take(rows).to_list()
    facts = zip(topics, numbers, leaders, preferred, preferred_obstacles(snapshot, rows), strict=True)
    return tuple(
        NonPreferred(str(topic), int(number or 0), None if leader == -1 else leader, int(first or 0), obstacle)
        for topic, number, leader, first, obstacle in facts
    )


def _sizes(snapshot: ClusterSnapshot) -> dict[int, int]:
    """Bytes of the snapshot's replicas, for each broker that reported its log directories."""
    table, own = snapshot.replicas, snapshot.strings("topic")
    topics, future = table.strings("topic"), table.booleans("future")
    brokers, sizes = table.integers("broker"), table.integers("size")
    wanted = {own.dictionary[code] for code in np.unique(own.codes).tolist()}
    kept = np.array([name in wanted for name in topics.dictionary], dtype=np.bool_)[topics.codes] & ~future.values
    told = [broker for broker in snapshot.log_dirs["broker"].to_list() if isinstance(broker, int)]
    totals = dict.fromkeys(told, 0) if len(table) else {}  # a history knows log directories, and no sizes
    distinct, inverse = np.unique(brokers.values[kept], return_inverse=True)
    held = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(held, inverse, sizes.values[kept])
    return totals | dict(zip(distinct.tolist(), held.tolist(), strict=True))


def _broker(
    snapshot: ClusterSnapshot,
    balancing: Balancing,
    broker: int,
    counts: dict[str, Counter[int]],
    sizes: dict[int, int],
) -> BrokerBalance:
    preferred, non_preferred, electable = (counts[name][broker] for name in ("preferred", "non_preferred", "electable"))
    acts, reason = _action(snapshot.mode, balancing, preferred, non_preferred, electable)
    return BrokerBalance(
        broker,
        snapshot.racks.get(broker),
        snapshot.is_alive(broker),
        preferred,
        non_preferred,
        non_preferred / preferred if preferred else None,
        electable,
        counts["leaders"][broker],
        counts["replicas"][broker],
        sizes.get(broker),
        acts,
        reason,
    )


def _action(
    mode: MetadataMode | None, balancing: Balancing, preferred: int, non_preferred: int, electable: int
) -> tuple[bool | None, str]:
    """Tells whether the controller would elect leaders for a broker (None: not known), and the reason."""
    if not non_preferred:
        return False, "leads all it is preferred for"
    if not electable:
        return False, "none of these can be elected now"
    if not balancing.enabled:
        return False, f"{AUTO_REBALANCE} is false"
    within = f"elects {electable} within {balancing.interval_seconds} s"
    if mode is MetadataMode.KRAFT:
        return True, within
    above = zookeeper_balances(non_preferred, preferred, balancing.percentage)
    ratio = f"{non_preferred / preferred:.1%} is {'' if above else 'not '}above {balancing.percentage}%"
    if mode is None and not above:
        return None, f"{ratio}: a ZooKeeper controller would not act, a KRaft one would"
    return above, f"{ratio}: {within}" if above else ratio


TOLERATED_PERCENT = 10
"""Percent above the even share that the fullest broker may have; one above it is always tolerated."""


class Measure(StrEnum):
    """Quantities that are counted for each broker."""

    LEADERS = "leaders"
    PREFERRED = "preferred_partitions"
    REPLICAS = "replicas"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of one measure over the live brokers.

    Args:
        measure: The quantity.
        most: The largest number, and on which broker.
        least: The smallest one.
        even: The even share.
    """

    measure: Measure
    most: tuple[int, int]
    least: tuple[int, int]
    even: float

    @property
    def skewed(self) -> bool:
        """True if the fullest broker is more than TOLERATED_PERCENT, and more than one, above the even share."""
        above = self.most[0] - self.even
        return above >= 1 and above * 100 > self.even * TOLERATED_PERCENT

    def as_row(self) -> dict[str, object]:
        """The form of the summary."""
        return {
            "measure": self.measure.value,
            "most": self.most[0],
            "most_broker": self.most[1],
            "least": self.least[0],
            "least_broker": self.least[1],
            "even": round(self.even, 1),
            "skewed": self.skewed,
        }


def spreads_of(brokers: Sequence[BrokerBalance]) -> dict[Measure, Spread]:
    """Distributions of each known measure over the brokers that are not down; none for fewer than two brokers."""
    up = [broker for broker in brokers if broker.alive is not False]
    found: dict[Measure, Spread] = {}
    for measure in Measure:
        values = [(getattr(broker, measure.value), broker.broker) for broker in up]
        if len(up) > 1 and all(value is not None for value, _ in values):
            even = sum(value for value, _ in values) / len(values)
            most = max(values, key=lambda pair: (pair[0], -pair[1]))
            found[measure] = Spread(measure, most, min(values), even)
    return found


def diagnosis(spreads: Mapping[Measure, Spread], non_preferred: int) -> str | None:
    """Names in one clause what is skewed and what would help; None if nothing is skewed or it is not known."""
    skewed = {measure for measure, spread in spreads.items() if spread.skewed}
    if Measure.PREFERRED in skewed:
        return (
            "the assignment is skewed: even with every preferred leader leading, leaders would be uneven; electing"
            " them does not help, another order of replicas or another place would"
        )
    if Measure.LEADERS in skewed and non_preferred:
        return "uneven only because preferred replicas are not leading; a preferred election evens it out"
    if Measure.REPLICAS in skewed:
        return "replica counts are uneven, leaders are not: moving replicas would even them, elections do not"
    if Measure.BYTES in skewed:
        return "counts are even, bytes are not: some partitions are much larger than others"
    return None
