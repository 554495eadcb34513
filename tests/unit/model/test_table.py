"""Tables hold the columns of their schema in its order, whatever they are built from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clusters.generated import Cluster, clusters, partition
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.tables.columns import column_from_values
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS, QUORUM, TABLES, Kind, TableSchema
from kreplica.model.tables.table import Table


@given(clusters(), st.randoms(use_true_random=False))
def test_rows_come_back_sorted_whatever_their_order(cluster: Cluster, random: Any) -> None:
    shuffled = cluster.partitions[:]
    random.shuffle(shuffled)
    nothing = dict.fromkeys(PARTITIONS.names)
    expected = [nothing | row for row in sorted(cluster.partitions, key=lambda row: (row["topic"], row["partition"]))]
    by_rows = Table.from_rows(PARTITIONS, shuffled)
    assert list(by_rows.rows()) == expected
    by_columns = Table.from_columns(
        PARTITIONS, {name: [row.get(name) for row in shuffled] for name in PARTITIONS.names}
    )
    assert list(by_columns.rows()) == expected
    assert [by_rows.row(number) for number in range(len(by_rows))] == expected
    assert list(by_rows.sorted().rows()) == expected


def test_text_is_sorted_by_code_point_and_numbers_by_value() -> None:
    rows = [
        partition(topic, number) for topic, number in [("b", 2), ("a", 10), ("B", 0), ("a", 9), ("é", 1), ("a.b", 0)]
    ]
    table = Table.from_rows(PARTITIONS, rows)
    places = [(row["topic"], row["partition"]) for row in table.rows()]
    assert places == [("B", 0), ("a", 9), ("a", 10), ("a.b", 0), ("b", 2), ("é", 1)]


def test_every_key_of_the_sort_counts() -> None:
    rows = [
        {"entity_type": kind, "entity": entity, "name": name, "origin": "topic"}
        for kind in ("topic", "broker")
        for entity in ("2", "1")
        for name in ("b", "a")
    ]
    table = Table.from_rows(CONFIGS, rows)
    assert [tuple(row.values())[:3] for row in table.rows()] == sorted(tuple(row.values())[:3] for row in rows)


def test_take_keeps_rows_whole() -> None:
    table = Table.from_rows(BROKERS, [{"broker": number, "rack": f"r{number}"} for number in range(4)])
    taken = table.take(np.array([3, 1]))
    assert [(row["broker"], row["rack"]) for row in taken.rows()] == [(3, "r3"), (1, "r1")]
    assert len(table.take(np.array([], dtype=np.intp))) == 0


@pytest.mark.parametrize("schema", TABLES, ids=lambda schema: schema.name)
def test_empty_tables(schema: TableSchema) -> None:
    for table in (Table.empty(schema), Table.from_rows(schema, []), Table.from_columns(schema, {})):
        assert len(table) == 0
        assert list(table.rows()) == []
        assert len(table.sorted()) == 0
        assert table.columns.keys() == set(schema.names)


def test_a_field_left_out_is_null() -> None:
    table = Table.from_columns(BROKERS, {"broker": [1, 2]})
    assert table["rack"].to_list() == [None, None]


def test_unknown_and_missing_fields_are_named() -> None:
    with pytest.raises(KeyError, match=r"no field.*colour"):
        Table.from_columns(BROKERS, {"broker": [1], "colour": ["red"]})
    with pytest.raises(KeyError, match="needs the field broker"):
        Table.from_columns(BROKERS, {"rack": ["a"]})


def test_columns_fit_the_schema_and_one_another() -> None:
    columns = dict(Table.empty(QUORUM).columns)
    with pytest.raises(AssertionError, match="one length"):
        Table(QUORUM, columns | {"node": column_from_values(Kind.INT32, [1])})
    del columns["node"]
    with pytest.raises(AssertionError, match="columns of its schema"):
        Table(QUORUM, columns)


def test_schemas_hang_together() -> None:
    for schema in TABLES:
        assert len(set(schema.names)) == len(schema.names)
        for name in schema.sort:
            assert not schema.field(name).nullable, "what a table is sorted by is always known"
        with pytest.raises(KeyError):
            schema.field("colour")
