"""Observations: a row for each snapshot of a month, in the order of (taken_at, digest)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import numpy as np

from kreplica.history.folding import Told
from kreplica.history.months.layout import OBSERVATIONS
from kreplica.history.tables import OBSERVATION, TABLES, HistoryTable, is_told, is_whole
from kreplica.model.snapshot import ClusterSnapshot, controller_of, metadata_offset_of
from kreplica.model.tables.columns import Integers, Mask
from kreplica.model.tables.schema import TABLES as SNAPSHOT_TABLES
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table
from kreplica.store.manifest import Manifest, SnapshotFacts
from kreplica.store.parquet import encode_table

TAKEN_MS = "taken_ms"


def _required(name: str, kind: Kind, doc: str) -> Field:
    return Field(name, kind, nullable=False, doc=doc)


def _optional(name: str, kind: Kind, doc: str) -> Field:
    return Field(name, kind, nullable=True, doc=doc)


def _of_table(name: str) -> tuple[Field, Field]:
    told = f"columns of {name} that it tells, measured ones last, with blanks between; null if it tells nothing of it"
    whole = f"whether what is not in its {name} was not there; null if it tells nothing of them"
    return _optional(name, Kind.STRING, told), _optional(f"{name}_whole", Kind.BOOL, whole)


SCHEMA = TableSchema(
    OBSERVATIONS,
    (
        _required(OBSERVATION, Kind.INT32, "number of the snapshot in its month, from 0"),
        _required(TAKEN_MS, Kind.INT64, "when it was taken, ms since the epoch"),
        _required("digest", Kind.STRING, "SHA-256 of what it holds; tells copies, and orders snapshots of one instant"),
        _optional("cluster_id", Kind.STRING, "Kafka's cluster id; null where the user said whose snapshot it is"),
        _required("name", Kind.STRING, "name of the cluster in the snapshot"),
        _required("source", Kind.STRING, "way in: kafka, zookeeper, describe-text, ..."),
        _optional("controller", Kind.INT32, "id of the controller"),
        _optional("controller_epoch", Kind.INT32, "epoch of the ZooKeeper controller"),
        _optional(
            "metadata_offset",
            Kind.INT64,
            "end offset of the metadata log, where the quorum or a dump of the log told it",
        ),
        _required("features", Kind.STRING, "finalized features as JSON"),
        _required("gaps", Kind.STRING, "facts that it lacks, as JSON"),
        *(field for table in TABLES for field in _of_table(table.name)),
    ),
    sort=(OBSERVATION,),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation: its row without the number."""

    taken_ms: int
    digest: str
    row: Mapping[str, object]

    @property
    def place(self) -> tuple[int, str]:
        """Its place in the order."""
        return self.taken_ms, self.digest


def digest_of(manifest: Manifest) -> str:
    """The digest of a stored snapshot, from its manifest alone: files that were verified once are not read for it."""
    return _digest(manifest.snapshot, [(file.table, file.sha256) for file in manifest.files])


def digest_of_snapshot(snapshot: ClusterSnapshot) -> str:
    """The digest of a snapshot that is not stored; the same as if it were."""
    facts = SnapshotFacts.of(snapshot)
    filled = [schema for schema in SNAPSHOT_TABLES if len(snapshot.table(schema))]
    contents = [(schema.name, encode_table(snapshot.table(schema).sorted(), facts)) for schema in filled]
    return _digest(facts, [(name, hashlib.sha256(content).hexdigest()) for name, content in contents])


def _digest(facts: SnapshotFacts, tables: list[tuple[str, str]]) -> str:
    said = [facts.cluster_id, facts.name, _milliseconds(facts.taken_at), facts.source, sorted(tables)]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def seen_of(snapshot: ClusterSnapshot, digest: str, told: Mapping[str, Sequence[str]]) -> Seen:
    """The observation of a snapshot.

    Args:
        snapshot: The snapshot.
        digest: Of its content.
        told: Columns that it tells, by table.
    """
    facts = SnapshotFacts.of(snapshot)
    taken_ms = taken_ms_of(snapshot)
    row: dict[str, object] = {
        TAKEN_MS: taken_ms,
        "digest": digest,
        "cluster_id": facts.cluster_id,
        "name": facts.name,
        "source": facts.source,
        # Snapshots that kreplica took before it knew have the broker that Metadata named.
        "controller": controller_of(facts.controller, facts.features, snapshot.quorum),
        "controller_epoch": facts.controller_epoch,
        "metadata_offset": _metadata_offset(snapshot),
        "features": msgspec.json.encode(dict(sorted(facts.features.items()))).decode(),
        "gaps": msgspec.json.encode(facts.gaps).decode(),
    }
    for table in TABLES:
        if is_told(table, snapshot):
            row[table.name] = " ".join(told[table.name])
            row[f"{table.name}_whole"] = is_whole(table, snapshot)
    return Seen(taken_ms, digest, row)


def _metadata_offset(snapshot: ClusterSnapshot) -> int | None:
    """End offset of the metadata log; snapshots that kreplica took before it kept that one have the quorum alone."""
    offset = snapshot.metadata_offset
    return metadata_offset_of(snapshot.quorum) if offset is None else offset


def taken_ms_of(snapshot: ClusterSnapshot) -> int:
    """When a snapshot was taken, milliseconds since the epoch."""
    return _milliseconds(snapshot.taken_at)


def told_by(table: HistoryTable, seen: Sequence[Seen]) -> list[Told]:
    """Those of the observations that tell a table, and what of it."""
    names = [field.name for field in table.value_fields]
    found = []
    for place, one in enumerate(seen):
        columns = one.row.get(table.name)
        if isinstance(columns, str):
            some = frozenset(columns.split())
            mask = np.array([name in some for name in names], np.bool_)
            found.append(Told(place, mask, bool(one.row[f"{table.name}_whole"])))
    return found


def newest_telling(table: HistoryTable, seen: Sequence[Seen]) -> int:
    """Number of the newest observation that tells a table, -1 if none does; runs that say null were last seen by it."""
    return max((place for place, one in enumerate(seen) if isinstance(one.row.get(table.name), str)), default=-1)


def told_columns(table: HistoryTable, columns: Mask) -> list[str]:
    """Names of the columns that are told."""
    return [field.name for field, told in zip(table.value_fields, columns.tolist(), strict=True) if told]


def to_table(seen: Sequence[Seen]) -> Table:
    """The table of a month's observations."""
    return Table.from_rows(SCHEMA, ({OBSERVATION: place, **one.row} for place, one in enumerate(seen)))


class _Row(Mapping[str, object]):
    """One row of columns that many share: a month has thousands, all but three of whose values are mostly the same."""

    __slots__ = ("_columns", "_place")

    def __init__(self, columns: Mapping[str, Sequence[object]], place: int) -> None:
        self._columns, self._place = columns, place

    def __getitem__(self, name: str) -> object:
        return self._columns[name][self._place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def from_table(table: Table) -> list[Seen]:
    """The observations of a month, in order."""
    rows = table.sorted()
    columns = {name: rows[name].to_list() for name in SCHEMA.names if name != OBSERVATION}
    found = []
    for place, (taken_ms, digest) in enumerate(zip(columns[TAKEN_MS], columns["digest"], strict=True)):
        assert isinstance(taken_ms, int)
        assert isinstance(digest, str)
        found.append(Seen(taken_ms, digest, _Row(columns, place)))
    return found


def times_of(seen: Sequence[Seen]) -> Integers:
    """Milliseconds of each observation."""
    return np.array([one.taken_ms for one in seen], np.int64)
