"""Two snapshots compared: what differs, which side is newer, what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from clusters.generated import clusters, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.model.comparison import COMPARED, SETS, Comparison, Side, compare
from kreplica.model.snapshot import ClusterSnapshot

SNAPSHOTS = clusters().map(lambda cluster: snapshot_of(cluster.partitions, cluster.brokers))
KNOWN: dict[str, Any] = {"leader_epoch": 5, "partition_epoch": 9, "elr": [], "offline_replicas": []}


def of(**fields: Any) -> ClusterSnapshot:
    return snapshot_of([partition(**{**KNOWN, **fields})], [{"broker": 1, "alive": True, "rack": "a"}])


def found(left: ClusterSnapshot, right: ClusterSnapshot) -> list[tuple[Any, ...]]:
    differences = compare(left, right).differences
    return [(one.field, one.left, one.right, one.newer and one.newer.value) for one in differences]


@given(SNAPSHOTS)
def test_a_snapshot_is_the_same_as_itself(snapshot: ClusterSnapshot) -> None:
    comparison = compare(snapshot, snapshot)
    assert comparison.differences == ()
    assert comparison.unknown == {}
    assert comparison.partitions == len(snapshot.partitions)


@given(SNAPSHOTS, SNAPSHOTS)
def test_the_other_way_round_is_the_mirror_image(first: ClusterSnapshot, second: ClusterSnapshot) -> None:
    first, second = (replace(one, cluster_id=None) for one in (first, second))
    there, back = compare(first, second), compare(second, first)

    def sides(comparison: Comparison) -> set[tuple[Any, ...]]:
        return {(one.key, one.left, one.right, one.newer) for one in comparison.differences}

    def swapped(side: Side | None) -> Side | None:
        return side.other if side is not None else None

    assert {(key, right, left, swapped(newer)) for key, left, right, newer in sides(there)} == sides(back)
    assert there.unknown == back.unknown


OTHER = {"leader": 2, "replicas": [2, 1, 3], "recovery_state": 1, "leader_epoch": 6, "partition_epoch": 10}


@given(st.sampled_from([field for field in COMPARED if field in KNOWN or field in ("leader", "replicas", "isr")]))
def test_exactly_the_changed_fact_is_told(field: str) -> None:
    value = OTHER.get(field, [2])
    assert [one[0] for one in found(of(), of(**{field: value}))] == [field]


@pytest.mark.parametrize("field", SETS)
def test_the_order_of_a_set_means_nothing_and_that_of_replicas_something(field: str) -> None:
    assert found(of(**{field: [3, 1, 2]}), of(**{field: [1, 2, 3]})) == []
    assert found(of(replicas=[1, 2, 3]), of(replicas=[2, 1, 3])) == [("replicas", "1,2,3", "2,1,3", None)]


def test_the_higher_leader_epoch_is_newer_whatever_the_partition_epoch() -> None:
    left, right = of(leader=2, leader_epoch=6, partition_epoch=1, isr=[2]), of()
    assert found(left, right) == [
        ("leader", "2", "1", "left"),
        ("leader_epoch", "6", "5", "left"),
        ("partition_epoch", "1", "9", "left"),
        ("isr", "2", "1,2,3", "left"),
    ]
    assert compare(left, right).differences[0].meaning == "the right side is stale: leader epoch 5 there, 6 on the left"


def test_the_partition_epoch_tells_within_one_leader_epoch() -> None:
    left, right = of(isr=[1, 2, 3]), of(isr=[1], partition_epoch=11)
    assert found(left, right) == [("partition_epoch", "9", "11", "right"), ("isr", "1,2,3", "1", "right")]
    meaning = compare(left, right).differences[1].meaning
    assert meaning == "the left side is stale: partition epoch 9 there, 11 on the right"


def test_without_an_epoch_nobody_is_called_newer() -> None:
    left, right = of(isr=[1], partition_epoch=None), of(partition_epoch=None)
    assert found(left, right) == [("isr", "1", "1,2,3", None)]
    assert "no epoch tells which side is newer" in compare(left, right).differences[0].meaning
    two = compare(of(leader=2), of()).differences[0]
    assert two.meaning.startswith("two leaders in one leader epoch")


def test_what_one_side_cannot_know_is_counted() -> None:
    comparison = compare(of(leader_epoch=None, elr=None), of())
    assert comparison.differences == ()
    assert comparison.unknown == {"leader_epoch": 1, "elr": 1}
    assert compare(of(leader=-1), of(leader=2)).differences[0].left == "none"


def test_partitions_and_topics_that_one_side_lacks() -> None:
    left = snapshot_of([partition("a", 0), partition("a", 1), partition("b", 0)])
    right = snapshot_of([partition("a", 0), partition("c", 0)])
    differences = compare(left, right).differences
    assert [(*one.key[:2], one.left, one.right) for one in differences] == [
        ("a", 1, "yes", None),
        ("b", 0, "yes", None),
        ("c", 0, None, "yes"),
    ]
    assert "the right side has no such partition" in differences[0].meaning
    assert "the right side has no such topic" in differences[1].meaning


def test_a_topic_made_anew_is_one_difference() -> None:
    left, right = of(topic_id="old", leader=1), of(topic_id="new", leader=2, isr=[])
    assert found(left, right) == [("topic_id", "old", "new", None)]


def test_brokers_alive_on_one_side_only() -> None:
    def brokers(*rows: dict[str, Any]) -> ClusterSnapshot:
        return snapshot_of([], rows)

    one, dead = {"broker": 1, "alive": True, "rack": "a"}, {"broker": 2, "alive": False}
    assert found(brokers(one), brokers()) == [("exists", "alive", None, None)]
    assert found(brokers(one, dead), brokers(one)) == []
    assert found(brokers(one), brokers({**one, "alive": False, "rack": "b"})) == [
        ("alive", "yes", "no", None),
        ("rack", "a", "b", None),
    ]


def test_controllers_are_compared_where_they_are_facts() -> None:
    def told(source: str, controller: int | None, **facts: Any) -> ClusterSnapshot:
        return snapshot_of([], source=source, controller=controller, **facts)

    kraft = {"features": {"metadata.version": 27}}
    assert found(told("kafka", 1, **kraft), told("kafka", 2, **kraft)) == []
    assert found(told("kcat-json", 1), told("kcat-json", 2)) == []
    assert found(told("kafka", 1), told("kafka", 2)) == [("controller", "1", "2", None)]
    assert found(told("zookeeper", None), told("kafka", 2)) == [("controller", None, "2", None)]
    assert found(told("zookeeper", 1), told("describe-text", None)) == []
    newer = told("znode-json", 3, controller_epoch=8), told("zookeeper", 1, controller_epoch=7)
    assert found(*newer) == [("controller_epoch", "8", "7", "left"), ("controller", "3", "1", "left")]


def test_two_clusters_are_not_compared() -> None:
    with pytest.raises(UsageError, match="these are two clusters"):
        compare(snapshot_of([], cluster_id="a"), snapshot_of([], cluster_id="b"))
    assert compare(snapshot_of([], cluster_id=None), snapshot_of([], cluster_id="b")).differences == ()
