"""Rules of a majority: against its definition, more than half of the voters, by trying every small case."""

from __future__ import annotations

from itertools import product

import pytest

from kreplica.engine.rules.replication.quorum import (
    copies_needed,
    grants_vote,
    has_majority,
    log_is_up_to_date,
    quorum_commit_latency,
    quorum_high_watermark,
    quorum_leader,
    resigns_without_fetches,
)
from kreplica.engine.rules.replication.replica_set import NO_LEADER

CANDIDATE, OTHER = 1, 2


@pytest.mark.parametrize("voters", range(1, 5))
def test_an_offset_is_committed_once_more_than_half_have_it_and_a_record_of_the_leaders_epoch(voters: int) -> None:
    """LeaderState.maybeUpdateHighWatermark: records of earlier leaders count with one of this epoch after them."""
    for ends, epoch_start, before in product(product(range(4), repeat=voters), range(4), range(4)):
        most = max(offset for offset in range(4) if 2 * sum(end >= offset for end in ends) > voters)
        expected = max(most, before) if most > epoch_start else before
        assert quorum_high_watermark(ends, epoch_start, before) == expected, (ends, epoch_start, before)


def test_the_first_of_those_with_the_latest_log_is_elected_by_a_majority() -> None:
    for logs, places in product(product(product(range(2), repeat=2), repeat=3), product((False, True), repeat=3)):
        there = [place for place in range(3) if places[place]]
        best = max((logs[place] for place in there), default=None)
        expected = next(place for place in there if logs[place] == best) if len(there) > 1 else NO_LEADER
        epochs, ends = [epoch for epoch, _ in logs], [end for _, end in logs]
        assert quorum_leader(epochs, ends, sum(1 << place for place in there)) == expected, (logs, there)


def test_a_log_is_up_to_date_by_its_last_epoch_and_then_by_its_end() -> None:
    """OffsetAndEpoch.compareTo: pairs in order."""
    pairs = list(product(range(3), repeat=2))
    for own, asked in product(pairs, pairs):
        assert log_is_up_to_date(*asked, *own) is (asked >= own)


@pytest.mark.parametrize("up_to_date", [False, True])
@pytest.mark.parametrize(
    ("voted_for", "leader", "in_its_epoch"),
    [
        (NO_LEADER, NO_LEADER, None),  # UnattachedState: by the log
        (CANDIDATE, NO_LEADER, True),  # VotedState: the same one again, whatever its log
        (OTHER, NO_LEADER, False),  # VotedState for another, CandidateState for itself
        (NO_LEADER, OTHER, False),  # FollowerState
        (CANDIDATE, OTHER, False),
        (CANDIDATE, CANDIDATE, False),
    ],
)
def test_a_voter_votes_once_in_an_epoch_and_for_nobody_beside_a_leader(
    voted_for: int, leader: int, in_its_epoch: bool | None, up_to_date: bool
) -> None:
    """KafkaRaftClient.handleVoteRequest and canGrantVote of the voter's state."""
    answers = [grants_vote(CANDIDATE, epoch, 5, voted_for, leader, up_to_date) for epoch in (4, 5, 6)]
    assert answers == [False, up_to_date if in_its_epoch is None else in_its_epoch, up_to_date]


@pytest.mark.parametrize("voters", range(1, 6))
def test_a_majority_is_more_than_half(voters: int) -> None:
    assert [has_majority(voters, some) for some in range(voters + 1)] == [
        2 * some > voters for some in range(voters + 1)
    ]


@pytest.mark.parametrize("latencies", [(), (7,), (9, 4), (9, 4, 6), (9, 4, 6, 5), (1, 2, 4, 8, 16)])
def test_a_commit_takes_until_more_than_half_have_it(latencies: tuple[int, ...]) -> None:
    """The leader has it at once."""
    moments = (0, *sorted(latencies))
    first = next(at for at in moments if 2 * (1 + sum(one <= at for one in latencies)) > len(latencies) + 1)
    assert quorum_commit_latency(latencies) == (first if latencies else 0)


@pytest.mark.parametrize("failures", range(4))
def test_copies_that_survive_failures(failures: int) -> None:
    """Of a quorum more than half have to be left, of an ISR one."""
    counts = range(1, 10)
    assert copies_needed(failures, True) == next(one for one in counts if 2 * (one - failures) > one)
    assert copies_needed(failures, False) == next(one for one in counts if one - failures >= 1)


@pytest.mark.parametrize(("since", "resigns"), [(1_499, False), (1_500, True), (1_501, True)])
def test_a_leader_resigns_after_one_and_a_half_fetch_timeouts(since: int, resigns: bool) -> None:
    """LeaderState.CHECK_QUORUM_TIMEOUT_FACTOR is 1.5; the timer is over once nothing of it remains."""
    assert resigns_without_fetches(since, 1_000) is resigns
