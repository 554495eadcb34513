"""Broker failure in ZooKeeper mode: partitions that the controller looks at, its decisions, replicas that it notifies.

A watch on /brokers/ids tells the controller which brokers are registered. Textbooks call the partitions that it then
looks at set_p: all those with a replica on a broker that is gone. KafkaController.processBrokerChange, onBrokerFailure
and onReplicasBecomeOffline; up to 3.9. The rule for one partition is zookeeper_broker_failure in
``controlled_shutdown``.
"""

from kreplica.engine.rules.controller.controlled_shutdown import zookeeper_broker_failure
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, members, only, without

Brokers = tuple[int, ...]


def brokers_changed(known: dict[int, int], registered: dict[int, int]) -> tuple[Brokers, Brokers, Brokers]:
    """Brokers that are new, gone, and bounced: still registered, but under a newer epoch.

    KafkaController.processBrokerChange; bounced ones since 2.2 (KIP-380): before, the controller missed a restart that
    was over before it looked.

    Args:
        known: Broker epoch by id, of the brokers that the controller counts as live.
        registered: Broker epoch by id, of the brokers in /brokers/ids (the znode's creation transaction).
    """
    new = tuple(sorted(broker for broker in registered if broker not in known))
    gone = tuple(sorted(broker for broker in known if broker not in registered))
    bounced = tuple(sorted(broker for broker in known if broker in registered and registered[broker] > known[broker]))
    return new, gone, bounced


def failed_partitions(assignments: tuple[Brokers, ...], gone: Brokers) -> tuple[int, ...]:
    """set_p: numbers of the partitions with a replica on a broker that is gone.

    ControllerContext.replicasOnBrokers.
    """
    return tuple(number for number, replicas in enumerate(assignments) if any(broker in gone for broker in replicas))


def zookeeper_brokers_fail(
    gone: int, leader: int, replicas: int, isr: int, live: int, unclean_enabled: bool
) -> tuple[int, int]:
    """Leader and ISR after several brokers failed at once: first one election, then each replica leaves the ISR.

    Args:
        gone: Replicas on the failed brokers.
        leader, replicas, isr: Before the failure.
        live: Replicas online now, without those on the failed brokers.
        unclean_enabled: unclean.leader.election.enable.
    """
    for replica in members(gone):
        leader, isr = zookeeper_broker_failure(replica, leader, replicas, isr, live, unclean_enabled)
    return leader, isr


def zookeeper_remove_from_isr_until_1_0(replica: int, leader: int, isr: int, unclean_enabled: bool) -> tuple[int, int]:
    """Leader and ISR after a replica went offline, as controllers up to 1.0 did it.

    KafkaController.removeReplicaFromIsr: with unclean elections enabled the last member leaves too, and the ISR is
    empty (up to 0.8.1 always). Since 1.1 it stays (``isr.zookeeper_remove_from_isr``).
    """
    if not contains(isr, replica):
        return leader, isr
    remaining = without(isr, only(replica))
    if remaining == 0 and not unclean_enabled:
        remaining = isr
    return NO_LEADER if leader == replica else leader, remaining


def told_of_change(replicas: int, live: int, removed: int) -> int:
    """Returns the replicas that get a LeaderAndIsr request after a change: the live ones but those just taken out.

    PartitionStateMachine.doElectLeaderForPartitions sends it to live replicas, ReplicaStateMachine to the assignment
    without the replica that left. Every live broker gets the same state in an UpdateMetadata request as well.
    """
    return without(replicas & live, removed)
