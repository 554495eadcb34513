"""Replication factor: a partition has as many replicas as it had, or as many as are asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem


@dataclass(frozen=True, slots=True)
class ReplicationFactor:
    """Every partition has its wanted number of replicas."""

    name: str = "replication-factor"
    hard: bool = True

    def distance(self, _problem: Problem, constraints: Constraints, replicas: Matrix) -> Integers:
        """Replicas too many or too few."""
        found: Integers = np.abs(np.count_nonzero(replicas != NOBODY, axis=1) - constraints.factor).astype(np.int64)
        return found

    def explain(self, number: int) -> str:
        """Names the partitions with another number."""
        return f"{counted(number, 'partition')} would have another number of replicas than wanted"
