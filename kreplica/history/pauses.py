"""Pauses: stretches in which no snapshot was taken although one was due, so that nobody knows what happened in them."""

from __future__ import annotations

import numpy as np

from kreplica.model.tables.columns import Integers

PAUSE_FACTOR = 3
"""A pause is longer than so many times the usual interval, which is the median."""


def longest_usual(times: Integers) -> float:
    """Milliseconds between two snapshots up to which no pause lies between them; no end below three snapshots.

    Args:
        times: Milliseconds of a cluster's snapshots, in order.
    """
    intervals = np.diff(times)
    intervals = intervals[intervals > 0]  # several tools may have looked at one instant
    return PAUSE_FACTOR * float(np.median(intervals)) if len(intervals) > 1 else float("inf")


def pauses(times: Integers) -> list[tuple[int, int]]:
    """Places of the snapshots before and after each pause.

    Args:
        times: Milliseconds of a cluster's snapshots, in order.
    """
    before = np.flatnonzero(np.diff(times) > longest_usual(times))
    return [(place, place + 1) for place in before.tolist()]
