"""Snapshots come out of the store as they went in, whatever they hold: every table, every column, every null."""

from __future__ import annotations

import tempfile
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import PARTITIONS, TABLES, Field, Kind, TableSchema
from kreplica.model.tables.table import Table
from kreplica.store.reading import read_dump_directory
from kreplica.store.writing import write_snapshot

INT32, INT64 = 2**31 - 1, 2**63 - 1
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
"""Any text that UTF-8 can say."""
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.INT32: st.integers(-INT32 - 1, INT32),
    Kind.INT64: st.integers(-INT64 - 1, INT64),
    Kind.BOOL: st.booleans(),
    Kind.STRING: TEXT,
    Kind.INT_LIST: st.lists(st.integers(-INT32 - 1, INT32), max_size=4),
}


def values_of(field: Field) -> st.SearchStrategy[Any]:
    return st.none() | VALUES[field.kind] if field.nullable else VALUES[field.kind]


def rows_of(schema: TableSchema) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of a table, each of its own place."""
    row = st.fixed_dictionaries({field.name: values_of(field) for field in schema.fields})
    return st.lists(row, max_size=4, unique_by=lambda each: tuple(each[name] for name in schema.sort))


GAPS = st.builds(Gap, st.sampled_from(["hidden-topics", "torn-read"]), TEXT, st.integers(0, INT64))
MILLISECONDS = st.integers(0, 4_000_000_000_000)
FACTS = st.fixed_dictionaries(
    {
        "cluster_id": st.none() | st.from_regex(r"[A-Za-z0-9_-]{1,22}", fullmatch=True),
        "name": TEXT.filter(bool),
        "taken_at": MILLISECONDS.map(lambda count: datetime(1970, 1, 2, tzinfo=UTC) + timedelta(milliseconds=count)),
        "source": st.sampled_from(["kafka", "zookeeper", "describe-text"]),
        "controller": st.none() | st.integers(0, INT32),
        "controller_epoch": st.none() | st.integers(0, INT32),
        "metadata_offset": st.none() | st.integers(0, INT64),
        "features": st.dictionaries(TEXT.filter(bool), st.integers(0, 100), max_size=3),
        "gaps": st.lists(GAPS, max_size=2).map(tuple),
        "notes": st.lists(TEXT, max_size=2).map(tuple),
    }
)
SNAPSHOTS = st.tuples(FACTS, st.fixed_dictionaries({schema.name: rows_of(schema) for schema in TABLES}))


@examples(0.4)
@given(SNAPSHOTS)
def test_a_whole_snapshot_comes_back(given: tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]) -> None:
    facts, rows = given
    tables = {schema.name: Table.from_rows(schema, rows[schema.name]) for schema in TABLES}
    of_the_reading = {"dumped", "as_of", "measured"}
    assert {field.name for field in fields(ClusterSnapshot)} == {*facts, *tables, *of_the_reading}, (
        "nothing is left out"
    )
    with tempfile.TemporaryDirectory() as name:
        write_snapshot(ClusterSnapshot(**facts, **tables), Path(name))
        read = read_dump_directory(Path(name))
    assert {fact: getattr(read, fact) for fact in facts} == facts
    for schema in TABLES:
        expected = sorted(rows[schema.name], key=lambda row: tuple(row[key] for key in schema.sort))
        assert list(read.table(schema).rows()) == expected, schema.name


def test_the_values_of_every_kind_are_drawn() -> None:
    assert {field.kind for schema in TABLES for field in schema.fields} == set(VALUES)
    assert any(field.nullable for field in PARTITIONS.fields)
