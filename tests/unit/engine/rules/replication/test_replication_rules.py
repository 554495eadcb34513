"""The rules of logs, high watermarks and ISRs, against Kafka's classes restated with lists and sets."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.rules.replication import (
    acknowledgement,
    durability,
    fetching,
    follower_lag,
    high_watermark,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.leader_epoch_cache import (
    assign_epoch,
    truncate_epochs_from_end,
    truncate_epochs_from_start,
)

OFFSETS = st.integers(-1, 12)


def mask(places: set[int]) -> int:
    return sum(1 << place for place in places)


@dataclass
class Follower:
    """kafka.cluster.Replica as its leader keeps it."""

    end: int
    last_caught_up: int
    last_fetch: int
    leader_end_at_last_fetch: int


@st.composite
def partitions(draw: st.DrawFn) -> tuple[list[int], int, set[int], set[int], set[int]]:
    """Ends by place, the leader, the maximal ISR, who has caught up, who may join."""
    size = draw(st.integers(1, 5))
    leader = draw(st.integers(0, size - 1))
    some = st.sets(st.integers(0, size - 1))
    return draw(st.lists(OFFSETS, min_size=size, max_size=size)), leader, draw(some), draw(some), draw(some)


@given(partitions(), st.integers(0, 12))
def test_the_high_watermark_is_the_smallest_end_of_those_that_count(
    partition: tuple[list[int], int, set[int], set[int], set[int]], before: int
) -> None:
    ends, leader, maximal, caught_up, eligible = partition
    # Partition.maybeIncrementLeaderHW: the leader, and each remote replica that is in the maximal ISR or shall be soon
    smallest = ends[leader]
    for place, end in enumerate(ends):
        counts = place in maximal or (place in caught_up and place in eligible)
        if place != leader and counts and end < smallest:
            smallest = end
    everybody = mask(set(range(len(ends))))
    holding = high_watermark.replicas_that_hold_it(everybody, leader, mask(maximal), mask(caught_up), mask(eligible))
    assert high_watermark.leader_high_watermark(before, ends, holding) == max(before, smallest)


@pytest.mark.parametrize(
    ("isr", "min_isr", "replicas", "still"), [({0}, 2, 3, True), ({0, 1}, 2, 3, False), ({0}, 3, 1, False)]
)
def test_below_min_isr_it_stands_still(isr: set[int], min_isr: int, replicas: int, still: bool) -> None:
    effective = high_watermark.effective_min_isr(min_isr, replicas)
    assert high_watermark.high_watermark_stands_still(mask(isr), effective) is still


@given(st.integers(0, 20), st.integers(0, 10), st.integers(0, 10))
def test_a_followers_stays_within_its_log(leaders: int, start: int, length: int) -> None:
    own = high_watermark.follower_high_watermark(leaders, start, start + length)
    assert own == sorted((start, leaders, start + length))[1]  # the middle one: clamped


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=4), st.integers(0, 9))
def test_the_low_watermark_is_the_smallest_start_of_the_living(replicas: list[tuple[int, bool]], own: int) -> None:
    living = [start for start, alive in replicas if alive]
    bits = mask({place for place, (_, alive) in enumerate(replicas) if alive})
    assert high_watermark.low_watermark([start for start, _ in replicas], bits, own) == min([*living, own])


@given(
    st.builds(Follower, OFFSETS, st.integers(0, 50), st.integers(0, 50), OFFSETS), OFFSETS, OFFSETS, st.integers(50, 99)
)
def test_who_fetches_from_the_end_has_caught_up(follower: Follower, offset: int, leader_end: int, now: int) -> None:
    expected = follower.last_caught_up
    if offset >= leader_end:  # Replica.updateFetchStateOrThrow
        expected = max(expected, now)
    elif offset >= follower.leader_end_at_last_fetch:
        expected = max(expected, follower.last_fetch)
    found = follower_lag.last_caught_up_after_fetch(
        follower.last_caught_up, offset, leader_end, follower.leader_end_at_last_fetch, follower.last_fetch, now
    )
    assert found == expected


def test_a_follower_that_fetches_and_never_reaches_the_end_fails() -> None:
    """The text behind figure 8-1: fetching alone does not count. One record in, one record out, always five behind."""
    last, previous_end, previous_fetch = 0, 5, 0
    for now in range(1, 100):
        leader_end = 5 + now
        last = follower_lag.last_caught_up_after_fetch(last, now, leader_end, previous_end, previous_fetch, now)
        previous_end, previous_fetch = leader_end, now
    assert last == 0
    assert not follower_lag.is_caught_up(99, 104, last, 99, 30)


@pytest.mark.parametrize(
    ("end", "leader_end", "silent", "caught_up"),
    [(5, 5, 10**9, True), (4, 5, 30, True), (4, 5, 31, False)],
)
def test_an_idle_follower_at_the_end_never_fails(end: int, leader_end: int, silent: int, caught_up: bool) -> None:
    assert follower_lag.is_caught_up(end, leader_end, 0, silent, 30) is caught_up


def test_up_to_2_0_a_follower_at_the_end_fails_by_time_alone() -> None:
    """Partition.getOutOfSyncReplicas of 2.0: now - lastCaughtUpTimeMs > maxLagMs, nothing else."""
    assert follower_lag.is_caught_up(5, 5, 0, 30, 30, end_suffices=False)
    assert not follower_lag.is_caught_up(5, 5, 0, 31, 30, end_suffices=False)


def test_up_to_0_10_1_only_a_fetch_from_the_end_counts() -> None:
    """Replica.updateLogReadResult of 0.10.1: isReadFromLogEnd, nothing else; 0.10.2 looks at the fetch before."""
    always_behind = {"last_caught_up": 3, "offset": 7, "leader_end": 8, "leader_end_at_last_fetch": 7, "last_fetch": 9}
    assert follower_lag.last_caught_up_after_fetch(**always_behind, now=10, looks_back=False) == 3
    assert follower_lag.last_caught_up_after_fetch(**always_behind, now=10) == 9
    assert follower_lag.last_caught_up_after_fetch(0, 8, 8, 7, 9, 10, looks_back=False) == 10


@pytest.mark.parametrize(("in_isr", "caught_up"), [(True, True), (False, False)])
def test_who_is_outside_the_isr_at_an_election_has_never_caught_up(in_isr: bool, caught_up: bool) -> None:
    """Replica.resetReplicaState; a clock that begins at 0 must not make it look recent."""
    last = follower_lag.last_caught_up_in_new_epoch(in_isr, 5, remembered=4)
    assert follower_lag.is_caught_up(0, 9, last, 6, 30) is caught_up


@pytest.mark.parametrize(("now", "stuck"), [(30, False), (31, True)])
def test_in_0_8_a_follower_that_does_not_fetch_is_stuck(now: int, stuck: bool) -> None:
    """Partition.getOutOfSyncReplicas of 0.8.1 (KAFKA-1170): where its log ends does not matter."""
    assert follower_lag.is_stuck(0, now, 30) is stuck


def test_a_leader_looks_once_or_twice_in_the_lag_time() -> None:
    """The period of isr-expiration in kafka.server.ReplicaManager of 0.10.1 and of 0.10.2."""
    assert follower_lag.time_between_looks(30_000, twice=False) == 30_000
    assert follower_lag.time_between_looks(30_000, twice=True) == 15_000


@pytest.mark.parametrize(("rate", "seconds", "slow"), [(10, 60, False), (10, 401, True), (20_000, 1, True)])
def test_four_thousand_messages_are_much_or_nothing(rate: int, seconds: int, slow: bool) -> None:
    """replica.lag.max.messages of 4,000: a follower that has stood still so long is slow, or not, by the rate alone."""
    assert follower_lag.lags_by_messages(0, rate * seconds, 4_000) is slow


@given(partitions(), st.sets(st.integers(0, 4)), st.sets(st.integers(0, 4)))
def test_the_isr_after_a_look(
    partition: tuple[list[int], int, set[int], set[int], set[int]], stuck: set[int], slow: set[int]
) -> None:
    _, leader, isr, caught_up, _ = partition
    by_time = {member for member in isr if member == leader or member in caught_up}
    assert follower_lag.in_sync_by_time(mask(isr), leader, mask(caught_up)) == mask(by_time)
    union = {member for member in isr if member == leader or member not in stuck | slow}
    assert follower_lag.in_sync_by_time_or_messages(mask(isr), leader, mask(stuck), mask(slow)) == mask(union)


@given(partitions(), st.integers(0, 4), OFFSETS, OFFSETS, OFFSETS, st.booleans())
def test_who_joins_the_isr(
    partition: tuple[list[int], int, set[int], set[int], set[int]],
    follower: int,
    end: int,
    committed: int,
    epoch_start: int,
    since_2_1: bool,
) -> None:
    _, _, maximal, _, eligible = partition
    outside_and_wanted = (
        follower not in maximal and follower in eligible
    )  # Partition.needsExpandIsr, canAddReplicaToIsr
    in_sync = end >= committed and (end >= epoch_start or not since_2_1)  # Partition.isFollowerInSync
    found = follower_lag.may_join_isr(follower, mask(maximal), mask(eligible), end, committed, epoch_start, since_2_1)
    assert found is (outside_and_wanted and in_sync)


@pytest.mark.parametrize(
    ("requested", "error"),
    [
        (-1, ErrorCode.NONE),
        (5, ErrorCode.NONE),
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_epochs_of_requests(requested: int, error: ErrorCode) -> None:
    assert fetching.leader_epoch_error(requested, 5) is error


@pytest.mark.parametrize(
    ("isolation", "end"),
    [
        (fetching.READ_TO_LOG_END, 9),
        (fetching.READ_TO_HIGH_WATERMARK, 6),
        (fetching.READ_TO_LAST_STABLE_OFFSET, 4),
    ],
)
def test_how_far_readers_read(isolation: int, end: int) -> None:
    """A log with high watermark 6 and log end offset 9."""
    assert fetching.readable_end(isolation, 9, 6, 4) == end
    assert not fetching.is_out_of_range(9, 0, 9)
    assert fetching.is_out_of_range(10, 0, 9)
    assert fetching.is_out_of_range(1, 2, 9)


@pytest.mark.parametrize(
    ("leader_start", "leader_end", "expected"),
    [(0, 7, (7, -1)), (12, 20, (12, 12)), (3, 20, (10, -1)), (10, 20, (10, -1))],
)
def test_a_follower_out_of_range(leader_start: int, leader_end: int, expected: tuple[int, int]) -> None:
    """AbstractFetcherThread.fetchOffsetAndTruncate, for a follower that ends at 10."""
    assert fetching.out_of_range_end(10, leader_start, leader_end) == expected


@pytest.mark.parametrize(("available", "refused", "diverging"), [(1, False, False), (0, True, False), (0, False, True)])
def test_what_a_follower_is_told_at_once(available: int, refused: bool, diverging: bool) -> None:
    assert not fetching.follower_fetch_waits(available, refused, diverging)
    assert fetching.follower_fetch_waits(0, False, False)


@pytest.mark.parametrize(("epoch", "end", "expected"), [(3, 10, False), (2, 10, True), (3, 9, True), (3, 12, False)])
def test_logs_that_diverge(epoch: int, end: int, expected: bool) -> None:
    """KIP-595: a follower at offset 10 whose last record is of epoch 3."""
    assert fetching.diverges(3, 10, epoch, end) is expected


@pytest.mark.parametrize("acks", [0, 1, -1])
@pytest.mark.parametrize("isr", [{0}, {0, 1}])
def test_only_acks_all_asks_for_min_isr(acks: int, isr: set[int]) -> None:
    error = acknowledgement.append_error(acks, mask(isr), 2)
    assert error is (ErrorCode.NOT_ENOUGH_REPLICAS if acks == -1 and len(isr) < 2 else ErrorCode.NONE)
    after = acknowledgement.completion_error(mask(isr), 2)
    assert after is (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if len(isr) < 2 else ErrorCode.NONE)
    assert acknowledgement.waits_for_followers(acks, 4, 5) is (acks == -1)
    assert not acknowledgement.waits_for_followers(acks, 5, 5)


EPOCHS = st.lists(st.integers(0, 2), max_size=15).map(lambda rises: [sum(rises[: i + 1]) for i in range(len(rises))])
"""The leader epoch of each record of a log: they do not fall."""


def brute_force(epochs: list[int], start: int = 0) -> tuple[list[int], list[int]]:
    """Each epoch of a log with the first offset at which it stands."""
    first = {epoch: start + place for place, epoch in reversed(list(enumerate(epochs)))}
    return sorted(first), [first[epoch] for epoch in sorted(first)]


def cache_of(epochs: list[int]) -> tuple[list[int], list[int]]:
    found: tuple[list[int], list[int]] = ([], [])
    for offset, epoch in enumerate(epochs):
        assign_epoch(*found, epoch, offset)
    return found


@given(EPOCHS, st.integers(0, 16))
def test_the_epochs_of_a_log_that_is_cut(epochs: list[int], cut: int) -> None:
    cache = cache_of(epochs)
    assert cache == brute_force(epochs)
    truncate_epochs_from_end(*cache, cut)
    assert cache == brute_force(epochs[:cut])


@given(EPOCHS, st.integers(0, 16))
def test_the_epochs_of_a_log_whose_beginning_is_deleted(epochs: list[int], start: int) -> None:
    cache = cache_of(epochs)
    start = min(start, max(len(epochs) - 1, 0))
    truncate_epochs_from_start(*cache, start)
    assert cache == brute_force(epochs[start:], start)


def test_an_epoch_that_contradicts_later_ones_takes_their_place() -> None:
    """LeaderEpochFileCache: an epoch that begins at or before another, or is not above it, removes that one."""
    epochs, starts = [1, 3, 5], [0, 10, 20]
    assign_epoch(epochs, starts, 6, 15)
    assert (epochs, starts) == ([1, 3, 6], [0, 10, 15])
    assign_epoch(epochs, starts, 2, 30)
    assert (epochs, starts) == ([1, 2], [0, 30])
    assign_epoch(epochs, starts, 2, 40)  # isUpdateNeeded: the latest stays where it began, unless it began earlier
    assert (epochs, starts) == ([1, 2], [0, 30])
    assign_epoch(epochs, starts, 2, 25)
    assert (epochs, starts) == ([1, 2], [0, 25])


def test_the_latest_epoch_said_again_leaves_what_releases_up_to_2_0_wrote() -> None:
    """LeaderEpochFileCache.isUpdateNeeded: no entry is removed, not even one that begins where the latest does."""
    epochs, starts = [1, 2], [5, 5]
    assign_epoch(epochs, starts, 2, 5)
    assert (epochs, starts) == ([1, 2], [5, 5])


@pytest.mark.parametrize(("power_lost", "kept", "end"), [(False, 0, 10), (True, 0, 4), (True, 3, 7), (True, 99, 10)])
def test_what_is_left_of_a_log(power_lost: bool, kept: int, end: int) -> None:
    assert durability.recovered_end_offset(10, 4, power_lost, kept) == end


@pytest.mark.parametrize(
    ("end", "flushed", "power_lost", "now"), [(10, 4, False, 4), (7, 4, True, 7), (3, 4, False, 3)]
)
def test_what_is_on_the_disk_after_a_start(end: int, flushed: int, power_lost: bool, now: int) -> None:
    assert durability.flushed_after_start(end, flushed, power_lost) == now


def test_the_high_watermark_of_a_checkpoint_is_kept_within_the_log() -> None:
    assert durability.recovered_high_watermark(8, 0, 5) == 5
    assert durability.recovered_high_watermark(1, 3, 5) == 3
    assert durability.recovered_high_watermark(4, 0, 5) == 4
    assert durability.flush_is_due(10, 9, 1)
    assert not durability.flush_is_due(10, 9, 2)


@pytest.mark.parametrize(("point", "clean", "begins"), [(4, False, 4), (4, True, 10), (0, False, 2), (99, False, 10)])
def test_from_where_a_log_is_read_again(point: int, clean: bool, begins: int) -> None:
    assert durability.recovery_begins(point, 2, 10, clean) == begins
    assert durability.flush_is_overdue(10, 4, 6)
    assert not durability.flush_is_overdue(10, 5, 6)


@pytest.mark.parametrize(
    ("end", "leader_end", "slow"),
    [(0, 4_000, False), (0, 4_001, True), (6_000, 10_000, False), (6_000, 10_001, True), (-1, 9_000, False)],
)
def test_more_than_replica_lag_max_messages_is_slow_where_the_end_is_known(
    end: int, leader_end: int, slow: bool
) -> None:
    """getOutOfSyncReplicas of 0.8.1: logEndOffset >= 0 and the difference above the setting."""
    assert follower_lag.lags_by_messages(end, leader_end, 4_000) is slow


def test_edges_of_lag() -> None:
    assert not follower_lag.is_stuck(100, 200, 100)
    assert follower_lag.is_stuck(100, 201, 100)
    assert follower_lag.last_caught_up_after_fetch(50, 9, 9, 9, 30, 40) == 50, "Math.max: it never goes back"
    assert follower_lag.may_join_isr(1, 0b001, 0b111, 5, 5, 6, False), "before 2.1 the high watermark is enough"
    assert not follower_lag.may_join_isr(1, 0b001, 0b111, 5, 5, 6, True)
    assert follower_lag.may_join_isr(1, 0b001, 0b111, 6, 5, 6, True), "the start of the epoch is enough"


@pytest.mark.parametrize(("offset", "out"), [(4, True), (5, False), (9, False), (10, True)])
def test_a_fetch_in_range_begins_in_the_log_or_at_its_end(offset: int, out: bool) -> None:
    """LocalLog.read and UnifiedLog.checkLogStartOffset: the start offset against log start and log end."""
    assert fetching.is_out_of_range(offset, 5, 9) is out


def test_in_2_4_a_risen_high_watermark_is_told_at_once() -> None:
    assert not fetching.follower_fetch_waits(0, False, False, untold=True)
    assert fetching.follower_fetch_waits(0, False, False, untold=False)
