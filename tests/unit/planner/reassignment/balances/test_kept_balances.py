"""Balances in the order given: the later one leaves the earlier ones as they are, and trades for the rest."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.planner.reassignment.balances.kept_balances import Balance, keep_balances, topic_balance, trade
from kreplica.planner.reassignment.board import Board, Layout
from kreplica.planner.reassignment.constraints import make_constraints
from kreplica.planner.reassignment.planning import PlannedReassignment, PlanningLimits, plan_reassignment
from kreplica.planner.reassignment.problem import NOBODY, replica_counts
from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind, Request
from tests.support.examples import examples
from tests.support.plans.reassignments import SmallCluster, small_clusters

UNKNOWN_DISKS = PlanningLimits(ignore_capacity=True)
BROKERS = 5


def balanced(cluster: SmallCluster, *measures: Measure) -> PlannedReassignment:
    reasons = tuple(Reason(ReasonKind.BALANCE, measure=one) for one in measures)
    return plan_reassignment(cluster.snapshot(), Request(reasons), UNKNOWN_DISKS)


def test_bytes_are_balanced_by_trades_where_numbers_stand() -> None:
    """Four brokers with four replicas each; those of two brokers are heavy, those of the others light."""
    placed = {number: [1, 2] if number < 4 else [3, 4] for number in range(8)}
    sizes = {number: 100 if number < 4 else 10 for number in placed}
    cluster = SmallCluster(dict.fromkeys(range(1, 5), "a"), placed, sizes)
    planned = balanced(cluster, Measure.COUNT, Measure.BYTES)
    held, load = Counter[int](), Counter[int]()
    for number, before in placed.items():
        for broker in planned.targets.get(("orders", number), before):
            held[broker] += 1
            load[broker] += sizes[number]
    assert held == dict.fromkeys(range(1, 5), 4)
    assert load == dict.fromkeys(range(1, 5), 220)
    assert [bound.short for bound in planned.bounds] == ["", "", ""]


@examples(0.5)
@given(data=st.data(), later=st.sampled_from((Measure.TOPIC, Measure.BYTES)))
def test_numbers_of_replicas_stand_before_all_other_balances(data: st.DataObject, later: Measure) -> None:
    cluster = data.draw(small_clusters())
    try:
        alone, both = (balanced(cluster, *one) for one in ((Measure.COUNT,), (Measure.COUNT, later)))
    except UsageError:
        return
    wanted = make_constraints(alone.problem)
    number = [replica_counts(one.problem, one.assignment) for one in (alone, both)]
    before, after = (np.maximum(np.maximum(one - wanted.upper, wanted.lower - one), 0) for one in number)
    assert (after <= before).all(), number


def loads(balance: Balance, replicas: np.ndarray) -> dict[tuple[int, int], int]:
    """Loads by kind and broker, added up one by one."""
    found: dict[tuple[int, int], int] = {}
    for row, brokers in enumerate(replicas.tolist()):
        kind = 0 if balance.kinds is None else int(balance.kinds[row])
        for broker in brokers:
            if broker >= 0:
                found[kind, broker] = found.get((kind, broker), 0) + int(balance.weights[row])
    return found


def beyond(balance: Balance, replicas: np.ndarray) -> dict[tuple[int, int], int]:
    load = loads(balance, replicas)
    found = {}
    for place, (low, high) in enumerate(zip(balance.low.tolist(), balance.high.tolist(), strict=True)):
        key = place // BROKERS, place % BROKERS
        found[key] = max(load.get(key, 0) - high, low - load.get(key, 0), 0)
    return found


@st.composite
def matrices(draw: st.DrawFn, rows: int) -> np.ndarray:
    """One to three replicas of each partition on different brokers."""
    found = []
    for _ in range(rows):
        brokers = draw(st.permutations(range(BROKERS)))[:2]
        found.append([*brokers, -1])
    return np.array(found, dtype=np.int32)


@st.composite
def balances(draw: st.DrawFn, rows: int) -> Balance:
    weights = np.array(draw(st.lists(st.integers(1, 9), min_size=rows, max_size=rows)), dtype=np.int64)
    kinds = draw(st.none() | st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    places = BROKERS if kinds is None else 2 * BROKERS
    low = np.array(draw(st.lists(st.integers(0, 8), min_size=places, max_size=places)), dtype=np.int64)
    wide = np.array(draw(st.lists(st.integers(0, 6), min_size=places, max_size=places)), dtype=np.int64)
    return Balance(weights, low, low + wide, None if kinds is None else np.array(kinds, dtype=np.int64))


@examples(2)
@given(st.data())
def test_what_is_taken_of_a_stage_makes_nothing_worse_and_what_is_left_would(data: st.DataObject) -> None:
    """Against loads that are added up one by one."""
    rows = data.draw(st.integers(1, 6))
    before, after = data.draw(matrices(rows)), data.draw(matrices(rows))
    earlier = data.draw(st.lists(balances(rows), min_size=1, max_size=2))
    own = data.draw(balances(rows))
    kept = keep_balances(layout_of(before), after, earlier, own)
    assert all((row == old).all() or (row == new).all() for row, old, new in zip(kept, before, after, strict=True))
    assert_no_worse(before, kept, earlier, own)
    for row in np.flatnonzero((kept != after).any(axis=1)).tolist():
        further = kept.copy()
        further[row] = after[row]
        worse = any(
            beyond(one, further)[place] > distance for one in earlier for place, distance in beyond(one, kept).items()
        )
        assert worse or sum(beyond(own, further).values()) > sum(beyond(own, kept).values())


@examples(2)
@given(st.data())
def test_trades_are_legal_and_bring_loads_nearer_to_their_range(data: st.DataObject) -> None:
    rows = data.draw(st.integers(2, 8))
    before = data.draw(matrices(rows))
    earlier = data.draw(st.lists(balances(rows), max_size=2))
    own = data.draw(balances(rows).filter(lambda one: one.kinds is None))
    traded = trade(layout_of(before), earlier, own, None)
    assert_no_worse(before, traded, earlier, own)
    assert (
        np.bincount(before[before >= 0], minlength=BROKERS) == np.bincount(traded[traded >= 0], minlength=BROKERS)
    ).all()
    assert all(len(set(row[row >= 0].tolist())) == 2 for row in traded)


def layout_of(replicas: np.ndarray) -> Layout:
    rows = len(replicas)
    every = np.ones(BROKERS, dtype=np.bool_)
    return Layout(replicas, np.zeros(BROKERS, np.int32), every, replicas >= 0, np.ones(rows, dtype=np.int64))


def assert_no_worse(before: np.ndarray, after: np.ndarray, earlier: list[Balance], own: Balance) -> None:
    for one in earlier:
        distances = beyond(one, before)
        assert all(distance <= distances[place] for place, distance in beyond(one, after).items())
    assert sum(beyond(own, after).values()) <= sum(beyond(own, before).values())


def test_shares_of_topics_are_those_of_each_group_of_brokers() -> None:
    """Topic 0 has five replicas on brokers 0 to 2, which share it; broker 3 shares nothing."""
    replicas = np.array([[0, 1, 3], [0, 2, -1], [0, -1, -1], [1, -1, -1]], dtype=np.int32)
    found = topic_balance(np.array([0, 0, 0, 1], dtype=np.int32), replicas, np.array([0, 0, 0, -1]))
    assert found.low.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
    assert found.high.tolist()[:3] == [2, 2, 2]
    assert found.high.tolist()[4:7] == [1, 1, 1]
    assert found.beyond(replicas, 4).tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


@examples(2)
@given(small_clusters(), st.sampled_from([None, 2]))
def test_what_one_broker_may_receive_is_said_at_once_as_one_by_one(cluster: SmallCluster, closed: int | None) -> None:
    problem = cluster.problem(Request((Reason(ReasonKind.BALANCE, measure=Measure.BYTES),)))
    receivers = problem.brokers != closed
    there = problem.replicas != NOBODY
    board = Board(Layout(problem.replicas, problem.racks, receivers, there, problem.sizes))
    rows, columns = np.nonzero(there)
    for broker in range(len(receivers)):
        alone = [
            board.allowed(row, column)[broker] for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        ]
        assert board.may_receive(rows, columns, broker).tolist() == alone
