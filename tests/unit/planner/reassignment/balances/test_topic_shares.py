"""Shares of topics: bounds against every assignment of small clusters, plans against what they promise."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.planner.reassignment.balances.topic_shares import balance_topics
from kreplica.planner.reassignment.board import Layout

Rows = list[tuple[int, ...]]


def layout_of(rows: Rows, racks: list[int], sizes: list[int]) -> Layout:
    replicas = np.array(rows, np.int32)
    every = np.ones(len(racks), np.bool_)
    return Layout(replicas, np.array(racks, np.int32), every, np.ones(replicas.shape, np.bool_), np.array(sizes))


@st.composite
def layouts(draw: st.DrawFn, brokers: int, partitions: int) -> tuple[Layout, list[int]]:
    factor = draw(st.integers(1, min(3, brokers)))
    racks = [draw(st.integers(0, 1)) for _ in range(brokers)]
    rows = [tuple(draw(st.permutations(range(brokers)))[:factor]) for _ in range(draw(st.integers(1, partitions)))]
    topics = sorted(draw(st.integers(0, 2)) for _ in rows)
    return layout_of(rows, racks, [draw(st.integers(1, 9)) for _ in rows]), topics


def beyond(rows: Rows, topics: list[int], brokers: int) -> int:
    """Replicas above or below the shares of all brokers together."""
    total = 0
    for topic in set(topics):
        held = Counter(one for row, own in zip(rows, topics, strict=True) if own == topic for one in row)
        low, high = sum(held.values()) // brokers, -(-sum(held.values()) // brokers)
        total += sum(max(0, held[one] - high, low - held[one]) for one in range(brokers))
    return total


@examples(1)
@given(layouts(brokers=4, partitions=3))
def test_no_assignment_of_such_shares_copies_fewer_than_the_bound(case: tuple[Layout, list[int]]) -> None:
    """Every assignment is tried that has as many racks for each partition as it has now."""
    layout, topics = case
    racks = layout.racks.tolist()
    before = [tuple(row) for row in layout.replicas.tolist()]
    closed = all(sorted(racks[one] for one in row) == sorted(set(racks)) for row in before)
    options = [
        [
            some
            for some in combinations(range(4), len(row))
            if len({racks[one] for one in some}) >= len({racks[one] for one in row})
        ]
        for row in before
    ]
    moved = [
        sum(len(set(new) - set(old)) for old, new in zip(before, rows, strict=True))
        for rows in product(*options)
        if not beyond(list(rows), topics, 4)
    ]
    plan = balance_topics(layout, np.array(topics), np.ones(4, np.bool_), count_tolerance=9.0)
    if not closed:
        assert all(each >= plan.bound for each in moved)
        assert plan.beyond == beyond(plan.replicas.tolist(), topics, 4)
        assert plan.beyond or plan.moves >= min(moved)


@examples(2)
@given(layouts(brokers=7, partitions=25))
def test_a_plan_is_legal_and_no_share_is_worse(case: tuple[Layout, list[int]]) -> None:
    layout, topics = case
    plan = balance_topics(layout, np.array(topics), np.ones(7, np.bool_), count_tolerance=0.1)
    racks = layout.racks.tolist()
    for old, new in zip(layout.replicas.tolist(), plan.replicas.tolist(), strict=True):
        assert len(set(new)) == len(new)
        assert len({racks[one] for one in new}) >= len({racks[one] for one in old})
    before = [tuple(row) for row in layout.replicas.tolist()]
    assert beyond(plan.replicas.tolist(), topics, 7) <= beyond(before, topics, 7)
    held, now = (np.bincount(rows.ravel(), minlength=7) for rows in (layout.replicas, plan.replicas))
    assert (now <= np.maximum(held, held.mean() * 1.1)).all()
    pairs = zip(layout.replicas.tolist(), plan.replicas.tolist(), strict=True)
    assert plan.moves == sum(len(set(new) - set(old)) for old, new in pairs)


def test_a_crowded_topic_is_spread_with_the_fewest_and_smallest_moves() -> None:
    """Six partitions on the first two of four brokers: each gives one, the smallest it has."""
    layout = layout_of([(0,), (0,), (0,), (1,), (1,), (1,)], [0, 0, 0, 0], [5, 3, 4, 9, 8, 7])
    plan = balance_topics(layout, np.zeros(6, np.int64), np.ones(4, np.bool_), count_tolerance=9.0)
    assert plan.replicas[:, 0].tolist() == [0, 2, 0, 1, 1, 3]
    assert (plan.moves, plan.bound, plan.beyond) == (2, 2, 0)


def test_shares_are_those_of_a_rack_where_every_partition_has_one_replica_in_each() -> None:
    """Racks of three brokers and of one: four partitions leave 4 on the one, and 1 or 2 on each of the three."""
    layout = layout_of([(0, 3), (0, 3), (0, 3), (3, 0)], [0, 0, 0, 1], [1, 1, 1, 1])
    plan = balance_topics(layout, np.zeros(4, np.int64), np.ones(4, np.bool_), count_tolerance=9.0)
    counts = np.bincount(plan.replicas.ravel(), minlength=4).tolist()
    assert (sorted(counts[:3]), counts[3]) == ([1, 1, 2], 4)
    assert (plan.moves, plan.bound, plan.beyond) == (2, 2, 0)


def test_a_broker_that_lacks_its_share_gets_it_though_nobody_holds_too_much() -> None:
    layout = layout_of([(0,), (0,), (1,), (1,), (2,), (2,)], [0, 0, 0, 0], [2, 2, 2, 2, 2, 1])
    plan = balance_topics(layout, np.zeros(6, np.int64), np.ones(4, np.bool_), count_tolerance=9.0)
    assert np.bincount(plan.replicas.ravel(), minlength=4).tolist().count(0) == 0
    assert (plan.moves, plan.bound, plan.beyond) == (1, 1, 0)
