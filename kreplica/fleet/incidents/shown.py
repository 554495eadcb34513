"""Rows of a table as scenes show them: each from one scene up to another.

Few rows change between two scenes. So what holds of a row is found out once, not at every scene that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kreplica.fleet.lasting import Lasting
from kreplica.history.coding import NOTHING, Coded
from kreplica.model.tables.columns import Column, Indices, Integers, IntListColumn, Mask, null_column
from kreplica.model.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Rows, each with scenes that show it.

    Args:
        rows: Numbers of the rows.
        begin: Place of the first scene.
        end: Place of the first one after it that does not.
    """

    rows: Indices
    begin: Integers
    end: Integers

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, some: Indices | Mask) -> Places:
        """Some of them."""
        return Places(self.rows[some], self.begin[some], self.end[some])


class Shown:
    """Rows of a table over scenes, those of one key in order.

    Args:
        table: The table over time.
        numbers: The observation of each scene, in order.
    """

    def __init__(self, table: Lasting, numbers: Sequence[int]) -> None:
        self.table, self.scenes = table, len(numbers)
        places, runs = np.array(numbers, np.int64), table.runs
        begin = np.searchsorted(places, runs.first)
        end = np.where(runs.ended < 0, len(places), np.searchsorted(places, runs.ended))
        rows = np.flatnonzero(begin < end)
        self.places = Places(rows, begin[rows], end[rows])
        self.keys: Integers = runs.coded.keys[rows]

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def columns(self) -> dict[str, Column]:
        """Keys and values of the rows."""
        return {name: column.take(self.places.rows) for name, column in self.table.columns.items()}

    def lists(self, name: str) -> IntListColumn:
        """A column known to hold lists."""
        column = self.columns[name]
        assert isinstance(column, IntListColumn), f"{name} holds no lists"
        return column

    def codes(self, name: str) -> Integers:
        """Codes of a column of values, equal where values are; any below or at NOTHING is NOTHING."""
        found: Integers = np.maximum(self.table.codes(name)[self.places.rows], NOTHING)
        return found

    def at(self, place: int) -> Indices:
        """The rows that a scene shows."""
        return np.flatnonzero((self.places.begin <= place) & (self.places.end > place))

    @cached_property
    def tables(self) -> list[Table]:
        """For each scene the rows that it shows as a table of a snapshot; one object where they are the same rows."""
        known: dict[bytes, Table] = {}
        coder, coded, found = self.table.coder, self.table.runs.coded, []
        for place in range(self.scenes):
            rows = self.places.rows[self.at(place)]
            key = rows.tobytes()
            if key not in known:
                known[key] = coder.table_of(Coded(coded.keys[rows], coded.values[rows]))
            found.append(known[key])
        return found

    def table_at(self, place: int) -> Table:
        """The rows that a scene shows as a table of a snapshot, made anew each time; what is measured is null."""
        order, begin, end = self._as_in_tables
        return self._as_table(order[(begin <= place) & (end > place)])

    @cached_property
    def _as_in_tables(self) -> tuple[Indices, Integers, Integers]:
        """The rows in the order of a table of a snapshot; the scene that each begins with, and that which ends it."""
        order = self._as_table(np.arange(len(self))).order()
        return order, self.places.begin[order], self.places.end[order]

    def _as_table(self, rows: Indices) -> Table:
        schema = self.table.table.of
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        measured = self.table.table.measured
        return Table(schema, columns | {name: null_column(schema.field(name).kind, len(rows)) for name in measured})

    def listing(self, name: str, element: int) -> Mask:
        """Rows that have an integer in a list."""
        column = self.lists(name)
        found = np.zeros(len(self), np.bool_)
        found[np.searchsorted(column.offsets, np.flatnonzero(column.values == element), side="right") - 1] = True
        return found

    @cached_property
    def successions(self) -> tuple[Indices, Indices]:
        """Rows, each with the row of the same key that the next scene shows in its place."""
        follows = (self.keys[1:] == self.keys[:-1]) & (self.places.begin[1:] == self.places.end[:-1])
        before = np.flatnonzero(follows)
        return before, before + 1

    @cached_property
    def _row_ranges(self) -> dict[tuple[object, ...], tuple[int, int]]:
        heads = np.flatnonzero(np.append(True, self.keys[1:] != self.keys[:-1]))[: len(self)]
        names = self.table.coder.key_columns(self.keys[heads])
        keys = zip(*(names[name].to_list() for name in self.table.table.keys), strict=True)
        ends = [*heads[1:].tolist(), len(self)]
        return dict(zip(keys, zip(heads.tolist(), ends, strict=True), strict=True))

    def row(self, key: tuple[object, ...], place: int) -> int | None:
        """The row of a key that a scene shows; None where it shows none."""
        first, last = self._row_ranges.get(key, (0, 0))
        at = first + int(np.searchsorted(self.places.begin[first:last], place, side="right")) - 1
        return at if at >= first and place < self.places.end[at] else None


def holding(count: int, places: Places) -> Mask:
    """Scenes that show any of these rows.

    Args:
        count: Number of scenes.
        places: The rows.
    """
    marks = np.zeros(count + 1, np.int64)
    np.add.at(marks, places.begin, 1)
    np.add.at(marks, places.end, -1)
    found: Mask = np.cumsum(marks)[:-1] > 0
    return found


def elements_shown(column: IntListColumn, places: Places, count: int) -> dict[int, Mask]:
    """For each integer in the lists of rows, the scenes that show it.

    Args:
        column: A list for each row.
        places: The rows.
        count: Number of scenes.
    """
    numbers, inverse = np.unique(column.values, return_inverse=True)
    rows = column.row_numbers()
    marks = np.zeros((len(numbers), count + 1), np.int64)
    np.add.at(marks, (inverse, places.begin[rows]), 1)
    np.add.at(marks, (inverse, places.end[rows]), -1)
    shown = np.cumsum(marks, axis=1)[:, :-1] > 0
    return dict(zip(numbers.tolist(), shown, strict=True))
