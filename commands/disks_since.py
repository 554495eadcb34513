"""Finds the earlier snapshot that ``kreplica disks --since`` means."""

from __future__ import annotations

from pathlib import Path

from commands.moments import parse_moment
from commands.screen import utc
from kreplica.errors import InputError, UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dump import read_dump
from kreplica.store.reading import list_manifests, read_dump_directory, read_snapshot_files


def earlier_snapshot(since: str, dump: str | None, now: ClusterSnapshot) -> ClusterSnapshot:
    """The same cluster at an earlier time.

    Args:
        since: A manifest or a dump directory; or, where ``dump`` is a directory, a moment.
        dump: What ``--dump`` named.
        now: The snapshot to compare with.

    Raises:
        UsageError: There is none, it is of another cluster, not earlier, or knows no log directories.
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
