"""Rows of kreplica decode offsets: a committed offset, and what a live cluster says of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kreplica.health.offset_range import Standing
from kreplica.model.tables.rows import Int32, Meaning


class OffsetRow(Struct, frozen=True):
    """A committed offset."""

    group: Annotated[str, Meaning("group id")]
    topic: Annotated[str, Meaning("topic name")]
    partition: Annotated[Int32, Meaning("partition index")]
    offset: Annotated[int, Meaning("committed offset: the next record that the group will read")]
    leader_epoch: Annotated[
        Int32 | None,
        Meaning("leader epoch of the last record read, null if it was not committed", screen=False),
    ]
    metadata: Annotated[str, Meaning("what the client added", drop=1)]
    commit_timestamp: Annotated[int, Meaning("when, in ms", label="COMMITTED", drop=2)]
    expire_timestamp: Annotated[
        int | None, Meaning("when it expires, in ms; null where offsets.retention.minutes says it", screen=False)
    ]
    pending: Annotated[bool, Meaning("sent in a transaction that is still open: not committed yet")]
    producer_id: Annotated[
        int | None, Meaning("producer id of that transaction, null if it is not pending", screen=False)
    ]
    record_offset: Annotated[int, Meaning("offset of the record in its partition of __consumer_offsets", screen=False)]


class ComparedOffset(OffsetRow, frozen=True):
    """A committed offset, and where it stands in the log of a live cluster."""

    log_start_offset: Annotated[int | None, Meaning("first offset of the log there", label="LOG_START", drop=4)]
    end_offset: Annotated[int | None, Meaning("log end offset there", label="LOG_END", drop=3)]
    standing: Annotated[
        Standing | None, Meaning("in range, below start, above end or no such partition; null where not told")
    ]
