"""Files read one after the other: what did not change is taken over, and everything is as in a file read alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kreplica.errors import InputError
from kreplica.model.tables.schema import BROKERS, PARTITIONS, TABLES
from kreplica.model.tables.table import Table
from kreplica.store import parquet
from kreplica.store.manifest import SnapshotFacts
from kreplica.store.parquet import TableReader, encode_table
from kreplica.store.reading import SnapshotReader, list_manifests, read_snapshot_files

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FACTS = SnapshotFacts("Zk5", "prod", NOON, "kafka")


def partitions(leaders: Sequence[int | None], isr: list[list[int]]) -> Table:
    rows = [
        {"topic": f"t{number}", "partition": 0, "internal": False, "leader": leader, "replicas": [1, 2], "isr": some}
        for number, (leader, some) in enumerate(zip(leaders, isr, strict=True))
    ]
    return Table.from_rows(PARTITIONS, rows)


def rows_of(table: Table) -> list[dict[str, object]]:
    return list(table.rows())


def test_columns_of_the_same_bytes_are_taken_over_and_others_are_decoded() -> None:
    reader = TableReader(PARTITIONS)
    first = reader.read(encode_table(partitions([1, 2, None], [[1], [2, 1], []]), FACTS), "first")
    later = replace(FACTS, taken_at=NOON.replace(hour=13), name="a name that makes the footer longer")
    again = reader.read(encode_table(partitions([1, 2, None], [[1], [2, 1], []]), later), "again")
    assert again is first
    moved = partitions([2, 2, None], [[1, 2], [1, 2], []])
    other = reader.read(encode_table(moved, later), "other")
    kept = {name for name in PARTITIONS.names if other[name] is first[name]}
    assert kept >= {"topic", "partition", "replicas", "internal", "min_isr"}
    assert kept.isdisjoint({"leader", "isr"})
    assert rows_of(other) == rows_of(moved)
    back = reader.read(encode_table(partitions([1, 2, None], [[1], [2, 1], []]), FACTS), "back")
    assert rows_of(back) == rows_of(first)


def test_a_file_that_differs_in_its_facts_alone_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, table = TableReader(PARTITIONS), partitions([1, 2, None], [[1], [2, 1], []])
    first, footer = reader.read_with_footer(encode_table(table, FACTS), "first", 3)
    facts = replace(FACTS, taken_at=NOON.replace(hour=13))
    later = encode_table(table, facts)
    moved = encode_table(partitions([1, 1, None], [[1], [2, 1], []]), facts)
    alone = TableReader(PARTITIONS).read_with_footer(later, "later")[1]

    def refuse(content: object, _: object) -> object:
        raise InputError("it", "", "was opened")

    monkeypatch.setattr(parquet, "_opened", refuse)
    with pytest.raises(InputError, match="was opened"):
        TableReader(PARTITIONS).read(later, "read alone", 3)
    again, texts = reader.read_with_footer(later, "later", 3)
    assert again is first
    assert texts == alone != footer
    flipped = [later[:at] + bytes([later[at] ^ 1]) + later[at + 1 :] for at in (8, len(later) - 40)]
    for other in (moved, later[:-1], *flipped):
        with pytest.raises(InputError, match="was opened"):
            reader.read(other, "other", 3)
    with pytest.raises(InputError, match="was opened"):
        reader.read(later, "of other rows", 4)


def test_rows_that_came_or_went_are_read() -> None:
    reader = TableReader(PARTITIONS)
    leaders: list[int]
    for leaders in ([1, 2], [1, 2, 2], [1], [], [1, 2]):
        table = partitions(leaders, [[1]] * len(leaders))
        assert rows_of(reader.read(encode_table(table, FACTS), "a file")) == rows_of(table)


def test_snapshots_one_after_the_other_are_those_that_are_read_alone(root: Path) -> None:
    manifests = list_manifests([root / "kreplica" / "data" / "fleet"]).manifests
    reader = SnapshotReader()
    taken_over = 0
    before = None
    for manifest in sorted(manifests, key=lambda one: (one.snapshot.label, one.snapshot.taken_at)):
        found, alone = reader.read(manifest), read_snapshot_files(manifest)
        assert SnapshotFacts.of(found) == SnapshotFacts.of(alone)
        for schema in TABLES:
            assert rows_of(found.table(schema)) == rows_of(alone.table(schema)), (manifest.path, schema.name)
            if before is not None:
                taken_over += sum(found.table(schema)[name] is before.table(schema)[name] for name in schema.names)
        before = found
    assert taken_over > 100


@pytest.mark.parametrize("other", [pa.date32(), pa.time32("ms"), pa.float32()])
def test_the_same_bytes_of_another_type_are_refused(other: pa.DataType) -> None:
    def content(kind: pa.DataType) -> bytes:
        numbers = pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(b"\1\0\0\0\2\0\0\0")])
        sink = pa.BufferOutputStream()
        table = pa.table({"broker": pa.array([1, 2], pa.int32()), "port": numbers})
        pq.write_table(table, sink, use_dictionary=False, write_statistics=False, store_schema=False)
        return bytes(sink.getvalue())

    reader = TableReader(BROKERS)
    assert reader.read(content(pa.int32()), "a file").integers("port").to_list() == [1, 2]
    with pytest.raises(InputError, match="column port"):
        reader.read(content(other), "another")
    assert reader.read(content(pa.int32()), "a file").integers("port").to_list() == [1, 2]


def test_a_damaged_page_is_named_though_the_file_before_was_whole() -> None:
    content = encode_table(partitions([1, 2, None], [[1], [2, 1], []]), FACTS)
    reader = TableReader(PARTITIONS)
    reader.read(content, "whole")
    chunk = pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0).column(0)
    at = chunk.data_page_offset + chunk.total_compressed_size // 2
    damaged = content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
    with pytest.raises(InputError, match="not a Parquet file"):
        reader.read(damaged, "damaged")
    assert len(reader.read(content, "whole")) == 3
