"""What a broker does when a controller tells it to lead or whom to follow.

kafka.server.ReplicaManager.becomeLeaderOrFollower, makeFollowers, applyDelta; kafka.cluster.Partition.makeLeader and
makeFollower, in every version.
"""

ANY_NUMBER = 2**31 - 1
"""More leader epochs than there can be."""


def makes_follower(leader: int, known_leader: int, leader_epoch: int, known_epoch: int, followed_on: int) -> bool:
    """Whether a follower begins to follow anew: it stops fetching, cuts its log as it must and fetches again.

    kafka.cluster.Partition.makeFollower. From 0.8.2 to 2.0.0 another leader alone made it do so (KAFKA-1188): whoever
    was told of a leader that had been deposed and elected again in between went on fetching, although that leader had
    cut its log meanwhile, and the logs diverged without a sign. 2.0.1 goes on over one epoch at most (KAFKA-7164);
    since 2.1 every new epoch begins anew (KIP-320, KAFKA-7395), as in 0.8.1.

    Args:
        leader, leader_epoch: As the controller says.
        known_leader, known_epoch: Whom it follows, since the process began, and in which epoch; itself if it led.
        followed_on: How many epochs on a follower of the same leader goes on as it is.
    """
    return leader != known_leader or leader_epoch - known_epoch > followed_on


def takes_leader(leader_is_alive: bool, dead_leaders_ignored: bool) -> bool:
    """Whether a follower takes over a LeaderAndIsr of this leader at all.

    kafka.server.ReplicaManager.makeFollowers, since 0.8.2 (KAFKA-1647) and up to 3.9: a leader that is none of the live
    brokers the follower knows of changes nothing, not even the leader epoch; the fetcher goes on with the leader before
    it. 0.8.1 took it over and fetched from nobody.

    Args:
        leader_is_alive: Whether the leader is among the live brokers; nobody is not.
        dead_leaders_ignored: Whether the version looks.
    """
    return leader_is_alive or not dead_leaders_ignored


def takes_state(known_leader_epoch: int, known_partition_epoch: int, leader_epoch: int, partition_epoch: int) -> bool:
    """Whether a replica goes by a decision: neither of its epochs is older than what the replica knows.

    kafka.server.ReplicaManager.becomeLeaderOrFollower: a stale LeaderAndIsr request is ignored for the partition. The
    replica then leads (Partition.makeLeader) or follows (Partition.makeFollower).

    Args:
        known_leader_epoch, known_partition_epoch: Of the state that the replica goes by.
        leader_epoch, partition_epoch: Of the decision.
    """
    return partition_epoch >= known_partition_epoch and leader_epoch >= known_leader_epoch
