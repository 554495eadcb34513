"""What a majority commits: the metadata quorum of KRaft, and partitions that are played so beside those with an ISR.

org.apache.kafka.raft.LeaderState, since 3.3 (KIP-595). A quorum of 2f+1 goes on with f voters gone or slow; an ISR of
f+1 replicas bears as many losses with fewer copies, but waits for its slowest member until that is taken out.
"""

from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, size


def quorum_high_watermark(end_offsets: tuple[int, ...], epoch_start_offset: int, high_watermark: int) -> int:
    """The high watermark of the metadata log.

    LeaderState.maybeUpdateHighWatermark: the largest offset that a majority has, once that is above the start of the
    leader's own epoch: what earlier leaders left counts as committed only with something of this one behind it.

    Args:
        end_offsets: Log end offsets of all voters, the leader's among them.
        epoch_start_offset: Where the leader's epoch starts.
        high_watermark: What it has been; it never goes back.
    """
    majority = sorted(end_offsets, reverse=True)[len(end_offsets) // 2]
    return majority if majority > epoch_start_offset and majority > high_watermark else high_watermark


def quorum_leader(last_epochs: list[int], end_offsets: list[int], voting: int) -> int:
    """The voter that a majority elects: the one with the longest log of the latest epoch; NO_LEADER without a majority.

    KafkaRaftClient.handleVoteRequest: a vote is granted where the candidate's last epoch, then its log end offset, is
    not behind. Of a majority one at least has all that is committed, and only who is not behind it is elected.

    Args:
        last_epochs: Of each voter's log, -1 of an empty one.
        end_offsets: Of each voter's log.
        voting: Those that are there.
    """
    if not has_majority(len(end_offsets), size(voting)):
        return NO_LEADER
    best = NO_LEADER
    for voter in range(len(end_offsets)):
        if contains(voting, voter):
            later = best != NO_LEADER and last_epochs[voter] > last_epochs[best]
            same = best != NO_LEADER and last_epochs[voter] == last_epochs[best]
            if best == NO_LEADER or later or (same and end_offsets[voter] > end_offsets[best]):
                best = voter
    return best


def has_majority(voters: int, reachable: int) -> bool:
    """Whether that many voters can elect a leader and commit."""
    return reachable > voters // 2


def quorum_commit_latency(follower_latencies: tuple[int, ...]) -> int:
    """When a quorum of a leader and these followers commits: with the f-th fastest of 2f; 0 without followers."""
    needed = (len(follower_latencies) + 1) // 2
    return sorted(follower_latencies)[needed - 1] if needed else 0


def copies_needed(failures: int, by_quorum: bool) -> int:
    """Replicas that bear that many failures: 2f+1 of a quorum, f+1 of an ISR."""
    return 2 * failures + 1 if by_quorum else failures + 1


def resigns_without_fetches(since_majority_fetched_ms: int, fetch_timeout_ms: int) -> bool:
    """Whether a quorum's leader gives up: no majority has fetched for 1.5 times the fetch timeout.

    LeaderState.timeUntilCheckQuorumExpires, CHECK_QUORUM_TIMEOUT_FACTOR; since 3.7 (KAFKA-15489). Before, a leader cut
    off from the others went on until it heard of a higher epoch.
    """
    return 2 * since_majority_fetched_ms >= 3 * fetch_timeout_ms
