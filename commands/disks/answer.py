"""The answer of disks: rows, summary and exit code.

Also finds the earlier snapshot that ``kreplica disks --since`` means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from commands.disks.row import LogDirRow
from commands.shared.options import SourceOptions
from commands.shared.printing.output import Answer, cluster_object
from commands.shared.printing.screen import utc
from commands.shared.values import parse_moment
from kreplica.errors import InputError, UsageError
from kreplica.health.disks import (
    DiskReport,
    FutureReplica,
    LogDirectory,
    StoredPartition,
    Stray,
    Trend,
    disk_report,
)
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.words import named
from kreplica.monitoring.clusters import Reading, read_clusters, select_each
from kreplica.sources import Facet
from kreplica.sources.dumps.dump import read_dump
from kreplica.store.reading import list_manifests, read_dump_directory, read_snapshot_files


def earlier_snapshot(since: str, dump: str | None, now: ClusterSnapshot) -> ClusterSnapshot:
    """The same cluster at an earlier time.

    Args:
        since: A manifest or a dump directory; or, where ``dump`` is a directory, a moment.
        dump: What ``--dump`` named.
        now: The snapshot to compare with.

    Raises:
        UsageError: There is none, or it is of another cluster, not earlier, or without log directories.
    """
    if Path(since).exists():
        earlier = _oldest(since, now) if Path(since).is_dir() else read_dump(since)
    elif dump is not None and Path(dump).is_dir():
        earlier = read_dump_directory(dump, now.label, parse_moment(since, "--since"))
    else:
        fix = "name a dump directory or a manifest; a moment such as 7d needs --dump DIR"
        raise UsageError(f"--since {since}: there is no such file or directory", "", fix)
    _check(since, earlier, now)
    return earlier


def _oldest(directory: str, now: ClusterSnapshot) -> ClusterSnapshot:
    for manifest in list_manifests([directory]).manifests:
        if manifest.snapshot.label == now.label:
            return read_snapshot_files(manifest)
    raise InputError(directory, "", f"no snapshot of cluster {now.label} is in it", "take one: kreplica snapshot")


def _check(since: str, earlier: ClusterSnapshot, now: ClusterSnapshot) -> None:
    if earlier.label != now.label:
        raise UsageError(f"--since {since} is another cluster", f"{earlier.label}, and this is {now.label}")
    if earlier.taken_at >= now.taken_at:
        taken = utc(earlier.taken_at)
        raise UsageError(f"--since {since} is not earlier", f"it was taken at {taken}", "name an older snapshot")
    if not len(earlier.log_dirs):
        raise UsageError(f"--since {since} knows no log directories", f"it was read from {earlier.source}")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that make the command a gate, each None if not given."""

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


@dataclass(frozen=True, slots=True)
class DiskView:
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


@dataclass(frozen=True, slots=True)
class DiskAnswer:
    """The answer, and further values for the screen and the exit code."""

    answer: Answer
    views: Sequence[DiskView]
    reading: Reading
    limits: Limits
    brokers: tuple[int, ...]

    def broken(self, view: DiskView) -> list[LogDirectory]:
        """The directories of one cluster that break a limit."""
        return [one for one in view.report.directories if self.limits.broken(one)]

    def undecided(self, view: DiskView) -> bool:
        """True if a limit was given for a fact that is not known."""
        return any(self.limits.undecided(one) for one in view.report.directories)


def answer(sources: SourceOptions, brokers: tuple[int, ...], top: int, since: str | None, limits: Limits) -> DiskAnswer:
    """Reads the clusters and judges their disks.

    Args:
        sources: The clusters.
        brokers: Only log directories of these brokers; all if empty.
        top: Number of largest partitions.
        since: The earlier snapshot, as ``--since`` names it; None without one.
        limits: Limits of the gate.

    Raises:
        KreplicaError: No cluster could be read, or the options name something that does not exist.
    """
    reading = read_clusters(sources.handles(), Facet.LOG_DIRS | Facet.RETENTION)
    _, remarks = select_each(reading.snapshots, brokers=brokers)
    views = []
    for snapshot in reading.snapshots:
        earlier = _earlier(since, sources.dump, snapshot, reading, remarks)
        report = disk_report(snapshot, brokers=brokers, top=top, earlier=earlier)
        views.append(DiskView(snapshot, report, _unknown(snapshot, report, brokers), earlier))
    remarks += [f"{view.snapshot.name}: {text}" if reading.several else text for view in views for text in _said(view)]
    document = Answer(
        command="disks",
        rows_name="log_dirs",
        columns=LogDirRow,
        rows=[_row(one, view.earlier) for view in views for one in view.report.directories],
        clusters=[cluster_object(view.snapshot) for view in views],
        summary=_summary(views, reading),
        warnings=[*reading.warnings(), *remarks],
        row_clusters=reading.row_clusters((view.snapshot, view.report.directories) for view in views),
    )
    return DiskAnswer(document, views, reading, limits, brokers)


