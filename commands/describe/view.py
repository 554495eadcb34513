"""One cluster, as describe shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from commands.describe.measure import Measured
from kreplica.health.causes import Explanation
from kreplica.health.causes.smallest_set import Verdict
from kreplica.health.listing import (
    TROUBLE,
    Count,
)
from kreplica.model.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot

if TYPE_CHECKING:
    from kreplica.model.columns import Indices


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster under the question.

    Args:
        snapshot: The selected partitions of it.
        evaluator: Evaluates predicates over these partitions.
        matched: Rows that a filter matched; all rows without a filter.
        unknown: Number of partitions for which no filter matched and one cannot be known.
        counts: Counts of every predicate over the selected partitions.
        why: The causes in the whole cluster.
        places: Rows of the selected partitions in the whole cluster.
        verdict: The smallest set of causes for the selected partitions.
        measured: Result of --measure.
    """

    snapshot: ClusterSnapshot
    evaluator: Evaluator
    matched: Indices
    unknown: int
    counts: tuple[Count, ...]
    why: Explanation
    places: Indices
    verdict: Verdict
    measured: Measured | None = None

    @property
    def live(self) -> bool:
        """True if a live cluster was read, which can be read again and waited for, not a dump."""
        return self.why.can_measure or self.measured is not None

    @property
    def affected(self) -> Indices:
        """Rows of the selected partitions that are under-replicated, openly or masked."""
        return np.flatnonzero(self.why.affected[self.places])

    @property
    def verdict_word(self) -> str:
        """First word of the verdict on these partitions."""
        if any(self.count(name) for name in TROUBLE):
            return "UNHEALTHY"
        if not len(self.snapshot.partitions):
            return "EMPTY"
        return "INCOMPLETE" if self.snapshot.gaps else "HEALTHY"

    def count(self, name: str) -> int:
        """Number of partitions for which the predicate of that name is true."""
        return next(count.true for count in self.counts if count.predicate.name == name)
