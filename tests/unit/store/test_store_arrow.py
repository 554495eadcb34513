"""Tables become Arrow tables and back without loss; pyarrow's own row conversion is the independent judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import InputError
from kreplica.model.tables.columns import IntColumn, IntListColumn
from kreplica.model.tables.schema import BROKERS, LOG_DIRS, PARTITIONS, TABLES, Field, Kind, TableSchema
from kreplica.model.tables.table import Table
from kreplica.store.arrow import arrow_schema, check_columns, read_columns, to_arrow

INT32 = st.integers(-(2**31), 2**31 - 1)
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.INT32: INT32,
    Kind.INT64: st.integers(-(2**63), 2**63 - 1),
    Kind.BOOL: st.booleans(),
    Kind.STRING: st.text(max_size=8),
    Kind.INT_LIST: st.lists(INT32, max_size=5),
}


def from_arrow(schema: TableSchema, arrow: pa.Table, source: str) -> Table:
    """The table that an Arrow table holds, checked and read as a file's row groups are."""
    check_columns(schema, arrow.schema.names, source)
    return Table(schema, read_columns(schema.fields, arrow, source))


def _value(field: Field) -> st.SearchStrategy[Any]:
    return st.none() | VALUES[field.kind] if field.nullable else VALUES[field.kind]


def _row(schema: TableSchema) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({field.name: _value(field) for field in schema.fields})


SCHEMAS_AND_ROWS = st.sampled_from(TABLES).flatmap(
    lambda schema: st.tuples(st.just(schema), st.lists(_row(schema), max_size=12))
)


def _table_in_order(schema: TableSchema, rows: list[dict[str, Any]]) -> Table:
    """Rows as they are: from_rows would sort them."""
    from kreplica.model.tables.columns import column_from_values

    columns = {field.name: column_from_values(field.kind, [row[field.name] for row in rows]) for field in schema.fields}
    return Table(schema, columns)


@given(SCHEMAS_AND_ROWS)
def test_pyarrow_reads_the_rows_that_went_in(example: tuple[TableSchema, list[dict[str, Any]]]) -> None:
    schema, rows = example
    arrow = to_arrow(_table_in_order(schema, rows))
    arrow.validate(full=True)
    assert arrow.schema == arrow_schema(schema)
    assert arrow.to_pylist() == rows


@given(SCHEMAS_AND_ROWS, st.integers(1, 4))
def test_rows_that_pyarrow_made_are_read(example: tuple[TableSchema, list[dict[str, Any]]], chunk: int) -> None:
    schema, rows = example
    whole = pa.Table.from_pylist(rows, schema=arrow_schema(schema))
    chunked = pa.concat_tables(whole.slice(begin, chunk) for begin in range(0, max(len(rows), 1), chunk))
    assert list(from_arrow(schema, chunked, "x").rows()) == rows


@given(SCHEMAS_AND_ROWS, st.integers(0, 6), st.integers(0, 6))
def test_slices_are_read(example: tuple[TableSchema, list[dict[str, Any]]], begin: int, length: int) -> None:
    schema, rows = example
    arrow = pa.Table.from_pylist(rows, schema=arrow_schema(schema)).slice(begin, length)
    assert list(from_arrow(schema, arrow, "x").rows()) == rows[begin : begin + length]


def _brokers(**columns: Any) -> pa.Table:
    return pa.table({"broker": pa.array([1, 2], pa.int32()), **columns})


@pytest.mark.parametrize(
    "hosts",
    [
        pa.array(["b", None], pa.large_string()),
        pa.array(["b", None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([1, None], pa.int8()), pa.array(["a", "b"])),
    ],
    ids=["large", "dictionary", "narrow codes"],
)
def test_strings_of_other_writers(hosts: pa.Array) -> None:
    assert from_arrow(BROKERS, _brokers(host=hosts), "x")["host"].to_list() == ["b", None]


@pytest.mark.parametrize("width", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64()], ids=str)
def test_integers_of_other_widths(width: pa.DataType) -> None:
    assert from_arrow(BROKERS, _brokers(port=pa.array([92, None], width)), "x")["port"].to_list() == [92, None]


