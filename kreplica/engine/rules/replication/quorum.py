"""Majority quorums: the metadata quorum of KRaft, and partitions simulated with one to compare them with an ISR.

org.apache.kafka.raft.LeaderState, since 3.3 (KIP-595). A quorum of 2f+1 goes on with f voters gone or slow; an ISR of
f+1 replicas survives as many losses with fewer copies, but waits for its slowest member until that is removed.
"""

from collections.abc import Sequence

from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, size


def quorum_high_watermark(end_offsets: Sequence[int], epoch_start_offset: int, high_watermark: int) -> int:
    """The high watermark of the metadata log.

    LeaderState.maybeUpdateHighWatermark: the largest offset that a majority has, once that is above the start of the
    leader's own epoch: records of earlier leaders count as committed only with a record of this one after them.

    Args:
        end_offsets: Log end offsets of all voters, the leader's among them.
        epoch_start_offset: Start offset of the leader's epoch.
        high_watermark: The previous one; it never decreases.
    """
    majority = sorted(end_offsets, reverse=True)[len(end_offsets) // 2]
    return max(majority, high_watermark) if majority > epoch_start_offset else high_watermark


def quorum_leader(last_epochs: list[int], end_offsets: list[int], voting: int) -> int:
    """The voter that a majority elects: the one with the longest log of the latest epoch; NO_LEADER without a majority.

    KafkaRaftClient.handleVoteRequest: a vote is granted where the candidate's last epoch, then its log end offset, is
    not behind. At least one voter of a majority has all that is committed, and only a voter not behind it is elected.

    Args:
        last_epochs: Last epoch of each voter's log, -1 of an empty one.
        end_offsets: Log end offset of each voter.
        voting: Voters that take part.
    """
    if not has_majority(len(end_offsets), size(voting)):
        return NO_LEADER
    best = NO_LEADER
    for voter in range(len(end_offsets)):
        if contains(voting, voter) and (
            best == NO_LEADER
            or not log_is_up_to_date(last_epochs[best], end_offsets[best], last_epochs[voter], end_offsets[voter])
        ):
            best = voter
    return best


def log_is_up_to_date(last_epoch: int, end_offset: int, own_last_epoch: int, own_end_offset: int) -> bool:
    """True if a candidate's log is not behind a voter's own: its last epoch, then its end.

    KafkaRaftClient.handleVoteRequest: OffsetAndEpoch.compareTo.
    """
    return last_epoch > own_last_epoch or (last_epoch == own_last_epoch and end_offset >= own_end_offset)


def grants_vote(
    candidate: int, candidate_epoch: int, epoch: int, voted_for: int, leader: int, up_to_date: bool
) -> bool:
    """True if a voter votes for a candidate.

    KafkaRaftClient.handleVoteRequest, QuorumState.canGrantVote, without a preliminary vote (KIP-996, 4.0): a request of
    an older epoch is fenced, one of a later epoch makes the voter forget vote and leader of its own; in one epoch it
    votes for one candidate, and for none once it knows the leader.

    Args:
        candidate, candidate_epoch: Who asks, and the epoch in which it stands.
        epoch: The voter's own.
        voted_for: The candidate that it has voted for in it, itself if it stands; NO_LEADER if none.
        leader: The leader that it knows in it; NO_LEADER if none.
        up_to_date: Whether the candidate's log is not behind the voter's: ``log_is_up_to_date``.
    """
    if candidate_epoch < epoch:
        return False
    if candidate_epoch > epoch:
        return up_to_date
    return leader == NO_LEADER and (voted_for == candidate or (voted_for == NO_LEADER and up_to_date))


def has_majority(voters: int, reachable: int) -> bool:
    """True if that many reachable voters can elect a leader and commit."""
    return reachable > voters // 2


def quorum_commit_latency(follower_latencies: tuple[int, ...]) -> int:
    """Latency of a commit by a leader and these followers: that of the f-th fastest of 2f; 0 without followers."""
    needed = (len(follower_latencies) + 1) // 2
    return sorted(follower_latencies)[needed - 1] if needed else 0


def copies_needed(failures: int, by_quorum: bool) -> int:
    """Number of replicas that survive that many failures: 2f+1 of a quorum, f+1 of an ISR."""
    return 2 * failures + 1 if by_quorum else failures + 1


def resigns_without_fetches(since_majority_fetched_ms: int, fetch_timeout_ms: int) -> bool:
    """True if a quorum's leader resigns: no majority has fetched for 1.5 times the fetch timeout.

    LeaderState.timeUntilCheckQuorumExpires, CHECK_QUORUM_TIMEOUT_FACTOR; since 3.7 (KAFKA-15489). Before, a leader cut
    off from the others went on until it heard of a higher epoch.
    """
    return 2 * since_majority_fetched_ms >= 3 * fetch_timeout_ms
