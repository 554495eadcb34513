"""Rules of truncation against Kafka's published cases and a plain reading of histories."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from plain.followers import PlainLog, follow, one_answer

from kreplica.engine.rules.replication.log_truncation import (
    epoch_end_offset,
    epoch_end_offset_until_2_0,
    truncate_by_leader_epoch,
    truncate_to_high_watermark,
    truncation_by_end_offset,
    truncation_round,
)


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(1, (1, 5)), (2, (2, 10)), (3, (2, 10)), (4, (4, 20)), (7, (7, 30)), (8, (-1, -1)), (-1, (-1, -1))],
)
def test_end_offset_of_an_epoch(epoch: int, expected: tuple[int, int]) -> None:
    """LeaderEpochFileCacheTest: an epoch ends where the next begins, the latest at the log end."""
    assert epoch_end_offset((2, 4, 7), (5, 10, 20), 30, epoch) == expected


@pytest.mark.parametrize(
    ("epoch", "expected"), [(1, (-1, -1)), (2, (2, 10)), (3, (2, 10)), (7, (7, 30)), (8, (-1, -1))]
)
def test_end_offset_of_an_epoch_up_to_2_0(epoch: int, expected: tuple[int, int]) -> None:
    """LeaderEpochFileCache.endOffsetFor of 2.0.0: "no epochs recorded or requested epoch < the first epoch cached"."""
    assert epoch_end_offset_until_2_0((2, 4, 7), (5, 10, 20), 30, epoch) == expected
    assert epoch_end_offset_until_2_0((4,), (5,), 9, 3) == (-1, -1)


def test_without_epochs_nothing_is_known() -> None:
    assert epoch_end_offset((), (), 9, 0) == (-1, -1)
    assert epoch_end_offset_until_2_0((), (), 9, 0) == (-1, -1)
    assert truncate_by_leader_epoch((), (), 9, 4, (0,), (0,), 9) == 4
    assert truncate_by_leader_epoch((3,), (0,), 9, 4, (), (), 9) == 4


def test_scenarios_of_kip_101() -> None:
    # scenario 1: the follower has m1 and m2, its high watermark has only seen m1; the leader has both
    assert truncate_to_high_watermark(1, 2) == 1
    assert truncate_by_leader_epoch((0,), (0,), 2, 1, (0,), (0,), 2) == 2
    # scenario 2: A has m1, m2 of epoch 0 (high watermark 2), B wrote m3 at offset 1 in epoch 1
    assert truncate_to_high_watermark(2, 2) == 2
    assert truncate_by_leader_epoch((0,), (0,), 2, 2, (0, 1), (0, 1), 2) == 1


def test_a_leader_that_missed_the_followers_epochs() -> None:
    """KIP-279: with KIP-101 alone the follower would keep what it wrote in epoch 2."""
    assert truncate_by_leader_epoch((0, 2), (0, 6), 9, 0, (0, 1, 3), (0, 4, 8), 10) == 4


@pytest.mark.parametrize(
    ("mine", "end", "theirs", "leader_end", "expected"),
    [
        # ...IfLeaderRepliesWithEpochNotKnownToFollower: asked for 5, answered 4 up to 155, then 3 up to 101
        ({3: 0, 5: 120}, 200, {3: 0, 4: 101, 6: 155}, 300, 101),
        ({3: 0, 5: 120}, 200, {3: 0, 4: 102, 6: 143}, 300, 102),
        # ...InEpochOffsetResponse: asked for 5, answered 5 up to 156
        ({5: 0}, 200, {5: 0, 6: 156}, 300, 156),
        ({5: 0}, 200, {5: 0, 6: 172}, 300, 172),
    ],
)
def test_cases_of_kafkas_replica_fetcher_thread_test(
    mine: dict[int, int], end: int, theirs: dict[int, int], leader_end: int, expected: int
) -> None:
    """ReplicaFetcherThreadTest.shouldFetchLeaderEpochSecondTime..., shouldTruncateToOffsetSpecified..."""
    log, leader = (tuple(mine), tuple(mine.values())), (tuple(theirs), tuple(theirs.values()))
    assert truncate_by_leader_epoch(*log, end, 198, *leader, leader_end) == expected


@pytest.mark.parametrize("epochs", [{}, {3: 0}, {3: 2, 5: 4}, {2: 0, 4: 3, 6: 5}])
def test_every_answer_of_a_leader_beside_kafkas_source(epochs: dict[int, int]) -> None:
    """getOffsetTruncationState: also answers without an epoch, and of epochs beyond what the follower knows."""
    for answered, leader_end, watermark in product(range(-1, 8), range(-1, 9), (0, 4, 9)):
        log = PlainLog(dict(epochs), 7)
        state = truncation_round(tuple(epochs), tuple(epochs.values()), 7, watermark, answered, leader_end)
        answer = None if leader_end == -1 else (answered, leader_end)
        offset, complete = one_answer(log, answer, watermark)
        # UnifiedLog.truncateTo: beyond the end there is nothing to cut
        assert state == (min(offset, log.end), complete), (answered, leader_end, watermark)


@pytest.mark.parametrize(
    ("watermark", "leader_end", "expected"), [(4, -1, 4), (9, -1, 7), (4, 7, 7), (4, 9, 7), (4, 6, 6), (4, 3, 3)]
)
def test_up_to_1_1_the_leaders_end_decides(watermark: int, leader_end: int, expected: int) -> None:
    """ReplicaFetcherThread.maybeTruncate of 0.11, of a log that ends at 7."""
    assert truncation_by_end_offset(7, watermark, leader_end) == expected


def test_nothing_is_cut_at_a_high_watermark_above_the_end() -> None:
    """A log that lost its unflushed end may have a checkpointed high watermark above it."""
    assert truncate_to_high_watermark(9, 7) == 7
    assert truncate_by_leader_epoch((), (), 7, 9, (), (), 0) == 7


CHAINS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5)


@given(CHAINS, CHAINS, st.integers(0, 4), st.integers(0, 4), st.integers(0, 20))
def test_the_same_as_kafkas_rounds_one_by_one(
    mine: list[tuple[int, int]], theirs: list[tuple[int, int]], more: int, leader_more: int, high_watermark: int
) -> None:
    """Any two chains: also of leaders that are behind, of logs that begin late, of epochs without a record."""
    log, leader = grown(mine), grown(theirs)
    end = max(log.values(), default=0) + more
    leader_end = max(leader.values(), default=0) + leader_more
    watermark = min(high_watermark, end)
    expected = follow(PlainLog(dict(log), end), PlainLog(dict(leader), leader_end), watermark)
    chains = (tuple(log), tuple(log.values()), end, watermark, tuple(leader), tuple(leader.values()), leader_end)
    assert truncate_by_leader_epoch(*chains) == expected


def grown(steps: list[tuple[int, int]]) -> dict[int, int]:
    """First offsets of epochs, both growing as LeaderEpochFileCache.assign has it."""
    found, epoch, start = dict[int, int](), -1, -1
    for epochs, offsets in steps:
        epoch, start = epoch + 1 + epochs, start + 1 + offsets
        found[epoch] = start
    return found


@st.composite
def history(draw: st.DrawFn, most: int = 6) -> tuple[list[int], list[int]]:
    """A follower's log and a leader's, each the epoch of every record: as if written by single leaders of epochs."""
    shared = sorted(draw(st.lists(st.integers(0, 3), max_size=most)))
    after = max(shared, default=-1)
    mine = sorted(draw(st.lists(st.sampled_from([after + 1, after + 3, after + 5]), max_size=most)))
    other = sorted(draw(st.lists(st.sampled_from([after + 2, after + 4, after + 6]), max_size=most)))
    return [*shared, *mine], [*shared, *other]


def chain(log: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    epochs = sorted(set(log))
    return tuple(epochs), tuple(log.index(epoch) for epoch in epochs)


@given(history())
def test_what_is_kept_is_the_common_beginning(logs: tuple[list[int], list[int]]) -> None:
    mine, other = logs
    common = next((at for at, (one, two) in enumerate(zip(mine, other, strict=False)) if one != two), None)
    common = min(len(mine), len(other)) if common is None else common
    assume(mine and other and other[-1] >= mine[-1])  # a leader is never of an older epoch than its followers
    kept = truncate_by_leader_epoch(*chain(mine), len(mine), 0, *chain(other), len(other))
    assert kept == common
