"""Timeouts at a coordinator: transactions that take too long, transactional ids that are not used.

kafka.coordinator.transaction.TransactionStateManager, since 0.11 (KIP-98). Times in one unit, the caller's.
"""

from kreplica.engine.rules.transactions.transaction_states import IDLE, TransactionMetadata, TransactionState


def transaction_timed_out(metadata: TransactionMetadata, now: int) -> bool:
    """True if the coordinator aborts the transaction at its next check. TransactionStateManager.timedOutTransactions.

    It checks every transaction.abort.timed.out.transaction.cleanup.interval.ms: 10 s since 2.5, a minute before. The
    timeout runs from the first partition, not from the last write: a record sent in time may be aborted.
    """
    if metadata.pending is not None or metadata.state is not TransactionState.ONGOING:
        return False
    return metadata.start + metadata.timeout < now


def transactional_id_expired(metadata: TransactionMetadata, now: int, expiration: int) -> bool:
    """True if the coordinator forgets the transactional id. TransactionStateManager.shouldExpire.

    Args:
        metadata: State of the transactional id.
        now: The time.
        expiration: transactional.id.expiration.ms: time since the last change. It has nothing to do with how long a
            transaction may take.
    """
    idle = metadata.pending is None and metadata.state in IDLE
    return idle and metadata.last_update <= now - expiration
