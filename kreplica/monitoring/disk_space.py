"""Log directories of clusters, several at once: space, growth since an earlier snapshot, and limits of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Struct, structs

from kreplica.errors import ExitCode, UsageError
from kreplica.health.disks import DiskReport, LogDirectory, Trend, disk_report
from kreplica.health.gates import gate_code
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.wording.words import are, counted, named
from kreplica.monitoring.clusters import Reading, read_clusters, select_each
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

LOW_PERCENT = 10
"""A volume with less usable is nearly full."""
SOON_DAYS = 7
"""A volume that is full sooner fills up soon."""

EarlierOf: TypeAlias = Callable[[ClusterSnapshot], ClusterSnapshot | None]


class LogDirRow(Struct, frozen=True):
    """A log directory, with its growth where there is an earlier snapshot."""

    broker: Annotated[Int32, Meaning("broker id")]
    path: Annotated[str, Meaning("log directory on that broker")]
    error: Annotated[str | None, Meaning("Kafka's error name if the directory is offline; null if it is online")]
    total_bytes: Annotated[
        int | None, Meaning("capacity of its volume; null before Kafka 3.3 and where it is offline (KIP-827)")
    ]
    usable_bytes: Annotated[int | None, Meaning("usable space of its volume (KIP-827)")]
    usable_percent: Annotated[float | None, Meaning("usable space in percent of the capacity")]
    kafka_bytes: Annotated[
        int | None, Meaning("sum of the replicas in it, future ones included; null where it is offline")
    ]
    replicas: Annotated[int | None, Meaning("how many replicas are in it, strays and future ones included")]
    strays: Annotated[int | None, Meaning("how many of them the cluster does not place on this broker")]
    futures: Annotated[int | None, Meaning("how many of them are copies within the broker under way (KIP-113)")]
    may_share_volume: Annotated[
        bool, Meaning("another directory of the same host has the same capacity and usable space, to a thousandth")
    ]
    since: Annotated[str | None, Meaning("time of the earlier snapshot; null without one")] = None
    filled_bytes: Annotated[
        int | None,
        Meaning("usable space that the volume lost since, by whatever was written; below 0 if it gained some"),
    ] = None
    kafka_growth_bytes: Annotated[int | None, Meaning("growth of kafka_bytes since")] = None
    trend: Annotated[
        Trend | None, Meaning("filling, not growing, or why there is no forecast; null without an earlier snapshot")
    ] = None
    days_until_full: Annotated[
        float | None,
        Meaning("usable_bytes divided by filled_bytes a day; null unless the volume is filling"),
    ] = None


@dataclass(frozen=True, slots=True)
class DiskLimits:
    """Least usable percent of a volume, and least days until it is full; each None if not given."""

    usable_percent: float | None = None
    days: float | None = None

    @property
    def given(self) -> bool:
        """True if there is any limit."""
        return self.usable_percent is not None or self.days is not None

    def broken(self, one: LogDirectory) -> bool:
        """True if a directory breaks a limit, or a limit is given and the directory is offline."""
        if one.error is not None:
            return self.given
        percent, days = one.usable_percent, None if one.growth is None else one.growth.days_until_full
        low = self.usable_percent is not None and percent is not None and percent < self.usable_percent
        return low or (self.days is not None and days is not None and days < self.days)

    def undecided(self, one: LogDirectory) -> bool:
        """True if a fact that a limit needs is not known."""
        if one.error is not None:
            return False
        if self.usable_percent is not None and one.usable_percent is None:
            return True
        return self.days is not None and (one.growth is None or one.growth.trend not in _FORECAST)


_FORECAST = (Trend.FILLING, Trend.NOT_GROWING)


NO_LIMITS = DiskLimits()


@dataclass(frozen=True, slots=True)
class ClusterDisks:
    """One cluster's disks.

    Args:
        snapshot: The cluster.
        report: Findings on its log directories.
        unknown: Brokers whose log directories are not known.
        earlier: The snapshot to compare with, None without one.
    """

    snapshot: ClusterSnapshot
    report: DiskReport
    unknown: tuple[int, ...]
    earlier: ClusterSnapshot | None

    @property
    def incomplete(self) -> bool:
        """True if the cluster may have more than is shown."""
        return bool(self.unknown or self.snapshot.gaps or not self.report.directories)

    @property
    def nearly_full(self) -> list[LogDirectory]:
        """Directories of volumes with little usable space."""
        return [
            one
            for one in self.report.directories
            if one.usable_percent is not None and one.usable_percent < LOW_PERCENT
        ]

    @property
    def filling(self) -> list[LogDirectory]:
        """Directories of volumes that are full soon."""
        days = [(one, None if one.growth is None else one.growth.days_until_full) for one in self.report.directories]
        return [one for one, left in days if left is not None and left < SOON_DAYS]

    @property
    def rows(self) -> list[LogDirRow]:
        """A row for each log directory."""
        return [_row(one, self.earlier) for one in self.report.directories]


@dataclass(frozen=True, slots=True)
class DisksOfClusters:
    """The disks of several clusters.

    Args:
        reading: The clusters as read.
        clusters: Those that could be read.
        limits: Limits that were given.
        remarks: Facts that cannot be known, one clause each.
    """

    reading: Reading
    clusters: Sequence[ClusterDisks]
    limits: DiskLimits
    remarks: Sequence[str]

    @property
    def rows(self) -> list[LogDirRow]:
        """A row for each log directory of all clusters."""
        return [row for cluster in self.clusters for row in cluster.rows]

    def nearly_full(self, cluster: ClusterDisks) -> list[LogDirectory]:
        """The directories of one cluster with little usable space; none where a limit was given for it."""
        return cluster.nearly_full if self.limits.usable_percent is None else []

    def filling(self, cluster: ClusterDisks) -> list[LogDirectory]:
        """The directories of one cluster that are full soon; none where a limit was given for it."""
        return cluster.filling if self.limits.days is None else []

    def broken(self, cluster: ClusterDisks) -> list[LogDirectory]:
        """The directories of one cluster that break a limit."""
        return [one for one in cluster.report.directories if self.limits.broken(one)]

    def undecided(self, cluster: ClusterDisks) -> bool:
        """True if a limit was given for a fact that is not known."""
        return any(self.limits.undecided(one) for one in cluster.report.directories)

    @property
    def exit_code(self) -> ExitCode:
        """1 where a directory is offline, short of room or below a limit, 5 where not all is known."""
        trouble = any(
            cluster.report.offline or self.nearly_full(cluster) or self.filling(cluster) or self.broken(cluster)
            for cluster in self.clusters
        )
        unknown = [cluster for cluster in self.clusters if cluster.incomplete or self.undecided(cluster)]
        return gate_code(trouble, [*self.reading.failures, *unknown])

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, and facts that cannot be known."""
        return [*self.reading.warnings(), *self.remarks]


