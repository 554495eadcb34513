"""Counts and groups against plain counting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st
from plain import reference as plain_reference

from kreplica.health.listing import PlaceGroup, TopicGroup, by_broker, by_rack, by_topic, count_all
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import PREDICATES


@given(clusters())
def test_counts(cluster: Cluster) -> None:
    counts = count_all(Evaluator(cluster.snapshot()))
    assert [count.predicate for count in counts] == list(PREDICATES)
    judged = [plain_reference.predicates(row, cluster.brokers) for row in cluster.partitions]
    for count in counts:
        answers = Counter(row[count.predicate.name] for row in judged)
        assert (count.true, count.unknown) == (answers[True], answers[None])


def picked(data: st.DataObject, cluster: Cluster) -> list[int]:
    return data.draw(
        st.lists(st.integers(0, len(cluster.partitions) - 1), unique=True) if cluster.partitions else st.just([])
    )


@given(clusters(), st.data())
def test_topics(cluster: Cluster, data: st.DataObject) -> None:
    rows = sorted(picked(data, cluster))
    some = Counter(cluster.partitions[row]["topic"] for row in rows)
    whole = Counter(row["topic"] for row in cluster.partitions)
    expected = [TopicGroup(topic, count, whole[topic]) for topic, count in some.items()]
    found = by_topic(Evaluator(cluster.snapshot()), np.array(rows, dtype=np.intp))
    assert found == sorted(expected, key=lambda group: (-group.partitions, group.topic))


def plain_groups(cluster: Cluster, rows: list[int], label: Callable[[int], Any]) -> dict[Any, PlaceGroup]:
    missing, leading, holding = (defaultdict[Any, set[int]](set) for _ in range(3))
    for number in rows:
        row = cluster.partitions[number]
        for broker in row["replicas"]:
            holding[label(broker)].add(number)
        for broker in plain_reference.missing(row):
            missing[label(broker)].add(number)
        if row["leader"] not in (None, -1):
            leading[label(row["leader"])].add(number)
    labels = {*missing, *leading, *holding}
    return {name: PlaceGroup(name, len(missing[name]), len(leading[name]), len(holding[name])) for name in labels}


@given(clusters(), st.data())
def test_brokers_and_racks(cluster: Cluster, data: st.DataObject) -> None:
    rows = sorted(picked(data, cluster))
    evaluator, indices = Evaluator(cluster.snapshot()), np.array(rows, dtype=np.intp)
    racks = {row["broker"]: row["rack"] for row in cluster.brokers}
    for found, label in (
        (by_broker(evaluator, indices), lambda broker: broker),
        (by_rack(evaluator, indices), racks.get),
    ):
        assert {group.label: group for group in found} == plain_groups(cluster, rows, label)
        order = [(-group.missing, -group.partitions, str(group.label)) for group in found]
        assert order == sorted(order)


def test_two_replicas_in_one_rack_are_one_partition_there() -> None:
    brokers = [{"broker": number, "rack": "a" if number < 3 else None} for number in (1, 2, 3)]
    evaluator = Evaluator(snapshot_of([partition(isr=[3], leader=3)], brokers))
    assert by_rack(evaluator, np.array([0])) == [PlaceGroup("a", 1, 0, 1), PlaceGroup(None, 0, 1, 1)]


def test_no_leader_and_one_not_known_lead_from_nowhere() -> None:
    rows = [
        partition(number=0, leader=None),
        partition(number=1, leader=-1),
        partition(number=2, leader=0, replicas=[0]),
    ]
    groups = by_broker(Evaluator(snapshot_of(rows)), np.arange(3))
    assert {group.label: group.leading for group in groups} == {0: 1, 1: 0, 2: 0, 3: 0}


def test_nothing_picked_gives_no_groups() -> None:
    evaluator, nothing = Evaluator(snapshot_of([partition()])), np.array([], dtype=np.intp)
    assert by_topic(evaluator, nothing) == []
    assert by_broker(evaluator, nothing) == []
    assert by_rack(evaluator, nothing) == []
