"""The greedy planner: legal targets on any cluster, and the fewest moves where that is a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.planner.reassignment.constraints import make_constraints
from kreplica.planner.reassignment.numbers.greedy import plan_greedily
from kreplica.planner.reassignment.problem import bytes_moved, moves, replica_counts
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from tests.support.examples import examples
from tests.support.plans.reassignments import (
    BALANCE,
    RACK_AWARE,
    SmallCluster,
    faults,
    placed,
    requests,
    small_clusters,
)


@examples(4)
@given(st.data())
def test_every_target_is_legal(data: st.DataObject) -> None:
    cluster = data.draw(small_clusters())
    request = data.draw(requests(cluster))
    problem = cluster.problem(request)
    constraints = make_constraints(problem)
    assignment = plan_greedily(problem, constraints)
    stuck = {int(problem.numbers[row]) for row in constraints.stuck}
    assert faults(cluster, request, stuck, placed(problem, assignment)) == []
    again = plan_greedily(problem, make_constraints(problem))
    assert assignment.replicas.tobytes() == again.replicas.tobytes()


def _columns(brokers_in_rack: int, loads: list[list[int]]) -> SmallCluster:
    """Three racks and a replica of each partition in each of them; broker loads of each rack are given."""
    racks = {3 * place + rack + 1: "abc"[rack] for place in range(brokers_in_rack) for rack in range(3)}
    number = sum(loads[0])
    lists: list[list[int]] = [[] for _ in range(number)]
    for rack, load in enumerate(loads):
        ids = [3 * place + rack + 1 for place, count in enumerate(load) for _ in range(count)]
        for row, broker in zip(lists, ids, strict=True):
            row.append(broker)
    return SmallCluster(racks, dict(enumerate(lists)), {number: 2**number for number in range(number)})


@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=3, max_size=3), st.data())
def test_with_a_replica_in_each_rack_moves_and_bytes_are_the_closed_form(
    loads: list[list[int]], data: st.DataObject
) -> None:
    total = max(sum(load) for load in loads)
    for load in loads:
        load[data.draw(st.integers(0, 2))] += total - sum(load)
    if not total:
        return
    cluster = _columns(3, loads)
    problem = cluster.problem(Request((BALANCE,)))
    constraints = make_constraints(problem)
    assignment = plan_greedily(problem, constraints)
    low, more = divmod(total, 3)
    expected_moves = expected_bytes = 0
    for load in loads:
        # Of a rack the brokers that end with one more are chosen by trying each set of them.
        best = None
        for choice in range(8):
            if choice.bit_count() != more:
                continue
            ends = [low + (choice >> place & 1) for place in range(3)]
            out = [max(0, count - end) for count, end in zip(load, ends, strict=True)]
            begins = [sum(load[:place]) for place in range(3)]
            size = sum(2 ** (begins[place] + number) for place in range(3) for number in range(out[place]))
            best = min(best or (10**9, 0), (sum(out), size))
        assert best is not None
        expected_moves += best[0]
        expected_bytes += best[1]
    assert (moves(problem, assignment), bytes_moved(problem, assignment)) == (expected_moves, expected_bytes)
    counts = replica_counts(problem, assignment)
    assert set(counts.tolist()) <= {low, low + 1}


def test_a_drained_broker_is_empty_and_the_others_share_its_replicas() -> None:
    cluster = _columns(3, [[4, 4, 4], [4, 4, 4], [4, 4, 4]])
    problem = cluster.problem(Request((Reason(ReasonKind.DRAIN, (1,)),)))
    assignment = plan_greedily(problem, make_constraints(problem))
    counts = dict(zip(problem.brokers.tolist(), replica_counts(problem, assignment).tolist(), strict=True))
    assert counts == {1: 0, 4: 6, 7: 6, **dict.fromkeys((2, 3, 5, 6, 8, 9), 4)}
    assert moves(problem, assignment) == 4


def test_rack_aware_moves_one_of_two_replicas_in_a_rack_and_none_else() -> None:
    cluster = SmallCluster({1: "a", 2: "a", 3: "b", 4: "c"}, {0: [1, 2, 3], 1: [1, 3, 4]})
    problem = cluster.problem(Request((RACK_AWARE,)))
    target = placed(problem, plan_greedily(problem, make_constraints(problem)))
    assert target[1] == [1, 3, 4]
    assert set(target[0]) in ({1, 3, 4}, {2, 3, 4})


def test_levels_are_equal_within_racks_of_unequal_size() -> None:
    racks = {1: "a", 2: "b", 3: "b", 4: "c", 5: "c", 6: "c"}
    cluster = SmallCluster(racks, {number: [1, 2, 4] for number in range(6)})
    problem = cluster.problem(Request((BALANCE,)))
    assignment = plan_greedily(problem, make_constraints(problem))
    assert replica_counts(problem, assignment).tolist() == [6, 3, 3, 2, 2, 2]


@pytest.mark.parametrize("factor", [2, 4])
def test_a_changed_replication_factor_moves_nothing_else(factor: int) -> None:
    cluster = _columns(3, [[2, 2, 2], [2, 2, 2], [2, 2, 2]])
    reason = Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=factor)
    problem = cluster.problem(Request((reason,)))
    assignment = plan_greedily(problem, make_constraints(problem))
    assert moves(problem, assignment) == max(0, factor - 3) * 6
    assert (np.count_nonzero(assignment.replicas >= 0, axis=1) == factor).all()


def test_one_broker_is_added_where_there_are_more_racks_than_replicas() -> None:
    """Replicas leave racks of no receiver only for the rack of the new broker, which ends with its share."""
    racks = {broker: "abcd"[broker % 4] for broker in range(1, 9)}
    lists = {number: [1 + (number + step) % 7 for step in range(3)] for number in range(56)}
    cluster = SmallCluster(racks, lists, dict.fromkeys(lists, 10))
    request = Request((Reason(ReasonKind.ADD, brokers=(8,)),))
    problem = cluster.problem(request)
    assignment = plan_greedily(problem, make_constraints(problem))
    assert faults(cluster, request, set(), placed(problem, assignment)) == []
    assert replica_counts(problem, assignment)[-1] == 56 * 3 // 8
    assert moves(problem, assignment) == 56 * 3 // 8
