"""All goals, and the vetoes of the hard ones."""

from __future__ import annotations

from kreplica.model.tables.columns import Mask
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.goals.distinct_brokers import DistinctBrokers
from kreplica.planner.reassignment.goals.emptied_brokers import EmptiedBrokers
from kreplica.planner.reassignment.goals.few_moves import FewMoves
from kreplica.planner.reassignment.goals.goal import Goal, vetoed
from kreplica.planner.reassignment.goals.kept_replicas import KeptReplicas
from kreplica.planner.reassignment.goals.open_destinations import OpenDestinations
from kreplica.planner.reassignment.goals.rack_spread import RackSpread
from kreplica.planner.reassignment.goals.replication_factor import ReplicationFactor
from kreplica.planner.reassignment.problem import Matrix, Problem

GOALS: tuple[Goal, ...] = (
    DistinctBrokers(),
    ReplicationFactor(),
    KeptReplicas(),
    OpenDestinations(),
    EmptiedBrokers(),
    RackSpread(),
    FewMoves(),
)
"""Goals in the order in which their vetoes are named."""


def vetoes(problem: Problem, constraints: Constraints, before: Matrix, after: Matrix) -> dict[str, Mask]:
    """Partitions whose change is vetoed, by the sentence of the goal that does; goals without a veto are left out."""
    found = {}
    for goal in GOALS:
        rows = vetoed(goal, problem, constraints, before, after)
        if rows.any():
            found[goal.explain(int(rows.sum()))] = rows
    return found
