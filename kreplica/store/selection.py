"""The snapshots that an audit reads: found by their manifests, filtered, checked file by file. No Spark in here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from kreplica.errors import InputError, KreplicaError
from kreplica.model.snapshot import Gap
from kreplica.store.layout import MANIFESTS
from kreplica.store.manifest import Manifest
from kreplica.store.orphans import find_orphans
from kreplica.store.reading import ManifestListing, list_manifests
from kreplica.store.verification import FileProblem, problems_of
from kreplica.system.guard import attempt
from kreplica.system.pool import all_results

CHECKERS = 8


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """One whole snapshot and the files an audit reads of it.

    Args:
        cluster: Cluster id, or name where the id is not known.
        cluster_id: None where not known.
        name: The user's name for it.
        source: The source it was read by.
        taken_at: UTC.
        gaps: Facts that the source should have reported and did not.
        partitions: Absolute path; None if the cluster has no partition.
        brokers: Absolute path; None if the source knows no broker.
        partition_rows: Number of partitions.
        broker_rows: Number of brokers.
    """

    cluster: str
    cluster_id: str | None
    name: str
    source: str
    taken_at: datetime
    gaps: tuple[Gap, ...]
    partitions: str | None
    brokers: str | None
    partition_rows: int
    broker_rows: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filter for the snapshots of dump directories.

    Args:
        clusters: Patterns (``prod-*``) for cluster ids or names; none means all.
        since: Only snapshots taken then or later.
        until: Only snapshots taken then or earlier.
    """

    clusters: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def takes(self, manifest: Manifest) -> bool:
        """True if the snapshot passes the filter."""
        facts = manifest.snapshot
        if self.since is not None and facts.taken_at < self.since:
            return False
        if self.until is not None and facts.taken_at > self.until:
            return False
        names = [facts.label, facts.name]
        return not self.clusters or any(fnmatchcase(name, pattern) for name in names for pattern in self.clusters)


@dataclass(frozen=True, slots=True)
class Selection:
    """The snapshots to read, and the problems of the others.

    Args:
        snapshots: Whole snapshots by cluster and time.
        damaged: Manifests and data files that cannot be read, or are not what their manifest says; their snapshots are
            left out.
        orphans: Files and directories that belong to no snapshot; the answer uses none of them.
        left_out: Snapshots that are left out because of damaged files.
        repeated: Snapshots that are there more than once and are read once.
        filtered: Snapshots that were not wanted.
    """

    snapshots: tuple[SnapshotFiles, ...]
    damaged: tuple[FileProblem, ...]
    orphans: tuple[FileProblem, ...]
    left_out: int
    repeated: int
    filtered: int


def select_snapshots(paths: Iterable[Path], wanted: Wanted) -> Selection:
    """Finds the snapshots under some directories and checks their files.

    Args:
        paths: Dump directories, or directories of dump directories.
        wanted: Which of their snapshots.

    Raises:
        InputError: A path is not there.
    """
    directories = dump_directories(paths)
    listing = list_manifests(directories)
    orphans = find_orphans(directories, listing)
    chosen = [manifest for manifest in listing.manifests if wanted.takes(manifest)]
    distinct = _distinct(chosen)
    checks = [partial(_problems_of, manifest) for manifest in distinct]
    found = all_results(checks, min(CHECKERS, (os.cpu_count() or 1) + 2))
    whole = [_files(manifest) for manifest, problems in zip(distinct, found, strict=True) if not problems]
    damaged = [FileProblem(str(item.path), item.reason) for item in _damaged_manifests(listing)]
    return Selection(
        snapshots=tuple(sorted(whole, key=lambda item: (item.cluster, item.taken_at, item.partitions or ""))),
        damaged=(*damaged, *(problem for problems in found for problem in problems)),
        orphans=orphans,
        left_out=len(distinct) - len(whole),
        repeated=len(chosen) - len(distinct),
        filtered=len(listing.manifests) - len(chosen),
    )


def _problems_of(manifest: Manifest) -> list[FileProblem]:
    found = attempt(lambda: problems_of(manifest))
    return [FileProblem(str(manifest.path), str(found))] if isinstance(found, KreplicaError) else found


def dump_directories(paths: Iterable[Path]) -> Sequence[Path]:
    """The dump directories among some directories and right below them, each once.

    Raises:
        InputError: A path is no directory.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            reason = "not a directory" if path.exists() else "there is no such directory"
            raise InputError(str(path), "", reason, "name a directory that kreplica snapshot wrote")
        inner = [] if (path / MANIFESTS).is_dir() else sorted(item for item in path.iterdir() if item.is_dir())
        dumps = [item for item in inner if (item / MANIFESTS).is_dir()]
        found += dumps or [path]
    return list(dict.fromkeys(item.absolute() for item in found))


def _damaged_manifests(listing: ManifestListing) -> list[FileProblem]:
    """Unreadable manifests. A directory without one is an orphan, not damaged: it may never have held a snapshot."""
    return [FileProblem(str(item.path), item.reason) for item in listing.problems if not item.path.is_dir()]


def _distinct(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Each snapshot once: a dump directory and its copy hold the same ones."""
    known: dict[object, Manifest] = {}
    for manifest in manifests:
        contents = tuple(sorted((file.table, file.sha256) for file in manifest.files))
        known.setdefault((manifest.snapshot.label, manifest.snapshot.taken_at, contents), manifest)
    return list(known.values())


def _files(manifest: Manifest) -> SnapshotFiles:
    facts = manifest.snapshot
    partitions, brokers = manifest.file("partitions"), manifest.file("brokers")
    return SnapshotFiles(
        cluster=facts.label,
        cluster_id=facts.cluster_id,
        name=facts.name,
        source=facts.source,
        taken_at=facts.taken_at.astimezone(UTC),
        gaps=facts.gaps,
        partitions=str(manifest.location(partitions)) if partitions else None,
        brokers=str(manifest.location(brokers)) if brokers else None,
        partition_rows=partitions.rows if partitions else 0,
        broker_rows=brokers.rows if brokers else 0,
    )
