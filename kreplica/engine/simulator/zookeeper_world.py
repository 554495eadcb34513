"""ZooKeeper at the beginning of a run: topics, and the states of their partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.rules.controller_election import INITIAL_EPOCH
from kreplica.engine.setup import topic_of
from kreplica.engine.simulator.partition_state import PartitionState
from kreplica.engine.simulator.zookeeper import ZooKeeper
from kreplica.engine.simulator.zookeeper_paths import CONTROLLER_EPOCH, TOPICS, Assigned, state_data, state_path

if TYPE_CHECKING:
    from kreplica.engine.simulator.simulation import Simulation


def zookeeper_with_topics(simulation: Simulation) -> ZooKeeper:
    """The service with every topic of the setup as it is at the start."""
    zookeeper = ZooKeeper(simulation)
    zookeeper.put(CONTROLLER_EPOCH, (INITIAL_EPOCH,))
    topics: dict[str, list[Assigned]] = {}
    for partition, replicas in simulation.assignments.items():
        topics.setdefault(topic_of(partition), []).append((partition, replicas, (), ()))
        state = PartitionState.at_start(partition, replicas, simulation.starts[partition])
        zookeeper.put(state_path(partition), state_data(state, INITIAL_EPOCH))
    for topic, assigned in topics.items():
        zookeeper.put(f"{TOPICS}/{topic}", tuple(assigned))
    return zookeeper
