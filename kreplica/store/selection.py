"""The snapshots that an audit reads: found by their manifests, filtered, checked file by file. No Spark in here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kreplica.errors import InputError, KreplicaError, UnreachableError, UsageError
from kreplica.model.snapshot import Gap
from kreplica.model.tables.schema import TABLES
from kreplica.model.wording.words import counted
from kreplica.store.choosing import ChosenNames, choose_names, fits
from kreplica.store.layout import MANIFESTS, borders, cluster_in, is_manifest_name, may_hold_snapshots
from kreplica.store.manifest import DataFile, Manifest, read_words
from kreplica.store.orphans import Looked, find_orphans
from kreplica.store.reading import READERS, manifest_names, read_manifests
from kreplica.store.remote import RemoteFiles
from kreplica.store.verification import FileProblem, problems_of
from kreplica.system.guard import attempt
from kreplica.system.pool import all_results
from kreplica.system.stores.locations import COPIES_AT_ONCE, Place, is_directory
from kreplica.system.stores.s3 import S3Place, S3Storage
from kreplica.system.stores.storage import unreadable

CHECKERS = 8


def refuse_without_zone(moment: datetime | None) -> None:
    """Raises UsageError for a moment that does not say its zone: it would be another one on each machine."""
    if moment is not None and moment.utcoffset() is None:
        raise UsageError(f"{moment.isoformat()} has no time zone", fix="name the moment with one: tzinfo=datetime.UTC")


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
        partitions: Absolute path, of an object store that of a copy; None if the cluster has no partition.
        brokers: The same; None if the source knows no broker.
        partition_rows: Number of partitions.
        broker_rows: Number of brokers.
        manifest: Its manifest.
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
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filter for the snapshots of dump directories.

    Args:
        clusters: Patterns (``prod-*``) for cluster ids or names; none means all.
        since: Only snapshots taken then or later; a moment with its zone.
        until: Only snapshots taken then or earlier; a moment with its zone.

    Raises:
        UsageError: A moment has no zone.
    """

    clusters: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        refuse_without_zone(self.since)
        refuse_without_zone(self.until)

    def takes(self, manifest: Manifest) -> bool:
        """True if the snapshot passes the filter."""
        if not self.takes_time(manifest):
            return False
        facts = manifest.snapshot
        return not self.clusters or fits(facts.label, self.clusters) or fits(facts.name, self.clusters)

    def takes_time(self, manifest: Manifest) -> bool:
        """True if the snapshot was taken when it should have been."""
        taken_at = manifest.snapshot.taken_at
        return (self.since is None or taken_at >= self.since) and (self.until is None or taken_at <= self.until)


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
        copies: What keeps copies of files of object stores on this machine, as long as the selection is there.
    """

    snapshots: tuple[SnapshotFiles, ...]
    damaged: tuple[FileProblem, ...]
    orphans: tuple[FileProblem, ...]
    left_out: int
    repeated: int
    filtered: int

    @property
    def told_left_out(self) -> str:
        """Number of what is left out because of damaged files, in words."""
        return counted(self.left_out, "snapshot")

    copies: tuple[RemoteFiles, ...] = ()


def select_snapshots(paths: Iterable[Place], wanted: Wanted) -> Selection:
    """Finds the snapshots under some directories and checks their files.

    Which are wanted is read off the file names of their manifests, as far as these tell; others are not opened.

    Args:
        paths: Dump directories, or directories of dump directories.
        wanted: Which of their snapshots.

    Raises:
        InputError: A path is not there.
        UnreachableError: The object store that holds some does not answer.
        UsageError: It refuses them, or there is no room for copies of its files.
    """
    directories = dump_directories(paths)
    opened = [_Opened.of(directory, wanted) for directory in directories]
    listing = read_manifests([file for one in opened for file in one.files])
    chosen = [manifest for one in opened for manifest in listing.manifests if one.takes(manifest, wanted)]
    chosen.sort(key=_place_in_listing)
    looked = {one.directory: one.looked(chosen, wanted) for one in opened}
    distinct = _distinct(chosen)
    remotes = {directory: one.remote for directory, one in looked.items()}
    checks = [partial(_problems_of, manifest, remotes[manifest.directory]) for manifest in distinct]
    elsewhere = any(remote is not None for remote in remotes.values())
    found = all_results(checks, COPIES_AT_ONCE if elsewhere else min(CHECKERS, (os.cpu_count() or 1) + 2))
    whole = [
        _files(manifest, remotes[manifest.directory])
        for manifest, problems in zip(distinct, found, strict=True)
        if not problems
    ]
    folders = [item for item in listing.problems if isinstance(item.path, Path) and item.path.is_dir()]
    damaged = [FileProblem(str(item.path), item.reason) for item in listing.problems if item not in folders]
    without_manifests = [FileProblem(str(one.directory), one.stranger) for one in opened if one.stranger]
    of_no_snapshot = [FileProblem(str(item.path), item.reason) for item in folders]
    told = [looked[one.directory] for one in opened if not one.stranger]
    orphans = (*find_orphans(told, listing), *without_manifests, *of_no_snapshot)
    return Selection(
        snapshots=tuple(sorted(whole, key=lambda item: (item.cluster, item.taken_at, item.partitions or ""))),
        damaged=(*damaged, *(problem for problems in found for problem in problems)),
        orphans=tuple(sorted(orphans, key=lambda problem: problem.path)),
        left_out=len(distinct) - len(whole),
        repeated=len(chosen) - len(distinct),
        filtered=sum(one.chosen.others for one in opened) + len(listing.manifests) - len(chosen),
        copies=tuple(remote for remote in remotes.values() if remote is not None),
    )


@dataclass(frozen=True, slots=True)
class _Opened:
    """A dump directory, and which of its manifests are opened.

    Args:
        directory: The directory.
        chosen: The names of those that are opened.
        stranger: Why it is no dump directory; empty if it is one.
    """

    directory: Place
    chosen: ChosenNames
    stranger: str = ""

    @classmethod
    def of(cls, directory: Place, wanted: Wanted) -> _Opened:
        folder = directory / MANIFESTS
        try:
            names = manifest_names(directory, (wanted.since, wanted.until))
        except InputError as error:
            return cls(directory, ChosenNames((), frozenset(), 0), error.why)

        def words_of(names: Sequence[str]) -> list[tuple[str, str] | None]:
            elsewhere = isinstance(folder, S3Place)
            places = [folder / name if elsewhere else f"{folder}/{name}" for name in names]
            calls = (partial(attempt, partial(read_words, place)) for place in places)
            read = all_results(list(calls), READERS) if elsewhere else (call() for call in calls)
            return [None if isinstance(found, KreplicaError) else found for found in read]

        return cls(directory, choose_names(names, wanted.clusters, (wanted.since, wanted.until), words_of))

    @property
    def files(self) -> list[Place]:
        """The manifests to open."""
        return [self.directory / MANIFESTS / name for name in self.chosen.names]

    def takes(self, manifest: Manifest, wanted: Wanted) -> bool:
        """True for a manifest of this directory that is wanted."""
        if manifest.directory != self.directory:
            return False
        name = manifest.path.name
        known = is_manifest_name(name) and cluster_in(name) in self.chosen.clusters
        return wanted.takes_time(manifest) if known else wanted.takes(manifest)

    def looked(self, chosen: Sequence[Manifest], wanted: Wanted) -> Looked:
        """The folders where orphans are looked for: those of the files that are wanted, all if everything is."""
        folders = None
        if wanted != Wanted():
            own = [file.path for manifest in chosen if manifest.directory == self.directory for file in manifest.files]
            folders = sorted({path.rpartition("/")[0] for path in own})
        remote = None
        if isinstance(self.directory, S3Place):
            remote = RemoteFiles.listed(
                self.directory, [table.name for table in TABLES] if folders is None else folders
            )
        return Looked(
            self.directory,
            folders,
            remote,
            borders(wanted.since, wanted.until),
        )


def _place_in_listing(manifest: Manifest) -> tuple[datetime, str, str]:
    return manifest.snapshot.taken_at, manifest.snapshot.label, str(manifest.path)


def _problems_of(manifest: Manifest, remote: RemoteFiles | None) -> list[FileProblem]:
    found = attempt(lambda: problems_of(manifest, remote))
    if isinstance(found, UnreachableError) or type(found) is UsageError:
        raise found  # no damage of this file: the next ones would fail in the same way
    return [FileProblem(str(manifest.path), str(found))] if isinstance(found, KreplicaError) else found


def dump_directories(paths: Iterable[Place]) -> Sequence[Place]:
    """The dump directories among some directories and right below them, each once.

    Raises:
        InputError: A path is no directory.
    """
    found: list[Place] = []
    for path in paths:
        if isinstance(path, S3Place):
            found += _remote_directories(path)
            continue
        if not _is_folder(path):
            reason = "not a directory" if path.exists() else "there is no such directory"
            raise InputError(str(path), "", reason, "name a directory that kreplica snapshot wrote")
        inner = [] if may_hold_snapshots(path) else sorted(item for item in path.iterdir() if item.is_dir())
        dumps = [item for item in inner if may_hold_snapshots(item)]
        found += [item.absolute() for item in dumps or [path]]
    return list(dict.fromkeys(found))


def _is_folder(path: Path) -> bool:
    try:
        return is_directory(path)
    except PermissionError as error:
        raise unreadable(str(path), error) from None


def _remote_directories(place: S3Place) -> list[S3Place]:
    names = S3Storage(place).names("")
    if not names:
        raise InputError(str(place), "", "no snapshot is below it", "name a place that kreplica snapshot wrote to")
    inner = [] if MANIFESTS in names else [place / name for name in names]
    return [item for item in inner if MANIFESTS in S3Storage(item).names("")] or [place]


def _distinct(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Each snapshot once: a dump directory and its copy hold the same ones."""
    known: dict[object, Manifest] = {}
    for manifest in manifests:
        contents = tuple(sorted((file.table, file.sha256) for file in manifest.files))
        known.setdefault((manifest.snapshot.label, manifest.snapshot.taken_at, contents), manifest)
    return list(known.values())


def _files(manifest: Manifest, remote: RemoteFiles | None) -> SnapshotFiles:
    facts = manifest.snapshot
    partitions, brokers = manifest.file("partitions"), manifest.file("brokers")

    def here(file: DataFile) -> str:
        return str(manifest.location(file) if remote is None else remote.copy(file.path))

    return SnapshotFiles(
        cluster=facts.label,
        cluster_id=facts.cluster_id,
        name=facts.name,
        source=facts.source,
        taken_at=facts.taken_at.astimezone(UTC),
        gaps=facts.gaps,
        partitions=here(partitions) if partitions else None,
        brokers=here(brokers) if brokers else None,
        partition_rows=partitions.rows if partitions else 0,
        broker_rows=brokers.rows if brokers else 0,
        manifest=manifest,
    )
