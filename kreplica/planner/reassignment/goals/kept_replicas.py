"""Kept replicas: the last one in sync, and those of brokers that are dead or excluded, stay where they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import Matrix, Problem, held


@dataclass(frozen=True, slots=True)
class KeptReplicas:
    """A partition never loses a replica that has to stay."""

    name: str = "kept-replicas"
    hard: bool = True

    def distance(self, problem: Problem, constraints: Constraints, replicas: Matrix) -> Integers:
        """Replicas that have to stay and are gone."""
        found: Integers = (constraints.fixed & ~held(problem.replicas, replicas)).sum(axis=1, dtype=np.int64)
        return found

    def explain(self, number: int) -> str:
        """Names the partitions that would lose one."""
        return f"{counted(number, 'partition')} would lose the last replica in sync, or one that is expected back"
