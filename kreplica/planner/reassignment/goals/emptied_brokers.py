"""Emptied brokers: nothing stays on a broker that is drained or repaired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem


@dataclass(frozen=True, slots=True)
class EmptiedBrokers:
    """Brokers that leave hold nothing."""

    name: str = "emptied-brokers"
    hard: bool = True

    def distance(self, problem: Problem, _constraints: Constraints, replicas: Matrix) -> Integers:
        """Replicas on brokers that leave."""
        there = (replicas != NOBODY) & problem.leaving[replicas]
        found: Integers = there.sum(axis=1, dtype=np.int64)
        return found

    def explain(self, number: int) -> str:
        """Names the partitions that would go to such a broker."""
        return f"{counted(number, 'partition')} would go to a broker that is to be emptied"
