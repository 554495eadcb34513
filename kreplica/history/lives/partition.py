"""The life of a partition."""

from __future__ import annotations

from kreplica.history.lives.log_line import Moments, log_glances, told_stretches
from kreplica.history.lives.rows import PartitionStretch, Row, StretchTimes, changes
from kreplica.history.lives.stretches import StretchKind, in_order
from kreplica.history.lives.told_line import Line, glances
from kreplica.history.selection import KeyFilter
from kreplica.history.tables import LOG_TABLES, TABLES
from kreplica.model.tables.schema import PARTITIONS

_PARTITIONS = next(table for table in TABLES if table.of is PARTITIONS)
_LOGGED = next(table for table in LOG_TABLES if table.of is PARTITIONS)
_SHOWN = ("leader", "isr", "replicas")


def partition_rows(line: Line, topic: str, partition: int) -> list[Row]:
    """The stretches of a partition's life; none where neither a snapshot nor a log has it."""
    moments, some, key = Moments(line), KeyFilter("topic", topic), (topic, partition)
    logged = log_glances(moments, _LOGGED, some, key)
    found = told_stretches(moments, glances(line, _PARTITIONS, some, key), logged, _SHOWN)
    if not any(one.kind is StretchKind.STATE for one in found):
        return []
    rows: list[Row] = []
    for one in in_order([*found, *moments.pauses()]):
        at, state = StretchTimes.of(one, moments.times), one.values
        rows.append(
            PartitionStretch(
                topic=topic,
                partition=partition,
                kind=one.kind,
                valid_from=at.valid_from,
                last_seen=at.last_seen,
                valid_to=at.valid_to,
                leader=state.get("leader"),  # type: ignore[arg-type]
                leader_epoch=state.get("leader_epoch"),  # type: ignore[arg-type]
                isr=state.get("isr"),  # type: ignore[arg-type]
                replicas=state.get("replicas"),  # type: ignore[arg-type]
                topic_id=state.get("topic_id"),  # type: ignore[arg-type]
                changed=changes(one),
                snapshots=one.snapshots,
                exact=one.exact,
            )
        )
    return rows
