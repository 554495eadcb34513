"""Open destinations: new replicas go only to brokers that may receive them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem, held


@dataclass(frozen=True, slots=True)
class OpenDestinations:
    """Nothing goes to a broker that is dead, fenced, cordoned, excluded or not chosen."""

    name: str = "open-destinations"
    hard: bool = True

    def distance(self, problem: Problem, constraints: Constraints, replicas: Matrix) -> Integers:
        """New replicas on brokers that may not receive any."""
        new = (replicas != NOBODY) & ~held(replicas, problem.replicas)
        found: Integers = (new & ~constraints.receivers[replicas]).sum(axis=1, dtype=np.int64)
        return found

    def explain(self, number: int) -> str:
        """Names the partitions that would go to such a broker."""
        return f"{counted(number, 'partition')} would go to a broker that may not receive replicas"
