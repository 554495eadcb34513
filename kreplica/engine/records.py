"""A record as logs of the simulator hold it and as events carry it."""

from __future__ import annotations

from typing import Any, NamedTuple

from kreplica.engine.rules.producer_state import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE

DATA = 0
COMMIT = 1
ABORT = 2
"""What a record is: an application's, or the marker that ends a transaction."""


class Record(NamedTuple):
    """One record; its offset is its place in the log.

    Args:
        epoch: The leader epoch it was appended in.
        value: What the client wrote; a coordinator's records hold tuples.
        producer_id: NO_PRODUCER_ID where the producer is not idempotent.
        producer_epoch: As the producer sent it.
        sequence: As the producer sent it; markers have none, -1.
        kind: DATA, COMMIT or ABORT.
        transactional: Whether it is part of a transaction.
        batch_sequence: The sequence that its batch begins with: followers know batches by it.
        timestamp: When its leader appended it, in microseconds of virtual time (message.timestamp.type=LogAppendTime;
            Kafka's default is when the producer was given it, earlier by what sending took).
    """

    epoch: int
    value: Any
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    sequence: int = NO_SEQUENCE
    kind: int = DATA
    transactional: bool = False
    batch_sequence: int = NO_SEQUENCE
    timestamp: int = 0


def text_of(record: Record) -> str:
    """A record in a word: its value, or which marker it is."""
    return _MARKERS.get(record.kind) or str(record.value)


_MARKERS = {COMMIT: "commit", ABORT: "abort"}
