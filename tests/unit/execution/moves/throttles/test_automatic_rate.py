"""The automatic rate: its bounds, when it is halved, when it rises, and that no small change is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.execution.moves.throttles.automatic_rate import (
    CALM_SECONDS,
    SETTLE_SECONDS,
    AutomaticRate,
    RateBounds,
    ReplicationSeen,
    begin,
    decide,
    first_rate,
)

MB = 1_000_000
BOUNDS = RateBounds(MB, 64 * MB)
FOLLOWERS = [("orders", partition, broker) for partition in range(2) for broker in (1, 2)]


def bounds() -> st.SearchStrategy[RateBounds]:
    pairs = st.tuples(st.integers(1, 10**9), st.integers(1, 10**9))
    return pairs.map(sorted).map(lambda pair: RateBounds(*pair))


@st.composite
def looks(draw: st.DrawFn) -> list[ReplicationSeen]:
    """Looks at a cluster, some seconds apart."""
    steps = st.tuples(st.floats(0.1, 2 * CALM_SECONDS), st.frozensets(st.sampled_from(FOLLOWERS)), st.integers(0, 3))
    found, at = [], 0.0
    for seconds, out, at_min_isr in draw(st.lists(steps, min_size=1, max_size=20)):
        at += seconds
        found.append(ReplicationSeen(at, out, at_min_isr))
    return found


def states(limits: RateBounds, seen: Sequence[ReplicationSeen], earlier: int | None = None) -> list[AutomaticRate]:
    found = [begin(first_rate(limits, earlier), seen[0])]
    for one in seen[1:]:
        found.append(decide(limits, found[-1], one))
    return found


def well(*times: float) -> list[ReplicationSeen]:
    return [ReplicationSeen(at, frozenset(), 0) for at in times]


@examples(2)
@given(bounds(), looks(), st.none() | st.integers(1, 10**10))
def test_it_stays_between_its_bounds_and_makes_no_small_change(
    limits: RateBounds, seen: list[ReplicationSeen], earlier: int | None
) -> None:
    rates = [state.rate for state in states(limits, seen, earlier)]
    assert all(limits.least <= rate <= limits.most for rate in rates)
    assert all(one == other or abs(one - other) >= one / 10 for one, other in pairwise(rates))


@examples(2)
@given(bounds(), looks())
def test_it_is_halved_where_a_follower_leaves_and_never_falls_otherwise(
    limits: RateBounds, seen: list[ReplicationSeen]
) -> None:
    found = states(limits, seen)
    last_fall = -math.inf
    for (before, was), (after, now) in pairwise(zip(found, seen, strict=True)):
        worse = now.out - was.out or now.at_min_isr > was.at_min_isr
        if worse and now.at - last_fall >= SETTLE_SECONDS and before.halved_at is None:
            expected = max(limits.least, before.rate // 2)
            assert after.rate in (expected, before.rate)
            assert after.rate == expected or before.rate - expected < before.rate / 10
        if after.rate < before.rate:
            assert after.rate == max(limits.least, before.rate // 2)
            assert now.out or now.at_min_isr, "there is trouble"
            assert now.at - last_fall >= SETTLE_SECONDS
            last_fall = now.at


@examples(2)
@given(bounds(), looks(), st.integers(300, 400))
def test_it_recovers_without_a_step_back_until_it_is_near_the_upper_bound(
    limits: RateBounds, seen: list[ReplicationSeen], calm: int
) -> None:
    end = seen[-1].at
    after = states(limits, [*seen, *well(*(end + CALM_SECONDS * (number + 1) for number in range(calm)))])
    rates = [state.rate for state in after[len(seen) - 1 :]]
    assert all(one <= other for one, other in pairwise(rates))
    assert all(other <= max(1.21 * one + 3, one + 3) for one, other in pairwise(rates)), "slowly"
    assert 10 * (limits.most - rates[-1]) < rates[-1] or rates[-1] == limits.most


def test_it_begins_between_the_bounds_or_where_it_was() -> None:
    assert first_rate(BOUNDS) == 8 * MB
    assert first_rate(BOUNDS, 2 * MB) == 2 * MB
    assert (first_rate(BOUNDS, 1), first_rate(BOUNDS, 10**12)) == (MB, 64 * MB)


def test_it_rises_by_a_tenth_a_minute_and_not_before() -> None:
    minute = CALM_SECONDS
    rates = [state.rate for state in states(BOUNDS, well(0, minute / 2, minute, 1.5 * minute, 2 * minute))]
    assert rates == [8 * MB, 8 * MB, 8_800_000, 8_800_000, 9_680_000]


def test_the_last_step_leaves_no_rest_that_is_too_small() -> None:
    limits = RateBounds(MB, 10 * MB)
    times = [0, CALM_SECONDS, 2 * CALM_SECONDS, 3 * CALM_SECONDS]
    assert [state.rate for state in states(limits, well(*times), 8_400_000)] == [8_400_000, 10 * MB, 10 * MB, 10 * MB]
    assert states(limits, well(*times), 9_500_000)[-1].rate == 9_500_000


@pytest.mark.parametrize(
    ("worse", "reason"),
    [
        (ReplicationSeen(5, frozenset(FOLLOWERS[:1]), 0), "broker 1 left the ISR of orders-0"),
        (ReplicationSeen(5, frozenset(FOLLOWERS), 0), "broker 1 left the ISR of orders-0 and 3 more"),
        (ReplicationSeen(5, frozenset(), 1), "1 more partition at min ISR"),
        (ReplicationSeen(5, frozenset(), 2), "2 more partitions at min ISR"),
    ],
)
def test_each_kind_of_trouble_halves_it(worse: ReplicationSeen, reason: str) -> None:
    found = states(BOUNDS, [*well(0), worse])[-1]
    assert (found.rate, found.reason) == (4 * MB, reason)


def test_what_was_out_of_sync_when_the_run_began_is_no_trouble() -> None:
    out = frozenset(FOLLOWERS[:2])
    seen = [ReplicationSeen(at, out, 2) for at in (0, CALM_SECONDS)]
    assert states(BOUNDS, seen)[-1].rate == 8_800_000
    back = [*seen, *well(70), ReplicationSeen(80, out, 2)]
    assert states(BOUNDS, back)[-1].rate == 4_400_000, "it came back and left again"


def test_it_waits_for_what_a_change_brings_and_forgets_nothing_meanwhile() -> None:
    one, both = frozenset(FOLLOWERS[:1]), frozenset(FOLLOWERS[:2])
    times = (1, 2, 1 + SETTLE_SECONDS - 0.1, 1 + SETTLE_SECONDS, 1 + 2 * SETTLE_SECONDS, 900)
    seen = [*well(0), ReplicationSeen(times[0], one, 0), *(ReplicationSeen(at, both, 0) for at in times[1:])]
    rates = [state.rate for state in states(BOUNDS, seen)]
    assert rates == [8 * MB, 4 * MB, 4 * MB, 4 * MB, 2 * MB, 2 * MB, 2 * MB], "and it does not rise while both are out"


def test_what_came_back_and_left_again_keeps_it_down() -> None:
    out = frozenset(FOLLOWERS[:1])
    again = [ReplicationSeen(at, out, 1) for at in (20, 20 + CALM_SECONDS, 20 + 3 * CALM_SECONDS)]
    rates = [state.rate for state in states(BOUNDS, [ReplicationSeen(0, out, 1), *well(10), *again])]
    assert rates == [8 * MB, 8 * MB, 4 * MB, 4 * MB, 4 * MB]


def test_a_minute_counts_from_the_last_trouble_though_it_was_not_answered() -> None:
    out = frozenset(FOLLOWERS[:1])
    trouble = [ReplicationSeen(1, out, 0), *well(5), ReplicationSeen(10, out, 0), *well(12)]
    found = states(BOUNDS, [*well(0), *trouble, *well(5 + CALM_SECONDS, 12 + CALM_SECONDS)])
    assert [state.rate for state in found] == [8 * MB, *[4 * MB] * 5, 4_400_000]
