"""Lag of followers: failed and slow ones, and those that have caught up.

kafka.cluster.Replica and kafka.cluster.Partition.getOutOfSyncReplicas. Times are in any one unit.
"""

from kreplica.engine.rules.replication.replica_set import contains, only

NEVER_CAUGHT_UP = -(2**62)
"""Longer ago than any replica.lag.time.max.ms. Kafka's is 0 of a clock that counts from 1970."""


def last_caught_up_after_fetch(
    last_caught_up: int,
    offset: int,
    leader_end: int,
    leader_end_at_last_fetch: int,
    last_fetch: int,
    now: int,
    looks_back: bool = True,
) -> int:
    """Returns the time at which a follower was last caught up, after a fetch at ``offset``.

    kafka.cluster.Replica.updateFetchStateOrThrow, since 0.9 (KAFKA-1546). A follower that fetches from the leader's log
    end has caught up now; one that fetches from where that end was at its previous fetch had caught up then: without
    that a follower of a leader with many small writes, always a little behind, would never count as caught up.

    Args:
        last_caught_up: The time before this fetch.
        offset: The follower's log end offset: what it fetches next.
        leader_end: The leader's log end offset at this fetch.
        leader_end_at_last_fetch: The same at the follower's previous fetch.
        last_fetch: Time of that previous fetch.
        now: Time of this fetch.
        looks_back: Whether the previous fetch counts: since 0.10.2 (KAFKA-4485).
    """
    if offset >= leader_end:
        return max(last_caught_up, now)
    if looks_back and offset >= leader_end_at_last_fetch:
        return max(last_caught_up, last_fetch)
    return last_caught_up


def last_caught_up_in_new_epoch(in_isr: bool, now: int, remembered: int, begins_anew: bool = True) -> int:
    """Returns the last caught-up time that a new leader assumes: now for members of the ISR, never for the others.

    kafka.cluster.Replica.resetReplicaState, since 0.10.2 (KAFKA-4485). Before, it used the time that it had recorded
    itself: a follower that did not fetch from it at once could leave the ISR at the first check.

    Args:
        in_isr: Whether the follower is in the ISR.
        now: The time.
        remembered: When the broker first heard of the replica, or later saw that it had everything.
        begins_anew: Whether that time does not count: since 0.10.2.
    """
    if not begins_anew:
        return remembered
    return now if in_isr else NEVER_CAUGHT_UP


def is_caught_up(
    end_offset: int, leader_end: int, last_caught_up: int, now: int, lag_time_max: int, end_suffices: bool = True
) -> bool:
    """True if a follower keeps up: it has everything, or had everything within replica.lag.time.max.ms.

    kafka.cluster.ReplicaState.isCaughtUp, since 0.9.

    Args:
        end_offset, leader_end: Log end offsets of both.
        last_caught_up: Time at which the follower was last caught up.
        now: The time.
        lag_time_max: replica.lag.time.max.ms in that unit.
        end_suffices: Whether a follower that has everything keeps up, however long ago it last fetched: since 2.1
            (KAFKA-7152). Before, a follower that died left the ISR of a partition without writes, too.
    """
    return (end_suffices and end_offset == leader_end) or now - last_caught_up <= lag_time_max


def time_between_looks(lag_time_max: int, twice: bool) -> int:
    """Returns the time between a leader's checks for failed followers, in the unit of replica.lag.time.max.ms.

    kafka.server.ReplicaManager.startup, the task isr-expiration: once in that time up to 0.10.1, twice since 0.10.2
    (KAFKA-4485). A follower that makes no progress leaves the ISR after one to two times the setting with the first,
    one to one and a half with the second.
    """
    return lag_time_max // 2 if twice else lag_time_max


def lags_by_messages(end_offset: int, leader_end: int, lag_max_messages: int) -> bool:
    """True if a follower is too many records behind: replica.lag.max.messages, before 0.9.

    kafka.cluster.Partition.getOutOfSyncReplicas of 0.8: slow replicas. A burst of that many records in one request
    makes every follower slow, which is why KAFKA-1546 took it out.
    """
    return end_offset >= 0 and leader_end - end_offset > lag_max_messages


def is_stuck(last_fetch: int, now: int, lag_time_max: int) -> bool:
    """True if a follower has not fetched for replica.lag.time.max.ms, whether it lacks records or not; 0.8.1 and 0.8.2.

    kafka.cluster.Partition.getOutOfSyncReplicas of 0.8.1: stuck replicas. ``last_fetch`` is the time at which its log
    end offset was last recorded (logEndOffsetUpdateTimeMs), as each fetch does. Up to 0.8.0 only followers that lacked
    records were checked, so a partition without writes kept its dead followers (KAFKA-1170).
    """
    return now - last_fetch > lag_time_max


def in_sync_by_time(isr: int, leader: int, caught_up: int) -> int:
    """The ISR after the periodic check: the leader and the members that keep up (since 0.9)."""
    return isr & (caught_up | only(leader))


def in_sync_by_time_or_messages(isr: int, leader: int, stuck: int, slow: int) -> int:
    """The ISR after the periodic check before 0.9: without stuck and slow members; the leader never leaves."""
    leaving = (stuck | slow) & ~only(leader)
    return isr & ~leaving


def may_join_isr(
    replica: int,
    maximal: int,
    eligible: int,
    end_offset: int,
    high_watermark: int,
    epoch_start: int,
    join_at_epoch_start: bool,
) -> bool:
    """True if a follower's fetch brings it into the ISR.

    kafka.cluster.Partition.isFollowerInSync and isReplicaIsrEligible. It has to reach the leader's high watermark, not
    the leader's log end; and since 2.1 (KAFKA-7128) the offset at which the leader's epoch began: before, a member of
    the ISR could lack records that a newly elected leader did not yet count as committed.

    Args:
        replica: The follower.
        maximal: ``alter_partition.maximal_isr``; a member does not join.
        eligible: Replicas that the controller would accept.
        end_offset: The follower's log end offset.
        high_watermark: The leader's.
        epoch_start: Start offset of the leader's epoch.
        join_at_epoch_start: Whether the version requires that offset.
    """
    if contains(maximal, replica) or not contains(eligible, replica):
        return False
    if end_offset < high_watermark:
        return False
    return not join_at_epoch_start or end_offset >= epoch_start
