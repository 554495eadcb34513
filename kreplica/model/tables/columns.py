"""Columns: arrays with a validity mask. Bulk data of a snapshot lives here, never in objects per row.

Every column has a length n and a mask ``valid`` of n booleans, or None when no value is null. Values whose mask is
false are unspecified and must not be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kreplica.model.tables.schema import Kind

Mask: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class IntColumn:
    """n integers, held as int64 whatever their width on disk."""

    values: Integers
    valid: Mask | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int) -> int | None:
        return int(self.values[row]) if self.valid is None or self.valid[row] else None

    def take(self, rows: Indices) -> IntColumn:
        """The named rows, in that order."""
        return IntColumn(self.values[rows], _take_mask(self.valid, rows))

    def to_list(self) -> list[int | None]:
        """Python values, None for null."""
        return _with_nulls(self.values.tolist(), self.valid)


@dataclass(frozen=True, slots=True, eq=False)
class BoolColumn:
    """n booleans."""

    values: Mask
    valid: Mask | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int) -> bool | None:
        return bool(self.values[row]) if self.valid is None or self.valid[row] else None

    def take(self, rows: Indices) -> BoolColumn:
        """The named rows, in that order."""
        return BoolColumn(self.values[rows], _take_mask(self.valid, rows))

    def to_list(self) -> list[bool | None]:
        """Python values, None for null."""
        return _with_nulls(self.values.tolist(), self.valid)

    def is_true(self) -> Mask:
        """Rows that are true; null counts as not true."""
        return self.values if self.valid is None else self.values & self.valid

    def is_null(self) -> Mask:
        """Rows whose value is not known."""
        return np.zeros(len(self.values), dtype=np.bool_) if self.valid is None else ~self.valid


@dataclass(frozen=True, slots=True, eq=False)
class StringColumn:
    """n strings by dictionary: ``codes[i]`` is a position in ``dictionary``, -1 for null."""

    codes: npt.NDArray[np.int32]
    dictionary: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.dictionary[code]

    @property
    def valid(self) -> Mask | None:
        """The mask of rows that are not null, or None if none is."""
        known = self.codes >= 0
        return None if bool(known.all()) else known

    def take(self, rows: Indices) -> StringColumn:
        """The named rows, in that order; the dictionary is shared."""
        return StringColumn(self.codes[rows], self.dictionary)

    def to_list(self) -> list[str | None]:
        """Python values, None for null."""
        words: list[str | None] = [*self.dictionary, None]
        return [words[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class IntListColumn:
    """n lists of integers: row i is ``values[offsets[i]:offsets[i + 1]]``; offsets has n + 1 entries, the first 0."""

    values: Integers
    offsets: Integers
    valid: Mask | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> list[int] | None:
        if self.valid is not None and not self.valid[row]:
            return None
        items: list[int] = self.values[self.offsets[row] : self.offsets[row + 1]].tolist()
        return items

    def lengths(self) -> Integers:
        """Number of elements of each row."""
        return np.diff(self.offsets)

    def row_numbers(self) -> Integers:
        """For each element the row it stands in."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths())

    def take(self, rows: Indices) -> IntListColumn:
        """The named rows, in that order."""
        lengths = self.lengths()[rows]
        offsets = _offsets_of(lengths)
        inside = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], lengths)
        picked = np.repeat(self.offsets[:-1][rows], lengths) + inside
        return IntListColumn(self.values[picked], offsets, _take_mask(self.valid, rows))

    def to_list(self) -> list[list[int] | None]:
        """Python values, None for null."""
        flat = self.values.tolist()
        bounds = self.offsets.tolist()
        lists = [flat[begin:end] for begin, end in pairwise(bounds)]
        return _with_nulls(lists, self.valid)


Column: TypeAlias = IntColumn | BoolColumn | StringColumn | IntListColumn


def column_from_values(kind: Kind, values: Iterable[object]) -> Column:
    """Builds a column of ``kind`` from Python values, None for null."""
    items = list(values)
    if kind is Kind.STRING:
        return _string_column(items)
    if kind is Kind.INT_LIST:
        return _list_column(items)
    valid = np.fromiter((item is not None for item in items), dtype=np.bool_, count=len(items))
    mask = None if bool(valid.all()) else valid
    if kind is Kind.BOOL:
        return BoolColumn(np.fromiter((bool(item) for item in items), dtype=np.bool_, count=len(items)), mask)
    return IntColumn(np.fromiter((item or 0 for item in items), dtype=np.int64, count=len(items)), mask)


