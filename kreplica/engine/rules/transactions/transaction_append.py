"""Appends of a transaction to a partition's log: data that the coordinator knows of, and markers.

kafka.log.UnifiedLog.analyzeAndValidateProducerState and ProducerAppendInfo. The verification is KIP-890, part 1, since
3.6 (KAFKA-14884): without it a late batch opens a transaction that is never ended.
"""

from dataclasses import dataclass, replace

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import (
    NO_OFFSET,
    ProducerState,
    UnknownProducer,
    last_sequence,
    producer_epoch_error,
    sequence_error,
)
from kreplica.engine.rules.transactions.transaction_states import MAX_EPOCH

NO_GUARD = 0
"""VerificationGuard.SENTINEL: no verification was asked for. It never counts as verified."""


@dataclass(frozen=True, slots=True)
class Verification:
    """A verification under way: org.apache.kafka.storage.internals.log.VerificationStateEntry.

    Args:
        guard: Unique in its log, so that the answer to an older request is recognised (ABA).
        lowest_sequence: The lowest first sequence that waits; a higher one must not be first in the log (KAFKA-14920).
        epoch: Producer epoch of that.
        version_2: Whether the client speaks transaction version 2.
    """

    guard: int
    lowest_sequence: int
    epoch: int
    version_2: bool = False


def transaction_open(state: ProducerState, epoch: int, epoch_counts: bool) -> bool:
    """True if the producer has a transaction open on this partition. UnifiedLog.hasOngoingTransaction.

    Args:
        state: The producer's state at the leader.
        epoch: The batch's.
        epoch_counts: Since 4.0 (KAFKA-18575): one of another epoch is another transaction.
    """
    return state.transaction_start != NO_OFFSET and (not epoch_counts or state.epoch == epoch)


def start_verification(
    known: Verification | None, fresh_guard: int, first_sequence: int, epoch: int, version_2: bool
) -> Verification:
    """The verification before a batch is appended: the one under way, or a new one with ``fresh_guard``.

    ProducerStateManager.maybeCreateVerificationStateEntry, VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch.

    Args:
        known: The verification under way, None without one.
        fresh_guard: An unused guard, for a new one.
        first_sequence, epoch: Of the batch.
        version_2: Whether the client speaks transaction version 2.
    """
    if known is None:
        return Verification(fresh_guard, first_sequence, epoch, version_2)
    if epoch > known.epoch:
        return replace(known, epoch=epoch, lowest_sequence=first_sequence)
    if epoch == known.epoch:
        return replace(known, lowest_sequence=min(known.lowest_sequence, first_sequence))
    return known


def verification_error(known: Verification | None, guard: int) -> ErrorCode:
    """INVALID_TXN_STATE where the first batch of a transaction was not verified.

    UnifiedLog.batchMissingRequiredVerification.

    Args:
        known: The verification that the log waits for; a marker removes it.
        guard: What the request was verified with, NO_GUARD if with nothing.
    """
    verified = known is not None and guard != NO_GUARD and guard == known.guard
    return ErrorCode.NONE if verified else ErrorCode.INVALID_TXN_STATE


def transactional_sequence_error(
    state: ProducerState,
    verification: Verification | None,
    epoch: int,
    first_sequence: int,
    unknown: UnknownProducer,
    zero_first: bool,
) -> ErrorCode:
    """Returns the error for a sequence, verification considered. ProducerAppendInfo.checkSequence, since 3.6.

    Args:
        state: The producer's state at the leader.
        verification: The one under way, if any.
        epoch: The batch's.
        first_sequence: The batch's.
        unknown: The version's answer for a producer without state.
        zero_first: With transaction version 2 and no batch known only 0 may come, since 4.1 (KAFKA-18202).
    """
    if verification is not None:
        if zero_first and verification.version_2 and first_sequence != 0 and not state.batches:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if first_sequence > verification.lowest_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return sequence_error(state.epoch, last_sequence(state), epoch, first_sequence, unknown)


def plain_write_error(state: ProducerState, transactional: bool) -> ErrorCode:
    """INVALID_TXN_STATE for a batch outside a transaction while one is open. ProducerAppendInfo.appendDataBatch."""
    if state.transaction_start != NO_OFFSET and not transactional:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.NONE


def marker_error(state: ProducerState, epoch: int, coordinator_epoch: int, strict: bool) -> ErrorCode:
    """Returns the error with which a leader refuses a marker: of an older producer or coordinator than it has seen.

    ProducerAppendInfo.checkProducerEpoch and checkCoordinatorEpoch: the second keeps a coordinator that does not know
    yet that it was replaced from ending a later transaction. With transaction version 2 every end raises the epoch, so
    a marker with the epoch of an open transaction is a late one, of the transaction before: refused since 4.2
    (KIP-1228). One repeated while none is open does no harm (KAFKA-19999), and the last epoch cannot be raised.

    Args:
        state: Of the producer, at the leader.
        epoch: The marker's.
        coordinator_epoch: Of the coordinator that sends it.
        strict: Whether the transaction is of version 2, since 4.2.
    """
    if strict and epoch == state.epoch != MAX_EPOCH and state.transaction_start != NO_OFFSET:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    error = producer_epoch_error(state.epoch, epoch)
    if error is ErrorCode.NONE and coordinator_epoch < state.coordinator_epoch:
        return ErrorCode.TRANSACTION_COORDINATOR_FENCED
    return error


def verification_answer(error: int, version_2: bool) -> ErrorCode:
    """Returns a producer's error if its partition could not be verified or added. ReplicaManager.appendRecords.

    With transaction version 1 the older clients do not expect a coordinator's errors in the answer to a produce
    request: those that may be retried are reported as NOT_ENOUGH_REPLICAS.

    Args:
        error: The coordinator's.
        version_2: Whether the client speaks transaction version 2.
    """
    if error == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error in _TRY_AGAIN:
        concurrent = version_2 and error == ErrorCode.CONCURRENT_TRANSACTIONS
        return ErrorCode.CONCURRENT_TRANSACTIONS if concurrent else ErrorCode.NOT_ENOUGH_REPLICAS
    return ErrorCode(error)


_TRY_AGAIN = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
)
