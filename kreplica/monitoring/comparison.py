"""Two views of one cluster, read at the same time and compared; what differs is looked at again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from kreplica.errors import ExitCode
from kreplica.model.comparison import Comparison, Difference, compare
from kreplica.sources import Facet, read_snapshot
from kreplica.sources.kafka.broker_view import names_one_broker, read_broker_view
from kreplica.system.pool import all_results

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

SETTLE_SECONDS = 2.0
"""Seconds before differences are looked at again, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class ComparedClusters:
    """Two views of one cluster, compared.

    Args:
        sides: The snapshots of the last reading, left and right.
        comparison: Their differences, without those seen in one reading only.
        passing: Number of differences seen in one of two readings.
    """

    sides: tuple[ClusterSnapshot, ClusterSnapshot]
    comparison: Comparison
    passing: int

    @property
    def exit_code(self) -> ExitCode:
        """1 with differences, 5 where something could not be read, else 0."""
        if self.comparison.differences:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if any(side.gaps for side in self.sides) else ExitCode.OK

    @property
    def rows(self) -> Sequence[Difference]:
        """The differences."""
        return self.comparison.differences


def compare_clusters(left: ClusterHandle, right: ClusterHandle, *, settle: float = SETTLE_SECONDS) -> ComparedClusters:
    """Compares two views of one cluster; a handle with one bootstrap server is that broker's own view.

    Args:
        left, right: The views.
        settle: Seconds before differences are looked at again: what differs in one reading only was on its way; 0 for
            one reading. Two dumps are read once.

    Raises:
        KreplicaError: One cannot be read; the left one's error first.
    """
    sides = _read_both(left, right)
    first = compare(*sides)
    if not first.differences or not settle or (left.dump is not None and right.dump is not None):
        return ComparedClusters(sides, first, 0)
    time.sleep(settle)
    sides = _read_again(left, right, sides)
    return _twice(sides, first, compare(*sides))


def _twice(sides: tuple[ClusterSnapshot, ClusterSnapshot], first: Comparison, second: Comparison) -> ComparedClusters:
    """Keeps what differs in both readings."""
    before = {one.key: one for one in first.differences}
    kept = tuple(
        structs.replace(one, lasting=_values(one) == _values(before[one.key]))
        for one in second.differences
        if one.key in before
    )
    passing = len({*before, *(one.key for one in second.differences)}) - len(kept)
    return ComparedClusters(sides, replace(second, differences=kept), passing)


def _values(difference: Difference) -> tuple[str | None, str | None]:
    return difference.left, difference.right


def _read_both(left: ClusterHandle, right: ClusterHandle) -> tuple[ClusterSnapshot, ClusterSnapshot]:
    """Reads both at the same time.

    Raises:
        KreplicaError: One cannot be read; the left one's error first.
    """
    first, second = all_results([partial(_read, handle) for handle in (left, right)])
    return first, second


def _read_again(
    left: ClusterHandle, right: ClusterHandle, before: tuple[ClusterSnapshot, ClusterSnapshot]
) -> tuple[ClusterSnapshot, ClusterSnapshot]:
    """Reads the live sides again; a dump has not changed, and standard input cannot be read twice."""
    live = [handle for handle in (left, right) if handle.dump is None]
    found = iter(all_results([partial(_read, handle) for handle in live]))
    first, second = (
        next(found) if handle.dump is None else old for handle, old in zip((left, right), before, strict=True)
    )
    return first, second


def _read(handle: ClusterHandle) -> ClusterSnapshot:
    return read_broker_view(handle) if names_one_broker(handle) else read_snapshot(handle, Facet.LOG_DIRS)
