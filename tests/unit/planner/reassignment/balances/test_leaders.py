"""Preferred leaders: against every assignment of small clusters, and their bounds against numbers of any origin."""

from __future__ import annotations

from itertools import product

import numpy as np
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.balances.leaders import LeaderPlan, balance_leaders, leader_bounds, with_leaders
from kreplica.planner.reassignment.problem import NOBODY, Matrix

Case = tuple[Matrix, int, Integers, Mask]


@st.composite
def clusters(draw: st.DrawFn) -> Case:
    brokers = draw(st.integers(1, 6))
    factor = draw(st.integers(1, min(3, brokers)))
    favoured = draw(st.integers(1, brokers))  # replicas crowd on some brokers, so that equality is out of reach
    held = st.lists(
        st.one_of(st.integers(0, favoured - 1), st.integers(0, brokers - 1)), min_size=1, max_size=factor, unique=True
    )
    rows = draw(st.lists(held, min_size=0, max_size=7))
    replicas = np.array([row + [NOBODY] * (factor - len(row)) for row in rows], np.int32).reshape(-1, factor)
    shape = st.lists(st.booleans(), min_size=replicas.size, max_size=replicas.size)
    barred = np.array(draw(shape), np.bool_) & np.array(draw(shape), np.bool_)
    led = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    preferred = np.where(led, replicas[:, 0], NOBODY).astype(np.int64)
    return replicas, brokers, preferred, ~barred.reshape(replicas.shape)


def choices(replicas: Matrix, may_lead: Mask) -> list[list[int]]:
    rows = (replicas[row][may_lead[row]] for row in range(len(replicas)))
    return [[broker for broker in row.tolist() if broker != NOBODY] or [NOBODY] for row in rows]


def judged(leaders: tuple[int, ...], preferred: Integers) -> tuple[int, int]:
    """Sum of squares, and changes."""
    loads = [leaders.count(broker) for broker in set(leaders) - {NOBODY}]
    pairs = zip(leaders, preferred.tolist(), strict=True)
    return sum(load * load for load in loads), sum(leader not in (NOBODY, before) for leader, before in pairs)


def planned(plan: LeaderPlan, preferred: Integers) -> tuple[int, int]:
    return judged(tuple(plan.leaders.tolist()), preferred)


@examples(4)
@given(clusters())
def test_no_assignment_is_more_equal_and_of_the_most_equal_none_changes_fewer(case: Case) -> None:
    replicas, brokers, preferred, may_lead = case
    plan = balance_leaders(replicas, brokers, preferred, may_lead)
    every = choices(replicas, may_lead)
    assert all(leader in allowed for leader, allowed in zip(plan.leaders.tolist(), every, strict=True))
    best = min(judged(leaders, preferred) for leaders in product(*every))
    assert planned(plan, preferred) == best
    bounds = leader_bounds(replicas, preferred, may_lead, plan.levels, plan.prices)
    assert (bounds.squares, bounds.changes) == best


@examples(2)
@given(clusters(), st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=6, max_size=6))
def test_numbers_of_anybody_prove_no_more_than_is_true(case: Case, numbers: list[tuple[int, int]]) -> None:
    replicas, brokers, preferred, may_lead = case
    levels, prices = (np.array(one[:brokers]) for one in zip(*numbers, strict=True))
    bounds = leader_bounds(replicas, preferred, may_lead, levels, prices)
    results = [judged(leaders, preferred) for leaders in product(*choices(replicas, may_lead))]
    assert bounds.squares <= min(results)[0]
    assert all(bounds.changes <= changes for squares, changes in results if squares == bounds.squares)


def test_two_thousand_partitions_of_a_lopsided_cluster_are_proven() -> None:
    """Longer paths than brute force can see: some take a change back, and several pieces cannot be equal."""
    random = np.random.default_rng(1)
    crowded = (np.arange(99) // 3 + 1.0) ** -2
    rows = [random.choice(99, 2, replace=False, p=crowded / crowded.sum()) for _ in range(2000)]
    replicas = np.array(rows, np.int32)
    preferred = replicas[:, 0].astype(np.int64)
    may_lead = np.ones(replicas.shape, np.bool_)
    plan = balance_leaders(replicas, 99, preferred, may_lead)
    bounds = leader_bounds(replicas, preferred, may_lead, plan.levels, plan.prices)
    assert planned(plan, preferred) == (bounds.squares, bounds.changes)
    assert len(np.unique(plan.levels)) > 3
    again = balance_leaders(replicas, 99, preferred, may_lead)
    assert np.array_equal(plan.leaders, again.leaders)


def test_the_leader_comes_first_and_the_others_keep_their_order() -> None:
    replicas = np.array([[4, 2, 7], [1, 3, NOBODY], [5, 6, 8]], np.int32)
    ordered = with_leaders(replicas, np.array([7, 3, NOBODY]))
    assert ordered.tolist() == [[7, 4, 2], [3, 1, NOBODY], [5, 6, 8]]
