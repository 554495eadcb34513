"""Rows of one table as they stood at every moment: as the last snapshot up to it told them, or a metadata log.

What ``describe --as-of`` gives for one moment is given here for all of them, as one piece for each row and stretch of
time in which nothing changed. Times are milliseconds since the epoch; a piece ends before its end.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kreplica.history.coding import UNKNOWN, Coded, Coder
from kreplica.history.folding import WHOLE_ROW, Exceptions, Runs, Told
from kreplica.history.lives.told_line import Line
from kreplica.history.months.log_steps import times_of_steps, told_spans
from kreplica.history.reading import inside
from kreplica.history.selection import HistoryMonth
from kreplica.history.tables import LOG_TABLES, TABLES, HistoryTable
from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.model.tables.schema import TableSchema
from kreplica.model.tables.table import Table

_OPEN = np.iinfo(np.int64).max
_NONE = np.zeros(0, np.int64)
Span = tuple[int, int]
"""A stretch of time: its first millisecond, and the first one after it."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Rows, each with a stretch of time in which it stood as it is; no two of one key at one time.

    Args:
        coded: Keys and values, by the coder of the table.
        begin: When it began to stand.
        seen: When it was last seen to stand, never before it began.
        end: When something else was seen, or nothing.
        exact: Whether a metadata log tells all of it.
    """

    coded: Coded
    begin: Integers
    seen: Integers
    end: Integers
    exact: Mask

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, rows: Indices | Mask) -> Pieces:
        """Some of them."""
        coded = Coded(self.coded.keys[rows], self.coded.values[rows])
        return Pieces(coded, self.begin[rows], self.seen[rows], self.end[rows], self.exact[rows])

    def between(self, begin: Integers | int, end: Integers | int) -> Pieces:
        """The part of each that lies in a stretch of time; those without one are left out."""
        first, last = np.maximum(self.begin, begin), np.minimum(self.end, end)
        seen = np.minimum(np.maximum(self.seen, first), last - 1)
        return Pieces(self.coded, first, seen, last, self.exact).take(first < last)

    @classmethod
    def joined(cls, parts: Sequence[Pieces], width: int) -> Pieces:
        """All of them; ``width`` is the number of columns, where there is no part."""
        empty = Coded(_NONE, np.zeros((0, width), np.int64))
        some = [*parts, cls(empty, _NONE, _NONE, _NONE, np.zeros(0, np.bool_))]
        coded = Coded(*(np.concatenate([getattr(one.coded, name) for one in some]) for name in ("keys", "values")))
        return cls(coded, *(np.concatenate([getattr(one, name) for one in some]) for name in _TIMES))


_TIMES = ("begin", "seen", "end", "exact")


def narrow(of: TableSchema, columns: Collection[str], *, logged: bool = False) -> HistoryTable:
    """A table of a history with some of its values alone, so that no others are read.

    Args:
        of: The snapshots' table.
        columns: Names of the values.
        logged: As metadata logs tell it.
    """
    table = next(one for one in (LOG_TABLES if logged else TABLES) if one.of is of)
    others = frozenset(of.names) - {*table.keys, *columns}
    return HistoryTable(of, table.keys, measured=others, null_says=table.null_says & {*columns})


def spans_of_logs(months: Sequence[HistoryMonth]) -> list[Span]:
    """The times that metadata logs tell, as far as they are wanted, in order."""
    found = []
    for month in months:
        times = times_of_steps(month.steps)
        for first, last in told_spans(month.steps):
            begin, end = max(int(times[first]), month.since_ms), min(int(times[last]), month.until_ms)
            if begin <= end:
                found.append((begin, end + 1))
    return found


def pieces_of(line: Line, coder: Coder, until: int) -> Pieces:
    """The rows of a table as snapshots told them.

    Args:
        line: The snapshots of a cluster.
        coder: Of the table.
        until: The first moment that is not looked at.

    Raises:
        InputError: A file is damaged, or not there.
    """
    width = len(coder.table.value_fields)
    parts, numbers = [], []
    lists_next = until  # the first snapshot of a later month that lists the whole table
    for month, shift in reversed(list(line.numbered())):
        told = [one for one in month.told(coder.table) if one.place in month.inside]
        if told:
            pieces, places = _of_month(month, coder, told)
            pieces.end[pieces.end == _OPEN] = lists_next
            parts.append(pieces)
            numbers.append(places + shift)
        lists_next = next((int(month.times[one.place]) for one in told if one.whole), lists_next)
    every = Pieces.joined(parts, width)
    return _one_after_the_other(every, np.concatenate([_NONE, *numbers]), until)


def _one_after_the_other(every: Pieces, numbers: Integers, until: int) -> Pieces:
    order = np.lexsort((numbers, every.coded.keys))
    found = every.take(order)
    same = found.coded.keys[1:] == found.coded.keys[:-1]
    found.end[:-1][same] = np.minimum(found.end[:-1], found.begin[1:])[same]
    return found.between(np.iinfo(np.int64).min, until)


def _of_month(month: HistoryMonth, coder: Coder, told: Sequence[Told]) -> tuple[Pieces, Integers]:
    """Pieces of a month, and for each the number of the snapshot that it begins with; ends may be open."""
    least, most = month.inside[0], month.inside[-1]
    runs = inside(month.runs(coder), month)
    first, last = np.maximum(runs.first, least), np.minimum(runs.last, most)
    runs = Runs(runs.coded, first, last, np.where(runs.ended > most, -1, runs.ended))
    exceptions = month.exceptions(coder)
    mixed = _mixed(runs, exceptions, told)
    plain, (several, begin, seen, is_last) = runs.take(~mixed), _told_singly(runs.take(mixed), exceptions, told)
    coded = Coded(*(np.concatenate([getattr(one.coded, name) for one in (plain, several)]) for name in _CODED))
    places, seen = np.concatenate([plain.first, begin]), np.concatenate([plain.last, seen])
    ended = np.concatenate([plain.ended, np.where(is_last, several.ended, -1)])
    end = np.where(ended >= 0, month.times[ended], _OPEN)
    return Pieces(coded, month.times[places], month.times[seen], end, np.zeros(len(places), np.bool_)), places


_CODED = ("keys", "values")


def _mixed(runs: Runs, exceptions: Exceptions, told: Sequence[Told]) -> Mask:
    """Runs of which the snapshots in them know different columns."""
    masks = np.array([one.columns for one in told])
    group = np.cumsum(np.append(False, (masks[1:] != masks[:-1]).any(axis=1)))
    places = np.array([one.place for one in told])
    first = np.searchsorted(places, runs.first)
    last = np.searchsorted(places, runs.last, side="right") - 1
    lacking = np.unique(exceptions.keys[exceptions.columns != WHOLE_ROW])
    found: Mask = (group[np.minimum(first, len(places) - 1)] != group[last]) | np.isin(runs.coded.keys, lacking)
    return found


def _told_singly(runs: Runs, exceptions: Exceptions, told: Sequence[Told]) -> tuple[Runs, Integers, Integers, Mask]:
    """Runs by what their snapshots knew: the first and the last that knew the same, and whether none came after."""
    places = np.array([one.place for one in told])
    masks = np.array([one.columns for one in told])
    begin = np.searchsorted(places, runs.first)
    count = np.maximum(np.searchsorted(places, runs.last, side="right") - begin, 0)
    rows = np.repeat(np.arange(len(runs)), count)
    at = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count) + begin[rows]
    width = int(places.max(initial=0)) + 1
    own = runs.coded.keys[rows] * width + places[at]
    named = exceptions.keys * width + exceptions.places
    missed = exceptions.columns == WHOLE_ROW
    there = ~np.isin(own, named[missed])
    rows, at, own = rows[there], at[there], own[there]
    values = np.where(masks[at], runs.coded.values[rows], UNKNOWN)
    order = np.argsort(own)
    cells, columns = named[~missed], exceptions.columns[~missed]
    found = np.searchsorted(own, cells, sorter=order)
    hit = found < len(own)
    hit[hit] = own[order[found[hit]]] == cells[hit]
    values[order[found[hit]], columns[hit]] = UNKNOWN
    return _joined_where_equal(runs, rows, places[at], values)


def _joined_where_equal(
    runs: Runs, rows: Integers, places: Integers, values: npt.NDArray[np.int64]
) -> tuple[Runs, Integers, Integers, Mask]:
    other_run = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    new = other_run.copy()
    new[1:] |= (values[1:] != values[:-1]).any(axis=1)
    heads = np.flatnonzero(new)
    tails = np.append(heads[1:] - 1, len(rows) - 1)[: len(heads)]
    is_last = np.append(other_run[heads[1:]], True)[: len(heads)]
    some = runs.take(rows[heads])
    coded = Coded(some.coded.keys, values[heads])
    return Runs(coded, some.first, some.last, some.ended), places[heads], places[tails], is_last


def exact_pieces(months: Sequence[HistoryMonth], coder: Coder) -> Pieces:
    """The rows of a table as metadata logs told them.

    Args:
        months: The months of a cluster.
        coder: Of the table as snapshots tell it; the rows have its codes.

    Raises:
        InputError: A file is damaged, or not there.
    """
    names = [field.name for field in coder.table.value_fields]
    own = Coder(narrow(coder.table.of, names, logged=True))
    schema = TableSchema(coder.table.name, (*own.table.key_fields, *own.table.value_fields), ())
    parts = []
    for month in months:
        spans = told_spans(month.steps)
        if not spans:
            continue
        times, runs = times_of_steps(month.steps), month.exact_runs(own)
        rows = Table(schema, own.columns(runs.coded))
        coded = Coded(coder.keys(rows), coder.values(rows))
        for first, last in spans:
            begin, end = times[np.maximum(runs.first, first)], np.append(times, _OPEN)[np.minimum(runs.last, last) + 1]
            end = np.where(runs.last >= last, times[last] + 1, end)
            part = Pieces(coded, begin, end - 1, end, np.ones(len(runs), np.bool_))
            part = part.take((runs.first <= last) & (runs.last >= first))
            parts.append(part.between(month.since_ms, min(month.until_ms, int(times[last])) + 1))
    return Pieces.joined(parts, len(names))


def outside(pieces: Pieces, spans: Sequence[Span]) -> Pieces:
    """The parts of pieces that lie in none of these stretches of time."""
    least, most = int(np.iinfo(np.int64).min), _OPEN
    borders = [least, *(time for span in spans for time in span), most]
    if len(borders) == 2:
        return pieces
    parts = [pieces.between(*some) for some in zip(borders[::2], borders[1::2], strict=True)]
    return Pieces.joined(parts, pieces.coded.values.shape[1])


def cut_at(pieces: Pieces, rows: Integers, times: Integers) -> tuple[Pieces, Integers]:
    """The pieces cut at moments inside them, in order; and for each the row that it is of.

    Args:
        pieces: The pieces.
        rows: Numbers of the pieces that are cut.
        times: For each the moment at which.
    """
    strictly = (times > pieces.begin[rows]) & (times < pieces.end[rows])
    owners = np.concatenate([np.arange(len(pieces)), rows[strictly]])
    begin = np.concatenate([pieces.begin, times[strictly]])
    order = np.lexsort((begin, owners))
    owners, begin = owners[order], begin[order]
    distinct = np.append(True, (owners[1:] != owners[:-1]) | (begin[1:] != begin[:-1]))[: len(owners)]
    owners, begin = owners[distinct], begin[distinct]
    after = np.append(begin[1:], 0)[: len(begin)]
    goes_on = np.append(owners[1:] == owners[:-1], False)[: len(owners)]
    found = pieces.take(owners)
    return found.between(begin, np.where(goes_on, after, found.end)), owners
