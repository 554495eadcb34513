"""Failed log directories: whether the broker stops (JBOD, KIP-112).

ZooKeeper mode since 1.0: the broker says so by /log_dir_event_notification, the controller asks it with LeaderAndIsr
requests and takes KAFKA_STORAGE_ERROR for an offline replica; before, one failed directory stopped the broker. KRaft
since 3.7 (KIP-858): the broker names the directory in its heartbeat. A partition changes as if the replica's broker
were gone: ``controlled_shutdown``. KRaft before 3.7, or before its metadata version: the broker lives on and nobody
hears of it (ReplicaManager.handleLogDirFailure), so that a leader in that directory is not replaced.
"""


def broker_stops(failed: int, directories: int, tolerated: bool, metadata_directory: bool) -> bool:
    """True if a broker stops on failed directories: all of them, any before JBOD was tolerated, or the metadata log's.

    LogManager.handleLogDirFailure: with no directory left it halts.

    Args:
        failed: Number of directories that failed.
        directories: Number of directories the broker has.
        tolerated: Since 1.0.
        metadata_directory: Whether the KRaft metadata log stood in one of them.
    """
    return failed > 0 and (failed == directories or not tolerated or metadata_directory)
