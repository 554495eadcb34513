"""What a leader answers to a fetch: epochs that must agree, offsets in range, how far a reader may read, what waits.

kafka.cluster.Partition.checkCurrentLeaderEpoch and readRecords; kafka.server.DelayedFetch;
kafka.server.AbstractFetcherThread.fetchOffsetAndTruncate.
"""

from kreplica.engine.rules.error_codes import ErrorCode

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

    kafka.cluster.Partition.readRecords, since 2.7 (KIP-595): the leader looks up its own end of the epoch of the
    follower's last record.

    Args:
        last_fetched_epoch: Epoch of the follower's last record.
        fetch_offset: Where the follower's log ends.
        epoch, end_offset: What ``log_truncation.epoch_end_offset`` answers for that epoch at the leader.
    """
    return epoch < last_fetched_epoch or end_offset < fetch_offset


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
