"""The tables of a snapshot from what the brokers answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kreplica.model.schema import BROKERS, PARTITIONS, TableSchema
from kreplica.model.table import Table
from kreplica.sources.kafka_layout import Broker, Layout, Partition
from kreplica.sources.kafka_moves import Move, Moves, PartitionKey

_STILL = Move([], [], [])


def partitions_table(
    layout: Layout,
    moves: Moves | None,
    health: Mapping[str, tuple[int | None, bool | None]],
    offsets: Mapping[str, Mapping[PartitionKey, int]],
) -> Table:
    """The partitions table.

    Args:
        layout: The partitions.
        moves: Their reassignments; None if not known.
        health: min.insync.replicas and unclean.leader.election.enable by topic.
        offsets: By field of the table, then by partition.
    """
    rows = layout.partitions
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in Partition.__dataclass_fields__
    }
    settings = [health.get(row.topic, (None, None)) for row in rows]
    columns["min_isr"] = [min_isr for min_isr, _ in settings]
    columns["unclean_leader_election"] = [unclean for _, unclean in settings]
    keys = [(row.topic, row.partition) for row in rows]
    if moves is not None:
        found_moves = [moves.get(key, _STILL) for key in keys]
        columns["adding"] = [move.adding for move in found_moves]
        columns["removing"] = [move.removing for move in found_moves]
    for name, found in offsets.items():
        columns[name] = [found.get(key) for key in keys]
    return Table.from_columns(PARTITIONS, columns)


def brokers_table(layout: Layout) -> Table:
    """The brokers table: registered brokers, and those that only assignments still name, as not alive."""
    known = {broker.broker for broker in layout.brokers}
    named = {replica for partition in layout.partitions for replica in partition.replicas}
    gone = [Broker(broker, None, None, None, alive=False, fenced=None) for broker in sorted(named - known)]
    return table_of(BROKERS, [*layout.brokers, *gone])


def table_of(schema: TableSchema, rows: Sequence[Any]) -> Table:
    """A table from named tuples whose fields are fields of the schema."""
    if not rows:
        return Table.empty(schema)
    return Table.from_columns(schema, dict(zip(rows[0]._fields, zip(*rows, strict=True), strict=True)))