def disks(
    handles: Sequence[ClusterHandle],
    brokers: Sequence[int] = (),
    *,
    top: int = 10,
    earlier_of: EarlierOf | None = None,
    limits: DiskLimits = NO_LIMITS,
) -> DisksOfClusters:
    """Reads clusters and judges their log directories.

    Args:
        handles: The clusters.
        brokers: Only log directories of these brokers; all if empty.
        top: Number of largest partitions.
        earlier_of: Gives an earlier snapshot of a cluster, for growth; None for none.
        limits: Limits that count as findings.

    Raises:
        KreplicaError: No cluster could be read, or the only one has no earlier snapshot.
        UsageError: A cluster is of a history, which holds no sizes.
    """
    reading = read_clusters(handles, Facet.LOG_DIRS | Facet.RETENTION)
    _, remarks = select_each(reading.snapshots, brokers=brokers)
    clusters = []
    for snapshot in reading.snapshots:
        _refuse_without_sizes(snapshot)
        earlier = _earlier(earlier_of, snapshot, reading, remarks)
        report = disk_report(snapshot, brokers=brokers, top=top, earlier=earlier)
        clusters.append(ClusterDisks(snapshot, report, _unknown(snapshot, report, brokers), earlier))
    for one in clusters:
        remarks += [f"{one.snapshot.name}: {text}" if reading.several else text for text in _said(one)]
    return DisksOfClusters(reading, clusters, limits, remarks)


def _refuse_without_sizes(snapshot: ClusterSnapshot) -> None:
    if not snapshot.measured and len(snapshot.log_dirs):
        why = "a history holds no sizes, nor what stands in a log directory"
        raise UsageError(f"nothing tells what the log directories of {snapshot.name} hold", why, "name a snapshot")


def _earlier(
    earlier_of: EarlierOf | None, snapshot: ClusterSnapshot, reading: Reading, remarks: list[str]
) -> ClusterSnapshot | None:
    if earlier_of is None:
        return None
    try:
        return earlier_of(snapshot)
    except UsageError as error:
        if not reading.several:
            raise
        remarks.append(f"{snapshot.name}: {error}")
        return None


def _unknown(snapshot: ClusterSnapshot, report: DiskReport, brokers: Sequence[int]) -> tuple[int, ...]:
    told = {directory.broker for directory in report.directories}
    ids = [row["broker"] for row in snapshot.brokers.rows() if not brokers or row["broker"] in brokers]
    return tuple(broker for broker in ids if isinstance(broker, int) and broker not in told)


def _said(view: ClusterDisks) -> list[str]:
    """Remarks on facts that cannot be known."""
    said = []
    if view.unknown:
        said.append(f"log directories of {named('broker', view.unknown)} are not known")
    elif not view.report.directories:
        said.append(f"no log directory is known: {view.snapshot.source} does not tell")
    if view.report.unlisted:
        replicas = f"{counted(view.report.unlisted, 'replica')} {are(view.report.unlisted)}"
        said.append(f"{replicas} of topics that are not listed: hidden ones, or strays")
    return said


def _row(one: LogDirectory, earlier: ClusterSnapshot | None) -> LogDirRow:
    percent = one.usable_percent
    row = LogDirRow(
        broker=one.broker,
        path=one.path,
        error=one.error,
        total_bytes=one.total_bytes,
        usable_bytes=one.usable_bytes,
        usable_percent=None if percent is None else round(percent, 2),
        kafka_bytes=one.kafka_bytes,
        replicas=one.replicas,
        strays=one.strays,
        futures=one.futures,
        may_share_volume=one.may_share_volume,
        since=None if earlier is None else earlier.taken_at.isoformat(),
    )
    growth = one.growth
    if growth is None:
        return row
    days = growth.days_until_full
    return structs.replace(
        row,
        filled_bytes=growth.filled_bytes,
        kafka_growth_bytes=growth.kafka_bytes,
        trend=growth.trend,
        days_until_full=None if days is None else round(days, 3),
    )
