"""Produce requests: whether a leader accepts one, and when it answers.

kafka.cluster.Partition.appendRecordsToLeader and checkEnoughReplicasReachOffset; kafka.server.DelayedProduce.
"""

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import size

ACKS_ALL = -1
"""acks=all as the protocol says it."""


def append_error(acks: int, isr: int, min_isr: int) -> ErrorCode:
    """Returns the error with which a leader refuses to append: acks=all and too small an ISR; not for acks 0 and 1.

    kafka.cluster.Partition.appendRecordsToLeader, since 0.8.2 (KAFKA-1555).

    Args:
        acks: 0, 1 or ACKS_ALL.
        isr: As the controller last confirmed it.
        min_isr: min.insync.replicas; the effective one since 3.7.
    """
    return ErrorCode.NOT_ENOUGH_REPLICAS if acks == ACKS_ALL and size(isr) < min_isr else ErrorCode.NONE


def waits_for_followers(acks: int, high_watermark: int, required: int) -> bool:
    """True if a produce request is parked: acks=all, and the high watermark has not reached the end of its records.

    kafka.server.ReplicaManager.delayedProduceRequestRequired and DelayedProduce.tryComplete; in every version.
    """
    return acks == ACKS_ALL and high_watermark < required


def completion_error(maximal_isr: int, min_isr: int) -> ErrorCode:
    """Returns the error that answers a produce request once the high watermark has reached its end.

    kafka.cluster.Partition.checkEnoughReplicasReachOffset, since 0.8.2 (KAFKA-1555). With too small an ISR by then:
    NOT_ENOUGH_REPLICAS_AFTER_APPEND. The records stay in the log all the same.
    """
    return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if size(maximal_isr) < min_isr else ErrorCode.NONE
