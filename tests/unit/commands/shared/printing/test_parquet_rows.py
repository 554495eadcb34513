"""Rows of any answer as Arrow: types by declaration, otherwise by what the values show."""

from __future__ import annotations

import pyarrow as pa
import pytest

from commands.shared.printing.parquet_rows import arrow_table
from kreplica.model.tables.schema import Kind


@pytest.mark.parametrize(
    ("values", "kind", "cells"),
    [
        ([1, None], pa.int64(), [1, None]),
        ([True, None], pa.bool_(), [True, None]),
        ([[1], [], None], None, [[1], [], None]),
        ([[2**31], []], pa.string(), ["[2147483648]", "[]"]),
        (["x", None], pa.string(), ["x", None]),
        ([None, None], pa.string(), [None, None]),
        ([], pa.string(), []),
        ([1, "x"], pa.string(), ["1", "x"]),
        ([True, 1], pa.string(), ["true", "1"]),
        ([1.5, 2.0, None], pa.float64(), [1.5, 2.0, None]),
        ([1.5, 2], pa.string(), ["1.5", "2"]),
        ([{"ä": [1]}], pa.string(), ['{"ä": [1]}']),
        ([[{"a": 1}], []], pa.string(), ['[{"a": 1}]', "[]"]),
        ([["a"], []], pa.string(), ['["a"]', "[]"]),
    ],
)
def test_kinds_are_seen_from_values(values: list[object], kind: pa.DataType | None, cells: list[object]) -> None:
    table = arrow_table(["x"], [[value] for value in values], {})
    assert table["x"].to_pylist() == cells
    found = table.schema.field("x").type
    assert found == kind if kind is not None else found.value_type == pa.int32()


def test_declared_kinds_hold_without_values() -> None:
    kinds = {"a": Kind.INT32, "b": Kind.BOOL, "c": Kind.INT_LIST, "d": Kind.INT64, "f": Kind.FLOAT64}
    rows: list[list[None]]
    for rows in ([], [[None] * 6]):
        table = arrow_table(["d", "a", "b", "f", "c", "e"], rows, kinds)
        assert table.schema.names == ["d", "a", "b", "f", "c", "e"]
        assert [str(field.type) for field in table.schema][:4] == ["int64", "int32", "bool", "double"]
        assert table.schema.field("c").type.value_type == pa.int32()
        assert table.num_rows == len(rows)
