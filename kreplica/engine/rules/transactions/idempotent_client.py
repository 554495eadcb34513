"""Decisions of an idempotent producer's client: whether it is idempotent at all, and what to do with a refused batch.

org.apache.kafka.clients.producer.ProducerConfig and internals.TransactionManager, since 0.11 (KIP-98).
"""

from enum import IntEnum

from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode

MAX_IN_FLIGHT = 5
"""Most batches in flight: a broker remembers no more of them to recognise a duplicate by."""

SEQUENCE_ERRORS = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
"""Errors of a leader for a sequence that does not follow the last one it knows."""


class Reaction(IntEnum):
    """Reactions of a client to a refused batch, for that batch and those after it.

    FAIL gives it up; RETRY sends it again as it is; RESTART gives the batches of its partition sequences from 0 in the
    same epoch and sends them again (up to 2.4); RAISE_EPOCH gives the batches of its partition new sequences from 0
    in the next epoch and sends them again (KIP-360); NEW_ID gives it up and asks for another producer id; SHIFT gives
    the batches after one that is given up its sequences, so that there is no gap; NOTHING leaves them as they are.
    """

    FAIL = 0
    RETRY = 1
    RAISE_EPOCH = 2
    NEW_ID = 3
    RESTART = 4
    SHIFT = 5
    NOTHING = 6


def is_idempotent(asked: bool | None, default: bool, acks: int, retries: int, in_flight: int) -> bool:
    """True if a producer with these settings is idempotent.

    ProducerConfig.postProcessAndValidateIdempotenceConfigs: where it is only the default, since 3.0, settings that
    contradict it switch it off silently.

    Args:
        asked: enable.idempotence, None where it is not set.
        default: Its value then.
        acks, retries, in_flight: The settings; acks=all is -1.
    """
    if asked is not None:
        return asked
    return default and acks == ACKS_ALL and retries > 0 and in_flight <= MAX_IN_FLIGHT


def idempotence_contradiction(acks: int, retries: int, in_flight: int, most_in_flight: int) -> str:
    """Returns the setting that contradicts enable.idempotence=true; empty if none does. Kafka throws a ConfigException.

    Args:
        acks, retries, in_flight: The settings; acks=all is -1.
        most_in_flight: 5 since 1.0, 1 in 0.11.
    """
    if acks != ACKS_ALL:
        return "acks"
    if retries == 0:
        return "retries"
    return "max.in.flight.requests.per.connection" if in_flight > most_in_flight else ""


def reaction_to_sequence_error(
    error: int,
    transactional: bool,
    is_next: bool,
    unresolved: bool,
    is_next_unresolved: bool,
    deleted: bool,
    may_raise: bool,
    renumbered: bool = False,
) -> Reaction:
    """Returns a client's reaction to OUT_OF_ORDER_SEQUENCE_NUMBER or UNKNOWN_PRODUCER_ID. TransactionManager.canRetry.

    A batch after one that is still in flight is out of order until that one is appended: it is sent again. If the batch
    is the next in line, there is a gap in the log: records were lost.

    Args:
        error: The leader's.
        transactional: Whether the producer is; it then lets the batch fail and aborts.
        is_next: The batch's first sequence follows the last acknowledged one.
        unresolved: A batch of the partition was given up without knowing whether it is in the log.
        is_next_unresolved: The batch is the one right after that.
        deleted: The log starts after the last acknowledged record, or none was acknowledged: the producer's state may
            be gone with the deleted records.
        may_raise: The client may raise its epoch itself, since 2.5 (KIP-360).
        renumbered: The answer is for the sequences that the batch had before it was given new ones
            (ProducerBatch.sequenceHasBeenReset).
    """
    if error == ErrorCode.UNKNOWN_PRODUCER_ID:
        return Reaction.RETRY if renumbered else _reaction_to_unknown(transactional, deleted, may_raise)
    if not unresolved and (renumbered or not is_next):
        return Reaction.RETRY
    if transactional:
        return Reaction.FAIL
    if not may_raise:
        return Reaction.NEW_ID
    return Reaction.RETRY if unresolved and not is_next_unresolved else Reaction.RAISE_EPOCH


def _reaction_to_unknown(transactional: bool, deleted: bool, may_raise: bool) -> Reaction:
    if may_raise and not transactional:
        return Reaction.RAISE_EPOCH
    if deleted:
        return Reaction.RESTART
    return Reaction.FAIL if transactional else Reaction.NEW_ID


def reaction_to_failure(error: int, transactional: bool, exhausted: bool, may_raise: bool) -> Reaction:
    """Returns the reaction for the batches after one that is given up because of a leader's answer.

    TransactionManager.handleFailedBatch. Its sequences are not in the log, and the leader would wait for them forever.
    A batch whose retries are exhausted may be in the log all the same: its sequences are not given to others.

    Args:
        error: The leader's.
        transactional: Whether the producer is.
        exhausted: The batch was sent as often as retries allows. False in 0.11, where a sequence counted only once it
            was acknowledged: the next batch had it again, and could be taken for the lost one.
        may_raise: The client may raise its epoch itself, since 2.5 (KIP-360).
    """
    if not transactional and error in SEQUENCE_ERRORS:
        return Reaction.RAISE_EPOCH if may_raise else Reaction.NEW_ID
    if exhausted:
        return Reaction.NOTHING
    return Reaction.SHIFT if transactional or not may_raise else Reaction.RAISE_EPOCH


def reaction_to_expiry(transactional: bool, resolved: bool) -> Reaction:
    """Returns the reaction once every batch after one given up is done. TransactionManager.maybeResolveSequences.

    Args:
        transactional: A transactional producer aborts.
        resolved: The next sequence follows the last acknowledged one: the given-up batch was in the log.
    """
    if resolved:
        return Reaction.RETRY
    return Reaction.FAIL if transactional else Reaction.RAISE_EPOCH
