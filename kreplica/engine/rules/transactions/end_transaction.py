"""EndTxn: commit and abort by a coordinator, under transaction version 1 (0.11) and 2 (4.0, KIP-890).

kafka.coordinator.transaction.TransactionCoordinator.endTransaction. With version 1 a transaction keeps the producer's
epoch: an EndTxn that was delayed ends the next transaction. With version 2 every end raises the epoch: a delayed EndTxn
is refused, and one sent again is recognised by its epoch, one below.

    version 2, from a client           abort             commit
    state            epoch:            e - 1    e        e - 1    e
    Empty                              fenced   abort    fenced   invalid
    Ongoing                            fenced   abort    fenced   commit
    Prepare(Abort|Commit)              the same again: CONCURRENT, the other: invalid; epoch e: fenced
    CompleteAbort                      done     abort    invalid  invalid
    CompleteCommit                     invalid  abort    done     invalid
"""

from dataclasses import replace

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kreplica.engine.rules.transactions.transaction_states import (
    COMPLETE,
    IDLE,
    MAX_EPOCH,
    PREPARED,
    Decision,
    TransactionMetadata,
    TransactionState,
    accepted,
    epoch_exhausted,
    refused,
)

_S = TransactionState


def end_transaction(
    metadata: TransactionMetadata | None, producer_id: int, epoch: int, commit: bool, from_client: bool, now: int
) -> Decision:
    """Decides on an EndTxn under transaction version 1. endTransactionWithTV1.

    Args:
        metadata: None for an unknown transactional id. While an epoch is being fenced, ``pending`` is
            PREPARE_EPOCH_FENCE and ``epoch`` the raised one.
        producer_id, epoch: Of the producer whose transaction is to end.
        commit: True to commit, False to abort.
        from_client: Whether a producer asks; the coordinator itself aborts with a higher epoch.
        now: The time.
    """
    if metadata is None or metadata.producer_id != producer_id:
        return refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if (from_client and epoch != metadata.producer_epoch) or epoch < metadata.producer_epoch:
        return refused(ErrorCode.PRODUCER_FENCED)
    if metadata.pending not in (None, _S.PREPARE_EPOCH_FENCE):
        return refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if metadata.state is _S.ONGOING:
        return accepted(_prepared(_fenced(metadata, epoch, commit), commit, now))
    return refused(_repeated(metadata.state, commit))


def end_transaction_version_2(
    metadata: TransactionMetadata | None,
    producer_id: int,
    epoch: int,
    commit: bool,
    from_client: bool,
    fresh_id: int,
    single_rise: bool,
    fence_rotates: bool,
    now: int,
) -> Decision:
    """Decides on an EndTxn under transaction version 2. endTransaction, since 4.0.

    Args:
        metadata, producer_id, epoch, commit, from_client, now: As for ``end_transaction``.
        fresh_id: An unused producer id, for when the epochs are used up.
        single_rise: Fencing raises the epoch once, since 4.1 and 4.0.1 (KAFKA-19367); before, twice.
        fence_rotates: Fencing at the last epoch takes a new producer id, too, since 4.3 (KAFKA-20090); before, there
            was none to go on with.
    """
    if metadata is None:
        return refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    error = _version_2_error(metadata, producer_id, epoch, commit, from_client)
    if error is not ErrorCode.NONE or _done(metadata, epoch):
        return refused(error)
    fence = metadata.pending is _S.PREPARE_EPOCH_FENCE
    ending = metadata if single_rise else _fenced(metadata, epoch, commit)
    rotates = epoch_exhausted(metadata.producer_epoch) and (fence_rotates or not fence)
    next_id = fresh_id if rotates else NO_PRODUCER_ID
    return accepted(_risen(_prepared(ending, commit, now), metadata.state in IDLE, next_id, now))


