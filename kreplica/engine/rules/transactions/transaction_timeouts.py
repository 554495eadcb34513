"""When a coordinator gives up: a transaction that takes too long, a transactional id that nobody uses.

kafka.coordinator.transaction.TransactionStateManager, since 0.11 (KIP-98). Times in one unit, the caller's.
"""

from kreplica.engine.rules.transactions.transaction_states import IDLE, TransactionMetadata, TransactionState


def transaction_timed_out(metadata: TransactionMetadata, now: int) -> bool:
    """Whether the coordinator aborts it at its next look. TransactionStateManager.timedOutTransactions.

    It looks every transaction.abort.timed.out.transaction.cleanup.interval.ms: 10 s since 2.5, a minute before. The
    timeout runs from the first partition, not from the last write: a record sent in time may be aborted.
    """
    if metadata.pending is not None or metadata.state is not TransactionState.ONGOING:
        return False
    return metadata.start + metadata.timeout < now


def transactional_id_expired(metadata: TransactionMetadata, now: int, expiration: int) -> bool:
    """Whether the coordinator forgets the transactional id. TransactionStateManager.shouldExpire.

    Args:
        metadata: What is known of it.
        now: The time.
        expiration: transactional.id.expiration.ms: how long nothing has changed. It has nothing to do with how long a
            transaction may take.
    """
    idle = metadata.pending is None and metadata.state in IDLE
    return idle and metadata.last_update <= now - expiration
