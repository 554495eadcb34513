"""Position of a consumer: the offsets that it commits automatically, and the detection of a truncated log.

org.apache.kafka.clients.consumer.internals.ConsumerCoordinator, SubscriptionState and FetchCollector.
"""

from enum import StrEnum

from kreplica.engine.rules.replication.log_truncation import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET


class Validation(StrEnum):
    """Verdicts of a consumer on its position after the leader's answer to OffsetsForLeaderEpoch."""

    VALID = "valid"
    RESET = "reset"
    """The position is reset by auto.offset.reset."""
    TRUNCATED = "truncated"
    """It goes back to where the log diverged."""
    LOG_TRUNCATION = "log truncation"
    """The application gets a LogTruncationException."""


def auto_commit_due(now_ms: int, last_commit_ms: int, auto_commit_interval_ms: int) -> bool:
    """True if a poll commits, before it returns records.

    ConsumerCoordinator.maybeAutoCommitOffsetsAsync, since 0.9, called by poll, every auto.commit.interval.ms (5 s);
    close and a rebalance commit too. What it commits is the position as the poll begins
    (SubscriptionState.allConsumed): after the records that the *previous* poll returned. As the application polls
    again, they count as processed; if it handed them to another thread they may not be, and are lost with that. With
    processing between two polls nothing is lost, and records processed since the last commit are read twice.
    """
    return now_ms - last_commit_ms >= auto_commit_interval_ms


def needs_validation(position_epoch: int, known_leader_epoch: int, new_leader_epoch: int) -> bool:
    """True if a consumer that learns of another leader epoch asks where its own epoch ends before it fetches on.

    SubscriptionState.TopicPartitionState.maybeValidatePosition, since 2.3 (KIP-320). Without an epoch of the record
    before the position, as after a seek or with records of an old format, it fetches on.

    Args:
        position_epoch: The leader epoch of the record before the position, UNDEFINED_EPOCH if it is not known.
        known_leader_epoch: The leader epoch under which it fetched.
        new_leader_epoch: The one in its new metadata, UNDEFINED_EPOCH if it is not known.
    """
    return UNDEFINED_EPOCH not in {position_epoch, new_leader_epoch} and new_leader_epoch != known_leader_epoch


def validate_position(position: int, epoch: int, end_offset: int, has_reset_policy: bool) -> tuple[Validation, int]:
    """Judges a position by the leader's answer about the end of its epoch.

    SubscriptionState.maybeCompleteValidation, since 2.3 (KIP-320, KAFKA-7747). An older client has no such check:
    where the log was cut and written anew below its position it skips records, where the log is shorter it gets
    OFFSET_OUT_OF_RANGE.

    Args:
        position: The consumer's.
        epoch: The largest leader epoch not above the position's, as the leader has it.
        end_offset: The end offset of that epoch.
        has_reset_policy: Whether auto.offset.reset is not none.

    Returns:
        The verdict and where to go on; the position itself unless TRUNCATED.
    """
    if end_offset == UNDEFINED_EPOCH_OFFSET or epoch == UNDEFINED_EPOCH:
        return (Validation.RESET if has_reset_policy else Validation.LOG_TRUNCATION), position
    if end_offset >= position:
        return Validation.VALID, position
    return (Validation.TRUNCATED, end_offset) if has_reset_policy else (Validation.LOG_TRUNCATION, position)