def _earlier(
    since: str | None, dump: str | None, snapshot: ClusterSnapshot, reading: Reading, remarks: list[str]
) -> ClusterSnapshot | None:
    if since is None:
        return None
    try:
        return earlier_snapshot(since, dump, snapshot)
    except UsageError as error:
        if not reading.several:
            raise
        remarks.append(f"{snapshot.name}: {error}")
        return None


def _unknown(snapshot: ClusterSnapshot, report: DiskReport, brokers: Sequence[int]) -> tuple[int, ...]:
    told = {directory.broker for directory in report.directories}
    ids = [row["broker"] for row in snapshot.brokers.rows() if not brokers or row["broker"] in brokers]
    return tuple(broker for broker in ids if isinstance(broker, int) and broker not in told)


def _said(view: DiskView) -> list[str]:
    """Remarks on facts that cannot be known."""
    said = []
    if view.unknown:
        said.append(f"log directories of {named('broker', view.unknown)} are not known")
    elif not view.report.directories:
        said.append(f"no log directory is known: {view.snapshot.source} does not tell")
    if view.report.unlisted:
        said.append(f"{view.report.unlisted} replicas are of topics that are not listed: hidden ones, or strays")
    return said


def _named(view: DiskView, reading: Reading) -> dict[str, object]:
    return {"cluster": view.snapshot.label} if reading.several else {}


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


def _summary(views: Sequence[DiskView], reading: Reading) -> dict[str, object]:
    directories = [one for view in views for one in view.report.directories]
    volumes = [one for view in views for one in view.report.volumes()]
    return {
        "log_dirs": len(directories),
        "offline": sum(one.error is not None for one in directories),
        "total_bytes": sum(one.total_bytes or 0 for one in volumes) if volumes else None,
        "usable_bytes": sum(one.usable_bytes or 0 for one in volumes) if volumes else None,
        "kafka_bytes": sum(one.kafka_bytes or 0 for one in directories),
        "volumes": len(volumes),
        "brokers_not_known": [broker for view in views for broker in view.unknown],
        "unlisted_replicas": sum(view.report.unlisted for view in views),
        "largest": [_named(view, reading) | largest_row(one) for view in views for one in view.report.largest],
        "strays": [_named(view, reading) | stray_row(one) for view in views for one in view.report.strays],
        "futures": [_named(view, reading) | future_row(one) for view in views for one in view.report.futures],
    }


def largest_row(one: StoredPartition) -> dict[str, object]:
    """A large partition as an object of the summary."""
    retention: Mapping[str, object] = {
        name: {"value": value, "origin": origin} for name, (value, origin) in one.retention.items()
    }
    return {
        "topic": one.topic,
        "partition": one.partition,
        "bytes": one.bytes,
        "all_bytes": one.all_bytes,
        "brokers": list(one.brokers),
        "retention": retention,
    }


def stray_row(one: Stray) -> dict[str, object]:
    """A stray replica as an object of the summary."""
    return {
        "topic": one.topic,
        "partition": one.partition,
        "broker": one.broker,
        "log_dir": one.log_dir,
        "bytes": one.bytes,
        "reason": one.reason.value,
    }


def future_row(one: FutureReplica) -> dict[str, object]:
    """A future replica as an object of the summary."""
    return {
        "topic": one.topic,
        "partition": one.partition,
        "broker": one.broker,
        "from_dir": one.from_dir,
        "to_dir": one.to_dir,
        "bytes": one.bytes,
        "of_bytes": one.of_bytes,
        "lag": one.lag,
    }
