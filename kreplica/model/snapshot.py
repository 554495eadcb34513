"""ClusterSnapshot: the facts known of one cluster at one moment, from any source.

LogPosition: the log end offset and size of one replica at one moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kreplica.errors import UsageError
from kreplica.model.settings import ELR_FEATURE, METADATA_VERSION
from kreplica.model.tables.columns import IntColumn, IntListColumn, StringColumn
from kreplica.model.tables.schema import (
    BROKERS,
    CONFIGS,
    GROUPS,
    LOG_DIRS,
    PARTITIONS,
    QUORUM,
    REPLICAS,
    TABLES,
    TableSchema,
)
from kreplica.model.tables.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


class MetadataMode(Enum):
    """Metadata mode of a cluster, which determines the rules of its controller."""

    KRAFT = "kraft"
    ZOOKEEPER = "zookeeper"


@dataclass(frozen=True, slots=True)
class Gap:
    """A fact that a complete answer needs and the source did not give; an answer with gaps exits 5.

    Args:
        kind: ``hidden-topics``, ``silent-brokers``, ``failed-request`` or ``torn-read``; of gates besides
            ``nothing-to-judge`` and ``stale``.
        message: One clause for the user, lower case, with names and numbers.
        count: How many things are missing, 0 where that is not known.
    """

    kind: str
    message: str
    count: int


@dataclass(frozen=True, eq=False)
class ClusterSnapshot:
    """One cluster at one moment.

    Args:
        cluster_id: Kafka's cluster id; None where the source does not tell.
        name: What the user calls it: context, bootstrap servers or dump path.
        taken_at: When it was read, UTC.
        source: The way in: ``kafka``, ``zookeeper``, ``describe-text``, ``kcat-json``, ``znode-json``, ...
        controller: Id of the active controller: ZooKeeper's, or the leader of the metadata quorum (``controller_of``);
            None if not known.
        features: Finalized features by name; empty if not known.
        gaps: Facts that are missing although the source could have given them.
        notes: Remarks for the user that change no answer.
        controller_epoch: Epoch of the ZooKeeper controller; None where the source does not tell.
        dumped: Whether it comes from a dump: the cluster may have changed since.
        as_of: The moment that was asked for, of a history; its age counts to then.
        measured: Whether offsets and sizes would be there if the source knew them; a history leaves them out.
        metadata_offset: End offset of KRaft's metadata log then: on the quorum's leader, or in the log that was read;
            None where the source does not tell.
    """

    cluster_id: str | None
    name: str
    taken_at: datetime
    source: str
    partitions: Table
    brokers: Table = field(default_factory=lambda: Table.empty(BROKERS))
    log_dirs: Table = field(default_factory=lambda: Table.empty(LOG_DIRS))
    replicas: Table = field(default_factory=lambda: Table.empty(REPLICAS))
    configs: Table = field(default_factory=lambda: Table.empty(CONFIGS))
    groups: Table = field(default_factory=lambda: Table.empty(GROUPS))
    quorum: Table = field(default_factory=lambda: Table.empty(QUORUM))
    controller: int | None = None
    features: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    controller_epoch: int | None = None
    dumped: bool = False
    as_of: datetime | None = None
    measured: bool = True
    metadata_offset: int | None = None

    def __post_init__(self) -> None:
        assert self.taken_at.tzinfo is not None, "taken_at carries its zone"
        assert self.partitions.schema is PARTITIONS, "partitions hold the partitions table"

    def table(self, schema: TableSchema) -> Table:
        """The table of that schema."""
        found = getattr(self, schema.name)
        assert isinstance(found, Table)
        return found

    def age_seconds(self, now: datetime) -> float | None:
        """Age of a dump, below 0 for one of the future; None for a cluster that was read itself."""
        return ((self.as_of or now) - self.taken_at).total_seconds() if self.dumped else None

    @property
    def label(self) -> str:
        """Name of this cluster in rows: its id where known, otherwise its name."""
        return self.cluster_id or self.name

    @property
    def mode(self) -> MetadataMode | None:
        """KRaft or ZooKeeper; None if the source does not show it.

        Every KRaft cluster has finalized the feature metadata.version (KIP-584), which brokers report to every client.
        """
        if METADATA_VERSION in self.features or len(self.quorum):
            return MetadataMode.KRAFT
        return MetadataMode.ZOOKEEPER if self.source in ("kafka", "zookeeper", "znode-json") else None

    @property
    def elr_known(self) -> bool:
        """True if the source shows whether eligible leader replicas are on: features are finalized, or one is listed.

        The output of kafka-topics lists those of each partition, not the feature: where none is listed it may be on.
        """
        return bool(self.features) or self.mode is MetadataMode.ZOOKEEPER or self.elr_enabled

    @property
    def elr_enabled(self) -> bool:
        """True if the controller keeps eligible leader replicas (KIP-966), as far as the source shows it."""
        elr = self.lists("elr")
        return self.features.get(ELR_FEATURE, 0) > 0 or len(elr.values) > 0

    def partition(self, topic: str, partition: int) -> dict[str, object]:
        """One partition as a dictionary of fields.

        Raises:
            KeyError: The snapshot has no such partition.
        """
        return self.partitions.row(self.row_number(topic, partition))

    def row_number(self, topic: str, partition: int) -> int:
        """Row of a partition in the partitions table.

        Raises:
            KeyError: The snapshot has no such partition.
        """
        return self._rows_by_partition[topic, partition]

    def find_row(self, topic: str, partition: int) -> int | None:
        """Row of a partition in the partitions table, None if it is not there."""
        return self._rows_by_partition.get((topic, partition))

    @cached_property
    def _rows_by_partition(self) -> dict[tuple[str, int], int]:
        topics, numbers = self.partitions["topic"].to_list(), self.partitions["partition"].to_list()
        return {(topic, number): row for row, (topic, number) in enumerate(zip(topics, numbers, strict=True))}  # type: ignore[misc]

    @cached_property
    def racks(self) -> dict[int, str]:
        """Rack by broker id, brokers without one left out."""
        pairs = zip(self.brokers["broker"].to_list(), self.brokers["rack"].to_list(), strict=True)
        return {broker: rack for broker, rack in pairs if isinstance(broker, int) and isinstance(rack, str)}

    @cached_property
    def _alive_by_broker(self) -> dict[object, object]:
        return dict(zip(self.brokers["broker"].to_list(), self.brokers["alive"].to_list(), strict=True))

    def is_alive(self, broker: int) -> bool | None:
        """True if a broker is live; false for one that is not among the cluster's brokers, None if it is there but the
        source does not report it, or if the source knows no brokers at all.
        """
        states = self._alive_by_broker
        found = states.get(broker, False) if states else None
        assert found is None or isinstance(found, bool)
        return found

    def to_pandas(self, table: str) -> DataFrame:
        """A table for pandas: nullable integers and booleans, categories, lists.

        Args:
            table: partitions, brokers, log_dirs, replicas, configs, groups or quorum.

        Raises:
            UsageError: There is no such table.
            MissingExtraError: pandas is not installed.
        """
        from kreplica.model.tables.frames import to_frame

        schemas = {schema.name: schema for schema in TABLES}
        if table not in schemas:
            raise UsageError(f"a snapshot has no table {table}", f"its tables are {', '.join(schemas)}")
        return to_frame(self.table(schemas[table]))

    def select(self, rows: np.ndarray) -> ClusterSnapshot:
        """The same cluster with only the named partition rows."""
        return replace(self, partitions=self.partitions.take(rows))

    def without_partitions(self) -> ClusterSnapshot:
        """The same cluster with no partition."""
        return self.select(np.empty(0, dtype=np.intp))

    @property
    def topic_count(self) -> int:
        """Number of distinct topics."""
        return len(np.unique(self.strings("topic").codes))

    def strings(self, name: str) -> StringColumn:
        """A string column of the partitions table."""
        return self.partitions.strings(name)

    def integers(self, name: str) -> IntColumn:
        """An integer column of the partitions table."""
        return self.partitions.integers(name)

    def lists(self, name: str) -> IntListColumn:
        """A list column of the partitions table."""
        return self.partitions.lists(name)


def controller_of(named: int | None, features: Mapping[str, int], quorum: Table) -> int | None:
    """Id of the active controller, None if not known.

    With KRaft it is the leader of the metadata quorum and nothing else: Metadata names any live broker (KIP-590).

    Args:
        named: The controller that Metadata, ZooKeeper or a dump names.
        features: Finalized features by name.
        quorum: The quorum table.
    """
    if METADATA_VERSION not in features and not len(quorum):
        return named
    leaders = quorum.integers("node").values[quorum.booleans("leader").is_true()]
    return int(leaders[0]) if len(leaders) else None


def metadata_offset_of(quorum: Table) -> int | None:
    """End offset of the metadata log on the leader of the quorum, None if not known.

    Args:
        quorum: The quorum table.
    """
    leaders = (row["log_end_offset"] for row in quorum.rows() if row["leader"])
    return next((offset for offset in leaders if isinstance(offset, int)), None)


def utc_now() -> datetime:
    """Now, UTC, cut to milliseconds: what a snapshot's taken_at can hold."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Log end offset and size of one replica at one moment.

    Args:
        topic, partition, broker: The replica.
        end_offset: Its log end offset, as reported by its own broker; None if not reported.
        size: Bytes on disk, without a future replica; None if not reported.
        seconds: Time on a monotonic clock; comparable only between positions of one process.
    """

    topic: str
    partition: int
    broker: int
    end_offset: int | None
    size: int | None
    seconds: float
