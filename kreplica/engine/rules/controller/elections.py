"""Leader elections: replicas that may lead a partition, and the one that is elected.

KRaft: org.apache.kafka.controller.PartitionChangeBuilder. ``acceptable`` are the replicas whose broker is active
(unfenced, not shutting down) and whose log directory is online (ReplicationControlManager.LeaderAcceptor; directories
since 3.7, KIP-858). ELRs exist since 4.0 (KIP-966); before, ``elr`` and ``last_known_elr`` are empty.

ZooKeeper, up to 3.9: kafka.controller.Election and PartitionLeaderElectionAlgorithms. ``live`` are the replicas whose
broker is registered and whose log directory is online (ControllerContext.isReplicaOnline).
"""

from collections.abc import Sequence

from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, first, only, size

MAY_LEAD = 0
BROKER_NOT_ACTIVE = 1
REPLICA_OFFLINE = 2
NOT_IN_SYNC = 3
"""Results of leader_obstacle."""


def eligible_leaders(isr: int, elr: int) -> int:
    """Replicas that hold every committed record: the ISR, or the ELR where the ISR is empty.

    PartitionChangeBuilder.isValidNewLeader, since 4.0. Without an ELR it is the ISR, in both modes and all versions.
    """
    return isr if isr != 0 else elr


def leader_obstacle(replica: int, isr: int, elr: int, active: int, online: int) -> int:
    """Returns the obstacle to a clean election of a replica; MAY_LEAD if there is none.

    PartitionChangeBuilder.isValidNewLeader (KRaft), PartitionLeaderElectionAlgorithms (ZooKeeper): the same three
    conditions. The first that fails is returned: a broker that is gone explains the rest.

    Args:
        replica: The replica to elect.
        isr: In-sync replicas.
        elr: Eligible leader replicas; empty in ZooKeeper mode.
        active: Replicas whose broker is active.
        online: Replicas whose log directory is online.
    """
    if not contains(active, replica):
        return BROKER_NOT_ACTIVE
    if not contains(online, replica):
        return REPLICA_OFFLINE
    if not contains(eligible_leaders(isr, elr), replica):
        return NOT_IN_SYNC
    return MAY_LEAD


def only_last_leader_is_known(isr: int, elr: int, last_known_elr: int) -> bool:
    """True if nobody is left in ISR and ELR, and the last leader is known.

    PartitionChangeBuilder.canElectLastKnownLeader. 4.0 then elects that one, uncleanly, although it is fenced, be it
    for good; before any other where an unclean election is asked for, too. Since 4.1 it has to be back (KAFKA-19522).

    Args:
        isr, elr: Those that shall be.
        last_known_elr: Before the change.
    """
    return isr == 0 and elr == 0 and size(last_known_elr) == 1


def kraft_last_known_leader(isr: int, elr: int, last_known_elr: int, acceptable: int, elr_enabled: bool) -> int:
    """Returns the last known leader if it is back and no other replica may lead; NO_LEADER otherwise.

    PartitionChangeBuilder.canElectLastKnownLeader, since 4.1; 4.0 did not check that it is back:
    ``only_last_leader_is_known``. Such an election is unclean.
    """
    if not elr_enabled or not only_last_leader_is_known(isr, elr, last_known_elr):
        return NO_LEADER
    return first(last_known_elr & acceptable)


def kraft_elect_preferred(
    leader: int, isr: int, elr: int, last_known_elr: int, acceptable: int, elr_enabled: bool
) -> tuple[int, bool]:
    """A PREFERRED election: the leader it gives, and whether it is unclean.

    PartitionChangeBuilder.electPreferredLeader, since 3.0. If the preferred replica may not lead, the current leader
    stays; if that one may not lead either, any other replica that may is elected: such an election succeeds although
    the preferred replica does not lead.
    """
    valid = eligible_leaders(isr, elr) & acceptable
    if contains(valid, 0):
        return 0, False
    return _kraft_elect_clean(leader, isr, elr, last_known_elr, acceptable, elr_enabled)


def kraft_elect(
    leader: int, isr: int, elr: int, last_known_elr: int, acceptable: int, elr_enabled: bool, unclean_enabled: bool
) -> tuple[int, bool]:
    """An ONLINE election, or with ``unclean_enabled`` an UNCLEAN one: the leader it gives, and whether it is unclean.

    PartitionChangeBuilder.electAnyLeader, since 3.0. A leader that may stay, stays.
    """
    elected, unclean = _kraft_elect_clean(leader, isr, elr, last_known_elr, acceptable, elr_enabled)
    if elected == NO_LEADER and unclean_enabled:
        elected = first(acceptable)
        unclean = elected != NO_LEADER
    return elected, unclean


def _kraft_elect_clean(
    leader: int, isr: int, elr: int, last_known_elr: int, acceptable: int, elr_enabled: bool
) -> tuple[int, bool]:
    valid = eligible_leaders(isr, elr) & acceptable
    if contains(valid, leader):
        return leader, False
    if valid != 0:
        return first(valid), False
    elected = kraft_last_known_leader(isr, elr, last_known_elr, acceptable, elr_enabled)
    return elected, elected != NO_LEADER


def zookeeper_elect_preferred(isr: int, live: int) -> int:
    """The preferred replica if it may lead, NO_LEADER if not: the current leader then stays, and the election fails.

    PartitionLeaderElectionAlgorithms.preferredReplicaPartitionLeaderElection.
    """
    return first(isr & live & only(0))


def zookeeper_elect_offline(replicas: int, isr: int, live: int, unclean_enabled: bool) -> int:
    """A new leader for a partition whose leader is gone, NO_LEADER if there can be none.

    PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection. One outside the ISR is an unclean election.
    """
    elected = first(replicas & isr & live)
    if elected == NO_LEADER and unclean_enabled:
        elected = first(replicas & live)
    return elected


def zookeeper_leader_for_offline(replicas: int, isr: int, live: int, unclean_enabled: bool) -> tuple[int, int]:
    """Leader and ISR of a partition that had no live leader; NO_LEADER and the same ISR if there can be none.

    Election.leaderForOffline: the live members of the ISR stay in it; a leader from outside becomes the whole ISR. The
    previous leader may be elected again, in a new epoch, once its broker is back.
    """
    elected = zookeeper_elect_offline(replicas, isr, live, unclean_enabled)
    if elected == NO_LEADER:
        return NO_LEADER, isr
    return elected, isr & live if contains(isr, elected) else only(elected)


def zookeeper_first_in_isr(isr_order: Sequence[int], eligible: int) -> int:
    """The first eligible member in the order in which ZooKeeper lists the ISR, NO_LEADER if there is none.

    OfflinePartitionLeaderSelector up to 0.8.1 (KAFKA-1503) and ControlledShutdownLeaderSelector up to 0.9 (KAFKA-3670)
    took it; since then the first in the assignment leads. A replica that leaves the ISR and joins again is listed last.

    Args:
        isr_order: Replica indexes in the order of the list.
        eligible: Replicas that may lead.
    """
    for replica in isr_order:
        if contains(eligible, replica):
            return replica
    return NO_LEADER


def zookeeper_elect_controlled_shutdown(replicas: int, isr: int, live: int, shutting_down: int) -> int:
    """A new leader for a partition whose leader wants to shut down, NO_LEADER if there can be none.

    PartitionLeaderElectionAlgorithms.controlledShutdownPartitionLeaderElection. ``live`` has those that shut down too.
    """
    return first(replicas & isr & live & ~shutting_down)
