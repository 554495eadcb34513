"""The manifest of a cluster's month: the files that hold it. Manifests are numbered, and the newest one counts.

{"schema": "kreplica/history/v1", "schema_version": 2, "cluster": "Zk5…", "month": "2026-11",
 "files": [{"table": "partitions", "part": "open", "path": "cluster=…/month=…/partitions/open-….parquet",
            "rows": 1200, "bytes": 18231}]}

In version 1 each run names the observation that saw it last, the newest one, too. Such a month is read, and written
anew with what is added to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from kreplica.errors import InputError
from kreplica.history.months.layout import CLOSED, OBSERVATIONS, OPEN, SAMPLES, UNKNOWN_CELLS, WHOLE, is_data_file
from kreplica.history.months.log_steps import EXACT_TABLES, STEPS
from kreplica.history.tables import TABLES
from kreplica.store.versions import AGAIN, decode_versioned
from kreplica.system.untrusted_files import MalformedError

HISTORY_SCHEMA = "kreplica/history/v1"
SCHEMA_VERSION = 2
_Count = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """A Parquet file of a month; ``path`` is relative to the history's root, with slashes."""

    table: str
    part: str
    path: str
    rows: _Count
    bytes: _Count


@dataclass(frozen=True, slots=True)
class HistoryManifest:
    """The files of a cluster's month.

    Args:
        cluster: The cluster's label.
        month: 2026-11, UTC.
        files: In the order of tables and parts.
        version: Schema version that it was written in.
    """

    cluster: str
    month: str
    files: tuple[HistoryFile, ...]
    version: int = SCHEMA_VERSION

    def of(self, table: str, part: str) -> tuple[HistoryFile, ...]:
        """The files of a part of a table."""
        return tuple(file for file in self.files if (file.table, file.part) == (table, part))


@dataclass(frozen=True, slots=True)
class _Document:
    schema: str
    schema_version: int
    cluster: str
    month: str
    files: tuple[HistoryFile, ...]


def encode_manifest(manifest: HistoryManifest) -> bytes:
    """The manifest as the JSON of its file: of equal months the same bytes, so neither a time nor a number is in it."""
    document = _Document(HISTORY_SCHEMA, SCHEMA_VERSION, manifest.cluster, manifest.month, manifest.files)
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def decode_manifest(content: bytes, folder: str, source: str) -> HistoryManifest:
    """A manifest from the content of its file.

    Args:
        content: Of the file.
        folder: The month's folder, which all its files are in.
        source: File name for errors.

    Raises:
        InputError: It is damaged, foreign, or of a newer kreplica.
    """
    try:
        document = decode_versioned(content, _Document, HISTORY_SCHEMA, SCHEMA_VERSION, source)
    except MalformedError as error:
        raise InputError(source, "", f"not a manifest of a history: {error}", AGAIN) from None
    for file in document.files:
        if not is_data_file(folder, file.table, file.path) or (file.table, file.part) not in _PARTS:
            raise InputError(source, "", f"file {file.path!r} is not one of this month", AGAIN)
    if [file.part for file in document.files if file.table == OBSERVATIONS] != [WHOLE]:
        raise InputError(source, "", "it does not name one file of observations", AGAIN)
    return HistoryManifest(document.cluster, document.month, document.files, document.schema_version)


_PARTS = {(OBSERVATIONS, WHOLE)} | {(table.name, part) for table in TABLES for part in (OPEN, CLOSED, UNKNOWN_CELLS)}
_PARTS |= {(table.name, SAMPLES) for table in TABLES if table.sampled}
_PARTS |= {(name, WHOLE) for name in (STEPS.name, *EXACT_TABLES)}
