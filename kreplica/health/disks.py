"""Log directories: free space of their volumes, their replicas, and when they will be full.

Kafka reports capacity and usable space of a directory's volume (KIP-827), not which directories share a volume: that
is guessed from equal numbers and always reported as a guess. A forecast takes two snapshots of one cluster and
draws a straight line through the usable space of each volume; from one snapshot there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import numpy as np

from kreplica.model.internal_topics import METADATA_TOPIC
from kreplica.model.settings import RETENTION_SETTINGS
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices, Mask, StringColumn
from kreplica.model.tables.table import Table


class Trend(StrEnum):
    """Trend of a volume between two snapshots; all but the first two mean that there is no forecast."""

    FILLING = "filling"
    NOT_GROWING = "not growing"
    OFFLINE = "offline"
    NOT_KNOWN = "capacity not known"
    RESIZED = "capacity changed"
    NEW = "not in the earlier snapshot"


class StrayReason(StrEnum):
    """Reasons why a replica on disk is not one of the cluster's."""

    NOT_ASSIGNED = "not assigned to this broker"
    UNKNOWN_PARTITION = "no such partition"
    UNKNOWN_TOPIC = "no such topic"


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth of one log directory between two snapshots.

    Args:
        since: Time of the earlier one.
        trend: The verdict.
        filled_bytes: Usable space that the volume lost meanwhile, for any reason; below 0 if it gained some.
        kafka_bytes: Growth of what Kafka stores in this directory.
        days_until_full: Usable space divided by its loss a day; None unless the volume is filling.
    """

    since: datetime
    trend: Trend
    filled_bytes: int | None = None
    kafka_bytes: int | None = None
    days_until_full: float | None = None


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One log directory.

    Args:
        broker: Broker id.
        path: Its path there.
        error: Kafka's error name if it is offline; its contents are then not known.
        total_bytes: Capacity of its volume; None before Kafka 3.3.
        usable_bytes: Usable space of its volume.
        kafka_bytes: Sum of the replicas in it, future ones included; None where it is offline.
        replicas: How many replicas are in it, strays and future ones included.
        strays: How many of these are strays.
        futures: How many of these are future replicas.
        volume: Number of its volume within the report: directories with the same number may share one.
        may_share_volume: Whether any other directory has that number.
        growth: None unless an earlier snapshot was given.
    """

    broker: int
    path: str
    error: str | None
    total_bytes: int | None
    usable_bytes: int | None
    kafka_bytes: int | None
    replicas: int | None
    strays: int | None
    futures: int | None
    volume: int
    may_share_volume: bool = False
    growth: Growth | None = None

    @property
    def usable_percent(self) -> float | None:
        """Usable part of the volume in percent."""
        if self.total_bytes is None or self.usable_bytes is None or self.total_bytes == 0:
            return None
        return 100 * self.usable_bytes / self.total_bytes


@dataclass(frozen=True, slots=True)
class StoredPartition:
    """One partition's size on disk.

    Args:
        topic: Topic name.
        partition: Partition index.
        bytes: Size of its largest copy.
        all_bytes: Sum of all copies in the report.
        brokers: Brokers with a copy, in order.
        retention: Settings of retention: name to value and origin; empty where not known.
    """

    topic: str
    partition: int
    bytes: int
    all_bytes: int
    brokers: tuple[int, ...]
    retention: Mapping[str, tuple[str | None, str]]


@dataclass(frozen=True, slots=True)
class Stray:
    """A replica on a broker's disk that the cluster's metadata does not place there."""

    topic: str
    partition: int
    broker: int
    log_dir: str
    bytes: int
    reason: StrayReason


