"""Answers of a leader to a fetch: leader epochs, the range of offsets, the end of what is readable, parked fetches.

kafka.cluster.Partition.checkCurrentLeaderEpoch and readRecords; kafka.server.DelayedFetch;
kafka.server.AbstractFetcherThread.fetchOffsetAndTruncate.
"""

from kreplica.engine.rules.replication.error_codes import ErrorCode

ANY_EPOCH = -1
"""A request without a leader epoch: nothing is compared."""

UNKNOWN_POSITION = -1
"""LogOffsetMetadata.UnknownOffsetMetadata: the leader does not know a follower's log end offset."""

READ_TO_LOG_END = 0
READ_TO_HIGH_WATERMARK = 1
READ_TO_LAST_STABLE_OFFSET = 2
"""Isolation of a fetch: a follower's, a consumer's with read_uncommitted, with read_committed."""


def leader_epoch_error(requested: int, current: int) -> ErrorCode:
    """Returns the error for a request's leader epoch; NONE if it is the broker's own, or not given.

    kafka.cluster.Partition.checkCurrentLeaderEpoch, since 2.1 (KIP-320).
    """
    if requested in (ANY_EPOCH, current):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if requested < current else ErrorCode.UNKNOWN_LEADER_EPOCH


def answer_counts(asked_in: int, follows_in: int, stale_answers_dropped: bool) -> bool:
    """True if a follower goes by an answer that may be to a question from before it began to follow anew.

    kafka.server.AbstractFetcherThread. Answers to a fetch count only in the leader epoch that they were asked for in,
    in every version. An answer on the end of a leader epoch counted in any, up to 2.1.0; since 2.1.1 (KAFKA-7786) it is
    dropped, too.

    Args:
        asked_in: The leader epoch in which it asked.
        follows_in: The one in which it follows by now.
        stale_answers_dropped: Whether the version drops what was asked in another.
    """
    return asked_in == follows_in or not stale_answers_dropped


def stops_fetching(error: ErrorCode) -> bool:
    """True if an error makes a follower wait for the controller's next report, instead of asking again in a while.

    kafka.server.AbstractFetcherThread.onPartitionFenced, since 2.1 (KIP-320): its leader knows a later leader epoch.
    """
    return error == ErrorCode.FENCED_LEADER_EPOCH


def is_out_of_range(offset: int, log_start: int, log_end: int) -> bool:
    """True if a fetch offset is below the log start or above the log end: OFFSET_OUT_OF_RANGE.

    org.apache.kafka.storage.internals.log.UnifiedLog.read, in every version.
    """
    return offset < log_start or offset > log_end


def readable_end(isolation: int, log_end: int, high_watermark: int, last_stable_offset: int) -> int:
    """The offset before which a reader may read.

    kafka.log.UnifiedLog.read: followers to the log end, consumers to the high watermark, read_committed to the last
    stable offset (since 0.11).

    Args:
        isolation: READ_TO_LOG_END, READ_TO_HIGH_WATERMARK or READ_TO_LAST_STABLE_OFFSET.
        log_end, high_watermark, last_stable_offset: Of the replica that is read.
    """
    if isolation == READ_TO_LOG_END:
        return log_end
    return high_watermark if isolation == READ_TO_HIGH_WATERMARK else last_stable_offset


def diverges(last_fetched_epoch: int, fetch_offset: int, epoch: int, end_offset: int) -> bool:
    """True if a follower's log diverges from the leader's before the offset it fetches from.

    kafka.cluster.Partition.readRecords, since 2.7 (KIP-595), and used by brokers since 2.8 (KAFKA-10554): the leader
    looks up its own end of the epoch of the follower's last record.

    Args:
        last_fetched_epoch: Epoch of the follower's last record.
        fetch_offset: The follower's log end offset.
        epoch, end_offset: Result of ``log_truncation.epoch_end_offset`` for that epoch at the leader.
    """
    return epoch < last_fetched_epoch or end_offset < fetch_offset


