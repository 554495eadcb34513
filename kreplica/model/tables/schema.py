"""The tables of a snapshot, declared once: sources fill them, the store writes them, Spark reads them.

A field's kind decides its column class (columns.py), its Arrow and Parquet type (store/arrow.py) and its Spark
type (analyzers). Readers ignore unknown fields and fill absent nullable ones with null, so fields may be added within
one schema version; a changed meaning needs a new SCHEMA_VERSION.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

SCHEMA_VERSION = 1


class Kind(Enum):
    """Kind of a field's values; lists never hold null elements."""

    INT32 = "int32"
    INT64 = "int64"
    BOOL = "bool"
    STRING = "string"
    INT_LIST = "list<int32>"
    FLOAT64 = "float64"
    """In answers only, for computed values; never a fact of a snapshot."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table.

    Args:
        name: Its name in every output.
        kind: What it holds.
        nullable: Whether it may be null, which always means "the source does not know".
        doc: Its meaning, with Kafka's own term.
    """

    name: str
    kind: Kind
    nullable: bool
    doc: str


@dataclass(frozen=True)
class TableSchema:
    """A table: its name, its fields in order, and the fields it is sorted by."""

    name: str
    fields: tuple[Field, ...]
    sort: tuple[str, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Field names in order."""
        return tuple(field.name for field in self.fields)

    def field(self, name: str) -> Field:
        """The field of that name; KeyError if the table has none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"table {self.name} has no field {name}")


def _required(name: str, kind: Kind, doc: str) -> Field:
    return Field(name, kind, nullable=False, doc=doc)


def _optional(name: str, kind: Kind, doc: str) -> Field:
    return Field(name, kind, nullable=True, doc=doc)


PARTITIONS = TableSchema(
    "partitions",
    (
        _required("topic", Kind.STRING, "topic name"),
        _required("partition", Kind.INT32, "partition index"),
        _optional("topic_id", Kind.STRING, "topic id in Kafka's base64 form (KIP-516)"),
        _required("internal", Kind.BOOL, "Kafka's internal topics"),
        _optional("leader", Kind.INT32, "leader's broker id, -1 for none"),
        _optional("leader_epoch", Kind.INT32, "leader epoch"),
        _optional(
            "partition_epoch",
            Kind.INT32,
            "partition epoch in KRaft, version of the state znode in ZooKeeper mode",
        ),
        _required("replicas", Kind.INT_LIST, "full assignment, the preferred leader first"),
        _required("isr", Kind.INT_LIST, "in-sync replicas"),
        _optional("elr", Kind.INT_LIST, "eligible leader replicas (KIP-966)"),
        _optional("last_known_elr", Kind.INT_LIST, "last known eligible leader replicas (KIP-966)"),
        _optional("adding", Kind.INT_LIST, "replicas being added by a reassignment (KIP-455)"),
        _optional("removing", Kind.INT_LIST, "replicas being removed by a reassignment (KIP-455)"),
        _optional("offline_replicas", Kind.INT_LIST, "replicas on a dead broker or an offline log directory"),
        _optional("recovery_state", Kind.INT32, "LeaderRecoveryState: 0 recovered, 1 recovering"),
        _optional("min_isr", Kind.INT32, "min.insync.replicas of the topic, default included"),
        _optional("unclean_leader_election", Kind.BOOL, "unclean.leader.election.enable of the topic"),
        _optional("log_start_offset", Kind.INT64, "the leader's log start offset"),
        _optional("high_watermark", Kind.INT64, "high watermark"),
        _optional("end_offset", Kind.INT64, "the leader's log end offset"),
    ),
    sort=("topic", "partition"),
)

