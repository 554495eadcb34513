"""A cluster of 200,000 partitions in some trouble, made from a seed, for the benchmarks to read.

4,000 topics of very different sizes on 60 brokers in 3 racks. Broker 17 is dead: its replicas are out of sync and its
partitions led by others, or in four topics by none. Followers of broker 30's partitions fall behind here and there,
leaders have wandered from a few of the preferred replicas, and one topic in 400 is being moved.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, IntListColumn, StringColumn, null_column
from kreplica.model.tables.schema import BROKERS, CONFIGS, LOG_DIRS, PARTITIONS, QUORUM, REPLICAS, TableSchema
from kreplica.model.tables.table import Table

Integers = NDArray[np.int64]

PARTITION_COUNT = 200_000
TOPIC_COUNT = 4_000
BROKER_COUNT = 60
REPLICATION_FACTOR = 3
DEAD, SLOW = 17, 30


def build_snapshot(seed: int = 20_260_301, partitions: int = PARTITION_COUNT) -> ClusterSnapshot:
    """The cluster; the same seed gives the same."""
    random = np.random.default_rng(seed)
    topics = max(1, partitions * TOPIC_COUNT // PARTITION_COUNT)
    names = tuple(f"team-{number % 97:02d}.events-{number:05d}.v1" for number in range(topics))
    counts = _partition_counts(random, topics, partitions)
    topic = np.repeat(np.arange(topics, dtype=np.int32), counts)
    number = np.concatenate([np.arange(count) for count in counts])
    replicas = _assignment(random, partitions)
    return ClusterSnapshot(
        cluster_id="Bench-200k-partitions",
        name="benchmark",
        taken_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        source="kafka",
        partitions=_partitions(random, names, topic, number, replicas),
        brokers=_brokers(),
        log_dirs=_log_dirs(),
        replicas=_replicas(random, names, topic, number, replicas),
        configs=_configs(names),
        quorum=Table.from_rows(QUORUM, ({"node": 1000 + n, "voter": True, "leader": n == 0} for n in range(3))),
        controller=1,
        features={"metadata.version": 27},
    )


def _partition_counts(random: np.random.Generator, topics: int, partitions: int) -> Integers:
    """Few topics are large: sizes follow a log-normal law, each at least 1, their sum exact."""
    weights = random.lognormal(0.0, 1.2, topics)
    counts = 1 + np.floor(weights / weights.sum() * (partitions - topics)).astype(np.int64)
    counts[: partitions - int(counts.sum())] += 1
    assert int(counts.sum()) == partitions
    return counts


def _assignment(random: np.random.Generator, partitions: int) -> Integers:
    """Three replicas in three racks each; broker b stands in rack b % 3."""
    racks = np.argsort(random.random((partitions, REPLICATION_FACTOR)), axis=1)
    places = random.integers(0, BROKER_COUNT // 3, (partitions, REPLICATION_FACTOR))
    return (1 + racks + 3 * places).astype(np.int64)


def _partitions(
    random: np.random.Generator,
    names: tuple[str, ...],
    topic: NDArray[np.int32],
    number: Integers,
    replicas: Integers,
) -> Table:
    count = len(number)
    behind = (replicas[:, :1] == SLOW) & (random.random(replicas.shape) < 0.3)
    behind[:, 0] = False
    lost = (topic % 1000 == 7) & (replicas[:, 0] == DEAD)
    in_sync = (replicas != DEAD) & ~behind & ~lost[:, None]
    wandered = random.random(count) < 0.02
    order = np.where(wandered[:, None], [[1, 2, 0]], [[0, 1, 2]])
    first = np.argmax(np.take_along_axis(in_sync, order, axis=1), axis=1)
    leader = np.take_along_axis(replicas, np.take_along_axis(order, first[:, None], axis=1), axis=1)[:, 0]
    leader[lost] = -1
    moving = (topic % 400 == 0) & (replicas[:, 2] != DEAD)
    adding = _lists(replicas[:, 2:], moving[:, None])
    end = random.integers(0, 10**9, count)
    known: dict[str, Column] = {
        "topic": StringColumn(topic, names),
        "partition": IntColumn(number),
        "topic_id": StringColumn(topic, tuple(map(_topic_id, names))),
        "internal": BoolColumn(np.zeros(count, np.bool_)),
        "leader": IntColumn(leader),
        "leader_epoch": IntColumn(random.integers(0, 400, count)),
        "replicas": _lists(replicas, np.ones_like(replicas, np.bool_)),
        "isr": _lists(replicas, in_sync),
        "elr": _lists(replicas, lost[:, None] & (replicas == DEAD)),
        "last_known_elr": _lists(replicas, np.zeros_like(replicas, np.bool_)),
        "adding": adding,
        "removing": _lists(replicas, np.zeros_like(replicas, np.bool_)),
        "offline_replicas": _lists(replicas, replicas == DEAD),
        "min_isr": IntColumn(np.where(topic % 10 == 0, 1, 2).astype(np.int64)),
        "unclean_leader_election": BoolColumn(topic % 500 == 0),
        "log_start_offset": IntColumn(end // 2),
        "high_watermark": IntColumn(end),
        "end_offset": IntColumn(end),
    }
    return _table(PARTITIONS, count, known)


def _topic_id(name: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(name.encode()).digest()[:16]).decode().rstrip("=")


def _replicas(
    random: np.random.Generator,
    names: tuple[str, ...],
    topic: NDArray[np.int32],
    number: Integers,
    replicas: Integers,
) -> Table:
    there = (replicas != DEAD).ravel()
    topics, numbers = np.repeat(topic, REPLICATION_FACTOR)[there], np.repeat(number, REPLICATION_FACTOR)[there]
    count = len(topics)
    known: dict[str, Column] = {
        "topic": StringColumn(topics, names),
        "partition": IntColumn(numbers),
        "broker": IntColumn(replicas.ravel()[there]),
        "log_dir": StringColumn(random.integers(0, 2, count).astype(np.int32), ("/data/1", "/data/2")),
        "size": IntColumn(random.integers(0, 2**36, count)),
        "offset_lag": IntColumn(np.zeros(count, np.int64)),
        "future": BoolColumn(np.zeros(count, np.bool_)),
    }
    return _table(REPLICAS, count, known)


def _brokers() -> Table:
    return Table.from_rows(
        BROKERS,
        (
            {
                "broker": broker,
                "host": None if broker == DEAD else f"kafka-{broker}.example.org",
                "port": None if broker == DEAD else 9092,
                "rack": "abc"[(broker - 1) % 3],
                "alive": broker != DEAD,
                "fenced": broker == DEAD,
            }
            for broker in range(1, BROKER_COUNT + 1)
        ),
    )


def _log_dirs() -> Table:
    return Table.from_rows(
        LOG_DIRS,
        (
            {"broker": broker, "path": path, "total_bytes": 2**43, "usable_bytes": 2**41}
            for broker in range(1, BROKER_COUNT + 1)
            if broker != DEAD
            for path in ("/data/1", "/data/2")
        ),
    )


def _configs(names: tuple[str, ...]) -> Table:
    settings = {"min.insync.replicas": "2", "retention.ms": "604800000", "cleanup.policy": "delete"}
    return Table.from_rows(
        CONFIGS,
        (
            {"entity_type": "topic", "entity": topic, "name": name, "value": value, "origin": "topic"}
            for topic in names
            for name, value in settings.items()
        ),
    )


def _lists(items: Integers, kept: NDArray[np.bool_]) -> IntListColumn:
    """For each row the kept ones of its items."""
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return IntListColumn(items[kept], offsets)


def _table(schema: TableSchema, count: int, known: dict[str, Column]) -> Table:
    absent = {field.name: null_column(field.kind, count) for field in schema.fields if field.name not in known}
    return Table(schema, known | absent).sorted()
