"""Sets of replicas as bitmasks, and the operations on them that the rules use."""

NO_LEADER = -1
"""org.apache.kafka.metadata.LeaderConstants.NO_LEADER; LeaderAndIsr.NoLeader in ZooKeeper mode."""


def contains(replicas: int, replica: int) -> bool:
    """True if the set has the replica; NO_LEADER is in no set."""
    return replica >= 0 and (replicas >> replica) & 1 == 1


def only(replica: int) -> int:
    """The set of that one replica; empty for NO_LEADER."""
    return 1 << replica if replica >= 0 else 0


def everybody(count: int) -> int:
    """The set of all ``count`` replicas of an assignment."""
    return (1 << count) - 1


def without(replicas: int, leaving: int) -> int:
    """The set less the members of another."""
    return replicas & ~leaving


def first(replicas: int) -> int:
    """The member that comes first in the assignment, NO_LEADER if there is none."""
    replica = 0
    while replicas != 0:
        if replicas & 1 == 1:
            return replica
        replicas >>= 1
        replica += 1
    return NO_LEADER


def members(replicas: int) -> list[int]:
    """The replica indexes of a set, in the order of the assignment."""
    found = []
    replica = 0
    while replicas >> replica:
        if contains(replicas, replica):
            found.append(replica)
        replica += 1
    return found


def size(replicas: int) -> int:
    """Returns the number of members of the set."""
    members = 0
    while replicas != 0:
        replicas &= replicas - 1
        members += 1
    return members
