"""Preferred replicas of a snapshot that can be elected, and the obstacles to the others."""

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
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices

_OBSTACLES = {
    BROKER_NOT_ACTIVE: "broker {broker} is not alive",
    REPLICA_OFFLINE: "the replica on broker {broker} is offline",
    NOT_IN_SYNC: "the replica on broker {broker} is not in sync",
}
_HARDLY_ALIVE = "no leader, so broker {broker} is hardly alive"


def preferred_obstacles(snapshot: ClusterSnapshot, rows: Indices) -> list[str | None]:
    """The obstacle to the election of the preferred replica of each given partition, None if there is none.

    Args:
        snapshot: The cluster.
        rows: Partitions that have replicas.
    """
    return leader_obstacles(snapshot, rows, np.zeros(len(rows), dtype=np.int64))


def leader_obstacles(snapshot: ClusterSnapshot, rows: Indices, replicas: npt.NDArray[np.int64]) -> list[str | None]:
    """The obstacle to the election of one replica of each given partition, None if there is none.

    The rule is leader_obstacle. If the source does not know whether a broker is alive, it counts as active where the
    partition has a leader; without one it hardly is: a controller elects at once when a replica that may lead is alive.

    Args:
        snapshot: The cluster.
        rows: Partitions that have replicas.
        replicas: Index of the replica in the assignment of each partition.
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
