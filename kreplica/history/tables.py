"""Tables of a history: which columns of a snapshot tell a thing apart, which are its state, which are measured.

Keys and state are folded to runs. What is measured (offsets, sizes, times of fetches) is another in every snapshot, so
that nothing would fold: samples of some of it are kept, the rest is no part of a history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import (
    BROKERS,
    CONFIGS,
    GROUPS,
    LOG_DIRS,
    PARTITIONS,
    QUORUM,
    REPLICAS,
    Field,
    Kind,
    TableSchema,
)
from kreplica.store.manifest import SnapshotFacts

FIRST, LAST, ENDED = "first_observation", "last_observation", "ended_by"
VALID_FROM, VALID_TO, LAST_SEEN = "valid_from", "valid_to", "last_seen"
OBSERVATION, COLUMN = "observation", "column"

_PLACES = (
    Field(FIRST, Kind.INT32, nullable=False, doc="number of the month's observation at valid_from"),
    Field(
        LAST, Kind.INT32, nullable=True, doc="number of the month's observation at last_seen; null for the newest one"
    ),
    Field(ENDED, Kind.INT32, nullable=True, doc="number of the month's observation at valid_to"),
)


_HOUR = 3_600_000
_DAY = 24 * _HOUR


@dataclass(frozen=True)
class HistoryTable:
    """One table of a history.

    Args:
        of: The snapshots' table that it is folded from.
        keys: Columns that tell one thing from another.
        measured: Columns that are no state.
        sampled: Those of them of which samples are kept.
        sample_ms: Milliseconds for which one sample is enough.
        null_says: Columns in which null is a value; anywhere else it means that the source does not know.
    """

    of: TableSchema
    keys: tuple[str, ...]
    measured: frozenset[str] = frozenset()
    sampled: tuple[str, ...] = ()
    sample_ms: int = _DAY
    null_says: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Name of the table and of its folder."""
        return self.of.name

    @cached_property
    def key_fields(self) -> tuple[Field, ...]:
        """Fields of the keys, in order."""
        return tuple(self.of.field(name) for name in self.keys)

    @cached_property
    def value_fields(self) -> tuple[Field, ...]:
        """Fields of the state, in order; any may be unknown."""
        left_out = {*self.keys, *self.measured}
        state = (field for field in self.of.fields if field.name not in left_out)
        return tuple(Field(field.name, field.kind, nullable=True, doc=field.doc) for field in state)

    @cached_property
    def runs(self) -> TableSchema:
        """Schema of the runs, by key and time."""
        return TableSchema(self.name, (*self.key_fields, *self.value_fields, *_PLACES), (*self.keys, FIRST))

    @cached_property
    def samples(self) -> TableSchema:
        """Schema of the samples, by key and time."""
        observation = Field(OBSERVATION, Kind.INT32, nullable=False, doc="number of the month's observation")
        measured = (self.of.field(name) for name in self.sampled)
        fields = (Field(field.name, field.kind, nullable=True, doc=field.doc) for field in measured)
        return TableSchema(f"{self.name}_samples", (*self.key_fields, *fields, observation), (*self.keys, OBSERVATION))

    @cached_property
    def exceptions(self) -> TableSchema:
        """Schema of what an observation inside a run did not know."""
        observation = Field(OBSERVATION, Kind.INT32, nullable=False, doc="number of the month's observation")
        column = Field(COLUMN, Kind.STRING, nullable=True, doc="column that it does not know; null for the whole row")
        fields = (*self.key_fields, observation, column)
        return TableSchema(f"{self.name}_unknown", fields, (OBSERVATION, *self.keys, COLUMN))


TABLES: tuple[HistoryTable, ...] = (
    HistoryTable(
        PARTITIONS,
        ("topic", "partition"),
        measured=frozenset({"log_start_offset", "high_watermark", "end_offset"}),
        sampled=("log_start_offset", "high_watermark"),
    ),
    HistoryTable(BROKERS, ("broker",)),
    HistoryTable(
        LOG_DIRS,
        ("broker", "path"),
        measured=frozenset({"usable_bytes"}),
        sampled=("usable_bytes",),
        sample_ms=_HOUR,
        null_says=frozenset({"error"}),
    ),
    HistoryTable(
        REPLICAS,
        ("topic", "partition", "broker", "log_dir"),
        measured=frozenset({"size", "offset_lag"}),
        sampled=("size",),
    ),
    HistoryTable(CONFIGS, ("entity_type", "entity", "name"), null_says=frozenset({"value"})),
    HistoryTable(
        GROUPS,
        ("group", "topic", "partition"),
        measured=frozenset({"offset", "leader_epoch", "metadata"}),
        sampled=("offset",),
    ),
    HistoryTable(QUORUM, ("node",), measured=frozenset({"log_end_offset", "last_fetch_ms", "last_caught_up_ms"})),
)

LOG_TABLES: tuple[HistoryTable, ...] = tuple(
    HistoryTable(of, keys, frozenset(left_out), null_says=frozenset(of.names) - {*keys, *left_out})
    for of, keys, left_out in (
        (PARTITIONS, ("topic", "partition"), ("log_start_offset", "high_watermark", "end_offset")),
        (BROKERS, ("broker",), ("version", "down_since_ms")),
        (CONFIGS, ("entity_type", "entity", "name"), ()),
    )
)
"""Tables that a metadata log tells: it knows all of them at every offset, so that null in any column is a value."""

_EVERY = frozenset(table.name for table in TABLES)
_PARTIAL: Mapping[str, frozenset[str]] = {
    "hidden-topics": frozenset({"partitions", "replicas", "configs", "groups"}),
    "silent-brokers": frozenset({"log_dirs", "replicas", "configs"}),
}
"""Tables that a gap of this kind may have left rows out of; any other kind may have of every table."""

_WHOLE_SOURCES = frozenset({"kafka", "zookeeper", "znode-json", "kcat-json", "kraft-metadata"})
"""Sources that list a cluster as a whole; the text of a tool, or a file alone, may be an excerpt."""


def is_told(table: HistoryTable, snapshot: ClusterSnapshot) -> bool:
    """True if the snapshot knows that table; one without rows is not known, but for partitions."""
    return table.of is PARTITIONS or len(snapshot.table(table.of)) > 0


def is_whole(table: HistoryTable, snapshot: ClusterSnapshot | SnapshotFacts) -> bool:
    """True if what is not in that table of the snapshot, of which its facts are enough, was not there."""
    partial = [_PARTIAL.get(gap.kind, _EVERY) for gap in snapshot.gaps]
    return snapshot.source in _WHOLE_SOURCES and not any(table.name in some for some in partial)
