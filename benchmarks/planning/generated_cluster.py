"""A cluster of any size made from a seed: brokers in racks, topics of very different sizes, replicas at random.

The replicas of a partition stand in as many racks as there are, their brokers are drawn at random: numbers of replicas,
leaders and bytes differ from broker to broker as they do where many topics were created one after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, IntListColumn, StringColumn, null_column
from kreplica.model.tables.schema import BROKERS, LOG_DIRS, PARTITIONS, REPLICAS, TableSchema
from kreplica.model.tables.table import Table

Integers = NDArray[np.int64]

DIRECTORIES = ("/data/1", "/data/2")
MEAN_BYTES = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class GeneratedCluster:
    """The cluster as arrays.

    Args:
        brokers: Ids of the brokers, from 1.
        racks: Index of each broker's rack.
        replicas: Positions of the brokers of each partition, the preferred leader first.
        sizes: Bytes of one replica of each partition.
        topics: Topic of each partition by number, ascending.
        numbers: Index of each partition in its topic.
        directories: Index of the log directory of each replica.
    """

    brokers: Integers
    racks: NDArray[np.int32]
    replicas: NDArray[np.int32]
    sizes: Integers
    topics: NDArray[np.int32]
    numbers: Integers
    directories: NDArray[np.int32]

    def snapshot(self) -> ClusterSnapshot:
        """The same as a snapshot: all replicas in sync, every partition led by its preferred leader."""
        names = tuple(f"topic-{number:05d}" for number in range(int(self.topics[-1]) + 1))
        ids = self.brokers[self.replicas]
        count, factor = self.replicas.shape
        lists = IntListColumn(ids.ravel(), np.arange(count + 1, dtype=np.int64) * factor)
        nothing = IntListColumn(np.empty(0, np.int64), np.zeros(count + 1, np.int64))
        partitions: dict[str, Column] = {
            "topic": StringColumn(self.topics, names),
            "partition": IntColumn(self.numbers),
            "internal": BoolColumn(np.zeros(count, np.bool_)),
            "leader": IntColumn(ids[:, 0].copy()),
            "leader_epoch": IntColumn(np.zeros(count, np.int64)),
            "replicas": lists,
            "isr": lists,
            "min_isr": IntColumn(np.full(count, max(1, factor - 1), np.int64)),
        }
        partitions |= dict.fromkeys(("elr", "last_known_elr", "adding", "removing", "offline_replicas"), nothing)
        return ClusterSnapshot(
            cluster_id="Generated-cluster",
            name="generated",
            taken_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
            source="kafka",
            partitions=_table(PARTITIONS, count, partitions),
            brokers=self._brokers(),
            log_dirs=self._log_dirs(),
            replicas=self._copies(names, ids),
            features={"metadata.version": 27},
        )

    def _brokers(self) -> Table:
        pairs = zip(self.brokers.tolist(), self.racks.tolist(), strict=True)
        rows = ({"broker": broker, "rack": f"rack-{rack}", "alive": True, "fenced": False} for broker, rack in pairs)
        return Table.from_rows(BROKERS, rows)

    def _log_dirs(self) -> Table:
        """Volumes half full on average."""
        used = np.zeros((len(self.brokers), len(DIRECTORIES)), np.int64)
        np.add.at(used, (self.replicas, self.directories), self.sizes[:, None])
        total = 2 * max(1, int(used.sum())) // used.size
        rows = (
            {
                "broker": broker,
                "path": path,
                "total_bytes": total,
                "usable_bytes": max(0, total - int(used[place, number])),
            }
            for place, broker in enumerate(self.brokers.tolist())
            for number, path in enumerate(DIRECTORIES)
        )
        return Table.from_rows(LOG_DIRS, rows)

    def _copies(self, names: tuple[str, ...], ids: Integers) -> Table:
        factor = ids.shape[1]
        known: dict[str, Column] = {
            "topic": StringColumn(np.repeat(self.topics, factor), names),
            "partition": IntColumn(np.repeat(self.numbers, factor)),
            "broker": IntColumn(ids.ravel()),
            "log_dir": StringColumn(self.directories.ravel(), DIRECTORIES),
            "size": IntColumn(np.repeat(self.sizes, factor)),
            "offset_lag": IntColumn(np.zeros(ids.size, np.int64)),
            "future": BoolColumn(np.zeros(ids.size, np.bool_)),
        }
        return _table(REPLICAS, ids.size, known)


def build_cluster(
    brokers: int = 1000, racks: int = 3, partitions: int = 200_000, factor: int = 3, empty: int = 0, seed: int = 1
) -> GeneratedCluster:
    """The cluster of that size; the same arguments give the same.

    Args:
        brokers: Number of brokers; they stand in the racks in turn.
        racks: Number of racks.
        partitions: Number of partitions, of about 50 to a topic.
        factor: Replicas of each partition.
        empty: Number of the last brokers, which hold nothing: they were added just now.
        seed: Draws all numbers.
    """
    random = np.random.default_rng(seed)
    topics = _topics(random, partitions)
    starts = np.flatnonzero(np.diff(topics, prepend=-1))
    numbers = np.arange(partitions) - np.repeat(starts, np.diff(starts, append=partitions))
    logs = random.normal(0.0, 1.2, int(topics[-1]) + 1)[topics] + random.normal(0.0, 0.4, partitions)
    sizes = (np.exp(logs) / np.exp(logs).mean() * MEAN_BYTES).astype(np.int64)
    rack = np.arange(brokers, dtype=np.int32) % racks
    replicas = _assignment(random, rack[: brokers - empty], racks, partitions, factor)
    directories = random.integers(0, len(DIRECTORIES), replicas.shape).astype(np.int32)
    return GeneratedCluster(np.arange(1, brokers + 1), rack, replicas, sizes, topics, numbers, directories)


def _topics(random: np.random.Generator, partitions: int) -> NDArray[np.int32]:
    """Few topics are large: their numbers of partitions follow a log-normal law."""
    count = max(1, partitions // 50)
    drawn = random.lognormal(0.0, 1.0, count)
    ends = np.floor(np.cumsum(drawn) / drawn.sum() * (partitions - count)).astype(np.int64) + np.arange(1, count + 1)
    ends[-1] = partitions
    return np.repeat(np.arange(count, dtype=np.int32), np.diff(ends, prepend=0))


def _assignment(
    random: np.random.Generator, rack: NDArray[np.int32], racks: int, partitions: int, factor: int
) -> NDArray[np.int32]:
    """Racks in random order, in each a random broker; where a rack has a further replica, the broker next to it."""
    order = np.argsort(random.random((partitions, racks)), axis=1)
    chosen = order[:, np.arange(factor) % racks]
    width = np.bincount(rack, minlength=racks)
    first = np.floor(random.random((partitions, racks)) * width).astype(np.int64)
    place = (np.take_along_axis(first, chosen, axis=1) + np.arange(factor) // racks) % width[chosen]
    return (place * racks + chosen).astype(np.int32)


def _table(schema: TableSchema, count: int, known: dict[str, Column]) -> Table:
    absent = {field.name: null_column(field.kind, count) for field in schema.fields if field.name not in known}
    return Table(schema, known | absent).sorted()
