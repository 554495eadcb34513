"""Rack spread: racks hold of each partition what an even spread gives them, or no more or less than before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.constraints import Constraints, per_rack
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem


@dataclass(frozen=True, slots=True)
class RackSpread:
    """No rack holds more or less of a partition than the constraints allow."""

    name: str = "rack-spread"
    hard: bool = True

    def distance(self, problem: Problem, constraints: Constraints, replicas: Matrix) -> Integers:
        """Replicas above the most or below the least of their rack."""
        number = per_rack(problem, replicas != NOBODY, replicas).astype(np.int64)
        outside = np.maximum(number - constraints.most, 0) + np.maximum(constraints.least - number, 0)
        found: Integers = outside.sum(axis=1, dtype=np.int64)
        return found

    def explain(self, number: int) -> str:
        """Names the partitions that crowd a rack."""
        return f"{counted(number, 'partition')} would be spread worse over racks"
