"""Which preferred replicas of a snapshot can be elected, and what keeps the others from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kreplica.engine.projection.states import for_each_state, partition_states
from kreplica.engine.rules.controller.elections import (
    BROKER_NOT_ACTIVE,
    MAY_LEAD,
    NOT_IN_SYNC,
    REPLICA_OFFLINE,
    leader_obstacle,
)
from kreplica.model.columns import Indices
from kreplica.model.snapshot import ClusterSnapshot

_OBSTACLES = {
    BROKER_NOT_ACTIVE: "broker {broker} is not alive",
    REPLICA_OFFLINE: "the replica on broker {broker} is offline",
    NOT_IN_SYNC: "the replica on broker {broker} is not in sync",
}
_HARDLY_ALIVE = "no leader, so broker {broker} is hardly alive"


def preferred_obstacles(snapshot: ClusterSnapshot, rows: Indices) -> list[str | None]:
    """For each of the given partitions what keeps its preferred replica from being elected, None if nothing does.

    Args:
        snapshot: The cluster.
        rows: Partitions that have replicas.
    """
    return leader_obstacles(snapshot, rows, np.zeros(len(rows), dtype=np.int64))


def leader_obstacles(snapshot: ClusterSnapshot, rows: Indices, replicas: npt.NDArray[np.int64]) -> list[str | None]:
    """For each of the given partitions what keeps one of its replicas from being elected, None if nothing does.

    The rule is leader_obstacle. A broker of which the source does not know whether it is alive counts as active where
    somebody leads; where nobody does it hardly is: a controller elects at once when a replica that may lead is alive.

    Args:
        snapshot: The cluster.
        rows: Partitions that have replicas.
        replicas: For each of them the replica's place in the assignment.
    """
    states = partition_states(snapshot, rows)
    candidates = states.broker_at(replicas).tolist()
    distinct = np.unique(states.places.values).tolist()
    alive = {broker: snapshot.is_alive(broker) for broker in distinct}
    inactive = states.on(broker for broker in distinct if alive[broker] is False)
    led = snapshot.integers("leader").take(rows).to_list()
    codes = for_each_state(_obstacle, replicas, states.isr, states.elr, inactive, states.offline)
    return [
        _words(code, broker, hardly_alive=leader == -1 and alive[broker] is None)
        for code, broker, leader in zip(codes, candidates, led, strict=True)
    ]


def _obstacle(replica: int, isr: int, elr: int, inactive: int, offline: int) -> int:
    return leader_obstacle(replica, isr, elr, ~inactive, ~offline)


def _words(code: int, broker: int, *, hardly_alive: bool) -> str | None:
    if code == MAY_LEAD:
        return _HARDLY_ALIVE.format(broker=broker) if hardly_alive else None
    return _OBSTACLES[code].format(broker=broker)
