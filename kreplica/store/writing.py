"""Writes a snapshot into a dump directory, all of it or nothing.

All files are written and synced in a folder of their own, then moved to their places, the manifest last. Whatever
stops the writer before that (an error, Ctrl-C, a crash) leaves no manifest, so no snapshot. Error and Ctrl-C leave no
file either. A crash may leave the folder ``.writing-…``, which the next writer removes once it is a day old, or data
files that no manifest names: readers ignore them, and nobody deletes them, because a copy of a dump directory that is
still under way looks the same.

An object store has no moving: files are made where they belong, the manifest last.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kreplica.errors import KreplicaError, UsageError, os_reason
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import SCHEMA_VERSION, TABLES, TableSchema
from kreplica.store.layout import MANIFESTS, STAGING_PREFIX, SnapshotName
from kreplica.store.manifest import DataFile, Manifest, SnapshotFacts, encode_manifest
from kreplica.store.parquet import encode_table
from kreplica.system.durable_files import make_folders, move, write_new
from kreplica.system.stores.locations import Place, place_of
from kreplica.system.stores.s3 import S3Place, S3Storage
from kreplica.version import __version__

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class _Staged:
    """A file being written, and its path in the dump directory to which it will move."""

    written: Path
    target: str


def write_snapshot(snapshot: ClusterSnapshot, directory: str | os.PathLike[str] | S3Place) -> Place:
    """Writes a snapshot; several writers may use one directory at once.

    Args:
        snapshot: The snapshot; its tables are sorted before they are written.
        directory: The dump directory; made if it is not there.

    Returns:
        Path of the manifest.

    Raises:
        UsageError: The directory cannot be written to: no permission, no space, or it is a file.
        UnreachableError: The object store that it is in does not answer.
    """
    root = place_of(directory)
    name = SnapshotName.new(snapshot.taken_at, snapshot.label)
    if isinstance(root, S3Place):
        return _write_objects(snapshot, root, name)
    with _explained(root), _nothing_half(root, name):
        staging = root / name.staging
        make_folders(staging)
        manifest, contents = _encoded(snapshot, root, name)
        staged = []
        for file in manifest.files:
            written = staging / f"{file.table}.parquet"
            write_new(written, contents[file.path])
            staged.append(_Staged(written, file.path))
        write_new(staging / "manifest.json", encode_manifest(manifest))
        for one in staged:
            move(one.written, root / one.target)
        move(staging / "manifest.json", root / name.manifest)
    with contextlib.suppress(OSError):  # the snapshot is there; files left over do no harm
        staging.rmdir()
        _remove_forgotten(root)
    return root / name.manifest


def _write_objects(snapshot: ClusterSnapshot, root: S3Place, name: SnapshotName) -> S3Place:
    storage = S3Storage(root)
    manifest, contents = _encoded(snapshot, root, name)
    try:
        for path, content in (*contents.items(), (name.manifest, encode_manifest(manifest))):
            _make_object(storage, path, content)
    except BaseException:
        with contextlib.suppress(KreplicaError, OSError):  # where the store cannot tell, nothing is removed
            if name.manifest.rpartition("/")[2] not in storage.names(MANIFESTS):
                for path in contents:
                    storage.remove(path)
        raise
    return root / name.manifest


def _make_object(storage: S3Storage, path: str, content: bytes) -> None:
    if not storage.create(path, content):
        raise UsageError(f"cannot write {storage.named(path)}", "another program made it meanwhile", "try again")


def check_directory(directory: str | os.PathLike[str] | S3Place) -> None:
    """Makes the dump directory and a folder in it, to find out before many clusters are read that it cannot be written.

    Raises:
        UsageError: As ``write_snapshot``.
        UnreachableError: As ``write_snapshot``.
    """
    root = place_of(directory)
    if isinstance(root, S3Place):
        S3Storage(root).require_conditions()
        return
    probe = root / f"{STAGING_PREFIX}{secrets.token_hex(6)}"
    with _explained(root):
        make_folders(probe)
        probe.rmdir()


def _encoded(snapshot: ClusterSnapshot, root: Place, name: SnapshotName) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest, and the content of each data file by its path in the dump directory."""
    facts = SnapshotFacts.of(snapshot)
    filled = [schema for schema in TABLES if len(snapshot.table(schema))]
    files, contents = [], {}
    for schema in filled:
        content = encode_table(snapshot.table(schema).sorted(), facts)
        files.append(_data_file(schema, name, len(snapshot.table(schema)), content))
        contents[name.data_file(schema.name)] = content
    empty = tuple(schema.name for schema in TABLES if schema not in filled)
    whole = facts, tuple(files), empty, SCHEMA_VERSION, __version__, snapshot.metadata_offset
    return Manifest(root / name.manifest, *whole), contents


def _data_file(schema: TableSchema, name: SnapshotName, rows: int, content: bytes) -> DataFile:
    digest = hashlib.sha256(content).hexdigest()
    return DataFile(schema.name, name.data_file(schema.name), rows, len(content), digest)


@contextlib.contextmanager
def _nothing_half(root: Path, name: SnapshotName) -> Iterator[None]:
    """Removes all files of a snapshot whose writing stopped before its manifest was in place."""
    try:
        yield
    except BaseException:
        if not (root / name.manifest).exists():
            for schema in TABLES:
                with contextlib.suppress(OSError):
                    (root / name.data_file(schema.name)).unlink()
        shutil.rmtree(root / name.staging, ignore_errors=True)
        raise


@contextlib.contextmanager
def _explained(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os_reason(error)
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(root) else ""
        fix = "nothing was left behind; make room or choose another directory with --out"
        raise UsageError(f"cannot write a snapshot to {root}", reason + where, fix) from error


def _remove_forgotten(root: Path) -> None:
    """Removes folders that crashed writers left more than a day ago."""
    long_ago = time.time() - _DAY_SECONDS
    for folder in root.glob(f"{STAGING_PREFIX}*"):
        if folder.is_dir() and not folder.is_symlink() and folder.stat().st_mtime < long_ago:
            shutil.rmtree(folder, ignore_errors=True)
