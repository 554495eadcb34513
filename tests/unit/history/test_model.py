"""The definition of a history: a function of the set, without a claim that an observation contradicts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from histories.observations import HOUR, MARCH, observations, observed
from hypothesis import given
from hypothesis import strategies as st

from kreplica.history.model import Key, Observation, Row, Run, fold, month_of

ORDERS = ("orders", 0)
LED, LOST = {"leader": 1}, {"leader": -1}


def told(runs: Sequence[Run]) -> list[tuple[object, ...]]:
    """Runs as plain values: key, values, hours of first and last, hour and digest of what said otherwise."""
    return sorted(
        (run.key, sorted(run.values.items()), run.first.place, run.last.place, run.ended and run.ended.place)
        for run in runs
    )


def hours(runs: Sequence[Run]) -> list[tuple[object, ...]]:
    moments = [[one and (one.taken_at - MARCH) / HOUR for one in (run.first, run.last, run.ended)] for run in runs]
    return [(run.values.get("leader"), *some) for run, some in zip(runs, moments, strict=True)]


def says_otherwise(one: Observation, key: Key, row: Row) -> bool:
    """Word for word: it knows another value of a column, or it is whole and the key is not there."""
    if key not in one.rows:
        return one.whole
    return any(row.get(name, value) != value for name, value in one.rows[key].items())


@given(observations(), st.randoms(use_true_random=False))
def test_neither_order_nor_copies_change_a_history(some: list[Observation], random) -> None:
    more = [*some, *random.sample(some, len(some) // 2)]
    random.shuffle(more)
    assert told(fold(more)) == told(fold(some))


@given(observations())
def test_no_observation_contradicts_a_run_and_none_is_lost(some: list[Observation]) -> None:
    runs = fold(some)
    for one in some:
        for key, row in one.rows.items():
            covering = [run for run in runs if run.key == key and run.first.place <= one.place <= run.last.place]
            assert len(covering) == 1
            assert row.items() <= covering[0].values.items()
    for run in runs:
        inside = [one for one in some if run.first.place <= one.place <= run.last.place]
        assert month_of(run.first.taken_at) == month_of(run.last.taken_at)
        assert not [one for one in inside if says_otherwise(one, run.key, run.values)]
        assert run.key in run.first.rows
        assert run.key in run.last.rows


@given(observations())
def test_a_run_ends_at_the_first_later_observation_of_its_month_that_says_otherwise(some: list[Observation]) -> None:
    for run in fold(some):
        month = month_of(run.first.taken_at)
        later = sorted((one for one in some if one.place > run.last.place), key=lambda one: one.place)
        against = [one for one in later if month_of(one.taken_at) == month and says_otherwise(one, run.key, run.values)]
        assert (run.ended and run.ended.place) == (against[0].place if against else None)
        if not against:
            assert not [one for one in later if month_of(one.taken_at) == month and run.key in one.rows]


@given(observations())
def test_runs_of_a_key_do_not_overlap(some: list[Observation]) -> None:
    by_key: dict[Key, list[Run]] = {}
    for run in sorted(fold(some), key=lambda run: run.first.place):
        by_key.setdefault(run.key, []).append(run)
    for runs in by_key.values():
        assert all(before.last.place < after.first.place for before, after in pairwise(runs))
        assert all(run.ended is None or run.last.place < run.ended.place for run in runs)


@pytest.mark.parametrize(
    ("some", "expected"),
    [
        pytest.param(
            [observed(0, {ORDERS: LED}), observed(1, {ORDERS: LOST}), observed(3, {ORDERS: LED})],
            [(1, 0, 0, 1), (-1, 1, 1, 3), (1, 3, 3, None)],
            id="what was seen once was seen at that moment, whatever comes after a gap",
        ),
        pytest.param(
            [observed(0, {ORDERS: LED}), observed(1, {ORDERS: {}}), observed(2, {ORDERS: LED})],
            [(1, 0, 2, None)],
            id="unknown neither ends nor begins",
        ),
        pytest.param(
            [observed(0, {ORDERS: LOST}), observed(1, {}, whole=False), observed(2, {ORDERS: LOST})],
            [(-1, 0, 2, None)],
            id="absent from a part: neither broken nor healed",
        ),
        pytest.param(
            [observed(0, {ORDERS: LED}), observed(1, {}), observed(2, {ORDERS: LED})],
            [(1, 0, 0, 1), (1, 2, 2, None)],
            id="absent from the whole: gone, and there again",
        ),
        pytest.param(
            [observed(0, {ORDERS: LED | {"topic_id": "a"}}), observed(1, {ORDERS: LED | {"topic_id": "b"}})],
            [(1, 0, 0, 1), (1, 1, 1, None)],
            id="deleted and created anew: another topic",
        ),
        pytest.param(
            [observed(0, {ORDERS: LED}), observed(2, {ORDERS: LED}), observed(1, {ORDERS: LOST})],
            [(1, 0, 0, 1), (-1, 1, 1, 2), (1, 2, 2, None)],
            id="a late one splits what stood there",
        ),
        pytest.param(
            [observed(1, {ORDERS: LOST}, digest="b"), observed(1, {ORDERS: LED}, digest="a")],
            [(1, 1, 1, 1), (-1, 1, 1, None)],
            id="two at one instant: in the order of their digests",
        ),
        pytest.param(
            [observed(3, {ORDERS: LED}), observed(4, {ORDERS: LED})],
            [(1, 3, 3, None), (1, 4, 4, None)],
            id="cut where the month begins",
        ),
        pytest.param(
            [observed(0, {ORDERS: {}}), observed(1, {ORDERS: LED}), observed(2, {ORDERS: {"isr": 1}})],
            [(1, 0, 2, None)],
            id="columns that are known later belong to the run",
        ),
    ],
)
def test_time(some: list[Observation], expected: list[tuple[object, ...]]) -> None:
    assert hours(fold(some)) == expected
