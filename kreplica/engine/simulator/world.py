"""Makes a world from a setup: brokers, controllers, clients, and starts them.

ZooKeeper at the beginning of a run: topics, and the states of their partitions.
"""

from __future__ import annotations

from dataclasses import replace

from kreplica.engine.rules.controller.controller_election import INITIAL_EPOCH
from kreplica.engine.settings import Value
from kreplica.engine.setup import (
    FIRST_CONTROLLER,
    MILLISECOND,
    ConsumerSetup,
    ProducerSetup,
    ReaderSetup,
    Setup,
    TransactionalSetup,
    TransformSetup,
    topic_of,
)
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.clients.client import Client
from kreplica.engine.simulator.clients.consumer import Consumer
from kreplica.engine.simulator.clients.idempotent import IdempotentProducer, idempotent_settings
from kreplica.engine.simulator.clients.plain_reader import Reader
from kreplica.engine.simulator.clients.producer import Producer
from kreplica.engine.simulator.clients.read_process_write import Transformer
from kreplica.engine.simulator.clients.transactional import TransactionalProducer
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.coordinators.groups import GroupCoordinator
from kreplica.engine.simulator.coordinators.transactions import TransactionCoordinator
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.kraft.quorum import MetadataQuorum
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.simulator.zookeeper.service import (
    CONTROLLER_EPOCH,
    TOPICS,
    Assigned,
    ZooKeeper,
    state_data,
    state_path,
)
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import ControllerKind, Version
from kreplica.errors import UsageError
from kreplica.model.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC


def zookeeper_with_topics(cluster: Cluster) -> ZooKeeper:
    """The service with every topic of the setup as it is at the start."""
    zookeeper = ZooKeeper(cluster)
    zookeeper.put(CONTROLLER_EPOCH, (INITIAL_EPOCH,))
    topics: dict[str, list[Assigned]] = {}
    for partition, replicas in cluster.assignments.items():
        topics.setdefault(topic_of(partition), []).append((partition, replicas, (), ()))
        state = PartitionState.at_start(partition, replicas, cluster.starts[partition])
        zookeeper.put(state_path(partition), state_data(state, INITIAL_EPOCH))
    for topic, assigned in topics.items():
        zookeeper.put(f"{TOPICS}/{topic}", tuple(assigned))
    return zookeeper


CLIENTS_START = 10 * MILLISECOND
"""Start time of clients: brokers know the topics by then."""


def build(setup: Setup, version: Version, seed: int, trace: Trace) -> Simulation:
    """A world in which every process that is not down starts at once: controllers, brokers, then the clients."""
    simulation = Simulation(setup, version, seed, trace)
    if version.controller is ControllerKind.KRAFT:
        _add_quorum(simulation)
    else:
        simulation.zookeeper = zookeeper_with_topics(simulation.cluster)
        _add(simulation, simulation.zookeeper)
    for broker in setup.brokers:
        _add(simulation, Broker(simulation.cluster, broker, simulation.brokers, simulation.link_to_controller))
    _add_coordinators(simulation)
    for client in setup.clients:
        _add(simulation, _client(simulation, client))
    return simulation


def _add(simulation: Simulation, node: Node) -> None:
    assert node.name not in simulation.nodes, f"two nodes are named {node.name}"
    simulation.nodes[node.name] = node
    if isinstance(node, Broker):
        simulation.brokers[node.id] = node
    if node.name not in simulation.setup.down:
        simulation.scheduler.at(CLIENTS_START if isinstance(node, Client) else 0, node.start)


def _add_quorum(simulation: Simulation) -> None:
    cluster = simulation.cluster
    quorum = simulation.quorum = MetadataQuorum(cluster)
    numbers = range(FIRST_CONTROLLER, FIRST_CONTROLLER + cluster.setup.controllers)
    controllers = tuple(KraftController(cluster, number, quorum, simulation.brokers) for number in numbers)
    quorum.voters = simulation.controllers = controllers
    for controller in controllers:
        _add(simulation, controller)


def _add_coordinators(simulation: Simulation) -> None:
    """Gives each broker one coordinator of each kind that the setup has a topic for."""
    for kind in (GroupCoordinator, TransactionCoordinator):
        if kind.topic in simulation.cluster.partitions:
            for broker in simulation.brokers.values():
                broker.coordinators.append(kind(broker))


def _transactional(cluster: Cluster, setup: TransactionalSetup | TransformSetup) -> dict[str, Value]:
    """The settings of a transactional producer, with those that transactions imply.

    Raises:
        UsageError: The version has no transactions, the setup lacks a topic for them, or there is no transactional.id.
    """
    if cluster.version.transaction_version == 0:
        raise UsageError(f"{setup.name} is transactional", f"{cluster.version.name} has no transactions", "0.11 has")
    needed = (TRANSACTIONS_TOPIC, OFFSETS_TOPIC) if isinstance(setup, TransformSetup) else (TRANSACTIONS_TOPIC,)
    for topic in needed:
        if topic not in cluster.topics:
            raise UsageError(f"{setup.name} is transactional", f"there is no {topic}", "add it to the topics")
    settings = idempotent_settings(cluster.setup, cluster.version, setup.settings)
    if settings is None or not settings["transactional.id"]:
        raise UsageError(f"{setup.name} has no transactional.id", "", "set it")
    return settings


def _client(simulation: Simulation, setup: object) -> Node:
    cluster, brokers = simulation.cluster, simulation.brokers
    if isinstance(setup, ConsumerSetup):
        return Consumer(cluster, brokers, setup)
    if isinstance(setup, ProducerSetup):
        if {**cluster.settings, **setup.settings}["transactional.id"]:
            raise UsageError(f"{setup.name} has a transactional.id", "it sends outside transactions", "leave it out")
        idempotent = idempotent_settings(cluster.setup, cluster.version, setup.settings)
        if idempotent is None:
            return Producer(cluster, brokers, setup)
        return IdempotentProducer(cluster, brokers, replace(setup, settings=idempotent))
    if isinstance(setup, TransactionalSetup):
        return TransactionalProducer(cluster, brokers, replace(setup, settings=_transactional(cluster, setup)))
    if isinstance(setup, TransformSetup):
        return Transformer(cluster, brokers, replace(setup, settings=_transactional(cluster, setup)))
    assert isinstance(setup, ReaderSetup), setup
    return Reader(cluster, brokers, setup)