@dataclass(frozen=True, slots=True)
class FutureReplica:
    """A replica being moved between log directories of one broker (KIP-113).

    Args:
        topic: Topic name.
        partition: Partition index.
        broker: Broker id.
        from_dir: Directory of the current replica; None where not known.
        to_dir: Directory of the future one.
        bytes: Size of the future one.
        of_bytes: Size of the current one.
        lag: Records that the future one lags behind the current one.
    """

    topic: str
    partition: int
    broker: int
    from_dir: str | None
    to_dir: str
    bytes: int
    of_bytes: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class DiskReport:
    """Log directories of a cluster and the replicas in them.

    Args:
        directories: By broker and path.
        largest: The largest partitions, the largest first.
        strays: In order of topic, partition, broker.
        futures: In order of topic, partition, broker.
        unlisted: Replicas of topics that are not listed while the credentials hide some: they may be strays or not.
    """

    directories: tuple[LogDirectory, ...]
    largest: tuple[StoredPartition, ...]
    strays: tuple[Stray, ...]
    futures: tuple[FutureReplica, ...]
    unlisted: int = 0

    @property
    def offline(self) -> tuple[LogDirectory, ...]:
        """Directories that are offline."""
        return tuple(directory for directory in self.directories if directory.error is not None)

    def volumes(self) -> list[LogDirectory]:
        """One directory of each volume whose capacity is known, for totals."""
        first: dict[int, LogDirectory] = {}
        for directory in self.directories:
            if directory.total_bytes is not None and directory.usable_bytes is not None:
                first.setdefault(directory.volume, directory)
        return list(first.values())


SECONDS_A_DAY = 86_400
_SAME_VOLUME = 1000
"""Usable space of one volume is read once for each directory, moments apart: it may differ by a thousandth of all."""


def disk_report(
    snapshot: ClusterSnapshot,
    *,
    brokers: Collection[int] = (),
    top: int = 10,
    earlier: ClusterSnapshot | None = None,
) -> DiskReport:
    """Judges the log directories of a snapshot.

    Args:
        snapshot: With the facets LOG_DIRS and, for retention, RETENTION.
        brokers: Only these; empty for all.
        top: Number of the largest partitions to name.
        earlier: The same cluster before, for growth.
    """
    stored = _Stored(snapshot, brokers)
    stray = stored.strays()
    hidden = any(gap.kind == "hidden-topics" for gap in snapshot.gaps)
    unlisted = stray & stored.of_unknown_topics() if hidden else np.zeros_like(stray)
    stray &= ~unlisted
    directories = _grouped_by_volume(snapshot, list(stored.directories(stray)))
    if earlier is not None:
        before = {(one.broker, one.path): one for one in _Stored(earlier, brokers).directories(None)}
        directories = [replace(one, growth=_growth(one, before, snapshot, earlier)) for one in directories]
    return DiskReport(
        tuple(directories),
        tuple(stored.largest(top)),
        tuple(stored.stray_rows(np.flatnonzero(stray))),
        tuple(stored.futures()),
        int(unlisted.sum()),
    )


