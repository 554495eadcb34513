"""Absences: times in which a topic or a broker was not there, though it had been before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.fleet.cluster import Span
from kreplica.fleet.lasting import Lasting
from kreplica.model.tables.columns import Indices, Mask

RESTART_MS = 30 * 60_000
"""A restart of one broker takes no longer."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which a thing was not there.

    Args:
        before: The row that it was last seen as.
        last: Number of the observation that saw it last.
        first: Number of the first observation without it.
        back: Number of the observation that saw it again, -1 if none did.
        after: The row that it came back as, -1 if it did not.
    """

    before: int
    last: int
    first: int
    back: int
    after: int

    def span(self, table: Lasting) -> Span:
        """The time, by the observations that list the table."""
        whole = table.listing
        end = len(whole) if self.back < 0 else int(np.searchsorted(whole, self.back))
        last = max(self.first, int(whole[end - 1]) if end else self.first)
        return Span(self.last, self.first, last, self.back)


def absences(table: Lasting, things: Sequence[Indices], there: Mask | None = None) -> Iterator[Absence]:
    """Times in which things were not there, though they had been before.

    Args:
        table: The table.
        things: Rows of each thing, in any order; a thing is there while any of its rows lasts.
        there: Rows that count as being there; all if None.
    """
    runs = table.runs
    for every in things:
        rows = every if there is None else every[there[every]]
        rows = rows[np.argsort(runs.first[rows], kind="stable")]
        seen = -1  # place among the rows of the one that lasted longest so far
        for at, row in enumerate(rows.tolist()):
            if seen >= 0 and 0 <= runs.ended[rows[seen]] < runs.first[row]:
                yield _absence(table, int(rows[seen]), row)
            if seen < 0 or _end(table, row) > _end(table, int(rows[seen])):
                seen = at
        if seen >= 0 and runs.ended[rows[seen]] >= 0:
            yield _absence(table, int(rows[seen]), -1)


def _end(table: Lasting, row: int) -> float:
    ended = int(table.runs.ended[row])
    return float("inf") if ended < 0 else ended


def _absence(table: Lasting, before: int, after: int) -> Absence:
    runs = table.runs
    back = -1 if after < 0 else int(runs.first[after])
    return Absence(before, int(runs.last[before]), int(runs.ended[before]), back, after)
