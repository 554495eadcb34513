"""Reads snapshots from a dump directory: by manifest, sizes and checksums compared, or one partitions file alone."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kreplica.errors import InputError, KreplicaError, os_reason
from kreplica.model.schema import PARTITIONS, TABLES, TableSchema
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.table import Table
from kreplica.store.layout import MANIFESTS, Entry, parse_manifest_name, path_segment
from kreplica.store.manifest import DataFile, Manifest, SnapshotFacts, read_manifest
from kreplica.store.parquet import decode_table
from kreplica.system.guard import attempt
from kreplica.system.untrusted_files import beyond_limit, changed_at, input_limit, read_whole, read_with_status

_RESTORE = "copy the dump directory again, or remove this snapshot's manifest to leave it out"


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """A file that differs from what it should be, and the difference."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class ManifestListing:
    """The snapshots found in some dump directories, oldest first, and the files that could not be read as manifests."""

    manifests: tuple[Manifest, ...]
    problems: tuple[ManifestProblem, ...]


def list_manifests(paths: Iterable[str | os.PathLike[str]]) -> ManifestListing:
    """Finds the snapshots of many dump directories.

    Args:
        paths: Dump directories, or manifest files; one that is named twice counts once.

    Returns:
        Readable manifests by time and cluster, and a problem for each path or file that is damaged, foreign or absent.
        Data files are not looked at: see ``verify``.
    """
    manifests: dict[Path, Manifest] = {}
    problems: list[ManifestProblem] = []
    for path in map(Path, paths):
        try:
            candidates = _manifest_files(path)
        except InputError as error:
            problems.append(ManifestProblem(path, error.why))
            continue
        for candidate in candidates:
            found = attempt(lambda path=candidate: read_manifest(path))  # type: ignore[misc]
            if isinstance(found, KreplicaError):
                problems.append(ManifestProblem(candidate, found.why or found.what))
            else:
                manifests[candidate.resolve()] = found
    ordered = sorted(manifests.values(), key=lambda found: (found.snapshot.taken_at, found.snapshot.label, found.path))
    return ManifestListing(tuple(ordered), tuple(problems))


def verify(manifest: Manifest) -> tuple[ManifestProblem, ...]:
    """Compares the data files of a snapshot with its manifest: presence, sizes, checksums.

    Returns:
        A problem for each file that differs; none if the snapshot is whole.
    """
    problems = []
    for file in manifest.files:
        try:
            _file_content(manifest, file)
        except InputError as error:
            problems.append(ManifestProblem(manifest.location(file), error.why))
    return tuple(problems)


def read_dump_directory(
    path: str | os.PathLike[str], cluster: str | None = None, at: datetime | None = None
) -> ClusterSnapshot:
    """Reads the newest snapshot of a dump directory.

    Args:
        path: The dump directory; or a manifest in it, whose snapshot is read whatever its file is called.
        cluster: Id or name of the cluster; may be None where the directory holds only one.
        at: The newest snapshot taken at or before this moment; None for the newest of all.

    Raises:
        InputError: There is no such snapshot, it is damaged, or several clusters are there and none was named.
    """
    root = Path(path)
    if root.is_file():
        return read_snapshot_files(read_manifest(root, named=True))
    entries: Sequence[Entry] = [
        entry for file in _manifest_files(root) if (entry := parse_manifest_name(file)) is not None
    ]
    if not entries:
        reason = "no snapshot is in it: its manifests folder holds no manifest"
        raise InputError(str(root), "", reason, f"take one: kreplica snapshot --out {root}")
    entries = _of_one_cluster(root, entries, cluster)
    if at is not None:
        entries = _taken_until(root, entries, at)
    newest = max(entries, key=lambda entry: (entry.taken_at, entry.path.name))
    return read_snapshot_files(read_manifest(newest.path))


