"""A simulated world: its clock, its processes, its settings, and the plan that is played in it."""

from __future__ import annotations

from kreplica.engine.setup import Setup
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.controller_link import ControllerLink, ControllerOperations
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.kraft.link import KraftLink
from kreplica.engine.simulator.kraft.quorum import MetadataQuorum
from kreplica.engine.simulator.network import Network
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.scheduler import RandomStreams, Scheduler
from kreplica.engine.simulator.zookeeper.election_by_watching import WatchingLink
from kreplica.engine.simulator.zookeeper.link import ZooKeeperLink
from kreplica.engine.simulator.zookeeper.operations import ZooKeeperOperations, zookeeper_controller
from kreplica.engine.simulator.zookeeper.service import ZooKeeper
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import ControllerKind, Version
from kreplica.errors import UsageError
from kreplica.model.wording.nearest_names import nearest_or_known

ACTIVE_CONTROLLER = "active controller"
LEADER_OF = "leader of "
"""Names by which plans address the node that has a role at that moment."""


class NobodyError(UsageError):
    """No node has the role that a step of a plan names: the step has no effect."""


class Simulation:
    """One run, with all its parts; the processes themselves know ``cluster`` alone.

    Args:
        setup: The cluster and its clients.
        version: Kafka's rules and defaults.
        seed: Seed of all randomness.
        trace: Gets every event.
    """

    def __init__(self, setup: Setup, version: Version, seed: int, trace: Trace) -> None:
        self.setup = setup
        self.version = version
        self.trace = trace
        self.scheduler = Scheduler()
        streams = RandomStreams(seed)
        settings = {**version.defaults, **setup.settings}
        self.network = Network(self.scheduler, streams, int(settings["latency.us"]), int(settings["jitter.us"]))
        self.cluster = Cluster(setup, version, self.scheduler, trace, self.network, streams)
        if self.cluster.by_majority and version.controller is ControllerKind.ZOOKEEPER:
            told = "its controllers elect from an ISR in ZooKeeper"
            raise UsageError(f"{version.name} cannot play replication=majority", told, "take a KRaft version")
        self.nodes: dict[str, Node] = {}
        self.brokers: dict[int, Broker] = {}
        self.quorum: MetadataQuorum
        self.controllers: tuple[KraftController, ...] = ()
        self.zookeeper: ZooKeeper

    # -- nodes

    def node(self, name: str) -> Node:
        """Returns a process by its name, or by its role: ``leader of topic-0``, ``active controller``.

        Raises:
            UsageError: There is none of that name, or no process has that role now.
        """
        if name == ACTIVE_CONTROLLER:
            return self.active_controller()
        if name.startswith(LEADER_OF):
            return self.leader_of(name.removeprefix(LEADER_OF))
        if name not in self.nodes:
            raise UsageError(f"there is no node {name!r}", "", nearest_or_known(name, self.nodes))
        return self.nodes[name]

    def leader_of(self, partition: str) -> Node:
        """The live broker that leads in the highest epoch.

        Raises:
            UsageError: There is no such partition.
            NobodyError: It has no leader.
        """
        if partition not in self.cluster.assignments:
            raise UsageError(
                f"there is no partition {partition!r}", "", nearest_or_known(partition, self.cluster.assignments)
            )
        leading = [
            (replica.leadership.epoch, broker.id, broker)
            for broker in self.brokers.values()
            if broker.up and (replica := broker.replicas.get(partition)) is not None and replica.leadership is not None
        ]
        if not leading:
            raise NobodyError(f"nobody leads {partition!r} at {self.scheduler.now} microseconds")
        return max(leading, key=lambda one: one[:2])[2]

    def active_controller(self) -> Node:
        """The node of the active controller."""
        if self.version.controller is ControllerKind.ZOOKEEPER:
            controller = zookeeper_controller(self.brokers)
            if controller is not None:
                return controller.broker
        elif self.quorum.active is not None:
            return self.quorum.active
        raise NobodyError(f"there is no active controller at {self.scheduler.now} microseconds")

    def link_to_controller(self, broker: Broker) -> ControllerLink:
        """A broker's side of the link to this version's controller.

        Raises:
            UsageError: Leaders are to be elected by watches, and there is no ZooKeeper.
        """
        if self.version.controller is ControllerKind.ZOOKEEPER:
            watching = self.cluster.settings["leader.election"] == "watching"
            return WatchingLink(broker, self.zookeeper) if watching else ZooKeeperLink(broker, self.zookeeper)
        if self.cluster.settings["leader.election"] == "watching":
            raise UsageError(f"{self.version.name} has no ZooKeeper to watch", "", "take a version up to 3.9")
        return KraftLink(broker, self.controllers)

    def controller_operations(self) -> ControllerOperations:
        """The interface for an operator's requests.

        Raises:
            UsageError: KRaft has no active controller at the moment; ZooKeeper keeps a request for the next one.
        """
        if self.version.controller is ControllerKind.ZOOKEEPER:
            return ZooKeeperOperations(self.cluster, self.brokers)
        active = self.active_controller()
        assert isinstance(active, KraftController)
        return active

    def expire_session(self, broker: Broker) -> None:
        """Ends a broker's session with ZooKeeper."""
        assert self.version.controller is ControllerKind.ZOOKEEPER, "the plan was checked"
        self.zookeeper.expire(broker.name)
