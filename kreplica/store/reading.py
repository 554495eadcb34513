"""Reads snapshots from a dump directory: by manifest, sizes and checksums compared, or one partitions file alone."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kreplica.errors import InputError, KreplicaError, UnreachableError, os_reason
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import PARTITIONS, TABLES
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import counted
from kreplica.store.layout import (
    MANIFESTS,
    borders,
    cluster_in,
    names_between,
    own_names,
    parse_manifest_name,
    path_segment,
)
from kreplica.store.manifest import DataFile, Manifest, SnapshotFacts, read_manifest
from kreplica.store.parquet import TableReader, decode_table
from kreplica.system.guard import attempt
from kreplica.system.pool import all_results
from kreplica.system.stores.locations import Place, is_file, is_folder, names_at, place_of, read_at
from kreplica.system.stores.s3 import S3Place
from kreplica.system.stores.storage import unreadable
from kreplica.system.untrusted_files import beyond_limit, changed_at, input_limit, read_with_status

READERS = 16
"""Manifests that are read from an object store at once."""
_RESTORE = "copy the dump directory again, or remove this snapshot's manifest to leave it out"


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """A file that differs from what it should be, and the difference."""

    path: Place
    reason: str


@dataclass(frozen=True, slots=True)
class ManifestListing:
    """The snapshots found in some dump directories, oldest first, and the files that could not be read as manifests."""

    manifests: tuple[Manifest, ...]
    problems: tuple[ManifestProblem, ...]


def list_manifests(paths: Iterable[str | os.PathLike[str] | S3Place]) -> ManifestListing:
    """Finds the snapshots of many dump directories.

    Args:
        paths: Dump directories, or manifest files; one that is named twice counts once.

    Returns:
        Readable manifests by time and cluster, and a problem for each path or file that is damaged, foreign or absent.
        Data files are not looked at: see ``verify``.
    """
    files: list[Place] = []
    problems: list[ManifestProblem] = []
    for path in map(place_of, paths):
        try:
            files += manifest_files(path)
        except InputError as error:
            problems.append(ManifestProblem(path, error.why))
    listing = read_manifests(files)
    return ManifestListing(listing.manifests, (*problems, *listing.problems))


def read_manifests(files: Sequence[Place]) -> ManifestListing:
    """Reads manifests, those in object stores side by side.

    Args:
        files: Their files; one that is named twice counts once.

    Raises:
        UnreachableError: An object store does not answer.
    """
    manifests: dict[Place, Manifest] = {}
    problems: list[ManifestProblem] = []
    calls = [partial(attempt, partial(read_manifest, file)) for file in files]
    elsewhere = any(isinstance(file, S3Place) for file in files)
    read = all_results(calls, READERS) if elsewhere else (call() for call in calls)
    for file, found in zip(files, read, strict=True):
        if isinstance(found, UnreachableError):
            raise found
        if isinstance(found, KreplicaError):
            problems.append(ManifestProblem(file, found.why or found.what))
        else:
            manifests[file if isinstance(file, S3Place) else file.resolve()] = found
    ordered = sorted(
        manifests.values(), key=lambda found: (found.snapshot.taken_at, found.snapshot.label, str(found.path))
    )
    return ManifestListing(tuple(ordered), tuple(problems))


def verify(manifest: Manifest) -> tuple[ManifestProblem, ...]:
    """Compares the data files of a snapshot with its manifest: presence, sizes, checksums.

    Returns:
        A problem for each file that differs; none if the snapshot is whole.
    """
    problems = []
    for file in manifest.files:
        try:
            _file_content(manifest, file, manifest.location(file))
        except InputError as error:
            problems.append(ManifestProblem(manifest.location(file), error.why))
    return tuple(problems)


def read_dump_directory(
    path: str | os.PathLike[str] | S3Place, cluster: str | None = None, at: datetime | None = None
) -> ClusterSnapshot:
    """Reads the newest snapshot of a dump directory.

    Args:
        path: The dump directory; or a manifest in it, whose snapshot is read whatever its file is called.
        cluster: Id or name of the cluster; may be None where the directory holds only one.
        at: The newest snapshot taken at or before this moment; None for the newest of all.

    Raises:
        InputError: There is no such snapshot, it is damaged, or several clusters are there and none was named.
    """
    root = place_of(path)
    if may_be_manifest(root) and is_file(root):
        return read_snapshot_files(read_manifest(root, named=True))
    names = own_names(manifest_names(root))
    if not names:
        reason = "no snapshot is in it: its manifests folder holds no manifest"
        raise InputError(str(root), "", reason, f"take one: kreplica snapshot --out {root}")
    names = _of_one_cluster(root, names, cluster)
    if at is not None:
        names = _taken_until(root, names, at)
    return read_snapshot_files(read_manifest(root / MANIFESTS / names[-1]))


def read_snapshot_files(manifest: Manifest) -> ClusterSnapshot:
    """Reads the snapshot of a manifest; every file's size and checksum is compared first.

    Raises:
        InputError: A file is absent, differs from the manifest, or is not the table it should be.
    """
    return SnapshotReader().read(manifest)


class SnapshotReader:
    """Reads snapshots of one cluster, one after the other: what did not change between two is not decoded again."""

    def __init__(self) -> None:
        self._readers = {schema.name: TableReader(schema) for schema in TABLES}
        self._empty = {schema.name: Table.empty(schema) for schema in TABLES}

    def read(self, manifest: Manifest) -> ClusterSnapshot:
        """As ``read_snapshot_files``."""
        directory, files = manifest.directory, {file.table: file for file in manifest.files}
        tables = {}
        for schema in TABLES:
            file = files.get(schema.name)
            if file is None:
                tables[schema.name] = self._empty[schema.name]
                continue
            place = directory / file.path
            content = _file_content(manifest, file, place)
            tables[schema.name] = self._readers[schema.name].read(content, str(place), file.rows)
        return _snapshot(manifest.snapshot, tables, manifest.metadata_offset)


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot in a dump directory, which is read when it is called."""

    manifest: Manifest

    def __call__(self, reader: SnapshotReader | None = None) -> ClusterSnapshot:
        """As ``read_snapshot_files``; a reader has read other snapshots of its cluster before."""
        return (reader or SnapshotReader()).read(self.manifest)


