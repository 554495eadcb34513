"""Partitions as bitmasks and back: any number of brokers, members outside the assignment, facts that are not known."""

from __future__ import annotations

from typing import Any

import numpy as np
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given

from kreplica.engine.projection.states import PartitionStates, for_each_state, partition_states


def assert_same_sets(states: PartitionStates, rows: list[dict[str, Any]]) -> None:
    fields = ("replicas", "isr", "elr", "last_known_elr", "offline_replicas")
    masks = (states.replicas, states.isr, states.elr, states.last_known_elr, states.offline)
    for name, found in zip(fields, masks, strict=True):
        lists = states.brokers(found).to_list()
        assert [set(one or ()) for one in lists] == [set(row.get(name) or ()) for row in rows], name
    leaders = [-1 if row["leader"] is None else row["leader"] for row in rows]
    assert states.broker_at(states.leader).tolist() == leaders
    first = states.broker_at(np.zeros(len(rows), dtype=np.int64))
    for number, row in enumerate(rows):
        held = len(dict.fromkeys(row["replicas"]))
        assert states.replicas[number] == (1 << held) - 1  # places follow the assignment
        assert not row["replicas"] or first[number] == row["replicas"][0]


@given(clusters())
def test_there_and_back(cluster: Cluster) -> None:
    states = partition_states(cluster.snapshot())
    assert_same_sets(states, cluster.partitions)
    on = states.brokers(states.on([2, 4])).to_list()
    for number, row in enumerate(cluster.partitions):
        named = {*row["replicas"], *row["isr"], *(row["elr"] or ()), *(row["offline_replicas"] or ()), row["leader"]}
        assert set(on[number] or ()) == named & {2, 4}


def test_a_hundred_brokers_and_a_hundred_replicas() -> None:
    many = list(range(1000, 900, -1))
    rows = [
        partition(number=0, replicas=many, isr=many[50:], leader=many[99]),
        partition(number=1, replicas=[7, 1000], isr=[1000], leader=-1),
    ]
    states = partition_states(snapshot_of(rows))
    assert_same_sets(states, rows)
    assert states.isr.tolist() == [((1 << 100) - 1) & ~((1 << 50) - 1), 0b10]
    assert states.leader.tolist() == [99, -1]


def test_some_rows_of_a_snapshot() -> None:
    rows = [partition(number=0), partition(number=1, replicas=[3, 2], isr=[2], leader=2, elr=[3])]
    assert_same_sets(partition_states(snapshot_of(rows), np.array([1])), rows[1:])


def test_equal_states_are_asked_for_once() -> None:
    asked: list[tuple[int, int]] = []

    def rule(left: int, right: int) -> int:
        asked.append((left, right))
        return left - right

    assert for_each_state(rule, np.array([5, 5, 7, 5]), np.array([1, 1, 1, 2])) == [4, 4, 6, 3]
    assert asked == [(5, 1), (7, 1), (5, 2)]
