"""Things that happen again and again: how many of them lie within one window of time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import FleetFinding
from kreplica.model.tables.columns import Indices, Integers, Mask

DAY_MS = 24 * 3_600_000


def often(keys: Integers, times: Integers, weights: Integers, most: int, window_ms: int = DAY_MS) -> Mask:
    """True for each event that lies in a window in which events of its key weigh as much as is too much.

    Args:
        keys: Number of the thing that each event is of.
        times: Milliseconds of each event.
        weights: How much each counts.
        most: So much in one window is too much.
        window_ms: Length of the window; both of its ends belong to it.
    """
    order: Indices = np.lexsort((times, keys))
    keys, times = keys[order], times[order]
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(weights[order])])
    span = np.int64(window_ms + (int(times.max()) - int(times.min()) if len(times) else 0) + 1)
    line = keys * span + (times - (times.min() if len(times) else 0))  # keys lie further apart than a window is long
    begins = np.arange(len(line))
    ends = np.searchsorted(line, line + window_ms, side="right")
    full = sums[ends] - sums[begins] >= most
    marks = np.zeros(len(line) + 1, np.int64)
    np.add.at(marks, begins[full], 1)
    np.add.at(marks, ends[full], -1)
    found = np.zeros(len(line), np.bool_)
    found[order] = np.cumsum(marks)[:-1] > 0
    return found


def over_a_day_later(history: ClusterHistory, last: int) -> int:
    """Number of the first moment more than a day after another one; -1 if there is none."""
    over = int(np.searchsorted(history.times, history.times[last] + DAY_MS, side="right"))
    return over if over < len(history.times) else -1


def to_the_day(history: ClusterHistory, span: Span, one: FleetFinding) -> FleetFinding:
    """A finding that ends a day after its last event: just then where a metadata log tells that nothing came after it.

    Args:
        history: The cluster.
        span: From the first event to the last one, and ``over_a_day_later``.
        one: The finding.
    """
    over = int(history.times[span.last]) + DAY_MS
    at = int(np.searchsorted(history.times, over, side="right")) - 1
    if not history.in_logs[at] or history.held_until[at] < over:
        return one
    exact = history.exactly(Span(span.before, span.first, at))
    return replace(one, last_seen_ms=over, valid_to_ms=over, in_newest=False, exact=exact)
