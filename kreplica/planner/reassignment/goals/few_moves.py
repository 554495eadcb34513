"""Few moves: partitions keep the brokers that they have. The one soft goal of a partition: others are worth a move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem, held


@dataclass(frozen=True, slots=True)
class FewMoves:
    """Replicas stay where they are."""

    name: str = "few-moves"
    hard: bool = False

    def distance(self, problem: Problem, _constraints: Constraints, replicas: Matrix) -> Integers:
        """Replicas that are added."""
        new = (replicas != NOBODY) & ~held(replicas, problem.replicas)
        found: Integers = new.sum(axis=1, dtype=np.int64)
        return found

    def explain(self, number: int) -> str:
        """Names the partitions that move."""
        return f"{counted(number, 'partition')} would move"
