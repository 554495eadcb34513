"""Changes of the ISR, and with KIP-966 of the ELR, when replicas leave the ISR.

KRaft: org.apache.kafka.controller.PartitionChangeBuilder.build, ELRs since 4.0. ZooKeeper, up to 3.9:
kafka.controller.ReplicaStateMachine.
"""

from kreplica.engine.rules.controller.elections import kraft_elect
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only, size, without


def kraft_eligible_leader_replicas(isr: int, elr: int, target_isr: int, min_isr: int, unclean_shutdown: int) -> int:
    """The ELR that goes with the ISR ``target_isr``.

    PartitionChangeBuilder.maybePopulateTargetElr, since 4.0. As long as the ISR reaches min ISR, only its members may
    lead. Below that the high watermark stands still (KIP-966): a replica that leaves then has every committed record.

    Args:
        isr: Before the change.
        elr: Before the change.
        target_isr: After it.
        min_isr: min.insync.replicas or the replica count, whichever is less.
        unclean_shutdown: Replicas that may have lost records.
    """
    if size(target_isr) >= min_isr:
        return 0
    return without(isr | elr, target_isr | unclean_shutdown)


def kraft_change(
    leader: int,
    isr: int,
    elr: int,
    last_known_elr: int,
    target_isr: int,
    acceptable: int,
    min_isr: int,
    elr_enabled: bool,
    unclean_enabled: bool,
    unclean_shutdown: int = 0,
) -> tuple[int, int, int, int]:
    """Leader, ISR, ELR and last-known ELR once the controller has made the ISR ``target_isr`` and elected.

    PartitionChangeBuilder.build, since 3.0, ELRs since 4.0; where a reassignment begins or ends, all sets go by the
    indexes of the new assignment. Without ELR an ISR never gets empty: its last member stays in it although there is no
    leader. A leader elected from the ELR, or uncleanly, becomes the whole ISR.

    Args:
        leader: Before the change; it keeps leading if it may.
        isr: Before the change.
        elr: Before the change.
        last_known_elr: Before the change: the last leader.
        target_isr: Replicas that shall be in sync.
        acceptable: Replicas with an active broker and an online log directory.
        min_isr: min.insync.replicas or the replica count, whichever is less.
        elr_enabled: Whether the feature eligible.leader.replicas.version is 1.
        unclean_enabled: unclean.leader.election.enable.
        unclean_shutdown: Replicas whose broker came back from an unclean shutdown: they leave the ELR.
    """
    target_elr = kraft_eligible_leader_replicas(isr, elr, target_isr, min_isr, unclean_shutdown) if elr_enabled else elr
    elected, unclean = kraft_elect(
        leader, target_isr, target_elr, last_known_elr, acceptable, elr_enabled, unclean_enabled
    )
    if elected != leader:
        target_isr, target_elr = kraft_isr_of_elected(elected, target_isr, target_elr)
    if elected != leader and unclean:
        new_isr, new_elr = only(elected), 0
    else:
        new_isr = target_isr if target_isr != 0 or elr_enabled else isr
        new_elr = target_elr if elr_enabled else 0
    new_last_known = kraft_last_known_elr(leader, last_known_elr, elected, elr_enabled)
    return elected, new_isr, new_elr, new_last_known


def kraft_isr_of_elected(elected: int, isr: int, elr: int) -> tuple[int, int]:
    """ISR and ELR after a new leader is elected: one from the ELR becomes the whole ISR, and leaves the ELR.

    PartitionChangeBuilder.tryElection, since 4.0.
    """
    if not contains(elr, elected):
        return isr, elr
    return only(elected), without(elr, only(elected))


def kraft_last_known_elr(leader: int, last_known_elr: int, elected: int, elr_enabled: bool) -> int:
    """The last-known ELR after a change: the last leader where nobody leads any more; none while there is a leader.

    PartitionChangeBuilder.maybeUpdateLastKnownLeader, since 4.1.1; before: ``last_known_elr_until_4_1_0``.
    """
    if not elr_enabled:
        return last_known_elr
    if elected != NO_LEADER:
        return 0
    return only(leader) if leader != NO_LEADER and last_known_elr == 0 else last_known_elr


def last_known_elr_until_4_1_0(leader: int, last_known_elr: int, isr: int, new_isr: int, elected: int) -> int:
    """The last-known ELR after a change in 4.0 and 4.1.0: the leader, once the ISR gets empty, not before.

    PartitionChangeBuilder.maybeUpdateLastKnownLeader of these releases; ELRs are on by default since 4.1. A leader that
    loses its leadership to nobody while a member of the ISR may not lead, by its log directory, is forgotten. If nobody
    leads already as the ISR gets empty, Kafka remembers -1, which is nobody here. With that 4.0 elects nobody uncleanly
    any more, which is not modelled: only a partition that had no leader before ELRs were switched on gets there.

    Args:
        leader, last_known_elr, isr: Before the change.
        new_isr, elected: ISR and leader after it.
    """
    if isr != 0 and new_isr == 0:
        return only(leader)
    return last_known_elr if elected == NO_LEADER else 0


def zookeeper_remove_from_isr(replica: int, leader: int, isr: int) -> tuple[int, int]:
    """Leader and ISR after a replica went offline: the last member of an ISR stays in it.

    ReplicaStateMachine.doRemoveReplicasFromIsr, up to 3.9.
    """
    if not contains(isr, replica):
        return leader, isr
    new_leader = NO_LEADER if leader == replica else leader
    return new_leader, isr if size(isr) == 1 else without(isr, only(replica))
