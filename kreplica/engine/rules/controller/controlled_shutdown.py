"""Leader and ISR of a partition when a broker with one of its replicas stops: controlled shutdown, or failure.

A broker that is asked to stop (SIGTERM) first has the controller move its leaderships away and take it out of the
ISRs: controlled shutdown, KIP-2. Then it stops. A broker that crashes stops without it.
"""

from kreplica.engine.rules.controller.elections import zookeeper_elect_controlled_shutdown, zookeeper_leader_for_offline
from kreplica.engine.rules.controller.isr import kraft_change, zookeeper_remove_from_isr
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only, size, without


def kraft_looks_at(replica: int, isr: int, elr: int, unclean_shutdown: bool) -> bool:
    """True if a partition is looked at when a broker leaves: it is in its ISR, or after an unclean shutdown in its ELR.

    BrokersToIsrs.partitionsWithBrokerInIsr; since 4.0 partitionsWithBrokerInElr (handleBrokerUncleanShutdown).
    """
    return contains(isr, replica) or (unclean_shutdown and contains(elr, replica))


def kraft_broker_stops(
    replica: int,
    leader: int,
    isr: int,
    elr: int,
    last_known_elr: int,
    acceptable: int,
    min_isr: int,
    elr_enabled: bool,
    unclean_enabled: bool,
    unclean_shutdown: bool = False,
) -> tuple[int, int, int, int]:
    """Leader, ISR, ELR and last-known ELR after a broker began its controlled shutdown, or was fenced: the same rule.

    ReplicationControlManager.handleBrokerFenced, since 2.8, handleBrokerInControlledShutdown, since 3.3, for a failed
    log directory handleDirectoriesOffline, since 3.7, and after an unclean shutdown handleBrokerUncleanShutdown, since
    4.0: all by generateLeaderAndIsrUpdates. Only partitions with the broker in their ISR change, after an unclean
    shutdown those with it in their ELR too. A broker that leads the last in-sync replica loses its leadership too: it
    may shut down as soon as it leads nothing (BrokerHeartbeatManager.calculateNextBrokerState).

    Args:
        replica: The one on that broker, or in that directory.
        acceptable: Replicas with an active broker and an online log directory; this one does not count.
        unclean_shutdown: Whether it may have lost records: it then leaves the ELR as well.

    The others are those of kraft_change.
    """
    if not kraft_looks_at(replica, isr, elr, unclean_shutdown):
        return leader, isr, elr, last_known_elr
    place = only(replica)
    lossy = place if unclean_shutdown else 0
    remaining, others = without(isr, place), without(acceptable, place)
    return kraft_change(
        leader, isr, elr, last_known_elr, remaining, others, min_isr, elr_enabled, unclean_enabled, lossy
    )


def zookeeper_controlled_shutdown(
    replica: int, leader: int, replicas: int, isr: int, live: int, shutting_down: int
) -> tuple[int, int]:
    """Leader and ISR after a broker asked to shut down, while it still runs.

    KafkaController.doControlledShutdown, up to 3.9. A partition of one replica, or with no other live replica in sync,
    stays as it is: its leader leads until it is gone.

    Args:
        replica: The one on that broker.
        leader: The current leader.
        replicas: The assignment.
        isr: In-sync replicas.
        live: Replicas online, those that shut down among them.
        shutting_down: Replicas whose broker shuts down, this one among them.
    """
    if size(replicas) == 1:
        return leader, isr
    if leader != replica:
        return zookeeper_remove_from_isr(replica, leader, isr)
    elected = zookeeper_elect_controlled_shutdown(replicas, isr, live, shutting_down)
    if elected == NO_LEADER:
        return leader, isr
    return elected, without(isr, shutting_down)


def zookeeper_broker_failure(
    replica: int, leader: int, replicas: int, isr: int, live: int, unclean_enabled: bool
) -> tuple[int, int]:
    """Leader and ISR after a broker is gone.

    KafkaController.onBrokerFailure and onReplicasBecomeOffline, up to 3.9: first a new leader where the leader is gone,
    then the replica leaves the ISR. For a failed log directory processLeaderAndIsrResponseReceived does the same.

    Args:
        replica: The one on that broker.
        leader: The leader before the failure.
        replicas: The assignment.
        isr: In-sync replicas.
        live: Replicas online now, without this one.
        unclean_enabled: unclean.leader.election.enable.
    """
    if not contains(live, leader):
        elected, new_isr = zookeeper_leader_for_offline(replicas, isr, live, unclean_enabled)
        if elected != NO_LEADER:
            leader, isr = elected, new_isr
    return zookeeper_remove_from_isr(replica, leader, isr)
