"""A record as logs of the simulator hold it and as events carry it."""

from __future__ import annotations

from typing import Any, NamedTuple

DATA = 0
COMMIT = 1
ABORT = 2
"""What a record is: an application's, or the marker that ends a transaction."""

NO_PRODUCER_ID = -1
"""RecordBatch.NO_PRODUCER_ID: the record is not idempotent."""


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
    """

    epoch: int
    value: Any
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    sequence: int = -1
    kind: int = DATA
    transactional: bool = False
    batch_sequence: int = -1
