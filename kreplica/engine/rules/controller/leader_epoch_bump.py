"""Leader epoch and partition epoch of a partition: the changes that raise them.

A new leader epoch makes every replica stop, find where its log diverges from the leader's, and fence older epochs. The
partition epoch (the version of its znode in ZooKeeper mode) rises with every change and fences only changes of the ISR.
"""

from kreplica.engine.rules.replication.replica_set import without


def kraft_leader_epoch(
    leader_epoch: int,
    leader_changed: bool,
    isr: int,
    new_isr: int,
    replicas: int,
    new_replicas: int,
    rises_on_isr_shrink: bool,
) -> int:
    """The leader epoch after a change that a KRaft controller writes.

    PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded and
    triggerLeaderEpochBumpForIsrShrinkIfNeeded; PartitionRegistration.merge.

    Args:
        leader_epoch: Before the change.
        leader_changed: Whether another replica, or nobody, leads afterwards.
        isr, new_isr: Before and after.
        replicas, new_replicas: The assignment before and after, by the same indexes.
        rises_on_isr_shrink: Before metadata.version 3.6: brokers then needed it to let go of a replica (KAFKA-15021).
    """
    shrunk = rises_on_isr_shrink and without(isr, new_isr) != 0
    removed = without(replicas, new_replicas) != 0
    return leader_epoch + 1 if leader_changed or shrunk or removed else leader_epoch


def zookeeper_leader_epoch(leader_epoch: int, by_leader: bool) -> int:
    """The leader epoch after a write in ZooKeeper mode, up to 3.9.

    Every decision of the controller raises it (LeaderAndIsr.newLeader, newLeaderAndIsr, newEpoch), the removal of a
    replica from the ISR included. An ISR that the leader proposed does not, whether leader or controller writes it.
    """
    return leader_epoch if by_leader else leader_epoch + 1


def partition_epoch(epoch: int, changed: bool) -> int:
    """The partition epoch after a record, or after a write of the znode: one more for every change.

    PartitionRegistration.merge, since 3.0; ZooKeeper's Stat.version, up to 3.9.
    """
    return epoch + 1 if changed else epoch
