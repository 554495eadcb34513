"""What becomes of a partition when the log directory of a replica fails and its broker lives on (JBOD, KIP-112).

ZooKeeper mode since 1.0: the broker says so by /log_dir_event_notification, the controller asks it with LeaderAndIsr
requests and takes KAFKA_STORAGE_ERROR for an offline replica. KRaft since 3.7 (KIP-858): the broker names the
directory in its heartbeat. Before, one failed directory stopped the broker.
"""

from kreplica.engine.rules.controlled_shutdown import kraft_broker_stops, zookeeper_broker_failure


def broker_stops(failed: int, directories: int, tolerated: bool, metadata_directory: bool) -> bool:
    """Whether a broker stops on failed directories: all of them, any before JBOD was tolerated, or the metadata log's.

    LogManager.handleLogDirFailure: with no directory left it halts.

    Args:
        failed: How many failed.
        directories: How many it has.
        tolerated: Since 1.0 in ZooKeeper mode, since 3.7 in KRaft.
        metadata_directory: Whether the KRaft metadata log stood in one of them.
    """
    return failed > 0 and (failed == directories or not tolerated or metadata_directory)


def kraft_directory_fails(
    replica: int,
    leader: int,
    isr: int,
    elr: int,
    last_known_elr: int,
    acceptable: int,
    min_isr: int,
    elr_enabled: bool,
    unclean_enabled: bool,
) -> tuple[int, int, int, int]:
    """Leader, ISR, ELR and last-known ELR after the directory of a replica failed: as if its broker were fenced.

    ReplicationControlManager.handleDirectoriesOffline. The arguments are those of kraft_broker_stops.
    """
    return kraft_broker_stops(
        replica, leader, isr, elr, last_known_elr, acceptable, min_isr, elr_enabled, unclean_enabled
    )


def zookeeper_directory_fails(
    replica: int, leader: int, replicas: int, isr: int, live: int, unclean_enabled: bool
) -> tuple[int, int]:
    """Leader and ISR after the directory of a replica failed: as if its broker were gone.

    KafkaController.processLeaderAndIsrResponseReceived, onReplicasBecomeOffline. The arguments are those of
    zookeeper_broker_failure, with the replica no longer live.
    """
    return zookeeper_broker_failure(replica, leader, replicas, isr, live, unclean_enabled)
