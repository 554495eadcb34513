"""Goal: a condition on an assignment, hard or soft, that can veto a change and explain itself in a sentence."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import Matrix, Problem


class Goal(Protocol):
    """A condition on each partition.

    A hard goal is never made worse, whatever a later stage of planning gains by it; a soft one is aimed at.
    """

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def hard(self) -> bool:
        """True if no change may make it worse."""

    def distance(self, problem: Problem, constraints: Constraints, replicas: Matrix) -> Integers:
        """Distance of each partition from the goal: 0 where it is met."""

    def explain(self, number: int) -> str:
        """Says what is so of that many partitions that are far from it."""


def vetoed(goal: Goal, problem: Problem, constraints: Constraints, before: Matrix, after: Matrix) -> Mask:
    """Partitions whose change a hard goal does not allow, as they would be farther from it; none of a soft one.

    Args:
        goal: The goal.
        problem: The cluster.
        constraints: Conditions on targets.
        before: The assignment before the change.
        after: The assignment after it.
    """
    if not goal.hard:
        return np.zeros(len(problem), dtype=np.bool_)
    worse: Mask = goal.distance(problem, constraints, after) > goal.distance(problem, constraints, before)
    return worse
