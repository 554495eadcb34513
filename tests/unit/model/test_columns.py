"""Columns keep what they are given, nulls included, and take rows as a list would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.tables.columns import BoolColumn, IntListColumn, column_from_values, differing, joined, null_column
from kreplica.model.tables.schema import TABLES, Kind

VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.INT32: st.integers(-(2**31), 2**31 - 1),
    Kind.INT64: st.integers(-(2**63), 2**63 - 1),
    Kind.BOOL: st.booleans(),
    Kind.STRING: st.text(max_size=4),
    Kind.INT_LIST: st.lists(st.integers(-1, 2**31 - 1), max_size=4),
}
KINDS_AND_VALUES = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.lists(st.one_of(st.none(), VALUES[kind]), max_size=12))
)


def test_tables_hold_what_columns_can() -> None:
    assert {field.kind for table in TABLES for field in table.fields} <= VALUES.keys()
    assert set(Kind) - VALUES.keys() == {Kind.FLOAT64}  # of answers only


@given(KINDS_AND_VALUES)
def test_values_come_back(given_column: tuple[Kind, list[Any]]) -> None:
    kind, values = given_column
    column = column_from_values(kind, values)
    assert len(column) == len(values)
    assert column.to_list() == values
    assert [column[row] for row in range(len(values))] == values


@given(KINDS_AND_VALUES, st.data())
def test_take_is_picking_by_position(given_column: tuple[Kind, list[Any]], data: st.DataObject) -> None:
    kind, values = given_column
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=20) if values else st.just([]))
    taken = column_from_values(kind, values).take(np.array(rows, dtype=np.intp))
    assert taken.to_list() == [values[row] for row in rows]
    again = taken.take(np.arange(len(rows))[::-1])
    assert again.to_list() == [values[row] for row in reversed(rows)]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("length", [0, 3])
def test_a_null_column_is_null_throughout(kind: Kind, length: int) -> None:
    column = null_column(kind, length)
    assert column.to_list() == [None] * length
    assert type(column) is type(column_from_values(kind, []))
    assert column.take(np.array([0, 2] if length else [], dtype=np.intp)).to_list() == [None] * (2 if length else 0)


@given(KINDS_AND_VALUES, st.data())
def test_columns_are_compared_and_joined_as_their_values_are(
    given_column: tuple[Kind, list[Any]], data: st.DataObject
) -> None:
    kind, values = given_column
    other = [data.draw(st.sampled_from([value, *values])) for value in values]
    columns = [column_from_values(kind, some) for some in (values, other)]
    assert differing(*columns).tolist() == [one != two for one, two in zip(values, other, strict=True)]
    assert joined(*columns).to_list() == [*values, *other]
    assert joined(columns[0], columns[1].take(np.arange(len(other))[::2])).to_list() == [*values, *other[::2]]


@pytest.mark.parametrize("kind", Kind)
def test_a_mask_stands_only_where_something_is_null(kind: Kind) -> None:
    value = {Kind.STRING: "x", Kind.BOOL: False, Kind.INT_LIST: []}.get(kind, 0)
    assert column_from_values(kind, [value, value]).valid is None
    masked = column_from_values(kind, [value, None])
    assert masked.valid is not None
    assert masked.valid.tolist() == [True, False]
    assert masked.take(np.array([0])).valid is None


def test_what_lies_behind_a_null_is_never_seen() -> None:
    behind = np.array([True, True, False])
    column = BoolColumn(behind, np.array([True, False, True]))
    assert column.to_list() == [True, None, False]
    assert column.is_true().tolist() == [True, False, False]
    assert column.is_null().tolist() == [False, True, False]
    lists = IntListColumn(np.array([1, 2, 3]), np.array([0, 1, 3]), np.array([True, False]))
    assert lists.to_list() == [[1], None]
    assert lists.take(np.array([1, 0])).to_list() == [None, [1]]


def test_without_a_mask_everything_is_known() -> None:
    column = BoolColumn(np.array([True, False]))
    assert column.is_true().tolist() == [True, False]
    assert column.is_null().tolist() == [False, False]


def test_elements_know_their_rows() -> None:
    column = column_from_values(Kind.INT_LIST, [[7, 8], [], None, [9]])
    assert isinstance(column, IntListColumn)
    assert column.lengths().tolist() == [2, 0, 0, 1]
    assert column.row_numbers().tolist() == [0, 0, 3]


@pytest.mark.parametrize("length", [0, 3])
def test_null_lists_have_no_elements(length: int) -> None:
    """Elements are counted and compared without their rows: one more would be a broker that nobody has."""
    column = null_column(Kind.INT_LIST, length)
    assert isinstance(column, IntListColumn)
    assert (column.values.tolist(), column.row_numbers().tolist()) == ([], [])


def test_values_are_of_python_s_own_types() -> None:
    assert type(column_from_values(Kind.INT64, [1])[0]) is int
    assert type(column_from_values(Kind.BOOL, [True])[0]) is bool
    assert type(column_from_values(Kind.INT_LIST, [[1]]).to_list()[0][0]) is int  # type: ignore[index]