def read_snapshot_files(manifest: Manifest) -> ClusterSnapshot:
    """Reads the snapshot of a manifest; every file's size and checksum is compared first.

    Raises:
        InputError: A file is absent, differs from the manifest, or is not the table it should be.
    """
    facts = manifest.snapshot
    tables = {schema.name: _read_table(manifest, schema) for schema in TABLES}
    return _snapshot(facts, tables)


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


def _snapshot(facts: SnapshotFacts, tables: dict[str, Any]) -> ClusterSnapshot:
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
        **tables,
    )


def _manifest_files(path: Path) -> Sequence[Path]:
    """The manifest files of a dump directory in order of their names, or the one that was named itself."""
    if path.is_file():
        return (path,)
    if not path.exists():
        raise InputError(str(path), "", "there is no such directory", "name a directory that kreplica snapshot wrote")
    folder = path / MANIFESTS
    try:
        names = os.listdir(folder)  # noqa: PTH208 - a Path for each of many manifests costs more than all the rest
    except (FileNotFoundError, NotADirectoryError):
        reason = "a directory without manifests, so it holds no kreplica snapshots"
        raise InputError(str(path), "", reason, "name a directory that kreplica snapshot wrote") from None
    except OSError as error:
        raise InputError(str(folder), "", os_reason(error)) from None
    return [folder / name for name in sorted(names) if name.endswith(".json") and not name.startswith(".")]


def _of_one_cluster(root: Path, entries: Sequence[Entry], cluster: str | None) -> Sequence[Entry]:
    newest = {entry.cluster: entry for entry in sorted(entries, key=lambda entry: entry.taken_at)}
    if cluster is None:
        if len(newest) > 1:
            found = "; ".join(_label_and_path(entry) for entry in newest.values())
            reason = f"it holds snapshots of {len(newest)} clusters and none was named: {found}"
            raise InputError(
                str(root), "", reason, "name the manifest of the one you mean: --dump DIR/manifests/….json"
            )
        return entries
    chosen = [entry for entry in entries if entry.cluster == path_segment(cluster)]
    if not chosen:
        named = {key for key, entry in newest.items() if read_manifest(entry.path).snapshot.name == cluster}
        chosen = [entry for entry in entries if entry.cluster in named]
    if not chosen:
        known = ", ".join(read_manifest(entry.path).snapshot.label for entry in newest.values())
        raise InputError(str(root), "", f"no snapshot of cluster {cluster} is in it", f"it holds: {known}")
    return chosen


def _label_and_path(entry: Entry) -> str:
    return f"{entry.cluster} ({MANIFESTS}/{entry.path.name})"


def _taken_until(root: Path, entries: Sequence[Entry], at: datetime) -> Sequence[Entry]:
    chosen = [entry for entry in entries if entry.taken_at <= at]
    if not chosen:
        oldest = min(entry.taken_at for entry in entries)
        reason = f"no snapshot was taken at or before {at.isoformat()}"
        raise InputError(str(root), "", reason, f"the oldest is of {oldest.isoformat()}")
    return chosen


def _read_table(manifest: Manifest, schema: TableSchema) -> Table:
    file = manifest.file(schema.name)
    if file is None:
        return Table.empty(schema)
    source = str(manifest.location(file))
    return decode_table(schema, _file_content(manifest, file), source, file.rows)[0]


def _file_content(manifest: Manifest, file: DataFile) -> bytes:
    """Reads a file once and compares it: what is parsed afterwards is what was checked."""
    path = manifest.location(file)
    if file.bytes > input_limit():
        raise InputError(str(path), "", beyond_limit(input_limit()))
    try:
        content = read_whole(path, file.bytes, named=False)
    except FileNotFoundError:
        reason = f"it is not there, but the manifest {manifest.path} names it"
        raise InputError(str(path), "", reason, _RESTORE) from None
    except OSError as error:
        larger = f"expected {file.bytes} bytes, found more"
        reason = larger if error.errno == errno.EFBIG else os_reason(error)
        raise InputError(str(path), "", reason, _RESTORE) from None
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
    return "twice" if more == 1 else f"twice, and {more - 1} rows more repeat others"
