"""Runs of a table as metadata logs tell them: each change at the time of its record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.fleet.lasting import Lasting, by_key, joined
from kreplica.history.coding import Coder
from kreplica.history.folding import Runs
from kreplica.history.log_line import LogLine
from kreplica.history.selection import HistoryMonth
from kreplica.history.tables import LOG_TABLES
from kreplica.model.schema import TableSchema


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """A table by metadata logs.

    Args:
        table: The runs; their numbers are those of moments of the logs.
        spans: First and last millisecond of each time of which no record is missing.
    """

    table: Lasting
    spans: Sequence[tuple[int, int]]

    def tell(self, first_ms: int | None, last_ms: int) -> bool:
        """True if logs tell all of the time between two moments."""
        return first_ms is not None and any(begin <= first_ms and last_ms <= end for begin, end in self.spans)


def logged(months: Sequence[HistoryMonth], schema: TableSchema) -> Logged:
    """A table of a cluster by its metadata logs; no rows where it has none.

    Args:
        months: Its months, in order.
        schema: The table, one of those that logs tell.

    Raises:
        InputError: A file is damaged, or not there.
    """
    of = next(table for table in LOG_TABLES if table.of is schema)
    line, coder, parts = LogLine(months), Coder(of), []
    for part in line.parts:
        runs = part.month.exact_runs(coder)
        first = np.searchsorted(part.steps, runs.first) + part.shift
        last = np.searchsorted(part.steps, runs.last, side="right") - 1 + part.shift
        held = np.flatnonzero(first <= last)
        ended = np.where(last < part.numbers[-1], last + 1, -1)
        parts.append(by_key(Runs(runs.take(held).coded, first[held], last[held], ended[held])))
    times = line.times
    every = np.arange(len(times), dtype=np.int64)
    table = Lasting(of, coder, joined(parts, every, coder.key_count, len(of.value_fields)), times, every, every)
    return Logged(table, [(int(times[first]), int(times[last])) for first, last in line.spans])
