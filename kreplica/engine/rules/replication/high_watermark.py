"""High watermark of a partition, up to which it is committed: at the leader and at a follower.

kafka.cluster.Partition.maybeIncrementLeaderHW; kafka.log.UnifiedLog.maybeUpdateHighWatermark.
"""

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import contains, only, size

TO_HIGH_WATERMARK = -1
"""org.apache.kafka.common.requests.DeleteRecordsRequest.HIGH_WATERMARK: an offset that stands for it."""


def effective_min_isr(min_isr: int, replicas: int) -> int:
    """min.insync.replicas, or the replica count where that is less.

    kafka.cluster.Partition.effectiveMinIsr, since 3.7 (KAFKA-15583).

    Args:
        min_isr: The setting.
        replicas: How many replicas the partition has.
    """
    return min(min_isr, replicas)


def high_watermark_stands_still(isr: int, min_isr: int) -> bool:
    """True if the ISR is too small for the high watermark to move, whatever acks the records came with.

    kafka.cluster.Partition.isUnderMinIsr in maybeIncrementLeaderHW, since 3.7 (KAFKA-15583): the replicas with every
    record below the high watermark are then known from the last ISR that was large enough.

    Args:
        isr: As the controller last confirmed it.
        min_isr: The effective one.
    """
    return size(isr) < min_isr


def replicas_that_hold_it(replicas: int, leader: int, maximal: int, caught_up: int, eligible: int) -> int:
    """The replicas whose log ends bound the high watermark.

    kafka.cluster.Partition.maybeIncrementLeaderHW. The leader, the maximal ISR, and since 0.10.2 (KAFKA-4485) those
    outside that have caught up and may join: without them a follower could chase a high watermark that keeps ahead of
    it.

    Args:
        replicas: All of the partition's.
        leader: The leader.
        maximal: ``alter_partition.maximal_isr``.
        caught_up: Those that have caught up (``follower_lag.is_caught_up``); empty before 0.10.2.
        eligible: Replicas that the controller would accept; all before 3.6 (with KAFKA-15021).
    """
    return replicas & (only(leader) | maximal | (caught_up & eligible))


def leader_high_watermark(high_watermark: int, end_offsets: tuple[int, ...] | list[int], holding: int) -> int:
    """The leader's high watermark: the smallest log end offset of the replicas that bound it; it never decreases.

    kafka.cluster.Partition.maybeIncrementLeaderHW, in every version; the replicas that bound it differ.

    Args:
        high_watermark: As it is.
        end_offsets: Log end offset of each replica as the leader knows it, by index; -1 if unknown.
        holding: replicas_that_hold_it.
    """
    lowest = end_offsets[0]
    found = False
    for replica in range(len(end_offsets)):
        if contains(holding, replica):
            lowest = min(lowest, end_offsets[replica]) if found else end_offsets[replica]
            found = True
    return max(lowest, high_watermark) if found else high_watermark


def follower_high_watermark(leader_high_watermark: int, log_start: int, log_end: int) -> int:
    """A follower's high watermark after a fetch: the leader's in the answer, kept within the follower's log.

    kafka.log.UnifiedLog.maybeUpdateHighWatermark, in every version. It may decrease: the leader's was lower when it
    answered.
    """
    return max(log_start, min(leader_high_watermark, log_end))


def delete_records_error(offset: int, high_watermark: int) -> ErrorCode:
    """Returns a leader's answer to a request to delete the records before an offset: only committed ones are deleted.

    kafka.cluster.Partition.deleteRecordsOnLeader, UnifiedLog.maybeIncrementLogStartOffset, since 0.11 (KIP-107).
    """
    return ErrorCode.NONE if 0 <= offset <= high_watermark else ErrorCode.OFFSET_OUT_OF_RANGE


def delete_records_waits(low_watermark: int, offset: int) -> bool:
    """True if the answer to that request waits: until every live replica has deleted the records, too.

    kafka.server.DelayedDeleteRecords.tryComplete, since 0.11 (KIP-107); the low watermark is the answer.
    """
    return low_watermark < offset


def low_watermark(log_starts: tuple[int, ...] | list[int], live: int, log_start: int) -> int:
    """The smallest log start offset of the leader and the live followers: records below are gone everywhere.

    kafka.cluster.Partition.lowWatermarkIfLeader, since 0.11 (KIP-107).

    Args:
        log_starts: Log start offset of each replica, by index, as the leader knows it.
        live: Replicas whose broker lives.
        log_start: The leader's own.
    """
    lowest = log_start
    for replica in range(len(log_starts)):
        if contains(live, replica):
            lowest = min(lowest, log_starts[replica])
    return lowest
