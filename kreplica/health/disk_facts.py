"""What is told of log directories, their volumes and the replicas in them; ``disks`` finds it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Trend(StrEnum):
    """What two snapshots say about a volume; all but the first two mean that there is no forecast."""

    FILLING = "filling"
    NOT_GROWING = "not growing"
    OFFLINE = "offline"
    NOT_KNOWN = "capacity not known"
    RESIZED = "capacity changed"
    NEW = "not in the earlier snapshot"


class StrayReason(StrEnum):
    """Why a replica on disk is not one of the cluster's."""

    NOT_ASSIGNED = "not assigned to this broker"
    UNKNOWN_PARTITION = "no such partition"
    UNKNOWN_TOPIC = "no such topic"


@dataclass(frozen=True, slots=True)
class Growth:
    """What became of one log directory between two snapshots.

    Args:
        since: Time of the earlier one.
        trend: The verdict.
        filled_bytes: Usable space that the volume lost meanwhile, by whatever was written; below 0 if it gained some.
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
        error: Kafka's error name if it is offline; what lies in it is then not known.
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
    """One partition by what it takes on disk.

    Args:
        topic: Topic name.
        partition: Partition index.
        bytes: Size of its largest copy.
        all_bytes: Sum of all copies in the report.
        brokers: Who holds a copy, in order.
        retention: Settings that decide how much stays: name to value and origin; empty where not known.
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
    """A copy within one broker under way (KIP-113).

    Args:
        topic: Topic name.
        partition: Partition index.
        broker: Broker id.
        from_dir: Where the current replica lies; None where that is not known.
        to_dir: Where the future one grows.
        bytes: Size of the future one.
        of_bytes: Size of the current one.
        lag: Records that the future one is behind the current one.
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
    """What is known of a cluster's disks.

    Args:
        directories: By broker and path.
        largest: The largest partitions, the largest first.
        strays: In order of topic, partition, broker.
        futures: In order of topic, partition, broker.
        unlisted: Replicas of topics that are not listed while the credentials hide some: strays or not, nobody knows.
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
        """One directory of each volume whose capacity is known: what totals are summed over."""
        first: dict[int, LogDirectory] = {}
        for directory in self.directories:
            if directory.total_bytes is not None and directory.usable_bytes is not None:
                first.setdefault(directory.volume, directory)
        return list(first.values())
