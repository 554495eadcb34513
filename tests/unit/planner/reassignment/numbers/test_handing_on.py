"""Chains of replicas that change places, against every target of small clusters: they reach what can be reached."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kreplica.planner.reassignment.constraints import Constraints, Total, make_constraints
from kreplica.planner.reassignment.numbers.greedy import plan_greedily
from kreplica.planner.reassignment.numbers.handing_on import within_ranges
from kreplica.planner.reassignment.problem import Assignment, Problem, moves, replica_counts
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from tests.support.examples import examples
from tests.support.plans.brute_force import legal_targets
from tests.support.plans.reassignments import BALANCE, RACK_AWARE, SmallCluster, faults, placed, small_clusters

REQUESTS = (
    Request((BALANCE,)),
    Request((RACK_AWARE, BALANCE)),
    Request((Reason(ReasonKind.DRAIN, (1,)), BALANCE)),
    Request((BALANCE, Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=2))),
)


def _beyond(constraints: Constraints, loads: tuple[int, ...]) -> int:
    """Replicas that have to change their broker, or set of brokers, before every range and total is met."""
    over = [max(0, load - most) for load, most in zip(loads, constraints.upper.tolist(), strict=True)]
    short = [max(0, least - load) for load, least in zip(loads, constraints.lower.tolist(), strict=True)]
    for total in constraints.totals:
        some = total.brokers.tolist()
        found = sum(loads[one] - over[one] + short[one] for one in some) - total.replicas
        over.append(max(0, found))
        short.append(max(0, -found))
    return max(sum(over), sum(short))


def _reachable(cluster: SmallCluster, request: Request, problem: Problem) -> set[tuple[int, ...]]:
    """Loads of the brokers by every legal target."""
    ids = problem.brokers.tolist()
    targets = legal_targets(cluster, request)
    return {tuple(map([*chain(*target.values())].count, ids)) for target in targets}


def _as_near_as_can_be(cluster: SmallCluster, request: Request) -> None:
    problem = cluster.problem(request)
    assume(len(problem) and problem.destination.any())
    constraints = make_constraints(problem)
    assume(not len(constraints.stuck))
    assignment = plan_greedily(problem, constraints)
    assert faults(cluster, request, set(), placed(problem, assignment)) == []
    found = _beyond(constraints, tuple(replica_counts(problem, assignment).tolist()))
    assert found == min(_beyond(constraints, loads) for loads in _reachable(cluster, request, problem))


@example(SmallCluster(dict(enumerate("cbddd", start=1)), {0: [2, 1, 3, 5], 1: [2, 4, 3], 2: [3]}), REQUESTS[0])
@examples(2)
@given(small_clusters(most_partitions=4, most_brokers=5), st.sampled_from(REQUESTS))
def test_no_other_target_is_nearer_to_the_ranges(cluster: SmallCluster, request: Request) -> None:
    _as_near_as_can_be(cluster, request)


def test_the_replica_that_goes_is_one_whose_partition_has_a_broker_left() -> None:
    """The smallest on broker 3 is that of a partition which is everywhere."""
    problem = SmallCluster(dict.fromkeys((1, 2, 3), "a"), {0: [1, 3, 2], 1: [2, 3], 2: [3]}).problem(REQUESTS[0])
    assignment = plan_greedily(problem, make_constraints(problem))
    assert placed(problem, assignment) == {0: [1, 3, 2], 1: [2, 1], 2: [3]}


def test_what_one_broker_has_too_many_reaches_another_by_way_of_a_third() -> None:
    """Nothing of broker 4 may go to the empty one: 0 keeps its rack, 1 is in the rack of broker 2 already."""
    cluster = SmallCluster(dict(enumerate("baacb", start=1)), {0: [4, 1, 5], 1: [3, 4]})
    problem = cluster.problem(REQUESTS[0])
    assignment = plan_greedily(problem, make_constraints(problem))
    assert replica_counts(problem, assignment).tolist() == [1] * 5
    assert moves(problem, assignment) == 2


def _row(loads: list[int]) -> tuple[Problem, Constraints]:
    """Partitions of one replica, so many on each broker, all of which may go anywhere."""
    brokers = [broker for broker, number in enumerate(loads, start=1) for _ in range(number)]
    cluster = SmallCluster(dict.fromkeys(range(1, len(loads) + 1), "a"), {at: [one] for at, one in enumerate(brokers)})
    problem = cluster.problem(REQUESTS[0])
    return problem, make_constraints(problem)


@pytest.mark.parametrize("on_first", [1, 3])
def test_a_set_of_brokers_comes_to_hold_its_total(on_first: int) -> None:
    problem, constraints = _row([2, 2, 2, 2])
    totals = Total(np.array([0, 1]), on_first), Total(np.array([2, 3]), 8 - on_first)
    wide = np.zeros(4, np.int64), np.full(4, 8)
    bounds = Constraints(**{**vars(constraints), "totals": totals, "lower": wide[0], "upper": wide[1]})
    found = replica_counts(problem, within_ranges(problem, bounds, problem.current))
    assert (found[:2].sum(), found[2:].sum()) == (on_first, 8 - on_first)


def test_what_is_in_its_ranges_stays_as_it_is() -> None:
    problem, constraints = _row([2, 2, 2])
    assert within_ranges(problem, constraints, problem.current) is problem.current


def test_a_replica_that_has_to_stay_is_not_handed_on() -> None:
    problem, constraints = _row([3, 1, 2])
    fixed = Constraints(**{**vars(constraints), "fixed": problem.replicas == 0})
    assert replica_counts(problem, within_ranges(problem, fixed, problem.current)).tolist() == [3, 1, 2]
    free = within_ranges(problem, constraints, problem.current)
    assert replica_counts(problem, free).tolist() == [2, 2, 2]


def test_a_replica_that_comes_home_has_its_old_place() -> None:
    """Two partitions were swapped over brokers 2 and 3; of the chains to broker 2 the one that undoes it is taken."""
    cluster = SmallCluster(dict.fromkeys((1, 2, 3), "a"), {0: [2, 1], 1: [1, 2]}, {0: 9, 1: 1})
    problem = cluster.problem(REQUESTS[0])
    bounds = Constraints(**{**vars(make_constraints(problem)), "upper": np.array([2, 2, 0])})
    moved = Assignment(np.array([[2, 0], [0, 1]], np.int32))
    assert within_ranges(problem, bounds, moved).replicas.tolist() == [[1, 0], [0, 1]]