def null_column(kind: Kind, length: int) -> Column:
    """A column of ``length`` nulls, for a field that a source cannot know."""
    nothing = np.zeros(length, dtype=np.bool_)
    if kind is Kind.STRING:
        return StringColumn(np.full(length, -1, dtype=np.int32), ())
    if kind is Kind.INT_LIST:
        return IntListColumn(np.empty(0, np.int64), np.zeros(length + 1, np.int64), nothing)
    if kind is Kind.BOOL:
        return BoolColumn(np.zeros(length, np.bool_), nothing)
    return IntColumn(np.zeros(length, np.int64), nothing)


def differing(one: Column, other: Column) -> Mask:
    """Rows in which two columns of one kind and length differ; null is equal to null alone."""
    assert len(one) == len(other), "columns that are compared have one length"
    if isinstance(one, StringColumn):
        assert isinstance(other, StringColumn)
        if one.dictionary == other.dictionary:
            unequal: Mask = one.codes != other.codes
            return unequal
        numbers = {word: number for number, word in enumerate(other.dictionary)}
        as_other = np.array([*(numbers.get(word, -2) for word in one.dictionary), -1], np.int32)
        found: Mask = as_other[one.codes] != other.codes
        return found
    if isinstance(one, IntListColumn):
        assert isinstance(other, IntListColumn)
        found = _lists_differ(one, other)
    else:
        assert not isinstance(other, StringColumn | IntListColumn)
        found = one.values != other.values
    if one.valid is None and other.valid is None:
        return found
    known = [np.ones(len(one), np.bool_) if column.valid is None else column.valid for column in (one, other)]
    against: Mask = known[0] != known[1]
    return against | (found & known[0])


def _lists_differ(one: IntListColumn, other: IntListColumn) -> Mask:
    found: Mask = one.lengths() != other.lengths()
    if found.any():
        alike = np.flatnonzero(~found)
        found[alike] = _lists_differ(one.take(alike), other.take(alike))
    else:
        found[one.row_numbers()[one.values != other.values]] = True
    return found


def joined(one: Column, other: Column) -> Column:
    """The rows of one column, then those of another of the same kind."""
    if isinstance(one, StringColumn):
        assert isinstance(other, StringColumn)
        numbers = {word: number for number, word in enumerate(one.dictionary)}
        codes = [numbers.setdefault(word, len(numbers)) for word in other.dictionary]
        as_one = np.array([*codes, -1], np.int32)
        return StringColumn(np.concatenate([one.codes, as_one[other.codes]]), tuple(numbers))
    valid = None
    if one.valid is not None or other.valid is not None:
        known = [np.ones(len(each), np.bool_) if each.valid is None else each.valid for each in (one, other)]
        valid = np.concatenate(known)
    if isinstance(one, IntListColumn):
        assert isinstance(other, IntListColumn)
        offsets = np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]])
        return IntListColumn(np.concatenate([one.values, other.values]), offsets, valid)
    assert not isinstance(other, StringColumn | IntListColumn)
    return type(one)(np.concatenate([one.values, other.values]), valid)


def _string_column(items: Sequence[object]) -> StringColumn:
    codes: dict[str, int] = {}
    numbers = [-1 if item is None else codes.setdefault(str(item), len(codes)) for item in items]
    return StringColumn(np.array(numbers, dtype=np.int32), tuple(codes))


def _list_column(items: Sequence[object]) -> IntListColumn:
    lists: list[Sequence[int]] = [() if item is None else item for item in items]  # type: ignore[misc]
    valid = np.fromiter((item is not None for item in items), dtype=np.bool_, count=len(items))
    lengths = np.fromiter((len(item) for item in lists), dtype=np.int64, count=len(lists))
    flat = np.fromiter((value for item in lists for value in item), dtype=np.int64, count=int(lengths.sum()))
    return IntListColumn(flat, _offsets_of(lengths), None if bool(valid.all()) else valid)


def _offsets_of(lengths: Integers) -> Integers:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _take_mask(valid: Mask | None, rows: Indices) -> Mask | None:
    if valid is None:
        return None
    taken = valid[rows]
    return None if bool(taken.all()) else taken


def _with_nulls(values: list, valid: Mask | None) -> list:  # type: ignore[type-arg]
    if valid is None:
        return values
    return [value if known else None for value, known in zip(values, valid.tolist(), strict=True)]
