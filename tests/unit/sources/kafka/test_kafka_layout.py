"""Pure parts of reading a layout: topic ids, pages, torn reassignments, the tables."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from kreplica.model.tables.schema import GROUPS
from kreplica.sources.kafka.groups import Committed
from kreplica.sources.kafka.layout import Broker, Layout, Partition, pages, topic_id_text
from kreplica.sources.kafka.reassignments import Move, topics_behind, torn_partitions
from kreplica.sources.kafka.snapshot import brokers_table, partitions_table, table_of


def partition(topic: str, number: int, replicas: list[int]) -> Partition:
    return Partition(topic, None, False, number, replicas[0], 5, replicas, replicas, [])


def layout(*partitions: Partition) -> Layout:
    brokers = (Broker(1, "a", 9092, "r", True, False), Broker(2, "b", 9092, None, False, True))
    return Layout("cluster", 1, brokers, list(partitions))


def test_topic_ids_look_as_kafka_prints_them() -> None:
    # The same topic of a 4.3.1 cluster: its id in a Metadata answer, and as `kafka-topics --describe` prints it.
    assert topic_id_text(uuid.UUID("9a44ce3e-071a-44b7-8dbd-404d302d4f4b")) == "mkTOPgcaRLeNvUBNMC1PSw"
    assert topic_id_text(uuid.UUID(int=0)) is None
    assert topic_id_text(None) is None


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, []),
        ({"a": 1}, [["a"]]),
        ({"a": 6, "b": 4, "c": 1}, [["a", "b"], ["c"]]),
        ({"a": 25, "b": 1}, [["a"], ["b"]]),
        ({"a": 1, "b": 25, "c": 1}, [["a"], ["b"], ["c"]]),
    ],
)
def test_pages_hold_what_one_answer_holds(sizes: dict[str, int], expected: list[list[str]]) -> None:
    assert list(pages(sizes, 10)) == expected


def test_a_reassignment_is_torn_when_its_replicas_are_others() -> None:
    seen = layout(partition("t", 0, [1, 2]), partition("t", 1, [1, 2]), partition("u", 0, [1, 2, 3]))
    moves = {
        ("t", 0): Move([2, 1], [], []),
        ("t", 1): Move([1, 2, 3], [3], []),
        ("u", 0): Move([1, 2, 3], [3], [1]),
        ("created-since", 0): Move([1], [1], []),
    }
    assert torn_partitions(seen, moves) == [("t", 1)]


def test_topics_are_behind_with_a_replica_that_is_up_and_that_no_move_concerns() -> None:
    seen = layout(
        partition("in-sync", 0, [1, 2]),
        replace(partition("behind", 0, [1, 3, 2]), isr=[1, 2]),
        replace(partition("moving", 0, [1, 3, 2]), isr=[1, 2]),
        replace(partition("down", 0, [1, 2]), isr=[1], offline_replicas=[2]),
        replace(partition("not-told", 0, [1, 2]), isr=[1], offline_replicas=None),
    )
    assert topics_behind(seen, {("moving", 0): Move([1, 3, 2], [3], [2])}) == {"behind", "not-told"}


def test_partitions_carry_moves_settings_and_offsets() -> None:
    table = partitions_table(
        layout(partition("t", 1, [2, 1]), partition("t", 0, [1, 2]), partition("u", 0, [1])),
        {("t", 0): Move([1, 2], [2], [1])},
        {"t": (2, True)},
        {"high_watermark": {("t", 0): 7}},
    )
    rows = list(table.rows())
    assert [(row["topic"], row["partition"]) for row in rows] == [("t", 0), ("t", 1), ("u", 0)]
    assert [row["adding"] for row in rows] == [[2], [], []]
    assert [row["removing"] for row in rows] == [[1], [], []]
    assert [row["min_isr"] for row in rows] == [2, 2, None]
    assert [row["unclean_leader_election"] for row in rows] == [True, True, None]
    assert [row["high_watermark"] for row in rows] == [7, None, None]
    assert [row["end_offset"] for row in rows] == [None] * 3


def test_moves_that_are_not_known_are_null_and_not_empty() -> None:
    table = partitions_table(layout(partition("t", 0, [1])), None, {}, {})
    assert (table.row(0)["adding"], table.row(0)["removing"]) == (None, None)


def test_brokers_that_only_assignments_name_are_not_alive() -> None:
    rows = list(brokers_table(layout(partition("t", 0, [1, 2, 9]))).rows())
    assert [(row["broker"], row["host"], row["alive"], row["fenced"]) for row in rows] == [
        (1, "a", True, False),
        (2, "b", False, True),
        (9, None, False, None),
    ]


def test_named_tuples_become_rows() -> None:
    rows = [Committed("g", None, "classic", "t", 1, 5, None, ""), Committed("a", None, None, "t", 0, 6, 2, "m")]
    assert [row["group"] for row in table_of(GROUPS, rows).rows()] == ["a", "g"]
    assert len(table_of(GROUPS, [])) == 0