def test_lists_of_other_widths() -> None:
    rows = [{"topic": "t", "partition": 0, "internal": False, "replicas": [1, 2], "isr": [2]}]
    arrow = pa.Table.from_pylist(rows)  # pyarrow's own guess: int64 and list<int64>
    large = arrow.set_column(3, "replicas", arrow["replicas"].cast(pa.large_list(pa.int64())))
    for form in (arrow, large):
        assert from_arrow(PARTITIONS, form, "x").row(0)["replicas"] == [1, 2]


def test_a_column_of_nulls_without_type_is_null() -> None:
    assert from_arrow(BROKERS, _brokers(rack=pa.nulls(2)), "x")["rack"].to_list() == [None, None]


def test_unknown_columns_are_ignored_and_absent_ones_null() -> None:
    table = from_arrow(BROKERS, _brokers(colour=pa.array(["red", "blue"])), "x")
    expected = {"broker": 1} | dict.fromkeys(
        ["host", "port", "rack", "alive", "fenced", "version", "cordoned", "down_since_ms"]
    )
    assert table.row(0) == expected


def test_what_lies_behind_a_null_is_not_looked_at() -> None:
    """The model leaves it unspecified: here it fits no int32."""
    valid = np.array([True, False])
    table = Table.from_rows(BROKERS, [{"broker": 1}, {"broker": 2}])
    port = IntColumn(np.array([9092, 2**40]), valid)
    assert to_arrow(Table(BROKERS, {**table.columns, "port": port}))["port"].to_pylist() == [9092, None]
    rows = [{"topic": "t", "partition": n, "internal": False, "replicas": [1], "isr": [1]} for n in range(2)]
    partitions = Table.from_rows(PARTITIONS, rows)
    elr = IntListColumn(np.array([7, 2**40, 8]), np.array([0, 1, 3]), valid)
    assert to_arrow(Table(PARTITIONS, {**partitions.columns, "elr": elr}))["elr"].to_pylist() == [[7], None]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"port": pa.array(["a", "b"])}, ("column port", "expected int32", "found string")),
        ({"port": pa.array([1.0, 2.0])}, ("column port", "expected int32", "found double")),
        ({"port": pa.array([1, 2**31])}, ("column port", "expected int32", "2147483648")),
        ({"host": pa.array([1, 2])}, ("column host", "expected string", "found int64")),
        ({"host": pa.array([b"\xff", b"a"])}, ("column host", "expected string", "found binary")),
        ({"alive": pa.array([0, 1])}, ("column alive", "expected bool", "found int64")),
        ({"broker": pa.array([1, None], pa.int32())}, ("column broker", "null in 1 of 2 rows")),
    ],
)
def test_another_type_is_named(columns: dict[str, pa.Array], words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        from_arrow(BROKERS, _replaced(columns), "file.parquet")
    for word in ("file.parquet", *words):
        assert word in str(caught.value)


def _replaced(columns: dict[str, pa.Array]) -> pa.Table:
    return pa.table({"broker": pa.array([1, 2], pa.int32()), **columns})


@pytest.mark.parametrize(
    "lists", [pa.array([[1, None]]), pa.array([["a"]]), pa.array([1])], ids=["null element", "strings", "no list"]
)
def test_other_lists_are_refused(lists: pa.Array) -> None:
    row = {"topic": "t", "partition": 0, "internal": False, "isr": [1]}
    arrow = pa.Table.from_pylist([row]).append_column("replicas", lists)
    with pytest.raises(InputError, match="column replicas"):
        from_arrow(PARTITIONS, arrow, "x")


def test_an_absent_column_that_may_not_be_null_is_named() -> None:
    with pytest.raises(InputError, match=r"column path; it is not there.*found broker"):
        from_arrow(LOG_DIRS, pa.table({"broker": pa.array([1])}), "x")


def test_a_column_that_is_there_twice_is_named() -> None:
    arrow = _brokers(host=pa.array(["a", "b"])).append_column("host", pa.array(["c", "d"]))
    with pytest.raises(InputError, match="column host; it stands there twice"):
        from_arrow(BROKERS, arrow, "x")


def test_an_int32_column_refuses_what_does_not_fit() -> None:
    table = Table(
        BROKERS, {**Table.from_rows(BROKERS, [{"broker": 1}]).columns, "broker": IntColumn(np.array([2**31]))}
    )
    with pytest.raises(AssertionError, match="int32"):
        to_arrow(table)
