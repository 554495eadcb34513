"""The states of a transaction, and a coordinator's state of a transactional id.

kafka.coordinator.transaction.TransactionMetadata (org.apache.kafka.coordinator.transaction since 4.0), since 0.11
(KIP-98). A transition is written to the log of ``__transaction_state`` first: meanwhile ``pending`` holds its target
state, and every other transition is refused (CONCURRENT_TRANSACTIONS).

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                     -> PrepareAbort  -> CompleteAbort  -> Empty (a new producer)
                     -> PrepareEpochFence -> PrepareAbort           Dead: expired
"""

from dataclasses import dataclass, replace
from enum import IntEnum

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP

MAX_EPOCH = 2**15 - 1
"""Short.MAX_VALUE: never given to a client, so that the coordinator can still fence it."""


class TransactionState(IntEnum):
    """Kafka's states and their ids in the log."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


_S = TransactionState

PREPARED = (_S.PREPARE_COMMIT, _S.PREPARE_ABORT)
"""The outcome is decided, its markers are on their way."""
COMPLETE = (_S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
"""The markers are written: the next transaction may begin."""
IDLE = (_S.EMPTY, *COMPLETE)
"""No transaction is under way: a transactional id may expire, a producer begin."""

_BEFORE: dict[TransactionState, tuple[TransactionState, ...]] = {
    _S.EMPTY: IDLE,
    _S.ONGOING: (_S.ONGOING, *IDLE),
    _S.PREPARE_COMMIT: (_S.ONGOING,),
    _S.PREPARE_ABORT: (_S.ONGOING, _S.PREPARE_EPOCH_FENCE),
    _S.COMPLETE_COMMIT: (_S.PREPARE_COMMIT,),
    _S.COMPLETE_ABORT: (_S.PREPARE_ABORT,),
    _S.DEAD: IDLE,
    _S.PREPARE_EPOCH_FENCE: (_S.ONGOING,),
}


def may_follow(state: TransactionState, following: TransactionState, version: int) -> bool:
    """True if a transaction in ``state`` may go to ``following``. TransactionState.validPreviousStates.

    Args:
        state: The present state.
        following: The next state.
        version: The transaction version; with 2 a producer that does not know whether it has begun may abort what is
            idle (KIP-890, 4.0).
    """
    if following is _S.PREPARE_ABORT and version >= 2 and state in IDLE:
        return True
    return state in _BEFORE[following]


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """State of one transactional id at its coordinator; as a target of a transition, the state it writes to its log.

    Args:
        producer_id: Of its producer.
        timeout: transaction.timeout.ms, in the unit of the clock.
        previous_producer_id: The one before, after the epochs were used up.
        next_producer_id: The one that follows used-up epochs, while markers of the old one are written (4.0).
        producer_epoch: NO_PRODUCER_EPOCH before the first InitProducerId has succeeded.
        last_producer_epoch: The epoch before it, known as long as the request that raised it may be sent again (2.5).
        state: See the module.
        partitions: In the transaction; sorted.
        start: When it began, NO_TIMESTAMP where none has.
        last_update: Time of the last change.
        client_version: Transaction version of the client that ended it.
        pending: Target state of the transition that is being written, None without one.
        failed_fence: The log refused a raised epoch: the next attempt does not raise it again (2.6, KAFKA-9777).
    """

    producer_id: int
    timeout: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    state: TransactionState = TransactionState.EMPTY
    partitions: tuple[str, ...] = ()
    start: int = NO_TIMESTAMP
    last_update: int = NO_TIMESTAMP
    client_version: int = 0
    pending: TransactionState | None = None
    failed_fence: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision of a coordinator on a request.

    Args:
        error: NONE with no target: nothing is to be done, the answer is the present state.
        target: The state to write, which holds once it is written.
    """

    error: ErrorCode
    target: TransactionMetadata | None = None


def refused(error: ErrorCode) -> Decision:
    """A decision that changes nothing."""
    return Decision(error)


def accepted(target: TransactionMetadata) -> Decision:
    """A decision to go to ``target``."""
    return Decision(ErrorCode.NONE, target)


def epoch_exhausted(epoch: int) -> bool:
    """True if a producer id has no epoch left for a client. TransactionMetadata.isEpochExhausted."""
    return epoch >= MAX_EPOCH - 1


def preparing(
    metadata: TransactionMetadata, target: TransactionMetadata, single_rise: bool = False
) -> TransactionMetadata:
    """Returns the coordinator's state while ``target`` is being written. TransactionMetadata.prepareTransitionTo.

    Where an epoch is fenced the raised one counts at once: the old producer is refused before the log has it.

    Args:
        metadata: The state before.
        target: The state to write.
        single_rise: As for ``end_transaction_version_2``: the epoch rises only once it is written.
    """
    held = replace(metadata, pending=target.state)
    if metadata.pending is not _S.PREPARE_EPOCH_FENCE or (single_rise and target.client_version >= 2):
        return held
    raised = target.last_producer_epoch if target.client_version >= 2 else target.producer_epoch
    return replace(held, producer_epoch=raised, last_producer_epoch=NO_PRODUCER_EPOCH)


def write_failed(held: TransactionMetadata, fencing: bool) -> TransactionMetadata:
    """Returns the state held once the log has refused the target. TransactionStateManager.appendTransactionToLog.

    Args:
        held: The state while the target was being written.
        fencing: Whether an epoch was to be fenced.
    """
    return replace(held, pending=None, failed_fence=held.failed_fence or fencing)


def reloaded(metadata: TransactionMetadata, version: int) -> TransactionMetadata:
    """Returns the state that a coordinator reads from the log: the last epoch is not written there.

    TransactionLog.readTxnRecordValue. Previous and next producer id and the client's version are, since 4.0
    (KIP-890); before, a request repeated after a change of coordinator cannot be recognised.
    """
    kept = replace(metadata, last_producer_epoch=NO_PRODUCER_EPOCH, pending=None, failed_fence=False)
    if version >= 2:
        return kept
    return replace(kept, previous_producer_id=NO_PRODUCER_ID, next_producer_id=NO_PRODUCER_ID, client_version=0)
