"""Producer state at a replica, and the check that a producer's batch is the next one.

org.apache.kafka.storage.internals.log.ProducerStateEntry and ProducerAppendInfo (kafka.log.ProducerStateManager before
3.5), since 0.11 (KIP-98). Leader and followers keep the same state, each from its own log: it survives a change of
leader, and is rebuilt from what is left after a truncation.

    sequence     0 1 2   3   4 5   6 ...  2^31-1   0   1      wraps to 0
    batch        [0, 2] [3] [4, 5] ...                        last five kept (one in 0.11.0)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from kreplica.engine.rules.replication.error_codes import ErrorCode

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
NO_COORDINATOR_EPOCH = -1
NO_TIMESTAMP = -1
MAX_SEQUENCE = 2**31 - 1
CACHED_BATCHES = 5
"""ProducerStateEntry.NUM_BATCHES_TO_RETAIN since 1.0 (KAFKA-5494): why max.in.flight may be 5. Before, 1."""

Batch = tuple[int, int, int]
"""First sequence, last sequence, first offset of an appended batch: Kafka's BatchMetadata."""


class UnknownProducer(IntEnum):
    """Answers of a leader to a sequence other than 0 if it has no state to compare it with.

    OUT_OF_ORDER in 0.11; UNKNOWN without any state from 1.0; UNKNOWN_OR_ONLY_MARKER also where only a marker is left,
    from 2.0.1 (KAFKA-7298); ACCEPT from 2.5 (KIP-360).
    """

    OUT_OF_ORDER = 0
    UNKNOWN = 1
    UNKNOWN_OR_ONLY_MARKER = 2
    ACCEPT = 3


@dataclass(frozen=True, slots=True)
class ProducerState:
    """State of one producer id at one replica.

    Args:
        epoch: The highest seen; NO_PRODUCER_EPOCH before the first append.
        batches: The latest of that epoch, oldest first.
        coordinator_epoch: Of the latest marker.
        transaction_start: First offset of the open transaction, NO_OFFSET if there is none.
        timestamp: Of the latest append, in the unit of the caller's clock; NO_TIMESTAMP if none counts.
    """

    epoch: int = NO_PRODUCER_EPOCH
    batches: tuple[Batch, ...] = ()
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    transaction_start: int = NO_OFFSET
    timestamp: int = NO_TIMESTAMP


EMPTY_STATE = ProducerState()
"""State of a producer that was never seen, or whose state is deleted or has expired."""


def sequence_after(sequence: int, records: int) -> int:
    """The sequence ``records`` further on: after 2^31 - 1 comes 0. DefaultRecordBatch.incrementSequence."""
    return (sequence + records) % (MAX_SEQUENCE + 1)


def last_sequence(state: ProducerState) -> int:
    """The last sequence appended in the state's epoch, NO_SEQUENCE where no batch is known."""
    return state.batches[-1][1] if state.batches else NO_SEQUENCE


def in_sequence(last: int, following: int) -> bool:
    """True if ``following`` is the sequence right after ``last``. ProducerAppendInfo.inSequence."""
    return following == last + 1 or (following == 0 and last == MAX_SEQUENCE)


def duplicate_offset(
    known_epoch: int, batches: Sequence[Batch], epoch: int, first_sequence: int, last_sequence: int
) -> int:
    """Returns the offset at which a batch is already appended; NO_OFFSET if it is not among the remembered ones.

    ProducerStateEntry.findDuplicateBatch: the same epoch and exactly the same sequences. The leader answers with that
    offset and appends nothing. A batch older than the remembered ones is not known as a duplicate: it is out of order.

    Args:
        known_epoch: The highest seen of the producer.
        batches: The remembered ones of that epoch.
        epoch, first_sequence, last_sequence: Of the batch that came.
    """
    if epoch != known_epoch:
        return NO_OFFSET
    for first, last, offset in batches:
        if first == first_sequence and last == last_sequence:
            return offset
    return NO_OFFSET


def producer_epoch_error(known_epoch: int, epoch: int) -> ErrorCode:
    """INVALID_PRODUCER_EPOCH for an epoch below the highest seen: a zombie. ProducerAppendInfo.checkProducerEpoch.

    For appends by clients and coordinators: a follower appends what its leader has appended.
    """
    return ErrorCode.INVALID_PRODUCER_EPOCH if epoch < known_epoch else ErrorCode.NONE


