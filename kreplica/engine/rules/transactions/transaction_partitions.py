"""Partitions of a transaction: a producer adds them, a leader asks whether they are in it.

kafka.coordinator.transaction.TransactionCoordinator.handleAddPartitionsToTransaction, since 0.11 (KIP-98), and
handleVerifyPartitionsInTransaction, since 3.6 (KIP-890). With transaction version 2 (4.0) the leader adds the partition
on the first write itself.
"""

from collections.abc import Iterable
from dataclasses import replace

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.transaction_states import (
    IDLE,
    PREPARED,
    Decision,
    TransactionMetadata,
    TransactionState,
    accepted,
    refused,
)


def add_partitions(
    metadata: TransactionMetadata | None,
    producer_id: int,
    epoch: int,
    partitions: Iterable[str],
    now: int,
    pending_first: bool = False,
) -> Decision:
    """Decides on an AddPartitionsToTxn: the first partitions begin the transaction.

    Args:
        metadata: None for an unknown transactional id.
        producer_id, epoch: The producer's.
        partitions: Partitions to add.
        now: The time.
        pending_first: A transition under way is checked before the id: since 4.0 it may be about to change the id
            (KAFKA-18660).
    """
    if metadata is None:
        return refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if pending_first and metadata.pending is not None:
        return refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    error = _owner_error(metadata, producer_id, epoch)
    if error is not ErrorCode.NONE:
        return refused(error)
    if metadata.pending is not None or metadata.state in PREPARED:
        return refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    merged = tuple(sorted({*metadata.partitions, *partitions}))
    if metadata.state is TransactionState.ONGOING and merged == metadata.partitions:
        return Decision(ErrorCode.NONE)
    start = now if metadata.state in IDLE else metadata.start
    return accepted(replace(metadata, state=TransactionState.ONGOING, partitions=merged, start=start, last_update=now))


def verify_partition(
    metadata: TransactionMetadata | None, producer_id: int, epoch: int, partition: str, abortable: bool = True
) -> ErrorCode:
    """Returns the coordinator's answer to a leader that asks whether a partition is in the producer's transaction.

    A transition under way does not matter: the append is checked once more (KAFKA-14904).

    Args:
        metadata: None for an unknown transactional id.
        producer_id, epoch: The producer's.
        partition: The partition of the batch.
        abortable: Since 3.8 (KAFKA-16314) TRANSACTION_ABORTABLE says that it is not, before INVALID_TXN_STATE.
    """
    if metadata is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    error = _owner_error(metadata, producer_id, epoch)
    if error is not ErrorCode.NONE:
        return error
    if metadata.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if partition in metadata.partitions:
        return ErrorCode.NONE
    return ErrorCode.TRANSACTION_ABORTABLE if abortable else ErrorCode.INVALID_TXN_STATE


def _owner_error(metadata: TransactionMetadata, producer_id: int, epoch: int) -> ErrorCode:
    if metadata.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.PRODUCER_FENCED if metadata.producer_epoch != epoch else ErrorCode.NONE
