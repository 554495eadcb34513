"""Replicas of a new topic, placed as Kafka's controllers place them."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from kreplica.engine.rules.controller.topic_assignment import (
    Placements,
    place_rack_aware,
    place_rack_unaware,
    place_striped,
)
from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.topic_pattern import is_topic_name
from kreplica.model.wording.words import counted, named
from kreplica.planner.java_random import JavaRandom


class PlacementAlgorithm(StrEnum):
    """Kafka's algorithms for new topics."""

    STRIPED = "striped"
    RACK_AWARE = "rack-aware"
    RACK_UNAWARE = "rack-unaware"


class PlacedPartition(Struct, frozen=True):
    """One partition of a topic that does not exist yet."""

    topic: Annotated[str, Meaning("topic name", drop=1)]
    partition: Annotated[Int32, Meaning("partition index")]
    replicas: Annotated[list[Int32], Meaning("replicas, the preferred leader first")]
    racks: Annotated[list[str | None], Meaning("rack of each replica, null where a broker has none", fold=True)]


class BrokerShare(Struct, frozen=True):
    """The share of one broker in a placement."""

    broker: Annotated[Int32, Meaning("broker id")]
    rack: Annotated[str | None, Meaning("broker.rack, null if it has none")]
    leaders: Annotated[int, Meaning("partitions whose first replica it is")]
    replicas: Annotated[int, Meaning("replicas")]


@dataclass(frozen=True, slots=True)
class TopicPlacement:
    """Replicas of a new topic.

    Args:
        algorithm: Kafka's algorithm that placed them.
        seed: Seed of its random numbers.
        partitions: The partitions in order.
        brokers: The brokers that could be chosen.
        unknown: Brokers of which the source does not tell whether they are alive; they count as alive.
    """

    algorithm: PlacementAlgorithm
    seed: int
    partitions: tuple[PlacedPartition, ...]
    brokers: tuple[BrokerShare, ...]
    unknown: tuple[int, ...]

    @property
    def fewest_racks(self) -> int:
        """Racks that the replicas of a partition are in, of the partition with the fewest; 0 without racks."""
        return min(len({rack for rack in one.racks if rack is not None}) for one in self.partitions)


def seed_of(topic: str) -> int:
    """The seed of a topic where none is given: the same each time, and another for most other topics."""
    return zlib.crc32(topic.encode())


def place_topic(
    snapshot: ClusterSnapshot,
    topic: str,
    partitions: int,
    replication_factor: int,
    *,
    algorithm: PlacementAlgorithm | None = None,
    seed: int | None = None,
) -> TopicPlacement:
    """Places the replicas of a new topic.

    In KRaft all registered brokers are chosen from, fenced ones last and never as the first replica
    (StripedReplicaPlacer, Kafka 3.0 and newer); in ZooKeeper mode the live ones (AdminUtils, up to 3.9). The random
    numbers are those of java.util.Random with the seed: in ZooKeeper mode a start, then a shift.

    Args:
        snapshot: The cluster.
        topic: A name that no topic of the cluster has.
        partitions: Number of partitions.
        replication_factor: Replicas of each partition.
        algorithm: None for what the cluster's controller would use.
        seed: Seed of the random numbers; None for one made from the topic's name.

    Raises:
        UsageError: The name is not legal, the topic exists, the source lists no brokers, there are fewer brokers than
            replicas, or only some brokers have a rack where racks count.
    """
    if not is_topic_name(topic):
        raise UsageError(
            f"{topic} is no name of a topic",
            "Kafka takes 1 to 249 letters, digits, dots, underscores and hyphens",
            "name the topic otherwise",
        )
    if topic in snapshot.strings("topic").to_list():
        raise UsageError(
            f"topic {topic} exists", "a new topic's replicas are placed", "name a topic that does not exist yet"
        )
    candidates = _candidates(snapshot)
    chosen = algorithm or _of_the_controller(snapshot, candidates)
    if chosen is not PlacementAlgorithm.STRIPED:
        candidates = [one for one in candidates if not one.fenced]
    _require_enough(candidates, replication_factor, chosen)
    numbers = JavaRandom(seed_of(topic) if seed is None else seed)
    placements = _placed(chosen, candidates, partitions, replication_factor, numbers)
    racks = {one.broker: one.rack for one in candidates}
    placed = tuple(
        PlacedPartition(topic, number, list(replicas), [racks[broker] for broker in replicas])
        for number, replicas in enumerate(placements)
    )
    unknown = tuple(one.broker for one in candidates if one.unknown)
    shares = _shares(candidates, placements)
    return TopicPlacement(chosen, seed_of(topic) if seed is None else seed, placed, shares, unknown)


