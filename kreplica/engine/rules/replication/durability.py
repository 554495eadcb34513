"""Log on a broker's disk after the broker went down.

Records are written to the page cache; the operating system brings them to the disk. Kafka flushes (fsync) only by
flush.messages and flush.ms, when a segment is rolled, and on a clean stop. A killed process loses nothing; a machine
that loses power loses what was not flushed. kafka.log.LogManager, org.apache.kafka.storage.internals.log.LogLoader;
since 0.8.1 (KAFKA-615), which first left flushing to the operating system.
"""

from enum import IntEnum


class RecoveryPoint(IntEnum):
    """Recovery points of a log that was recovered: the offset up to which its broker takes it for flushed.

    KEPT that of the checkpoint, even above the log end (up to 0.11); RAISED to the log end offset, although recovery
    flushes nothing (1.0 to 2.7); LOWERED to the log end offset where it is above it (2.8, KAFKA-10101).
    """

    KEPT = 0
    RAISED = 1
    LOWERED = 2


def recovered_end_offset(log_end: int, flushed_end: int, power_lost: bool, kept: int) -> int:
    """Returns the end offset of a log when its broker starts again.

    org.apache.kafka.storage.internals.log.LogLoader.recoverLog, in every version: batches are read from the recovery
    point on, and the log is cut at the first that is not whole.

    Args:
        log_end: The log end offset before the broker went down.
        flushed_end: Offset up to which the log had been flushed: the recovery point is never above it.
        power_lost: Whether the page cache is gone too.
        kept: Number of unflushed records that reached the disk all the same.
    """
    return min(log_end, flushed_end + kept) if power_lost else log_end


def flushed_after_start(log_end: int, flushed_end: int, power_lost: bool) -> int:
    """Returns the offset up to which a log is on the disk once its broker has started again.

    Recovery reads records and flushes none: those of a killed process stay in the page cache, and are lost if power is
    lost then. What is read after a loss of power was on the disk. LogLoader.recoverLog, in every version.

    Args:
        log_end: The log end offset after recovery.
        flushed_end: Offset up to which the log had been flushed.
        power_lost: Whether the page cache was gone.
    """
    return log_end if power_lost else min(flushed_end, log_end)


def recovered_high_watermark(checkpointed: int, log_start: int, log_end: int) -> int:
    """The high watermark a replica starts with: that of the last checkpoint, kept within the log.

    kafka.cluster.Partition.createLog, OffsetCheckpoint ``replication-offset-checkpoint``, written every
    replica.high.watermark.checkpoint.interval.ms and on a clean stop; in every version.
    """
    return max(log_start, min(checkpointed, log_end))


def recovery_point_after_start(log_end: int, recovery_point: int, clean: bool, recovered: int) -> int:
    """Returns the offset up to which a broker takes a log for flushed once it has started again.

    kafka.log.Log.recoverLog, LogLoader.recoverLog. Where recovery raises it no later flush, not even that of a clean
    stop, reaches the records that were read, until others are appended.

    Args:
        log_end: The log end offset after recovery.
        recovery_point: That of recovery-point-offset-checkpoint.
        clean: Whether the broker stopped cleanly.
        recovered: A ``RecoveryPoint``, as the version has it.
    """
    if clean or recovered == RecoveryPoint.RAISED:
        return log_end
    return recovery_point if recovered == RecoveryPoint.KEPT else min(recovery_point, log_end)


def flush_does_something(log_end: int, recovery_point: int) -> bool:
    """True if a flush writes to the disk: only where the log has more than what it takes for flushed.

    kafka.log.Log.flush, UnifiedLog.flush, in every version; it writes the whole segment that holds the recovery point.
    """
    return log_end > recovery_point


def flush_is_due(log_end: int, recovery_point: int, flush_messages: int) -> bool:
    """True if an append is followed by a flush: flush.messages records since the last one.

    org.apache.kafka.storage.internals.log.UnifiedLog.append (unflushedMessages), in every version.
    """
    return log_end - recovery_point >= flush_messages


def flush_is_overdue(now: int, last_flush: int, flush_time: int) -> bool:
    """True if the scheduler flushes a log: flush.ms have passed since the last flush, all in one unit.

    kafka.log.LogManager.flushDirtyLogs, which runs every log.flush.scheduler.interval.ms: by default never, so that
    flush.ms alone does nothing. In every version.
    """
    return now - last_flush >= flush_time


def recovery_begins(recovery_point: int, log_start: int, log_end: int, clean: bool) -> int:
    """Returns the offset from which a starting broker reads a log again: the log end after a clean stop.

    org.apache.kafka.storage.internals.log.LogLoader.recoverLog. The recovery point is what had been flushed when
    recovery-point-offset-checkpoint was last written (log.flush.offset.checkpoint.interval.ms), not the log end offset.
    Kafka reads the whole segment that holds it; the records below it in that segment were flushed. Since 0.8.1
    (KAFKA-615).
    """
    return log_end if clean else max(log_start, min(recovery_point, log_end))