def complete_transaction(metadata: TransactionMetadata, now: int) -> TransactionMetadata:
    """The state once every marker is written. TransactionMetadata.prepareComplete.

    Args:
        metadata: In a prepared state.
        now: The time.
    """
    state = _S.COMPLETE_COMMIT if metadata.state is _S.PREPARE_COMMIT else _S.COMPLETE_ABORT
    done = replace(
        metadata,
        next_producer_id=NO_PRODUCER_ID,
        state=state,
        partitions=(),
        last_update=now,
        pending=None,
        failed_fence=False,
    )
    if metadata.client_version < 2:
        return done
    rotated = metadata.next_producer_id != NO_PRODUCER_ID
    return replace(
        done,
        producer_id=metadata.next_producer_id if rotated else metadata.producer_id,
        previous_producer_id=metadata.producer_id,
        producer_epoch=0 if rotated else metadata.producer_epoch,
    )


def _fenced(metadata: TransactionMetadata, epoch: int, commit: bool) -> TransactionMetadata:
    # the raised epoch takes effect only now, with the abort that it is written with
    if commit or metadata.pending is not _S.PREPARE_EPOCH_FENCE:
        return metadata
    return replace(metadata, pending=None, producer_epoch=epoch, last_producer_epoch=NO_PRODUCER_EPOCH)


def _prepared(metadata: TransactionMetadata, commit: bool, now: int) -> TransactionMetadata:
    state = _S.PREPARE_COMMIT if commit else _S.PREPARE_ABORT
    return replace(
        metadata, state=state, last_update=now, pending=None, next_producer_id=NO_PRODUCER_ID, client_version=0
    )


def _risen(metadata: TransactionMetadata, was_idle: bool, next_id: int, now: int) -> TransactionMetadata:
    at_end = metadata.producer_epoch == MAX_EPOCH and metadata.state is _S.PREPARE_ABORT
    return replace(
        metadata,
        producer_epoch=metadata.producer_epoch if at_end else metadata.producer_epoch + 1,
        last_producer_epoch=metadata.producer_epoch,
        next_producer_id=next_id,
        start=now if was_idle else metadata.start,
        client_version=2,
    )


def _version_2_error(
    metadata: TransactionMetadata, producer_id: int, epoch: int, commit: bool, from_client: bool
) -> ErrorCode:
    fence = metadata.pending is _S.PREPARE_EPOCH_FENCE
    overflowed = not fence and metadata.previous_producer_id == producer_id and _overflowed(metadata, epoch)
    again = overflowed or (not fence and metadata.producer_epoch == epoch + 1)
    if not fence and metadata.pending is not None:  # first: what is being written may bring another producer id
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if metadata.producer_id != producer_id and not overflowed:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if not _epoch_fits(metadata, epoch, fence, again, from_client):
        return ErrorCode.PRODUCER_FENCED
    if metadata.state is _S.ONGOING or (metadata.state in IDLE and not commit and not again):
        return ErrorCode.NONE
    return (
        ErrorCode.INVALID_TXN_STATE if metadata.state in COMPLETE and not again else _repeated(metadata.state, commit)
    )


def _overflowed(metadata: TransactionMetadata, epoch: int) -> bool:
    # the answer that named the new producer id was lost
    return epoch == MAX_EPOCH - 1 and metadata.producer_epoch == 0


def _done(metadata: TransactionMetadata, epoch: int) -> bool:
    # an end that is not refused and comes again in a complete state: there is nothing to do
    return metadata.state in COMPLETE and epoch != metadata.producer_epoch


def _epoch_fits(metadata: TransactionMetadata, epoch: int, fence: bool, again: bool, from_client: bool) -> bool:
    same = epoch == metadata.producer_epoch
    if fence:
        return same if from_client else epoch >= metadata.producer_epoch
    if metadata.state in PREPARED:
        return metadata.producer_epoch == epoch + 1
    return same or (again and metadata.state in COMPLETE)


def _repeated(state: TransactionState, commit: bool) -> ErrorCode:
    """The same end again is done or under way, the other one is refused."""
    if state is (_S.COMPLETE_COMMIT if commit else _S.COMPLETE_ABORT):
        return ErrorCode.NONE
    if state is (_S.PREPARE_COMMIT if commit else _S.PREPARE_ABORT):
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.INVALID_TXN_STATE
