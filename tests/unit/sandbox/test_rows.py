"""Sandboxes as rows, without processes: what the brokers told, and what a load counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kreplica.sandbox import LoadResult
from kreplica.sandbox.load.ledger import PartitionLoad
from kreplica.sandbox.rows import load_rows, topic_rows

COUNTS = {
    "sent": 9,
    "acknowledged": 8,
    "refused": 1,
    "read_back": 7,
    "lost": 1,
    "unread": 0,
    "duplicated": 2,
    "out_of_order": 3,
}


def test_each_partition_has_its_account() -> None:
    result = cast("LoadResult", SimpleNamespace(partitions=[PartitionLoad(partition=4, **COUNTS)]))
    (row,) = load_rows(result, "orders")
    assert {name: getattr(row, name) for name in row.__struct_fields__} == {"topic": "orders", "partition": 4, **COUNTS}


def test_a_topic_that_nobody_tells_of_has_no_rows() -> None:
    told = SimpleNamespace(id=1, leader=2, replicas=(2, 3), isrs=(2,))
    metadata = SimpleNamespace(topics={"orders": SimpleNamespace(partitions={1: told})})

    def rows(topic: str, found: object) -> list[tuple[object, ...]]:
        sandbox: Any = SimpleNamespace(metadata=lambda: found)
        return [(row.topic, row.partition, row.leader, row.replicas, row.isr) for row in topic_rows(sandbox, topic)]

    assert rows("orders", metadata) == [("orders", 1, 2, [2, 3], [2])]
    assert rows("gone", metadata) == rows("orders", None) == []
