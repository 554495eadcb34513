"""The ISR in ZooKeeper: written by the leader if the version fits, reported to the controller by notifications.

Below inter-broker protocol 2.7. kafka.utils.ReplicationUtils.updateLeaderAndIsr,
kafka.server.ReplicaManager.maybePropagateIsrChanges (later ZkAlterPartitionManager).
"""

CHECK_INTERVAL_MS = 2_500
"""Interval at which a leader checks for ISR changes to report (isr-change-propagation)."""

LINGER_MS = 5_000
"""Time without a further change of any ISR after which changes are reported."""

MAX_DELAY_MS = 60_000
"""Time since the last report after which changes are reported in any case."""

NOT_WRITTEN = -1


def conditional_write(version: int, expected_version: int, same_data: bool) -> int:
    """The version of a state znode after a conditional write; NOT_WRITTEN if another writer was first.

    KafkaZkClient.conditionalUpdatePath. If the version does not fit, the write still counts if the znode has the same
    data under the same controller epoch: the answer to an earlier try was lost
    (ReplicationUtils.checkLeaderAndIsrZkData).

    Args:
        version: The znode's.
        expected_version: The one the writer last saw: its partition epoch.
        same_data: Whether the znode already says what is to be written.
    """
    if version == expected_version:
        return version + 1
    return version if same_data else NOT_WRITTEN


def propagates(pending: bool, now_ms: int, last_change_ms: int, last_propagation_ms: int) -> bool:
    """True if a leader now writes its ISR changes to /isr_change_notification.

    Since 0.9 (KAFKA-1367); before, other brokers did not learn of a changed ISR until something else made the
    controller send it. Both limits are strict, so with a check every 2.5 s a lone change is reported 5 to 7.5 s later.

    Args:
        pending: Whether there are changes not yet reported.
        now_ms: The time.
        last_change_ms: Time of the last change of any partition's ISR.
        last_propagation_ms: Time of the last report; at first the start of the broker.
    """
    return pending and (last_change_ms + LINGER_MS < now_ms or last_propagation_ms + MAX_DELAY_MS < now_ms)
