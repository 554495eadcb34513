"""Compares the files of a snapshot with its manifest, so that a damaged file is reported and fails no Spark job."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kreplica.model.tables.schema import BROKERS, PARTITIONS, TableSchema
from kreplica.store.arrow import ARROW_TYPES
from kreplica.store.manifest import DataFile, Manifest
from kreplica.store.remote import RemoteFiles
from kreplica.system.stores.locations import Place
from kreplica.system.untrusted_files import open_file, refuse_special

READ_TABLES: tuple[TableSchema, ...] = (PARTITIONS, BROKERS)
"""Tables that an audit reads; of the others it only checks that their files are there and have their size."""


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that differs from what it should be, and the difference."""

    path: str
    reason: str


def problems_of(manifest: Manifest, remote: RemoteFiles | None = None) -> list[FileProblem]:
    """Problems of the files of a snapshot; empty if it is whole.

    Args:
        manifest: Of the snapshot.
        remote: The files of its dump directory, where that is in an object store.

    Raises:
        UnreachableError: The object store does not answer.
        UsageError: There is no room for a copy.
    """
    schemas = {schema.name: schema for schema in READ_TABLES}
    found = []
    for file in manifest.files:
        place, schema = manifest.location(file), schemas.get(file.table)
        reason = _difference(place, file) if isinstance(place, Path) else _listed_difference(remote, file)
        if not reason and schema is not None:
            reason = _content_problem(place, file, schema, remote)
        if reason:
            found.append(FileProblem(str(place), reason))
    return found


_ABSENT = "its manifest names it, and it is not there"


def _listed_difference(remote: RemoteFiles | None, file: DataFile) -> str:
    assert remote is not None, "files of an object store were listed"
    size = remote.sizes.get(file.path)
    return _ABSENT if size is None else _size_problem(size, file)


def _difference(path: Path, file: DataFile) -> str:
    try:
        status = path.stat()
        refuse_special(status)
    except OSError as error:
        return _ABSENT if isinstance(error, FileNotFoundError) else _reason(error)
    return _size_problem(status.st_size, file)


def _size_problem(size: int, file: DataFile) -> str:
    return "" if size == file.bytes else f"{size} bytes, its manifest says {file.bytes}"


def _content_problem(place: Place, file: DataFile, schema: TableSchema, remote: RemoteFiles | None) -> str:
    try:
        path = remote.copy(file.path) if remote is not None else place
        assert isinstance(path, Path), "a file of this machine"
        with os.fdopen(open_file(path), "rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != file.sha256:
            return "its SHA-256 is not the one in its manifest: the content was changed or damaged"
        with pq.ParquetFile(path) as parquet:
            return _footer_problem(parquet, file, schema)
    except (OSError, pa.ArrowException) as error:
        return _reason(error)


def _footer_problem(parquet: pq.ParquetFile, file: DataFile, schema: TableSchema) -> str:
    """Tells why Spark cannot read the file under the declared schema; a file of another tool may differ."""
    if parquet.metadata.num_rows != file.rows:
        return f"{parquet.metadata.num_rows} rows, its manifest says {file.rows}"
    columns = {field.name: field.type for field in parquet.schema_arrow}
    for field in schema.fields:
        expected, found = ARROW_TYPES[field.kind], columns.get(field.name)
        if found is None and not field.nullable:
            return f"no column {field.name}, so it is not the {schema.name} table of a snapshot"
        if found is not None and not _same(expected, found):
            return f"column {field.name} is {found}, expected {expected}"
    return ""


def _same(expected: pa.DataType, found: pa.DataType) -> bool:
    if pa.types.is_list(expected) and pa.types.is_list(found):
        return bool(expected.value_type == found.value_type)
    return bool(expected == found)


def _reason(error: Exception) -> str:
    text = str(error).strip().splitlines()
    said = getattr(error, "strerror", None) or (text[0] if text else type(error).__name__)
    return f"cannot be read: {said}"
