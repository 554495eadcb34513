"""Distinct brokers: no broker holds two replicas of one partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.model.wording.words import counted
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem


@dataclass(frozen=True, slots=True)
class DistinctBrokers:
    """Every replica of a partition is on a broker of its own."""

    name: str = "distinct-brokers"
    hard: bool = True

    def distance(self, _problem: Problem, _constraints: Constraints, replicas: Matrix) -> Integers:
        """Replicas beside another of the same partition."""
        ranked = np.sort(replicas, axis=1)
        same = (ranked[:, 1:] == ranked[:, :-1]) & (ranked[:, 1:] != NOBODY)
        found: Integers = same.sum(axis=1, dtype=np.int64)
        return found

    def explain(self, number: int) -> str:
        """Names the partitions that would have a broker twice."""
        return f"{counted(number, 'partition')} would have two replicas on one broker"