class _Stored:
    """The replicas of a snapshot that lie on the chosen brokers, as arrays."""

    def __init__(self, snapshot: ClusterSnapshot, brokers: Collection[int]) -> None:
        self.snapshot = snapshot
        self.log_dirs = _of_brokers(snapshot.log_dirs, brokers)
        self.table = _of_brokers(snapshot.replicas, brokers)
        self.topics = self.table.strings("topic")
        self.dirs = self.table.strings("log_dir")
        self.partitions = self.table.integers("partition").values
        self.brokers = self.table.integers("broker").values
        self.sizes = self.table.integers("size").values
        self.future: Mask = self.table.booleans("future").is_true()
        self.known_topics = self._codes_of_listed_topics()

    def _codes_of_listed_topics(self) -> np.ndarray:
        """Each row's topic as its code in the partitions table, -1 where that has no such topic."""
        listed = self.snapshot.strings("topic")
        present = set(np.unique(listed.codes).tolist())
        codes = {topic: code for code, topic in enumerate(listed.dictionary) if code in present}
        by_dictionary = np.array([codes.get(topic, -1) for topic in self.topics.dictionary] or [-1], dtype=np.int64)
        codes_of_rows: np.ndarray = by_dictionary[self.topics.codes]
        return codes_of_rows

    def of_unknown_topics(self) -> Mask:
        """Rows whose topic the cluster does not list."""
        unknown: Mask = self.known_topics < 0
        return unknown

    def _keys(self, topics: np.ndarray, partitions: np.ndarray) -> np.ndarray:
        # A topic has fewer than 2^20 partitions by far, a cluster fewer than 2^40 topics.
        keys: np.ndarray = (topics.astype(np.int64) << 20) | partitions
        return keys

    def strays(self) -> Mask:
        """Rows that the assignment does not place on their broker."""
        replicas = self.snapshot.lists("replicas")
        rows = replicas.row_numbers()
        listed = self._keys(self.snapshot.strings("topic").codes, self.snapshot.integers("partition").values)
        ids = np.unique(np.concatenate([self.brokers, replicas.values]))  # ids may be large, their ranks are not
        assigned = listed[rows] * len(ids) + np.searchsorted(ids, replicas.values)
        found = self._keys(self.known_topics, self.partitions) * len(ids) + np.searchsorted(ids, self.brokers)
        metadata = [code for code, topic in enumerate(self.topics.dictionary) if topic == METADATA_TOPIC]
        stray: Mask = ~np.isin(found, assigned) & ~np.isin(self.topics.codes, metadata)
        return stray

    def directories(self, stray: Mask | None) -> Iterator[LogDirectory]:
        """Every directory with its contents; volumes are not distinguished yet."""
        for number, row in enumerate(self.log_dirs.rows()):
            broker, path = row["broker"], row["path"]
            assert isinstance(broker, int)
            assert isinstance(path, str)
            inside = (self.brokers == broker) & (self.dirs.codes == _code(self.dirs, path))
            online = row["error"] is None
            yield LogDirectory(
                broker,
                path,
                row["error"],  # type: ignore[arg-type]
                row["total_bytes"],  # type: ignore[arg-type]
                row["usable_bytes"],  # type: ignore[arg-type]
                kafka_bytes=int(self.sizes[inside].sum()) if online else None,
                replicas=int(inside.sum()) if online else None,
                strays=int((inside & stray).sum()) if online and stray is not None else None,
                futures=int((inside & self.future).sum()) if online else None,
                volume=number,
            )

    def largest(self, top: int) -> Iterator[StoredPartition]:
        """The partitions with the largest single copies."""
        keys = self._keys(self.topics.codes, self.partitions)
        first, inverse = np.unique(keys, return_index=True, return_inverse=True)[1:]
        most = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(most, inverse, self.sizes)
        whole = np.bincount(inverse, weights=self.sizes, minlength=len(first)).astype(np.int64)
        order = np.lexsort((first, -most))[:top]  # rows are sorted by topic and partition, so first is their order
        topics = {self.topics[int(first[group])] for group in order}
        retention = _retention(self.snapshot, topics)
        for group in order.tolist():
            row = int(first[group])
            topic = str(self.topics[row])
            holders = tuple(np.unique(self.brokers[inverse == group]).tolist())
            sizes = int(most[group]), int(whole[group])
            yield StoredPartition(topic, int(self.partitions[row]), *sizes, holders, retention.get(topic, {}))

    def stray_rows(self, rows: Indices) -> Iterator[Stray]:
        """The strays among the rows, each with its reason."""
        listed = self._keys(self.snapshot.strings("topic").codes, self.snapshot.integers("partition").values)
        exists = np.isin(self._keys(self.known_topics, self.partitions), listed)
        for row in rows.tolist():
            reason = StrayReason.NOT_ASSIGNED if exists[row] else StrayReason.UNKNOWN_PARTITION
            if self.known_topics[row] < 0:
                reason = StrayReason.UNKNOWN_TOPIC
            place = str(self.topics[row]), int(self.partitions[row]), int(self.brokers[row]), str(self.dirs[row])
            yield Stray(*place, int(self.sizes[row]), reason)

    def futures(self) -> Iterator[FutureReplica]:
        """Every future replica beside the current one that it will replace."""
        lags = self.table.integers("offset_lag")
        for row in np.flatnonzero(self.future).tolist():
            same = (self.topics.codes == self.topics.codes[row]) & (self.partitions == self.partitions[row])
            current = np.flatnonzero(same & (self.brokers == self.brokers[row]) & ~self.future)
            origin = int(current[0]) if len(current) else None
            yield FutureReplica(
                str(self.topics[row]),
                int(self.partitions[row]),
                int(self.brokers[row]),
                None if origin is None else self.dirs[origin],
                str(self.dirs[row]),
                int(self.sizes[row]),
                None if origin is None else int(self.sizes[origin]),
                lags[row],
            )


