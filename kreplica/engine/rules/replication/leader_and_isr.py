"""Reactions of a broker to a controller's request to lead or follow.

kafka.server.ReplicaManager.becomeLeaderOrFollower, makeFollowers, applyDelta; kafka.cluster.Partition.makeLeader and
makeFollower, in every version.
"""

ANY_NUMBER = 2**31 - 1
"""More leader epochs than there can be."""


def makes_follower(leader: int, known_leader: int, leader_epoch: int, known_epoch: int, followed_on: int) -> bool:
    """True if a follower begins anew: it stops fetching, cuts its log if needed and fetches again.

    kafka.cluster.Partition.makeFollower. From 0.8.2 to 2.0.0 only another leader made it do so (KAFKA-1188): a follower
    whose leader had been replaced and elected again in between went on fetching, although that leader had cut its log
    meanwhile, and the logs diverged unnoticed. 2.0.1 goes on fetching over one epoch at most (KAFKA-7164); since 2.1
    it begins anew at every new epoch (KIP-320, KAFKA-7395), as in 0.8.1.

    Args:
        leader, leader_epoch: Those that the controller sent.
        known_leader, known_epoch: The leader it has followed since the process began, and its epoch; itself if it led.
        followed_on: Number of epochs over which a follower of the same leader goes on fetching.
    """
    return leader != known_leader or leader_epoch - known_epoch > followed_on


def keeps_positions(leader_epoch: int, known_epoch: int, outlive_leaders: bool) -> bool:
    """True if a leader that is elected again goes on with the positions that its followers had before.

    kafka.cluster.Partition.makeLeader forgets them only where the broker followed in between (isNewLeader,
    Replica.resetReplicaState), from 0.9 to 4.3. One that has not heard of other leaders in between keeps
    positions of before their epochs: followers may have cut their logs since, and the high watermark rises over records
    that they lack. A follower that missed an epoch begins anew (KAFKA-7164); nothing like it was done for leaders.

    Args:
        leader_epoch: The epoch that begins.
        known_epoch: The epoch in which the broker led before.
        outlive_leaders: Whether positions are kept over epochs in between.
    """
    return outlive_leaders or leader_epoch == known_epoch + 1


def takes_leader(leader_is_alive: bool, dead_leaders_ignored: bool) -> bool:
    """True if a follower accepts a LeaderAndIsr with this leader at all.

    kafka.server.ReplicaManager.makeFollowers, since 0.8.2 (KAFKA-1647) and up to 3.9: a leader that is not among the
    live brokers known to the follower changes nothing, not even the leader epoch; the fetcher goes on with the previous
    leader. 0.8.1 accepted it and fetched from no broker.

    Args:
        leader_is_alive: Whether the leader is among the live brokers; False without a leader.
        dead_leaders_ignored: Whether the version checks that.
    """
    return leader_is_alive or not dead_leaders_ignored


def takes_state(known_leader_epoch: int, known_partition_epoch: int, leader_epoch: int, partition_epoch: int) -> bool:
    """True if a replica accepts a controller's decision: neither of its epochs is older than what the replica knows.

    kafka.server.ReplicaManager.becomeLeaderOrFollower: a stale LeaderAndIsr request is ignored for the partition. The
    replica then leads (Partition.makeLeader) or follows (Partition.makeFollower).

    Args:
        known_leader_epoch, known_partition_epoch: Of the replica's present state.
        leader_epoch, partition_epoch: Of the decision.
    """
    return partition_epoch >= known_partition_epoch and leader_epoch >= known_leader_epoch