BROKERS = TableSchema(
    "brokers",
    (
        _required("broker", Kind.INT32, "broker id"),
        _optional("host", Kind.STRING, "host of the listener that was asked"),
        _optional("port", Kind.INT32, "port of that listener"),
        _optional("rack", Kind.STRING, "broker.rack"),
        _optional("alive", Kind.BOOL, "registered and able to lead: in the metadata and not fenced"),
        _optional("fenced", Kind.BOOL, "registered, but fenced by the KRaft controller"),
        _optional("version", Kind.STRING, "Kafka version, where the broker tells it"),
        _optional(
            "cordoned",
            Kind.BOOL,
            "all of its log directories are cordoned, by the metadata log (KIP-1066); live brokers tell it of each one",
        ),
        _optional(
            "down_since_ms", Kind.INT64, "since when it is fenced, at least, by the metadata log, ms since the epoch"
        ),
    ),
    sort=("broker",),
)

LOG_DIRS = TableSchema(
    "log_dirs",
    (
        _required("broker", Kind.INT32, "broker id"),
        _required("path", Kind.STRING, "log directory on that broker"),
        _optional("error", Kind.STRING, "Kafka's error name for an offline directory, null if it is online"),
        _optional("total_bytes", Kind.INT64, "capacity of the volume (KIP-827)"),
        _optional("usable_bytes", Kind.INT64, "usable space of the volume (KIP-827)"),
        _optional("cordoned", Kind.BOOL, "takes no new replicas (KIP-1066), null before Kafka 4.3"),
    ),
    sort=("broker", "path"),
)

REPLICAS = TableSchema(
    "replicas",
    (
        _required("topic", Kind.STRING, "topic name"),
        _required("partition", Kind.INT32, "partition index"),
        _required("broker", Kind.INT32, "broker that holds this copy"),
        _required("log_dir", Kind.STRING, "log directory that holds it"),
        _required("size", Kind.INT64, "bytes on disk"),
        _optional(
            "offset_lag",
            Kind.INT64,
            "records behind the leader's high watermark, for a future copy behind the current one",
        ),
        _required("future", Kind.BOOL, "a future copy that will replace the current one on that broker"),
    ),
    sort=("topic", "partition", "broker"),
)

CONFIGS = TableSchema(
    "configs",
    (
        _required("entity_type", Kind.STRING, "topic, broker or broker-default"),
        _required("entity", Kind.STRING, "topic name or broker id; empty for broker-default"),
        _required("name", Kind.STRING, "setting"),
        _optional("value", Kind.STRING, "value; null when sensitive"),
        _required(
            "origin",
            Kind.STRING,
            "where it is set: topic, broker-dynamic, cluster-dynamic, broker-static, default or unknown",
        ),
    ),
    sort=("entity_type", "entity", "name"),
)

GROUPS = TableSchema(
    "groups",
    (
        _required("group", Kind.STRING, "group id"),
        _optional("state", Kind.STRING, "group state"),
        _optional("group_type", Kind.STRING, "classic, consumer, share or streams"),
        _required("topic", Kind.STRING, "topic name"),
        _required("partition", Kind.INT32, "partition index"),
        _optional("offset", Kind.INT64, "committed offset"),
        _optional("leader_epoch", Kind.INT32, "leader epoch of the committed offset"),
        _optional("metadata", Kind.STRING, "metadata of the commit"),
    ),
    sort=("group", "topic", "partition"),
)

QUORUM = TableSchema(
    "quorum",
    (
        _required("node", Kind.INT32, "controller or broker id"),
        _required("voter", Kind.BOOL, "a voter, otherwise an observer"),
        _required("leader", Kind.BOOL, "leader of the metadata quorum"),
        _optional("log_end_offset", Kind.INT64, "log end offset of the metadata log on that node"),
        _optional("last_fetch_ms", Kind.INT64, "when it last fetched, ms since the epoch"),
        _optional("last_caught_up_ms", Kind.INT64, "when it was last caught up, ms since the epoch"),
    ),
    sort=("node",),
)

TABLES: tuple[TableSchema, ...] = (PARTITIONS, BROKERS, LOG_DIRS, REPLICAS, CONFIGS, GROUPS, QUORUM)
