"""The manifest of a snapshot: what the cluster was, and which files hold it, with their sizes and checksums.

{"schema": "kreplica/manifest/v1", "schema_version": 1, "kreplica_version": "0.1.0",
 "snapshot": {"cluster_id": "Zk5…", "name": "prod-eu", "taken_at": "2026-11-21T08:07:12.345Z", "source": "kafka",
              "controller": 3, "features": {"metadata.version": 27}, "gaps": [], "notes": [],
              "controller_epoch": null},
 "files": [{"table": "partitions", "path": "partitions/date=…/….parquet", "rows": 1200, "bytes": 18231, "sha256": "…"}],
 "empty": ["groups", "quorum"], "metadata_offset": 48211}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import msgspec

from kreplica.errors import InputError, os_reason
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import SCHEMA_VERSION
from kreplica.store.versions import AGAIN, decode_versioned
from kreplica.system.stores.locations import Place, read_at
from kreplica.system.untrusted_files import MalformedError, check_moment, decode_json, input_limit

MANIFEST_SCHEMA = "kreplica/manifest/v1"
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Id = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """All of a ClusterSnapshot but its tables."""

    cluster_id: str | None
    name: str
    taken_at: _Moment
    source: str
    controller: _Id | None = None
    features: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    controller_epoch: _Id | None = None

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> SnapshotFacts:
        """The facts of a snapshot."""
        return cls(
            cluster_id=snapshot.cluster_id,
            name=snapshot.name.encode("utf-8", "backslashreplace").decode(),
            taken_at=snapshot.taken_at,
            source=snapshot.source,
            controller=snapshot.controller,
            features=dict(snapshot.features),
            gaps=snapshot.gaps,
            notes=snapshot.notes,
            controller_epoch=snapshot.controller_epoch,
        )

    @property
    def label(self) -> str:
        """The cluster's label in rows, as ClusterSnapshot.label."""
        return self.cluster_id or self.name


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file of a snapshot; ``path`` is relative to the dump directory, with slashes."""

    table: str
    path: str
    rows: _Count
    bytes: _Count
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A snapshot in a dump directory.

    Args:
        path: The manifest's own file.
        snapshot: What the cluster was.
        files: At most one for each table.
        empty: Tables without a row, which have no file.
        schema_version: Version of the tables' schema.
        kreplica_version: The kreplica that wrote it.
        metadata_offset: End offset of KRaft's metadata log then. It is no fact in the footers of files: those of one
            snapshot, and so its digest, stay as they were before manifests had it.
    """

    path: Place
    snapshot: SnapshotFacts
    files: tuple[DataFile, ...]
    empty: tuple[str, ...]
    schema_version: int
    kreplica_version: str
    metadata_offset: int | None = None

    @property
    def directory(self) -> Place:
        """The dump directory."""
        return self.path.parent.parent

    def file(self, table: str) -> DataFile | None:
        """The file of a table, None if it has no row."""
        return next((file for file in self.files if file.table == table), None)

    def location(self, file: DataFile) -> Place:
        """The path of a file of this snapshot."""
        return self.directory / file.path


@dataclass(frozen=True, slots=True)
class _Document:
    schema: str
    schema_version: int
    kreplica_version: str
    snapshot: SnapshotFacts
    files: tuple[DataFile, ...]
    empty: tuple[str, ...] = ()
    metadata_offset: _Offset | None = None


@dataclass(frozen=True, slots=True)
class _Called:
    name: str
    cluster_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Words:
    """As much of a document as tells whose it is; the rest has to be JSON."""

    schema: str
    schema_version: int
    snapshot: _Called


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest as the JSON of its file."""
    document = _Document(
        MANIFEST_SCHEMA,
        manifest.schema_version,
        manifest.kreplica_version,
        manifest.snapshot,
        manifest.files,
        manifest.empty,
        manifest.metadata_offset,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def encode_facts(facts: SnapshotFacts) -> bytes:
    """Facts as JSON: each Parquet file carries them, so that it can be read alone."""
    return msgspec.json.encode(facts)


def decode_facts(content: bytes, source: str) -> SnapshotFacts:
    """Facts from the JSON in a Parquet file.

    Raises:
        InputError: They are damaged.
    """
    try:
        facts: SnapshotFacts = decode_json(content, SnapshotFacts)
        check_moment(facts.taken_at)
    except MalformedError as error:
        raise InputError(source, "snapshot facts in its footer", str(error), AGAIN) from None
    return facts


def read_manifest(path: Place, *, named: bool = False) -> Manifest:
    """Reads one manifest; its data files are not looked at.

    Args:
        path: Its file.
        named: True if the user named it; False if it was found in a directory.

    Raises:
        InputError: It is not there, damaged, foreign, or of a newer kreplica.
    """
    return decode_manifest(_content(path, named=named), path)


def read_words(path: Place | str) -> tuple[str, str]:
    """The label and the name of a manifest's cluster; of the rest is read only that it is JSON.

    Args:
        path: Its file; of many on this machine the text, since to make a Path takes as long as to decode it.

    Raises:
        InputError: It is not there, no JSON, foreign, or of a newer kreplica.
    """
    try:
        words = decode_versioned(_content(path), _Words, MANIFEST_SCHEMA, SCHEMA_VERSION, str(path))
    except MalformedError as error:
        raise _foreign(path, error) from None
    return words.snapshot.cluster_id or words.snapshot.name, words.snapshot.name


def _content(path: Place | str, *, named: bool = False) -> bytes:
    try:
        return read_at(path, input_limit(), named=named)
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None


def _foreign(path: Place | str, error: MalformedError) -> InputError:
    return InputError(str(path), "", f"not a manifest of kreplica: {error}", AGAIN)


def decode_manifest(content: bytes, path: Place) -> Manifest:
    """A manifest from the content of its file.

    Raises:
        InputError: It is damaged, foreign, or of a newer kreplica.
    """
    try:
        document = decode_versioned(content, _Document, MANIFEST_SCHEMA, SCHEMA_VERSION, str(path))
        check_moment(document.snapshot.taken_at)
    except MalformedError as error:
        raise _foreign(path, error) from None
    _check_files(document, path)
    return Manifest(
        path,
        document.snapshot,
        document.files,
        document.empty,
        document.schema_version,
        document.kreplica_version,
        document.metadata_offset,
    )


def _check_files(document: _Document, path: Place) -> None:
    tables = [file.table for file in document.files]
    if len(set(tables)) < len(tables):
        raise InputError(str(path), "", "it names two files for one table", AGAIN)
    if "partitions" not in {*tables, *document.empty}:
        raise InputError(str(path), "", "it names no partitions table", AGAIN)
    for file in document.files:
        path_within = file.path  # by its text: a PurePosixPath of each file costs more than the JSON of all
        if path_within.startswith("/") or ".." in path_within.split("/") or "\\" in path_within or "\0" in path_within:
            raise InputError(str(path), "", f"file {file.path!r} is outside the dump directory", AGAIN)