@dataclass(frozen=True, slots=True)
class _Candidate:
    broker: int
    rack: str | None
    fenced: bool
    unknown: bool


def _candidates(snapshot: ClusterSnapshot) -> list[_Candidate]:
    """Brokers of the cluster in order of ids; fenced is whichever is known not to be alive."""
    rows = zip(*(snapshot.brokers[name].to_list() for name in ("broker", "rack", "alive")), strict=True)
    found = [
        _Candidate(broker, rack if isinstance(rack, str) else None, alive is False, alive is None)
        for broker, rack, alive in rows
        if isinstance(broker, int)
    ]
    if not found:
        raise UsageError(
            f"{snapshot.source} lists no brokers",
            "so nobody can be chosen",
            "name a live cluster or a snapshot: kreplica snapshot",
        )
    return sorted(found, key=lambda one: one.broker)


def _of_the_controller(snapshot: ClusterSnapshot, candidates: list[_Candidate]) -> PlacementAlgorithm:
    if snapshot.mode is not MetadataMode.ZOOKEEPER:
        return PlacementAlgorithm.STRIPED
    racks = any(one.rack is not None for one in candidates if not one.fenced)
    return PlacementAlgorithm.RACK_AWARE if racks else PlacementAlgorithm.RACK_UNAWARE


def _require_enough(candidates: list[_Candidate], replication_factor: int, algorithm: PlacementAlgorithm) -> None:
    """Refuses what Kafka refuses: InvalidReplicationFactorException, and AdminOperationException for racks."""
    kind = "registered" if algorithm is PlacementAlgorithm.STRIPED else "live"
    if replication_factor > len(candidates):
        raise UsageError(
            f"{counted(replication_factor, 'replica')} cannot be placed",
            f"the cluster has {counted(len(candidates), f'{kind} broker')}",
            "give a smaller --replication-factor",
        )
    if all(one.fenced for one in candidates):
        raise UsageError("no replica can be placed", "all brokers are fenced", "start a broker")
    without = [one.broker for one in candidates if one.rack is None]
    if algorithm is PlacementAlgorithm.RACK_AWARE and without:
        raise UsageError(
            "replicas cannot be placed by racks",
            f"{named('broker', without)} without a rack",
            "set broker.rack there, or give --algorithm rack-unaware",
        )


def _placed(
    algorithm: PlacementAlgorithm,
    candidates: list[_Candidate],
    partitions: int,
    replication_factor: int,
    numbers: JavaRandom,
) -> Placements:
    racks = {one.broker: one.rack or "" for one in candidates}
    if algorithm is PlacementAlgorithm.STRIPED:
        fenced = tuple(one.broker for one in candidates if one.fenced)
        return place_striped(racks, fenced, partitions, replication_factor, numbers.next_int)
    start, shift = numbers.next_int(len(racks)), numbers.next_int(len(racks))
    if algorithm is PlacementAlgorithm.RACK_AWARE:
        return place_rack_aware(racks, partitions, replication_factor, start, shift)
    return place_rack_unaware(tuple(racks), partitions, replication_factor, start, shift)


def _shares(candidates: list[_Candidate], placements: Placements) -> tuple[BrokerShare, ...]:
    leaders = Counter(replicas[0] for replicas in placements)
    replicas = Counter(broker for each in placements for broker in each)
    return tuple(BrokerShare(one.broker, one.rack, leaders[one.broker], replicas[one.broker]) for one in candidates)
