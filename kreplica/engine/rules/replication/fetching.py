"""What a leader answers to a fetch: epochs that must agree, offsets in range, how far a reader may read, what waits.

kafka.cluster.Partition.checkCurrentLeaderEpoch and readRecords; kafka.server.DelayedFetch;
kafka.server.AbstractFetcherThread.fetchOffsetAndTruncate.
"""

from kreplica.engine.rules.replication.error_codes import ErrorCode

ANY_EPOCH = -1
"""A request without a leader epoch: nothing is compared."""

READ_TO_LOG_END = 0
READ_TO_HIGH_WATERMARK = 1
READ_TO_LAST_STABLE_OFFSET = 2
"""Isolation of a fetch: a follower's, a consumer's with read_uncommitted, with read_committed."""


def leader_epoch_error(requested: int, current: int) -> ErrorCode:
    """What a broker thinks of a request's leader epoch.

    kafka.cluster.Partition.checkCurrentLeaderEpoch, since 2.1 (KIP-320).
    """
    if requested in (ANY_EPOCH, current):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if requested < current else ErrorCode.UNKNOWN_LEADER_EPOCH


def is_out_of_range(offset: int, log_start: int, log_end: int) -> bool:
    """Whether a fetch asks for what the log does not hold and will not hold next: OFFSET_OUT_OF_RANGE.

    org.apache.kafka.storage.internals.log.UnifiedLog.read, in every version.
    """
    return offset < log_start or offset > log_end


def readable_end(isolation: int, log_end: int, high_watermark: int, last_stable_offset: int) -> int:
    """The offset before which a reader may read.

    kafka.log.UnifiedLog.read: followers to the log end, consumers to the high watermark, read_committed to the last
    stable offset (since 0.11).
    """
    if isolation == READ_TO_LOG_END:
        return log_end
    return high_watermark if isolation == READ_TO_HIGH_WATERMARK else last_stable_offset


def diverges(last_fetched_epoch: int, fetch_offset: int, epoch: int, end_offset: int) -> bool:
    """Whether a follower's log leaves the leader's before the offset it fetches from.

    kafka.cluster.Partition.readRecords, since 2.7 (KIP-595), and asked by brokers since 2.8 (KAFKA-10554): the leader
    looks up its own end of the epoch of the follower's last record.

    Args:
        last_fetched_epoch: Epoch of the follower's last record.
        fetch_offset: Where the follower's log ends.
        epoch, end_offset: What ``log_truncation.epoch_end_offset`` answers for that epoch at the leader.
    """
    return epoch < last_fetched_epoch or end_offset < fetch_offset


def updates_follower_fetch_state(refused: bool, diverging: bool, diverging_position_noted: bool) -> bool:
    """Whether a leader notes where a follower is, from the offset that it fetches at.

    kafka.server.ReplicaManager.updateFollowerFetchState. Not from a fetch that ends in an error, in every version. Nor
    from one that is answered with the end of a diverging epoch: that offset is of a log that the follower is about to
    cut. 2.8.0 noted it (KAFKA-13141; so did leaders of 2.7.0 and 2.7.1, whose followers did not ask yet): a follower
    joined the ISR, and the high watermark rose, on records that it did not have.
    """
    return not refused and (not diverging or diverging_position_noted)


def processes_partition_data(diverging: bool, watermark_before_cut: bool) -> bool:
    """Whether a follower takes over records and watermarks of an answer: not where it is told to cut its log first.

    kafka.server.AbstractFetcherThread.processFetchRequest. From 2.8.0 to 3.4.0 it did so before it cut
    (KAFKA-14704): the high watermark rose over records that differ from the leader's, and consumers could read them.
    """
    return not diverging or watermark_before_cut


def out_of_range_halts(log_end: int, leader_end: int, unclean: bool, truncation_needs_unclean: bool) -> bool:
    """Whether a follower's broker ends instead of cutting the log to the end of a leader that has less.

    kafka.server.ReplicaFetcherThread.handleOffsetOutOfRange, from 0.8.2 (KAFKA-1028) to 2.0.0 (KAFKA-7414): such a
    leader can only have been elected uncleanly, and where that is not allowed nothing is to be cut for it.

    Args:
        log_end: The follower's.
        leader_end: The leader's.
        unclean: unclean.leader.election.enable of the topic.
        truncation_needs_unclean: Whether the version asks for it.
    """
    return truncation_needs_unclean and leader_end < log_end and not unclean


def out_of_range_end(log_end: int, leader_start: int, leader_end: int) -> tuple[int, int]:
    """What a follower does on OFFSET_OUT_OF_RANGE: the log end it cuts to, and the log start it begins anew at.

    kafka.server.AbstractFetcherThread.fetchOffsetAndTruncate. A leader that ends before the follower: cut to its end.
    A leader that starts after the follower's end: drop everything, begin at its start. In every version.

    Returns:
        The new log end, and the new log start or -1 if that stays.
    """
    if leader_end < log_end:
        return leader_end, -1
    if log_end < leader_start:
        return leader_start, leader_start
    return log_end, -1


def follower_fetch_waits(available: int, refused: bool, diverging: bool, untold: bool = False) -> bool:
    """Whether a follower's fetch is parked: nothing to read, nothing to tell.

    kafka.server.ReplicaManager.fetchMessages with min.bytes 1. What wakes it is an append, another epoch, or
    replica.fetch.wait.max.ms.

    Args:
        available: Records to read.
        refused: Whether it is answered with an error.
        diverging: Whether it is told where to cut.
        untold: Whether the high watermark stands above the one it was last answered. In 2.4 and 2.5 alone that
            answers and wakes it (KIP-392); it made followers fetch too often (KAFKA-9952).
    """
    return available == 0 and not refused and not diverging and not untold


def consumer_fetch_waits(available: int, refused: bool, wait: int) -> bool:
    """Whether a consumer's fetch is parked: no record that it may read, no error to tell, and it has time.

    kafka.server.ReplicaManager.fetchMessages with fetch.min.bytes 1, in every version. A risen high watermark, an
    append or another leader wakes it, or its time is over.

    Args:
        available: Records that it may read.
        refused: Whether it is answered with an error.
        wait: fetch.max.wait.ms, in any unit.
    """
    return available == 0 and not refused and wait > 0