def sequence_error(
    known_epoch: int, known_sequence: int, epoch: int, first_sequence: int, unknown: UnknownProducer
) -> ErrorCode:
    """Returns the error for the first sequence of a client's batch; NONE if it fits. ProducerAppendInfo.checkSequence.

    A new epoch begins at 0, the same epoch goes on after its last sequence. If nothing is known, versions differ.

    Args:
        known_epoch: The highest seen of the producer, NO_PRODUCER_EPOCH where nothing is known of it.
        known_sequence: ``last_sequence`` of what is known.
        epoch, first_sequence: Of the batch.
        unknown: The version's answer for a producer without state.
    """
    if epoch != known_epoch:
        if first_sequence == 0:
            return ErrorCode.NONE
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER if known_epoch != NO_PRODUCER_EPOCH else _without_state(unknown)
    if in_sequence(known_sequence, first_sequence):
        return ErrorCode.NONE
    if known_sequence == NO_SEQUENCE and unknown == UnknownProducer.UNKNOWN_OR_ONLY_MARKER:
        return ErrorCode.UNKNOWN_PRODUCER_ID
    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def _without_state(unknown: UnknownProducer) -> ErrorCode:
    if unknown == UnknownProducer.OUT_OF_ORDER:
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return ErrorCode.NONE if unknown == UnknownProducer.ACCEPT else ErrorCode.UNKNOWN_PRODUCER_ID


def after_data(
    state: ProducerState, epoch: int, batch: Batch, transactional: bool, timestamp: int, cached: int = CACHED_BATCHES
) -> ProducerState:
    """The state after a batch of data. ProducerAppendInfo.appendDataBatch, ProducerStateEntry.addBatch.

    The first batch of a transaction opens it on this partition.

    Args:
        state: Before.
        epoch: Of the batch; a new epoch drops the batches of the one before.
        batch: Its sequences and first offset.
        transactional: Whether it belongs to a transaction.
        timestamp: Of the append.
        cached: Number of batches that are remembered.
    """
    kept = state.batches if epoch == state.epoch else ()
    start = state.transaction_start
    if transactional and start == NO_OFFSET:
        start = batch[2]
    return ProducerState(epoch, (*kept, batch)[-cached:], state.coordinator_epoch, start, timestamp)


def after_marker(
    state: ProducerState,
    epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    keeps_producer: bool,
    takes_place_at: int = NO_OFFSET,
) -> ProducerState:
    """The state after the marker of a transaction, which ends it. ProducerAppendInfo.appendEndTxnMarker.

    A marker with a higher epoch (a fenced producer's; every transaction's with transaction version 2) drops the
    remembered batches: the next one begins at sequence 0. Before 2.4.1 the time was that of the last remembered batch
    (ProducerStateEntry.lastTimestamp): without one the producer expired at the next check, and its fencing was
    forgotten (KAFKA-9144).

    In 0.11 a marker of the same epoch takes the place of the one remembered batch (ProducerIdEntry), as if it were a
    batch of the last sequence alone: what was sent before it is a duplicate only if that was one record.

    Args:
        state: Before it.
        epoch, coordinator_epoch: The marker's.
        timestamp: The marker's.
        keeps_producer: Whether the marker's time counts for the expiry, since 2.4.1.
        takes_place_at: Its offset where it takes the place of a batch, in 0.11; NO_OFFSET since 1.0.
    """
    kept = state.batches if epoch == state.epoch else ()
    if kept and takes_place_at != NO_OFFSET:
        kept = ((kept[-1][1], kept[-1][1], takes_place_at),)
    if not keeps_producer:
        timestamp = state.timestamp if epoch == state.epoch else NO_TIMESTAMP
    return ProducerState(epoch, kept, coordinator_epoch, NO_OFFSET, timestamp)


def only_last_batch(state: ProducerState) -> ProducerState:
    """Returns the state that a producer snapshot keeps: the last batch alone. ProducerStateManager.writeSnapshot.

    After a restart or truncation a broker reads the snapshot and replays the log above it.
    """
    return replace(state, batches=state.batches[-1:])


def producer_expired(transaction_start: int, timestamp: int, now: int, expiration: int) -> bool:
    """True if a replica forgets the producer: idle for long, no transaction open.

    ProducerStateManager.isProducerExpired.

    Args:
        transaction_start: First offset of its open transaction, NO_OFFSET if there is none.
        timestamp: Of its latest append, NO_TIMESTAMP if none counts.
        now: The time, in the unit of the timestamps.
        expiration: producer.id.expiration.ms (since 3.4; before, transactional.id.expiration.ms), in that unit.
    """
    long_ago = timestamp == NO_TIMESTAMP or now - timestamp >= expiration
    return transaction_start == NO_OFFSET and long_ago
