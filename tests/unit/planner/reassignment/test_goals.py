"""Each hard goal vetoes the change that makes it worse, says so in a sentence, and nothing else vetoes that change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.planner.reassignment.constraints import make_constraints
from kreplica.planner.reassignment.goals.catalogue import GOALS, vetoes
from kreplica.planner.reassignment.numbers.certified import plan
from kreplica.planner.reassignment.planning import allowed
from kreplica.planner.reassignment.problem import Assignment
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from tests.support.plans.reassignments import RACK_AWARE, SmallCluster, requests, small_clusters

RACKS: dict[int, str | None] = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
CLUSTER = SmallCluster(RACKS, {0: [1, 2, 3], 1: [1, 2, 3]}, lagging=frozenset({(1, 2), (1, 3)}))
REQUEST = Request((Reason(ReasonKind.DRAIN, (6,)), RACK_AWARE), excluded_brokers=(5,))


@pytest.mark.parametrize(
    ("name", "row", "changed"),
    [
        ("distinct-brokers", 0, [1, 2, 2]),
        ("replication-factor", 0, [1, 2]),
        ("kept-replicas", 1, [4, 2, 3]),
        ("open-destinations", 0, [1, 5, 3]),
        ("emptied-brokers", 0, [1, 2, 6]),
        ("rack-spread", 0, [1, 4, 2]),
    ],
)
def test_a_hard_goal_vetoes_what_makes_it_worse(name: str, row: int, changed: list[int]) -> None:
    problem = CLUSTER.problem(REQUEST)
    constraints = make_constraints(problem)
    after = problem.replicas.copy()
    after[row] = -1
    after[row, : len(changed)] = np.searchsorted(problem.brokers, changed)
    (goal,) = [goal for goal in GOALS if goal.name == name]
    found = vetoes(problem, constraints, problem.replicas, after)
    assert found[goal.explain(1)].tolist() == [place == row for place in range(2)]
    assert allowed(problem, constraints, problem.current, Assignment(after)).replicas.tolist() == (
        problem.replicas.tolist()
    )


def test_a_change_that_keeps_every_hard_goal_is_not_vetoed() -> None:
    problem = CLUSTER.problem(REQUEST)
    constraints = make_constraints(problem)
    after = problem.replicas.copy()
    after[0] = np.searchsorted(problem.brokers, [2, 4, 3])
    assert vetoes(problem, constraints, problem.replicas, after) == {}
    kept = allowed(problem, constraints, problem.current, Assignment(after))
    assert kept.replicas.tolist() == after.tolist()


@given(st.data())
def test_no_plan_is_farther_from_a_hard_goal_than_before(data: st.DataObject) -> None:
    cluster = data.draw(small_clusters())
    problem = cluster.problem(data.draw(requests(cluster)))
    planned = plan(problem)
    assert vetoes(problem, planned.constraints, problem.replicas, planned.assignment.replicas) == {}
