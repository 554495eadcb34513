"""What the brokers of a sandbox tell of its cluster, a view each: a thing has come about when every view shows it.

A broker hears of each change in its own time, so what one of them tells another may not know yet. A view is None where
a broker does not answer; it shows nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata, PartitionMetadata

    Views = Sequence[ClusterMetadata | None]


def count_alive(views: Views, expected: Collection[int], gone: Collection[int]) -> bool:
    """Tell whether all the expected brokers are alive in every view, and none of those that shall be gone."""
    return all(view and view.brokers.keys() >= {*expected} and not view.brokers.keys() & {*gone} for view in views)


def show_isr(views: Views, topic: str, partition: int, isr: Collection[int]) -> bool:
    """Tell whether a partition has these in-sync replicas, as a set, in every view; not so where there is no view."""
    return bool(views) and all(set(in_sync_replicas(view, topic, partition)) == {*isr} for view in views)


def show_partitions(views: Views, topic: str, count: int) -> bool:
    """Tell whether a topic has so many partitions in every view; 0 where it shall not be known."""
    return all(view and len(_partitions(view, topic)) == count for view in views)


def show_health(views: Views) -> bool:
    """Tell whether every partition has a leader and all its replicas in sync in every view."""
    return bool(views) and all(
        view and all(_is_healthy(one) for topic in view.topics for one in _partitions(view, topic).values())
        for view in views
    )


def in_sync_replicas(view: ClusterMetadata | None, topic: str, partition: int) -> list[int]:
    """Return a partition's in-sync replicas; empty if the topic or partition is not known."""
    found = _partitions(view, topic).get(partition) if view else None
    return list(found.isrs) if found else []


def leaders_of(view: ClusterMetadata, topic: str) -> dict[int, int]:
    """Return the leader of each partition, -1 for none, by partition."""
    return {number: one.leader for number, one in _partitions(view, topic).items()}


def _partitions(view: ClusterMetadata, topic: str) -> dict[int, PartitionMetadata]:
    return view.topics[topic].partitions if topic in view.topics else {}


def _is_healthy(partition: PartitionMetadata) -> bool:
    return partition.leader >= 0 and {*partition.isrs} == {*partition.replicas}