def updates_follower_fetch_state(refused: bool, diverging: bool, diverging_position_noted: bool) -> bool:
    """True if a leader records a follower's log end offset from the offset that it fetches at.

    kafka.server.ReplicaManager.updateFollowerFetchState. Not from a fetch that ends in an error
    (``position_after_error`` says what becomes of the position then), nor from one that is answered with the end of a
    diverging epoch: that offset is of a log that the follower is about to cut. 2.8.0 recorded it (KAFKA-13141; so did
    leaders of 2.7.0 and 2.7.1, whose followers did not use this yet): a follower joined the ISR, and the high watermark
    rose, on records that it did not have.
    """
    return not refused and (not diverging or diverging_position_noted)


def position_after_error(position: int, errors_forget_position: bool) -> int:
    """The follower's log end offset as the leader knows it, once a fetch of that follower ends in an error.

    kafka.server.ReplicaManager.updateFollowerLogReadResults, up to 2.3: the leader noted what it had read, and of a
    fetch that ends in an error that is LogOffsetMetadata.UnknownOffsetMetadata. The high watermark stood still until
    the follower's next fetch. Since 2.4 (updateFollowerFetchState) the position from before stays.

    Args:
        position: Known before; -1 if unknown.
        errors_forget_position: Whether the version notes it.
    """
    return UNKNOWN_POSITION if errors_forget_position else position


def processes_partition_data(diverging: bool, watermark_before_cut: bool) -> bool:
    """True if a follower takes records and watermarks from an answer: not if it has to cut its log first.

    kafka.server.AbstractFetcherThread.processFetchRequest. From 2.8.0 to 3.4.0 it did so before it cut
    (KAFKA-14704): the high watermark rose over records that differ from the leader's, and consumers could read them.
    """
    return not diverging or watermark_before_cut


def out_of_range_halts(log_end: int, leader_end: int, unclean: bool, truncation_needs_unclean: bool) -> bool:
    """True if a follower's broker halts instead of cutting its log to the end of a leader that has less.

    kafka.server.ReplicaFetcherThread.handleOffsetOutOfRange, from 0.8.2 (KAFKA-1028) to 2.0.0 (KAFKA-7414): such a
    leader can only have been elected uncleanly, and where that is not allowed no log is to be cut for it.

    Args:
        log_end: The follower's log end offset.
        leader_end: The leader's log end offset.
        unclean: unclean.leader.election.enable of the topic.
        truncation_needs_unclean: Whether the version checks that setting before it cuts.
    """
    return truncation_needs_unclean and leader_end < log_end and not unclean


def out_of_range_end(log_end: int, leader_start: int, leader_end: int) -> tuple[int, int]:
    """Returns the log end that a follower cuts to on OFFSET_OUT_OF_RANGE, and the log start that it begins anew at.

    kafka.server.AbstractFetcherThread.fetchOffsetAndTruncate. A leader that ends before the follower: cut to its end.
    A leader that starts after the follower's end: drop everything, begin at its start. In every version. A leader that
    has come to reach the follower's end by the time that it is asked changes nothing; up to 0.9.0.0 the follower then
    drops everything, too, which the engine does not play: its leader tells its range with the error.

    Returns:
        The new log end, and the new log start or -1 if that stays.
    """
    if leader_end < log_end:
        return leader_end, -1
    if log_end < leader_start:
        return leader_start, leader_start
    return log_end, -1


def follower_fetch_waits(available: int, refused: bool, diverging: bool, untold: bool = False) -> bool:
    """True if a follower's fetch is parked: there is nothing to read or to report.

    kafka.server.ReplicaManager.fetchMessages with min.bytes 1. It is woken by an append, another epoch, or
    replica.fetch.wait.max.ms.

    Args:
        available: Records to read.
        refused: Whether it is answered with an error.
        diverging: Whether the answer says where to cut the log.
        untold: Whether the high watermark is above the one in the follower's last answer. Only in 2.4 and 2.5 is a
            fetch answered, or woken, for that (KIP-392); it made followers fetch too often (KAFKA-9952).
    """
    return available == 0 and not refused and not diverging and not untold


def consumer_fetch_waits(available: int, refused: bool, wait: int) -> bool:
    """True if a consumer's fetch is parked: no record that it may read, no error to report, and time left to wait.

    kafka.server.ReplicaManager.fetchMessages with fetch.min.bytes 1, in every version. It is woken by a higher high
    watermark, an append, another leader, or the end of its wait.

    Args:
        available: Records that it may read.
        refused: Whether it is answered with an error.
        wait: fetch.max.wait.ms, in any unit.
    """
    return available == 0 and not refused and wait > 0
