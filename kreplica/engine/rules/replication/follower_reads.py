"""Consumers that read from followers: KIP-392, since 2.4.

A consumer with client.rack first asks the leader; with replica.selector.class=RackAwareReplicaSelector the leader
names a replica in that rack, and the consumer goes there for metadata.max.age.ms (5 minutes).
"""

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import is_out_of_range
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only


def readable_replicas(
    isr: int, leader: int, fetch_offset: int, log_starts: tuple[int, ...], end_offsets: tuple[int, ...]
) -> int:
    """Replicas that the leader's selector chooses from: itself, and in-sync ones whose log has the offset.

    ReplicaManager.findPreferredReadReplica; the ISR counts since 3.3.2 (KAFKA-14372). Before, every replica with the
    offset counted: a consumer could be sent to a follower that stays behind.

    Args:
        isr: In-sync replicas; all replicas before 3.3.2.
        leader: The leader, which chooses.
        fetch_offset: The consumer's position.
        log_starts: The log start offset of each replica, by index, as the leader knows it.
        end_offsets: The log end offset of each replica, by index, as the leader knows it from the last fetch.
    """
    chosen = only(leader)
    for place in range(len(end_offsets)):
        if contains(isr, place) and log_starts[place] <= fetch_offset <= end_offsets[place]:
            chosen |= only(place)
    return chosen


def preferred_read_replica(
    readable: int,
    leader: int,
    same_rack: int,
    end_offsets: tuple[int, ...],
    behind_ms: tuple[int, ...],
    broker_ids: tuple[int, ...],
) -> int:
    """Returns the replica to which the leader sends a consumer; NO_LEADER if it serves the consumer itself.

    RackAwareReplicaSelector.select: the leader if it is in the consumer's rack or no readable replica is, else the most
    caught up there: the highest log end offset, then the shortest time behind, then the highest broker id
    (ReplicaView.comparator).

    Args:
        readable: Result of readable_replicas.
        leader: The leader, which chooses.
        same_rack: Replicas in the consumer's rack.
        end_offsets: The log end offset of each replica, by index.
        behind_ms: Time since each replica was last caught up, by index.
        broker_ids: The broker of each replica, by index.
    """
    if contains(same_rack, leader):
        return NO_LEADER
    best = NO_LEADER
    for place, end in enumerate(end_offsets):
        if not contains(readable & same_rack, place):
            continue
        rank = (end, -behind_ms[place], broker_ids[place])
        if best == NO_LEADER or rank > (end_offsets[best], -behind_ms[best], broker_ids[best]):
            best = place
    return best


def readable_until(fetch_offset: int, log_start: int, last_fetchable: int, end_offset: int) -> tuple[ErrorCode, int]:
    """Returns the offset up to which a replica serves a consumer: its own high watermark, or last stable offset.

    UnifiedLog.read, of leaders and followers. A follower's high watermark lags behind the leader's: between it and the
    end of the log the answer is empty, and the consumer waits; past the end of the log it is out of range.

    Args:
        fetch_offset: The consumer's position.
        log_start: The replica's log start offset.
        last_fetchable: Its high watermark; its last stable offset for read_committed.
        end_offset: Its log end offset.

    Returns:
        The error, and the offset before which records may be read: the fetch offset itself if there are none.
    """
    if is_out_of_range(fetch_offset, log_start, end_offset):
        return ErrorCode.OFFSET_OUT_OF_RANGE, fetch_offset
    return ErrorCode.NONE, max(fetch_offset, last_fetchable)


def out_of_range_resets(read_from_follower: bool) -> bool:
    """True if OFFSET_OUT_OF_RANGE makes a consumer reset its position: only if it comes from the leader.

    FetchCollector.handleInitializeErrors; Fetcher before 3.5. From a follower it goes back to the leader.
    """
    return not read_from_follower


def goes_to_leader(online: bool, error: int, errors_lead_to_leader: bool) -> bool:
    """True if a consumer forgets the replica that it was sent to, and fetches from the leader.

    Fetcher.selectReadReplica and initializeCompletedFetch; AbstractFetch and FetchCollector since 3.5. Before 3.3.2 an
    error that is not OFFSET_OUT_OF_RANGE only made it ask for metadata: it kept fetching from a follower that answered
    nothing but errors until that was offline in the metadata, or the choice expired (KAFKA-14379). A follower that has
    not heard of the leader epoch yet, or that names no reason, is asked again in every version.

    Args:
        online: Whether that replica is online by the consumer's metadata (Cluster.nodeIfOnline).
        error: With which the last fetch from it ended, NETWORK_EXCEPTION without an answer, NONE if there was none.
        errors_lead_to_leader: Since 3.3.2.
    """
    if not online or error == ErrorCode.OFFSET_OUT_OF_RANGE:
        return True
    asked_again = error in (ErrorCode.NONE, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR)
    return errors_lead_to_leader and not asked_again


def preferred_read_replica_expired(now_ms: int, chosen_ms: int, metadata_max_age_ms: int) -> bool:
    """True if a consumer's choice of replica has expired: it asks the leader again.

    SubscriptionState.TopicPartitionState.preferredReadReplica.
    """
    return now_ms > chosen_ms + metadata_max_age_ms
