"""Reasons why a move in flight does not end, as far as a snapshot shows them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kreplica.model.snapshot import MetadataMode

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.model.snapshot import ClusterSnapshot

_NOT_CAUGHT_UP = "its copy does not catch up: a throttle below what is written"


def why_stuck(snapshot: ClusterSnapshot, change: ReplicaChange) -> str:
    """The likeliest reason why a move in flight does not end."""
    found = hindrance(snapshot, change)
    if found:
        return found
    if snapshot.mode is MetadataMode.ZOOKEEPER:
        # Such a broker refuses the new topic's replica, and nobody but its log says so: "Topic ID in memory".
        return f"{_NOT_CAUGHT_UP}, a slow disk, or an earlier topic's copy of that name on the disk"
    return f"{_NOT_CAUGHT_UP}, or a slow disk"


def hindrance(snapshot: ClusterSnapshot, change: ReplicaChange) -> str:
    """The reason that keeps a move in flight from ending, however fast it copies; empty if the snapshot shows none."""
    row = snapshot.find_row(*change.key)
    if row is None:
        return "it is gone"
    leader, isr = snapshot.integers("leader")[row], snapshot.lists("isr")[row] or []
    down = _dead(snapshot, change.adding)
    if down:
        return f"broker {down[0]}, which gets a replica, is down"
    if leader is not None and leader < 0:
        return "nobody leads it"
    kept = [broker for broker in change.to_replicas if broker in change.from_replicas and broker not in isr]
    return f"broker {kept[0]}, which keeps its replica, is out of sync" if kept else ""


def _dead(snapshot: ClusterSnapshot, brokers: Collection[int]) -> list[int]:
    return [broker for broker in brokers if snapshot.is_alive(broker) is False]
