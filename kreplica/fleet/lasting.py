"""Runs of a table over all months of a cluster, as arrays: what a history cuts where a month begins is whole again.

Rows stand by key and time. ``first``, ``last`` and ``ended`` are numbers of observations; a run that no observation
contradicts has -1 in ``ended``. Where a part of the time is wanted, a run's values are also those that it had outside.
A value that is told later in a month alone counts from the beginning of its run in that month: where it contradicts the
month before, the change seems to lie at the border.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from kreplica.history.coding import NOTHING, UNKNOWN, Coder
from kreplica.history.folding import Runs
from kreplica.history.lives.told_line import Line
from kreplica.history.tables import HistoryTable
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import (
    BoolColumn,
    Column,
    Indices,
    IntColumn,
    Integers,
    IntListColumn,
    Mask,
    StringColumn,
)
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.tables.table import Table


@dataclass(eq=False)
class Lasting:
    """Rows of a table over time, from when to when each was seen.

    Args:
        table: The table.
        coder: Gives codes their values.
        runs: The runs, by key and time; their numbers are those of the cluster's observations.
        times: Milliseconds of each observation.
        tellers: Numbers of the observations that tell the table.
        listing: Those of them that list all of it, so that what they lack was not there.
        told_columns: Columns that each of the tellers tells, a row for each; all of them if None.
        in_logs: For each observation whether a metadata log tells of it; of none if None.
    """

    table: HistoryTable
    coder: Coder
    runs: Runs
    times: Integers
    tellers: Integers
    listing: Integers
    told_columns: Mask | None = None
    in_logs: Mask | None = None

    def __len__(self) -> int:
        return len(self.runs)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """Keys and values, a row for each run."""
        return self.coder.columns(self.runs.coded)

    def integers(self, name: str) -> IntColumn:
        """A column known to hold integers."""
        column = self.columns[name]
        assert isinstance(column, IntColumn), f"{name} is not an integer"
        return column

    def booleans(self, name: str) -> BoolColumn:
        """A column known to hold booleans."""
        column = self.columns[name]
        assert isinstance(column, BoolColumn), f"{name} is not boolean"
        return column

    def strings(self, name: str) -> StringColumn:
        """A column known to hold strings."""
        column = self.columns[name]
        assert isinstance(column, StringColumn), f"{name} holds no strings"
        return column

    def lists(self, name: str) -> IntListColumn:
        """A column known to hold lists."""
        column = self.columns[name]
        assert isinstance(column, IntListColumn), f"{name} holds no lists"
        return column

    def codes(self, name: str) -> Integers:
        """Codes of a column of values: equal where values are; below or at NOTHING where there is none."""
        found: Integers = self.runs.coded.values[:, self._place_of(name)]
        return found

    def _place_of(self, name: str) -> int:
        return [one.name for one in self.table.value_fields].index(name)

    def known(self, name: str) -> Mask:
        """Rows that know a value in a column."""
        found: Mask = self.codes(name) > NOTHING
        return found

    @cached_property
    def evaluator(self) -> Evaluator:
        """Evaluates predicates that need no facts of brokers, a row for each run."""
        return Evaluator(_NO_CLUSTER, self.columns)

    @cached_property
    def successions(self) -> tuple[Indices, Indices]:
        """Rows, each with the row of the same key that ended it: values that changed from one to the other."""
        runs = self.runs
        same = runs.coded.keys[1:] == runs.coded.keys[:-1]
        before = np.flatnonzero(same & (runs.ended[:-1] == runs.first[1:]))
        return before, before + 1

    @cached_property
    def changes(self) -> tuple[Indices, Indices]:
        """Successions of one topic, as far as its id is known: none in which it was created anew."""
        before, after = self.successions
        ids, known = self.codes("topic_id"), self.known("topic_id")
        same = (ids[before] == ids[after]) | ~known[before] | ~known[after]
        return before[same], after[same]

    def chains(self, wanted: Mask) -> list[tuple[int, int]]:
        """First and last row of each unbroken chain of wanted rows, each of which ended the one before."""
        follows = np.zeros(len(self) + 1, np.bool_)
        follows[self.successions[1]] = True
        inside = np.append(wanted, False)
        begins = np.flatnonzero(inside & ~(follows & np.append(False, wanted)))
        ends = np.flatnonzero(np.append(False, wanted) & ~(follows & inside)) - 1
        return list(zip(begins.tolist(), ends.tolist(), strict=True))

    def seen_before(self, row: int, name: str | None = None) -> int:
        """Number of the last observation that says otherwise than a row, -1 if none does.

        It saw the row which this one ended, or listed all there was without it.

        Args:
            row: The row.
            name: A column that the observation has to tell.
        """
        before, after = self.successions
        at = int(np.searchsorted(after, row))
        if at < len(after) and after[at] == row:
            older = before[at : at + 1]
            return int((self.runs.last[older] if name is None else self.last_telling(name, older))[0])
        without = int(np.searchsorted(self.listing, self.runs.first[row])) - 1
        return -1 if without < 0 else int(self.listing[without])

    def last_telling(self, name: str, rows: Indices) -> Integers:
        """Number of the last observation in each row that tells a column, -1 if none does.

        Of what a metadata log does not hold, it is the last one before the log.
        """
        if self.told_columns is None:
            return self.runs.last[rows]
        tellers = np.append(self.tellers[self.told_columns[:, self._place_of(name)]], -1)
        found: Integers = tellers[np.searchsorted(tellers[:-1], self.runs.last[rows], side="right") - 1]
        untold = found < self.runs.first[rows]
        if self.in_logs is not None:  # what a log does not hold is as it was told before it
            untold &= ~self.in_logs[self.runs.first[rows]]
        return np.where(untold, -1, found)


_NO_CLUSTER = ClusterSnapshot(None, "", datetime(1970, 1, 1, tzinfo=UTC), "", Table.empty(PARTITIONS))
"""Stands for the cluster in expressions that ask for nothing but columns."""


def lasting(line: Line, table: HistoryTable) -> Lasting:
    """The runs of a table over all months of a cluster.

    Args:
        line: The cluster's observations.
        table: The table.

    Raises:
        InputError: A file is damaged, or not there.
    """
    coder = Coder(table)
    parts, tellers, listing, told_columns = [], [], [], []
    for month, shift in line.numbered():
        if not len(month.inside):
            continue
        least, most = month.inside[0], month.inside[-1]
        told = [one for one in month.told(table) if one.place in month.inside]
        tellers += [one.place + shift for one in told]
        listing += [one.place + shift for one in told if one.whole]
        told_columns += [one.columns for one in told]
        runs = month.runs(coder)
        runs = runs.take((runs.first <= most) & (runs.last >= least))
        ended = np.where((runs.ended >= 0) & (runs.ended <= most), runs.ended + shift, -1)
        first, last = np.maximum(runs.first, least), np.minimum(runs.last, most)
        parts.append(by_key(Runs(runs.coded, first + shift, last + shift, ended)))
    lists = np.array(listing, np.int64)
    found = joined(parts, lists, coder.key_count, len(table.value_fields))
    columns = np.array(told_columns, np.bool_).reshape(len(told_columns), len(table.value_fields))
    return Lasting(table, coder, found, line.times, np.array(tellers, np.int64), lists, columns)


def by_key(runs: Runs) -> Runs:
    """The runs by key and time."""
    return runs.take(np.lexsort((runs.first, runs.coded.keys)))


def joined(parts: list[Runs], listing: Integers, keys: int, width: int) -> Runs:
    """Runs of one part after the other in time; one that the next part goes on with is one run.

    Args:
        parts: Each by key and time.
        listing: Numbers of the observations that list all keys, in order.
        keys: Number of keys.
        width: Number of columns.
    """
    tail = np.full(keys, -1, np.int64)  # the run of each key that nothing has ended so far
    every = Runs.joined(parts, width)
    merged, begin = np.zeros(len(every), np.bool_), 0
    for part in parts:
        rows = np.arange(begin, begin + len(part))
        begin += len(part)
        if not len(rows):
            continue
        own = every.coded.keys[rows]
        heads = rows[np.append(True, own[1:] != own[:-1])]
        older = tail[every.coded.keys[heads]]
        heads, older = heads[older >= 0], older[older >= 0]
        absent = _next_of(listing, every.last[older])
        there = (absent < 0) | (absent >= every.first[heads])
        goes_on = there & ~_contradicts(every.coded.values[older], every.coded.values[heads])
        every.ended[older] = np.where(goes_on, every.ended[heads], np.where(there, every.first[heads], absent))
        into, taken = older[goes_on], heads[goes_on]
        every.last[into] = every.last[taken]
        known = every.coded.values[taken] != UNKNOWN
        every.coded.values[into] = np.where(known, every.coded.values[taken], every.coded.values[into])
        merged[taken] = True
        last = rows[np.append(own[1:] != own[:-1], True)]
        alone = ~merged[last]
        tail[every.coded.keys[last]] = np.where(alone, last, tail[every.coded.keys[last]])
        closed = every.ended[tail[every.coded.keys[last]]] >= 0
        tail[every.coded.keys[last][closed]] = -1
    left = tail[tail >= 0]
    every.ended[left] = _next_of(listing, every.last[left])
    return by_key(every.take(~merged))


def _contradicts(one: Integers, other: Integers) -> Mask:
    found: Mask = ((one != other) & (one != UNKNOWN) & (other != UNKNOWN)).any(axis=1)
    return found


def _next_of(numbers: Integers, after: Integers) -> Integers:
    """The first of the numbers behind each; -1 where there is none."""
    places = np.searchsorted(numbers, after, side="right")
    padded = np.append(numbers, -1)
    found: Integers = padded[places]
    return found
