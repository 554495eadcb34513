"""The answer of disks: rows, summary and exit code.

Also finds the earlier snapshot that ``kreplica disks --since`` means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from commands.shared.options.common import SourceOptions
from commands.shared.printing.output import Answer, cluster_object
from commands.shared.printing.screen import utc
from commands.shared.values import parse_moment
from kreplica.errors import InputError, UsageError
from kreplica.health.disks import StoredPartition
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.monitoring.clusters import Reading
from kreplica.monitoring.disk_space import ClusterDisks, DiskLimits, DisksOfClusters, LogDirRow, disks
from kreplica.sources.dumps.dump import read_dump
from kreplica.store.reading import list_manifests, read_dump_directory, read_snapshot_files
from kreplica.system.stores.locations import is_folder, place_of


def earlier_snapshot(since: str, dump: str | None, now: ClusterSnapshot) -> ClusterSnapshot:
    """The same cluster at an earlier time.

    Args:
        since: A manifest or a dump directory; or, where ``dump`` is a directory, a moment.
        dump: What ``--dump`` named.
        now: The snapshot to compare with.

    Raises:
        UsageError: There is none, or it is of another cluster, not earlier, or without log directories.
    """
    if "://" in since or Path(since).exists():
        earlier = _oldest(since, now) if is_folder(place_of(since)) else read_dump(since)
    elif dump is not None and is_folder(place_of(dump)):
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
class DiskAnswer:
    """The answer, and further values for the screen and the exit code."""

    answer: Answer[LogDirRow]
    found: DisksOfClusters
    brokers: tuple[int, ...]

    @property
    def views(self) -> Sequence[ClusterDisks]:
        """The clusters."""
        return self.found.clusters


def answer(
    sources: SourceOptions, brokers: tuple[int, ...], top: int, since: str | None, limits: DiskLimits
) -> DiskAnswer:
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

    def earlier_of(snapshot: ClusterSnapshot) -> ClusterSnapshot | None:
        return None if since is None else earlier_snapshot(since, sources.dump, snapshot)

    found = disks(sources.handles(), brokers, top=top, earlier_of=earlier_of, limits=limits)
    document = Answer(
        command="disks",
        rows_name="log_dirs",
        columns=LogDirRow,
        rows=found.rows,
        clusters=[cluster_object(one.snapshot) for one in found.clusters],
        summary=_summary(found.clusters, found.reading),
        warnings=found.warnings,
        row_clusters=found.reading.row_clusters((one.snapshot, one.report.directories) for one in found.clusters),
    )
    return DiskAnswer(document, found, brokers)


def _cluster_columns(view: ClusterDisks, reading: Reading) -> dict[str, object]:
    return {"cluster": view.snapshot.label} if reading.several else {}


def _summary(views: Sequence[ClusterDisks], reading: Reading) -> dict[str, object]:
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
        "largest": [
            _cluster_columns(view, reading) | largest_row(one) for view in views for one in view.report.largest
        ],
        "strays": [_cluster_columns(view, reading) | to_builtins(one) for view in views for one in view.report.strays],
        "futures": [
            _cluster_columns(view, reading) | to_builtins(one) for view in views for one in view.report.futures
        ],
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
