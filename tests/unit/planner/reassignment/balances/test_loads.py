"""Balance of bytes and weights: bounds against every assignment of small clusters, plans against what they promise."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.balances.loads import LoadRange, balance_load, closest_cover, load_bound, load_range
from kreplica.planner.reassignment.board import Layout


def layout_of(rows: list[tuple[int, ...]], racks: list[int], sizes: list[int]) -> Layout:
    replicas = np.array(rows, np.int32)
    every = np.ones(len(racks), np.bool_)
    return Layout(replicas, np.array(racks, np.int32), every, np.ones(replicas.shape, np.bool_), np.array(sizes))


@st.composite
def layouts(draw: st.DrawFn, brokers: int, partitions: int) -> Layout:
    factor = draw(st.integers(1, min(3, brokers)))
    racks = [draw(st.integers(0, 2)) for _ in range(brokers)]
    rows = [tuple(draw(st.permutations(range(brokers)))[:factor]) for _ in range(draw(st.integers(1, partitions)))]
    return layout_of(rows, racks, [draw(st.integers(1, 30)) for _ in rows])


def racks_kept(before: tuple[int, ...], after: tuple[int, ...], racks: list[int]) -> bool:
    return len({racks[one] for one in after}) >= len({racks[one] for one in before})


def loads(rows: list[tuple[int, ...]], weights: list[int], brokers: int) -> list[int]:
    return [sum(w for row, w in zip(rows, weights, strict=True) if broker in row) for broker in range(brokers)]


def beyond(load: Integers, wanted: LoadRange) -> Integers:
    return np.maximum(load - wanted.high, 0) + np.maximum(wanted.low - load, 0)


@examples(1)
@given(layouts(brokers=4, partitions=3), st.data())
def test_no_assignment_in_range_copies_less_than_the_bound(layout: Layout, data: st.DataObject) -> None:
    """Every assignment is tried that has as many racks for each partition as it has now."""
    racks, sizes = layout.racks.tolist(), layout.sizes.tolist()
    weights = [data.draw(st.integers(0, 9)) for _ in sizes] if data.draw(st.booleans()) else sizes
    before = [tuple(row) for row in layout.replicas.tolist()]
    wanted = load_range(layout, np.array(weights), np.ones(4, np.bool_), data.draw(st.sampled_from([0.1, 0.3, 0.6])))
    bound = load_bound(layout, np.array(weights), wanted)
    sets = [sorted({tuple(sorted(one)) for one in permutations(range(4), len(row))}) for row in before]
    options = [[one for one in sets[number] if racks_kept(row, one, racks)] for number, row in enumerate(before)]
    in_range = [
        sum(size * len(set(new) - set(old)) for size, new, old in zip(sizes, rows, before, strict=True))
        for rows in product(*options)
        if not beyond(np.array(loads(list(rows), weights, 4)), wanted).any()
    ]
    assert all(moved >= bound for moved in in_range)
    plan = balance_load(layout, np.array(weights), wanted, count_tolerance=9.0)
    assert len(plan.outside) or plan.moved >= min(in_range)


@examples(2)
@given(layouts(brokers=8, partitions=30), st.sampled_from([0.05, 0.1, 0.3]))
def test_a_plan_is_legal_and_nowhere_worse(layout: Layout, tolerance: float) -> None:
    sharing = np.ones(8, np.bool_)
    wanted = load_range(layout, layout.sizes, sharing, tolerance)
    plan = balance_load(layout, layout.sizes, wanted, count_tolerance=0.1)
    racks = layout.racks.tolist()
    for old, new in zip(layout.replicas.tolist(), plan.replicas.tolist(), strict=True):
        assert len(set(new)) == len(new)
        assert racks_kept(tuple(old), tuple(new), racks)
    before, after = layout.loads(layout.sizes), loads(plan.replicas.tolist(), layout.sizes.tolist(), 8)
    assert (beyond(np.array(after), wanted) <= beyond(before, wanted)).all()
    assert plan.outside.tolist() == np.flatnonzero(beyond(np.array(after), wanted)).tolist()
    ones = np.ones_like(layout.sizes)
    held, now = layout.loads(ones), np.array(loads(plan.replicas.tolist(), ones.tolist(), 8))
    assert (now <= np.maximum(held, held.mean() * 1.1)).all()
    assert (now >= np.minimum(held, held.mean() * 0.9)).all()
    pairs = zip(layout.replicas.tolist(), plan.replicas.tolist(), layout.sizes.tolist(), strict=True)
    assert plan.moved == sum(size * len(set(new) - set(old)) for old, new, size in pairs)


@pytest.mark.parametrize(("racks", "empty"), [(3, 0), (3, 6), (5, 6)])
def test_twenty_thousand_partitions_come_within_a_thousandth_of_the_bound(racks: int, empty: int) -> None:
    """With added brokers the lacks decide, and without them the excesses; with 5 racks replicas may change racks."""
    random = np.random.default_rng(5)
    order = np.argsort(random.random((20_000, racks)), axis=1)[:, :3]
    width = (60 - empty) // racks
    rows = (order + racks * np.floor(random.random((20_000, 3)) ** 1.2 * width).astype(int)).tolist()
    sizes = (random.lognormal(0, 1.2, 20_000) * 1e9).astype(int).tolist()
    layout = layout_of(rows, [broker % racks for broker in range(60)], sizes)
    wanted = load_range(layout, layout.sizes, np.ones(60, np.bool_), 0.1)
    plan = balance_load(layout, layout.sizes, wanted)
    assert not len(plan.outside)
    assert 0 <= plan.gap < 0.001
    mean = sum(sizes) * 3 / 60
    assert all(0.9 * mean * 0.9 < load < 1.1 * mean * 1.1 for load in loads(plan.replicas.tolist(), sizes, 60))


class Space:
    """Bytes that each broker has left."""

    def __init__(self, left: list[int]) -> None:
        self.left = np.array(left)

    def fits(self, size: int) -> Mask:
        found: Mask = self.left >= size
        return found

    def take(self, row: int, broker: int, size: int) -> None:
        assert row >= 0
        self.left[broker] -= size


@examples(1)
@given(layouts(brokers=6, partitions=20), st.lists(st.integers(0, 60), min_size=6, max_size=6))
def test_no_broker_gets_more_bytes_than_it_has_room_for(layout: Layout, left: list[int]) -> None:
    wanted = load_range(layout, layout.sizes, np.ones(6, np.bool_), 0.1)
    plan = balance_load(layout, layout.sizes, wanted, count_tolerance=9.0, room=Space(left))
    copied = [0] * 6
    for old, new, size in zip(layout.replicas.tolist(), plan.replicas.tolist(), layout.sizes.tolist(), strict=True):
        for broker in set(new) - set(old):
            copied[broker] += size
    assert all(one <= most for one, most in zip(copied, left, strict=True))


def test_loads_of_brokers_that_keep_what_they_have_count_nowhere() -> None:
    layout = layout_of([(0, 1), (0, 2), (0, 3), (1, 3)], [0, 0, 0, 0], [10, 10, 10, 10])
    sharing = np.array([True, True, True, False])
    wanted = load_range(layout, layout.sizes, sharing, 0.1)
    assert wanted.low.tolist()[:3] == [18, 18, 18]  # 60 bytes on three brokers, less a tenth
    assert wanted.group.tolist() == [0, 0, 0, -1]
    receivers = layout.receivers & sharing
    kept = Layout(layout.replicas, layout.racks, receivers, layout.movable & (layout.replicas != 3), layout.sizes)
    plan = balance_load(kept, layout.sizes, wanted, count_tolerance=1.0)
    assert sorted(loads(plan.replicas.tolist(), [10] * 4, 4)) == [20, 20, 20, 20]
    assert (plan.replicas == 3).sum() == 2
    assert (plan.moved, plan.bound) == (10, 8)  # the broker of 30 bytes comes down to 22 at most, by whole replicas


@given(st.lists(st.integers(1, 50), max_size=9), st.integers(1, 200), st.integers(1, 9))
def test_a_cover_covers_with_as_many_as_are_allowed(weights: list[int], need: int, most: int) -> None:
    chosen = closest_cover(np.array(weights, np.int64), need, most).tolist()
    assert len(set(chosen)) == len(chosen) <= most
    if chosen:
        assert sum(weights[place] for place in chosen) >= need
    else:
        assert most < len(weights) or sum(weights) < need


@pytest.mark.parametrize(
    ("held", "low", "high", "after"),
    [
        ([15, 15], 18, 22, [15, 15]),  # 8 too much, then 3 too little
        ([25], 13, 25, [25, 0]),  # nothing is too much
        ([14, 14], 20, 26, [28, 0]),  # 2 too much would become 6 too little
        ([26], 20, 26, [26, 0]),  # without it the first broker would lack what the second lacks now
    ],
)
def test_heavy_replicas_move_where_a_broker_ends_nearer_to_its_range(
    held: list[int], low: int, high: int, after: list[int]
) -> None:
    layout = layout_of([(0,) for _ in held], [0, 0], held)
    wanted = LoadRange(np.array([low, low]), np.array([high, high]), np.zeros(2, np.int64))
    plan = balance_load(layout, layout.sizes, wanted, count_tolerance=9.0)
    assert loads(plan.replicas.tolist(), held, 2) == after


@pytest.mark.parametrize("seed", range(4))
def test_lighter_replicas_are_taken_where_heavy_ones_fit_badly(seed: int) -> None:
    """What brokers have too much is about what others lack, so that nothing may be wasted."""
    random = np.random.default_rng(seed)
    rows = [tuple(random.choice(20, 2, replace=False)) for _ in range(4000)]
    layout = layout_of(rows, [0] * 20, (random.lognormal(0, 1.2, 4000) * 1e9).astype(int).tolist())
    wanted = load_range(layout, layout.sizes, np.ones(20, np.bool_), 0.01)
    plan = balance_load(layout, layout.sizes, wanted)
    assert not len(plan.outside)
    assert plan.gap < 0.01
