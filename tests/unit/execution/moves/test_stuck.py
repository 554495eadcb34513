"""Reasons why a move in flight does not end."""

from __future__ import annotations

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.stuck import hindrance, why_stuck

CHANGE = ReplicaChange("orders", 0, (1, 2, 3), (1, 2, 4))
MOVING = {"replicas": [1, 2, 4, 3], "isr": [1, 2, 3], "adding": [4], "removing": [3]}


@pytest.mark.parametrize(
    ("row", "down", "reason"),
    [
        (partition(number=1), 0, "it is gone"),
        (partition(**MOVING), 4, "broker 4, which gets a replica, is down"),
        (partition(**MOVING, leader=-1), 0, "nobody leads it"),
        (partition(**{**MOVING, "isr": [1, 3]}), 0, "broker 2, which keeps its replica, is out of sync"),
        (partition(**{**MOVING, "isr": [1, 2]}), 3, ""),
    ],
    ids=["gone", "target down", "without a leader", "kept out of sync", "the one that leaves"],
)
def test_what_a_snapshot_shows_is_named(row: dict[str, object], down: int, reason: str) -> None:
    snapshot = snapshot_of([row], [{"broker": one, "alive": one != down} for one in (1, 2, 3, 4)])
    assert hindrance(snapshot, CHANGE) == reason
    slow = "its copy does not catch up: a throttle below what is written, or a slow disk"
    assert why_stuck(snapshot, CHANGE) == (reason or slow)