def read_partitions_file(path: str | os.PathLike[str]) -> ClusterSnapshot:
    """Reads one Parquet file as ``read_partitions`` does; its time is that of its last change unless it says another.

    Raises:
        InputError: As ``read_partitions``, or the file cannot be read.
    """
    file = Path(path)
    try:
        content, status = read_with_status(file, input_limit())
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None
    return read_partitions(str(path), content, changed_at(status))


def read_partitions(source: str, content: bytes, taken_at: datetime) -> ClusterSnapshot:
    """A snapshot of partitions alone, from a Parquet file with the columns of the partitions table, rows in any order.

    Args:
        source: File name for errors; the cluster's name where the file does not tell it.
        content: The whole file. One that kreplica wrote carries the facts of its snapshot.
        taken_at: Time of the snapshot where the file does not tell it.

    Raises:
        InputError: It is not Parquet, damaged, another table, or holds a partition twice.
    """
    partitions, facts = decode_table(PARTITIONS, content, source)
    partitions = partitions.sorted()
    _check_once(partitions, source)
    return _snapshot(facts or SnapshotFacts(None, source, taken_at, "parquet"), {PARTITIONS.name: partitions})


def _snapshot(facts: SnapshotFacts, tables: dict[str, Any], metadata_offset: int | None = None) -> ClusterSnapshot:
    return ClusterSnapshot(
        cluster_id=facts.cluster_id,
        name=facts.name,
        taken_at=facts.taken_at.astimezone(UTC),
        source=facts.source,
        controller=facts.controller,
        features=facts.features,
        gaps=facts.gaps,
        notes=facts.notes,
        controller_epoch=facts.controller_epoch,
        metadata_offset=metadata_offset,
        **tables,
    )


def manifest_files(path: Place) -> Sequence[Place]:
    """The manifest files of a dump directory in order of their names, or the one that was named itself.

    Raises:
        InputError: There is no such directory, or it cannot be read.
    """
    if may_be_manifest(path) and is_file(path):
        return (path,)
    return [path / MANIFESTS / name for name in manifest_names(path)]