def _growth(
    now: LogDirectory,
    earlier: Mapping[tuple[int, str], LogDirectory],
    snapshot: ClusterSnapshot,
    before: ClusterSnapshot,
) -> Growth:
    then = earlier.get((now.broker, now.path))
    if then is None:
        return Growth(before.taken_at, Trend.NEW)
    if now.error is not None or then.error is not None:
        return Growth(before.taken_at, Trend.OFFLINE)
    assert now.kafka_bytes is not None
    assert then.kafka_bytes is not None
    kafka = now.kafka_bytes - then.kafka_bytes
    if now.usable_bytes is None or then.usable_bytes is None:
        return Growth(before.taken_at, Trend.NOT_KNOWN, kafka_bytes=kafka)
    if now.total_bytes != then.total_bytes:
        return Growth(before.taken_at, Trend.RESIZED, kafka_bytes=kafka)
    filled = then.usable_bytes - now.usable_bytes
    if filled <= 0:
        return Growth(before.taken_at, Trend.NOT_GROWING, filled, kafka)
    days = (snapshot.taken_at - before.taken_at).total_seconds() / SECONDS_A_DAY
    return Growth(before.taken_at, Trend.FILLING, filled, kafka, now.usable_bytes * days / filled)


def _grouped_by_volume(snapshot: ClusterSnapshot, directories: Sequence[LogDirectory]) -> list[LogDirectory]:
    """Gives directories of one host with the same capacity and usable space the same volume number."""
    hosts = {row["broker"]: row["host"] for row in snapshot.brokers.rows()}
    volume = {number: number for number in range(len(directories))}
    for number, one in enumerate(directories):
        for other in range(number):
            if _may_share(one, directories[other], hosts):
                volume[number] = volume[other]
                break
    numbers = list(volume.values())
    return [
        replace(one, volume=number, may_share_volume=numbers.count(number) > 1)
        for one, number in zip(directories, numbers, strict=True)
    ]


def _may_share(one: LogDirectory, other: LogDirectory, hosts: Mapping[object, object]) -> bool:
    same_host = one.broker == other.broker or (
        hosts.get(one.broker) is not None and hosts.get(one.broker) == hosts.get(other.broker)
    )
    if not same_host or one.total_bytes is None or one.total_bytes != other.total_bytes:
        return False
    if one.usable_bytes is None or other.usable_bytes is None:
        return False
    return abs(one.usable_bytes - other.usable_bytes) * _SAME_VOLUME <= one.total_bytes


def _retention(
    snapshot: ClusterSnapshot, topics: Collection[str | None]
) -> dict[str, dict[str, tuple[str | None, str]]]:
    found: dict[str, dict[str, tuple[str | None, str]]] = {}
    configs = snapshot.configs
    names, entities = configs.strings("name"), configs.strings("entity")
    kept = np.isin(names.codes, [_code(names, name) for name in RETENTION_SETTINGS])
    kept &= np.isin(entities.codes, [_code(entities, topic) for topic in topics if topic is not None])
    for row in configs.take(np.flatnonzero(kept)).rows():
        if row["entity_type"] == "topic":
            found.setdefault(str(row["entity"]), {})[str(row["name"])] = (row["value"], str(row["origin"]))  # type: ignore[assignment]
    return found


def _of_brokers(table: Table, brokers: Collection[int]) -> Table:
    if not brokers:
        return table
    return table.take(np.flatnonzero(np.isin(table.integers("broker").values, list(brokers))))


def _code(column: StringColumn, text: str) -> int:
    return column.dictionary.index(text) if text in column.dictionary else -2
