"""InitProducerId of a transactional producer: the id and epoch it gets, and the fencing of older producers.

kafka.coordinator.transaction.TransactionCoordinator.prepareInitProducerIdTransit, since 0.11 (KIP-98); a producer that
goes on after an error sends its id and epoch since 2.5 (KIP-360).
"""

from dataclasses import replace

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_EPOCH, NO_TIMESTAMP
from kreplica.engine.rules.transactions.transaction_states import (
    MAX_EPOCH,
    PREPARED,
    Decision,
    TransactionMetadata,
    TransactionState,
    accepted,
    epoch_exhausted,
    refused,
)

IdAndEpoch = tuple[int, int]


def init_producer_id(
    metadata: TransactionMetadata, expected: IdAndEpoch | None, timeout: int, fresh_id: int, now: int
) -> Decision:
    """Decides on an InitProducerId.

    An open transaction is fenced and aborted first: the target is then PREPARE_EPOCH_FENCE, which goes on by
    ``end_transaction`` with its epoch; the producer gets CONCURRENT_TRANSACTIONS and asks again.

    Args:
        metadata: State of the transactional id; a fresh one (NO_PRODUCER_EPOCH) for an unknown id.
        expected: Id and epoch that the producer has, None for a new one.
        timeout: transaction.timeout.ms of the producer.
        fresh_id: An unused producer id, for when the epochs are used up.
        now: The time.
    """
    if metadata.pending is not None:
        return refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if expected is not None and not _known_id(metadata, expected):
        return refused(ErrorCode.PRODUCER_FENCED)
    if metadata.state in PREPARED:
        return refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if metadata.state is TransactionState.ONGOING:
        return accepted(fence_producer_epoch(metadata))
    begun = replace(
        metadata,
        timeout=timeout,
        state=TransactionState.EMPTY,
        partitions=(),
        start=NO_TIMESTAMP,
        last_update=now,
        next_producer_id=-1,
    )
    if epoch_exhausted(metadata.producer_epoch) and (expected is None or expected[1] == metadata.producer_epoch):
        return accepted(_rotated(begun, fresh_id, expected is not None))
    return _next_epoch(begun, None if expected is None else expected[1])


def fence_producer_epoch(metadata: TransactionMetadata) -> TransactionMetadata:
    """The epoch above the one that is to be fenced; given to no client. TransactionMetadata.prepareFenceProducerEpoch.

    If the log refused it once (``failed_fence``), it is raised already. The highest epoch is not raised: an error in
    itself, which must not prevent the abort.
    """
    stays = metadata.failed_fence or metadata.producer_epoch == MAX_EPOCH
    epoch = metadata.producer_epoch if stays else metadata.producer_epoch + 1
    return replace(metadata, producer_epoch=epoch, state=TransactionState.PREPARE_EPOCH_FENCE)


def _known_id(metadata: TransactionMetadata, expected: IdAndEpoch) -> bool:
    producer_id, epoch = expected
    if metadata.producer_epoch == NO_PRODUCER_EPOCH or producer_id == metadata.producer_id:
        return True
    return producer_id == metadata.previous_producer_id and epoch_exhausted(epoch)


def _rotated(metadata: TransactionMetadata, fresh_id: int, keep_last: bool) -> TransactionMetadata:
    last = metadata.producer_epoch if keep_last else NO_PRODUCER_EPOCH
    return replace(
        metadata,
        producer_id=fresh_id,
        previous_producer_id=metadata.producer_id,
        producer_epoch=0,
        last_producer_epoch=last,
    )


def _next_epoch(metadata: TransactionMetadata, expected: int | None) -> Decision:
    epoch, last = metadata.producer_epoch, metadata.last_producer_epoch
    if epoch_exhausted(epoch):  # Kafka does not expect this: an IllegalStateException
        return refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    kept = replace(metadata, previous_producer_id=metadata.producer_id)
    if expected is None:
        return accepted(replace(kept, producer_epoch=epoch + 1, last_producer_epoch=NO_PRODUCER_EPOCH))
    if epoch in (NO_PRODUCER_EPOCH, expected):
        return accepted(replace(kept, producer_epoch=epoch + 1, last_producer_epoch=epoch))
    if expected == last:  # the request came already, its answer was lost
        return accepted(kept)
    return refused(ErrorCode.PRODUCER_FENCED)
