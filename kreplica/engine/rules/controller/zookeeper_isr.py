"""The ISR in ZooKeeper: written by the leader against a version, told to the controller by notifications.

Below inter-broker protocol 2.7. kafka.utils.ReplicationUtils.updateLeaderAndIsr,
kafka.server.ReplicaManager.maybePropagateIsrChanges (later ZkAlterPartitionManager).
"""

CHECK_INTERVAL_MS = 2_500
"""How often a leader looks whether ISR changes are to be told (isr-change-propagation)."""

LINGER_MS = 5_000
"""How long no ISR may have changed before they are told."""

MAX_DELAY_MS = 60_000
"""After how long they are told all the same."""

NOT_WRITTEN = -1


def conditional_write(version: int, expected_version: int, same_data: bool) -> int:
    """The version of a state znode after a write against an expected one; NOT_WRITTEN if somebody else wrote before.

    KafkaZkClient.conditionalUpdatePath. A version that does not fit counts as written if the znode has just these
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
    """Whether a leader now writes its ISR changes to /isr_change_notification.

    Since 0.9 (KAFKA-1367); before, a changed ISR was told to nobody until something else made the controller speak.
    Both limits are strict, so that with a check every 2.5 s a lone change is told 5 to 7.5 s after it.

    Args:
        pending: Whether there are changes not yet told.
        now_ms: Milliseconds.
        last_change_ms: When the ISR of any partition last changed.
        last_propagation_ms: When changes were last told; at first when the broker started.
    """
    return pending and (last_change_ms + LINGER_MS < now_ms or last_propagation_ms + MAX_DELAY_MS < now_ms)
