"""What a consumer does with the records of a fetch: markers and aborted records move its position, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.records import ABORT, DATA, Record
from kreplica.engine.rules.isolation import FetchedBatch, delivered_batches

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker_reads import ConsumerGiven

Fetched = tuple[int, Record, bool]
"""Offset, record, and whether the application gets it."""


def fetched_records(given: ConsumerGiven) -> tuple[Fetched, ...]:
    """The records of a fetch in their order."""
    placed = tuple(enumerate(given.records, start=given.offset))
    if not given.aborted:
        return tuple((offset, record, record.kind == DATA) for offset, record in placed)
    batches = (_batch(offset, record) for offset, record in placed)
    delivered = {batch.base_offset for batch in delivered_batches(batches, given.aborted)}
    return tuple((offset, record, offset in delivered) for offset, record in placed)


def _batch(offset: int, record: Record) -> FetchedBatch:
    control = record.kind != DATA
    return FetchedBatch(offset, offset, record.producer_id, record.transactional, control, record.kind == ABORT)