def may_be_manifest(path: Place) -> bool:
    """False where a look whether it is a file would be a request for nothing."""
    return not isinstance(path, S3Place) or path.name.endswith(".json")


def manifest_names(path: Place, span: tuple[datetime | None, datetime | None] = (None, None)) -> Sequence[str]:
    """File names of the manifests of a dump directory, in order.

    Args:
        path: The directory.
        span: The first and the last moment that are of interest; names of others may be left out, where they cost
            requests. A span that holds none is told from a directory that holds none.

    Raises:
        InputError: There is no such directory, or it cannot be read.
    """
    folder = path / MANIFESTS
    try:
        found = names_at(folder, *borders(*span))
        return [name for name in found or names_at(folder) if name.endswith(".json")]
    except (FileNotFoundError, NotADirectoryError):
        fix = "name a directory that kreplica snapshot wrote"
        if not is_folder(path):
            raise InputError(str(path), "", "there is no such directory", fix) from None
        reason = "a directory without manifests, so it holds no kreplica snapshots"
        raise InputError(str(path), "", reason, fix) from None
    except OSError as error:
        raise unreadable(str(folder), error) from None


def _of_one_cluster(root: Place, names: Sequence[str], cluster: str | None) -> Sequence[str]:
    """The names of the manifests of one cluster, in order of time."""
    newest = {cluster_in(name): name for name in names}
    if cluster is None:
        if len(newest) > 1:
            found = "; ".join(f"{key} ({MANIFESTS}/{name})" for key, name in newest.items())
            reason = f"it holds snapshots of {len(newest)} clusters and none was named: {found}"
            raise InputError(
                str(root), "", reason, "name the manifest of the one you mean: --dump DIR/manifests/….json"
            )
        return names
    chosen = [name for name in names if cluster_in(name) == path_segment(cluster)]
    if not chosen:
        told = {key: read_manifest(root / MANIFESTS / name).snapshot for key, name in newest.items()}
        chosen = [name for name in names if told[cluster_in(name)].name == cluster]
        if not chosen:
            known = ", ".join(facts.label for facts in told.values())
            raise InputError(str(root), "", f"no snapshot of cluster {cluster} is in it", f"it holds: {known}")
    return chosen


def _taken_until(root: Place, names: Sequence[str], at: datetime) -> Sequence[str]:
    chosen = names_between(names, None, at)
    if not chosen:
        oldest = parse_manifest_name(root / MANIFESTS / names[0])
        reason = f"no snapshot was taken at or before {at.isoformat()}"
        fix = "" if oldest is None else f"the oldest is of {oldest.taken_at.isoformat()}"
        raise InputError(str(root), "", reason, fix)
    return chosen


def _file_content(manifest: Manifest, file: DataFile, path: Place) -> bytes:
    """Reads a file once and compares it: what is parsed afterwards is what was checked."""
    if file.bytes > input_limit():
        raise InputError(str(path), "", beyond_limit(input_limit()))
    try:
        content = read_at(path, file.bytes)
    except FileNotFoundError:
        reason = f"it is not there, but the manifest {manifest.path} names it"
        raise InputError(str(path), "", reason, _RESTORE) from None
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise unreadable(str(path), error, _RESTORE) from None
        raise InputError(str(path), "", f"expected {file.bytes} bytes, found more", _RESTORE) from None
    if len(content) != file.bytes:
        raise InputError(str(path), "", f"expected {file.bytes} bytes, found {len(content)}", _RESTORE)
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise InputError(str(path), "", f"expected the SHA-256 {file.sha256}, found {digest}", _RESTORE)
    return content


def _check_once(partitions: Table, source: str) -> None:
    """Refuses two rows of one partition, which would count it twice: the file holds several snapshots."""
    topics, numbers = partitions.strings("topic"), partitions.integers("partition")
    again = np.flatnonzero((topics.codes[1:] == topics.codes[:-1]) & (numbers.values[1:] == numbers.values[:-1]))
    if len(again):
        row = int(again[0])
        reason = f"partition {topics[row]}-{numbers[row]} is in it {_times(len(again))}"
        raise InputError(source, "", reason, "give one snapshot, not several joined into one file")


def _times(more: int) -> str:
    return "twice" if more == 1 else f"twice, and {counted(more - 1, 'row more repeats', 'rows more repeat')} others"
