"""Rows as integers: every key a number, every value 64 bits, so that a fold compares arrays and nothing else.

Numbers are exact, no hashes: a list of integers is the end of a path from an empty one, each step of which is a pair of
the number before and the next element; a key of several columns is a path in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kreplica.history.tables import HistoryTable
from kreplica.model.tables.columns import (
    BoolColumn,
    Column,
    IntColumn,
    Integers,
    IntListColumn,
    Mask,
    StringColumn,
    null_column,
)
from kreplica.model.tables.schema import Kind
from kreplica.model.tables.table import Table

UNKNOWN = np.iinfo(np.int64).min
"""The code of a null that says nothing."""
NOTHING = UNKNOWN + 1
"""The code of a null that is a value."""

_LOW = np.int64(0xFFFFFFFF)


class Paths:
    """Numbers for paths of 32-bit integers: 0 is the empty one, each other one its number before and its last step."""

    def __init__(self) -> None:
        self._steps: Integers = np.zeros(0, np.int64)
        self._numbers: Integers = np.zeros(0, np.int64)
        self._taken: Integers = np.zeros(1, np.int64)
        self._lists_before: tuple[IntListColumn, Integers] | None = None

    def __len__(self) -> int:
        return len(self._taken)

    def step(self, numbers: Integers, elements: Integers) -> Integers:
        """The numbers of these paths, each longer by one element."""
        steps = (numbers << 32) | (elements & _LOW)
        places = np.searchsorted(self._steps, steps)
        known = places < len(self._steps)
        known[known] = self._steps[places[known]] == steps[known]
        found = np.empty(len(steps), np.int64)
        found[known] = self._numbers[places[known]]
        if not known.all():
            fresh, which = np.unique(steps[~known], return_inverse=True)
            found[~known] = len(self) + which
            self._add(fresh)
        return found

    def _add(self, fresh: Integers) -> None:
        places = np.searchsorted(self._steps, fresh)
        self._numbers = np.insert(self._numbers, places, len(self) + np.arange(len(fresh)))
        self._steps = np.insert(self._steps, places, fresh)
        self._taken = np.concatenate([self._taken, fresh])

    def of_lists(self, column: IntListColumn) -> Integers:
        """The number of each list; nulls as the empty one."""
        before = self._lists_before  # most lists of a cluster are what they were a snapshot ago
        if before is not None and _same_lists(before[0], column):
            return before[1]
        numbers, lengths = np.zeros(len(column), np.int64), column.lengths()
        for place in range(int(lengths.max(initial=0))):
            longer = np.flatnonzero(lengths > place)
            numbers[longer] = self.step(numbers[longer], column.values[column.offsets[longer] + place])
        self._lists_before = column, numbers
        return numbers

    def lists(self, numbers: Integers, valid: Mask | None) -> IntListColumn:
        """The lists of these numbers."""
        levels = [numbers]
        while levels[-1].any():
            levels.append(np.where(levels[-1] > 0, self._taken[levels[-1]] >> 32, 0))
        lengths = np.add.reduce([level > 0 for level in levels], dtype=np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        values = np.zeros(int(offsets[-1]), np.int64)
        for back, level in enumerate(levels[:-1]):
            there = np.flatnonzero(level > 0)
            elements = (self._taken[level[there]] & _LOW).astype(np.uint32).astype(np.int32)
            values[offsets[there + 1] - 1 - back] = elements
        return IntListColumn(values, offsets, valid)


def _same_lists(one: IntListColumn, other: IntListColumn) -> bool:
    return np.array_equal(one.offsets, other.offsets) and np.array_equal(one.values, other.values)


class _Words:
    """Numbers for strings, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, column: StringColumn) -> Integers:
        known, words = self._numbers, column.dictionary
        if len(column) < len(words):  # few rows of a large table still have all of its words
            used, places = np.unique(column.codes, return_inverse=True)
            some = [UNKNOWN if code < 0 else known.setdefault(words[code], len(known)) for code in used.tolist()]
            return np.array(some, np.int64)[places]
        numbers = [known.setdefault(word, len(known)) for word in words]
        return np.array([*numbers, UNKNOWN], np.int64)[column.codes]

    def column(self, numbers: Integers) -> StringColumn:
        """The strings of these numbers, with no word in the dictionary that is not used."""
        used, codes = np.unique(numbers, return_inverse=True)
        words = list(self._numbers)
        nulls = int(np.searchsorted(used, 0))
        return StringColumn((codes - nulls).astype(np.int32), tuple(words[number] for number in used[nulls:].tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Rows of one table.

    Args:
        keys: The number of each row's key; none is there twice.
        values: A row of codes for each.
    """

    keys: Integers
    values: npt.NDArray[np.int64]


def _same_columns(one: Table, other: Table, names: Iterable[str]) -> bool:
    return all(one[name] is other[name] for name in names)


def _each_key_once(coded: Coded) -> Coded:
    if np.bincount(coded.keys, minlength=1).max() < 2:
        return coded
    first = np.sort(np.unique(coded.keys, return_index=True)[1])
    return Coded(coded.keys[first], coded.values[first])


class Coder:
    """Turns tables of one kind into codes and back; codes mean something to the coder that made them alone."""

    def __init__(self, table: HistoryTable) -> None:
        self.table = table
        self._words = {field.name: _Words() for field in (*table.key_fields, *table.value_fields)}
        self._lists = {field.name: Paths() for field in table.value_fields if field.kind is Kind.INT_LIST}
        self._key_paths = [Paths() for _ in table.keys[1:] or table.keys]
        self._known_keys = np.zeros((0, len(table.keys)), np.int64)
        self._before: tuple[Table, Coded] | None = None

    @property
    def key_count(self) -> int:
        """Number of keys seen so far; each number of a key is below it."""
        return len(self._known_keys)

    def code(self, rows: Table) -> Coded:
        """The codes of a table, columns that it has besides left out; of rows of one key the first counts."""
        before = self._before
        if before is not None and _same_columns(before[0], rows, self.table.keys):
            coded = self._coded_again(*before, rows)
        else:
            coded = _each_key_once(Coded(self.keys(rows), self.values(rows)))
        self._before = (rows, coded) if len(coded.keys) == len(rows) else None
        return coded

    def _coded_again(self, before: Table, coded: Coded, rows: Table) -> Coded:
        """The codes of rows of the same keys; the same object if the state is the same, too."""
        others = [
            (place, field.name)
            for place, field in enumerate(self.table.value_fields)
            if rows[field.name] is not before[field.name]
        ]
        if not others:
            return coded
        values = coded.values.copy()
        for place, name in others:
            values[:, place] = self._codes(name, rows[name])
        return Coded(coded.keys, values)

    def values(self, rows: Table) -> npt.NDArray[np.int64]:
        """The codes of the values of a table's rows."""
        values = np.empty((len(rows), len(self.table.value_fields)), np.int64)
        for place, field in enumerate(self.table.value_fields):
            values[:, place] = self._codes(field.name, rows[field.name])
        return values

    def keys(self, rows: Table) -> Integers:
        """The numbers of the keys of a table's rows."""
        codes = [self._codes(name, rows[name]) for name in self.table.keys]
        # The first column is the path's beginning; what stands in the last Paths are whole keys, so it has no holes.
        path, more = (codes[0], codes[1:]) if len(codes) > 1 else (np.zeros(len(rows), np.int64), codes)
        for paths, column in zip(self._key_paths, more, strict=True):
            path = paths.step(path, column)
        numbers = path - 1
        if len(self._key_paths[-1]) - 1 > self.key_count:
            grown = np.zeros((len(self._key_paths[-1]) - 1, len(codes)), np.int64)
            grown[: self.key_count] = self._known_keys
            grown[numbers] = np.column_stack(codes)
            self._known_keys = grown
        return numbers

    def _codes(self, name: str, column: Column) -> Integers:
        null = NOTHING if name in self.table.null_says else UNKNOWN
        if isinstance(column, StringColumn):
            codes = self._words[name].of(column)
            return codes if null == UNKNOWN else np.where(column.codes < 0, null, codes)
        if isinstance(column, IntListColumn):
            codes = self._lists[name].of_lists(column)
        else:
            codes = column.values.astype(np.int64, copy=False)
        return codes if column.valid is None else np.where(column.valid, codes, null)

    def key_columns(self, keys: Integers) -> dict[str, Column]:
        """The columns of the keys of these numbers."""
        codes = self._known_keys[keys]
        fields = self.table.key_fields
        return {field.name: self._column(field.name, field.kind, codes[:, at]) for at, field in enumerate(fields)}

    def columns(self, coded: Coded) -> dict[str, Column]:
        """The columns of keys and values."""
        fields = self.table.value_fields
        values = {
            field.name: self._column(field.name, field.kind, coded.values[:, at]) for at, field in enumerate(fields)
        }
        return {**self.key_columns(coded.keys), **values}

    def table_of(self, coded: Coded) -> Table:
        """The rows as a table of a snapshot; what is measured is null.

        No rows where it cannot be: the size of a replica is known where the replica is, so that nobody takes it for 0.
        """
        schema = self.table.of
        if not all(schema.field(name).nullable for name in self.table.measured):
            return Table.empty(schema)
        columns = self.columns(coded)
        for name in self.table.measured:
            columns[name] = null_column(schema.field(name).kind, len(coded.keys))
        return Table(schema, columns).sorted()

    def _column(self, name: str, kind: Kind, codes: Integers) -> Column:
        known = codes > NOTHING
        valid = None if known.all() else known
        if kind is Kind.STRING:
            return self._words[name].column(np.where(known, codes, -1))
        plain = codes if valid is None else np.where(known, codes, 0)
        if kind is Kind.INT_LIST:
            return self._lists[name].lists(plain, valid)
        return BoolColumn(plain != 0, valid) if kind is Kind.BOOL else IntColumn(plain, valid)
