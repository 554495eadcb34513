"""A simulated world: its clock, its processes, its settings, and the plan that is played in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.engine.settings import Value
from kreplica.engine.setup import Setup
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.quorum import MetadataQuorum, Voter
from kreplica.engine.simulator.network import Network
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.scheduler import RandomStreams, Scheduler
from kreplica.engine.simulator.zookeeper.operations import ZooKeeperOperations, zookeeper_controller
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import ControllerKind, Version
from kreplica.errors import UsageError
from kreplica.model.nearest_names import nearest_or_known

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker.broker import Broker
    from kreplica.engine.simulator.broker.controller_link import ControllerLink, ControllerOperations
    from kreplica.engine.simulator.zookeeper.service import ZooKeeper


ACTIVE_CONTROLLER = "active controller"
LEADER_OF = "leader of "
"""Names by which plans address the node that has a role at that moment."""


class NobodyError(UsageError):
    """No node has the role that a step of a plan names: the step has no effect."""


class Simulation:
    """One run, with all its parts.

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
        self.streams = RandomStreams(seed)
        self.settings: dict[str, Value] = {**version.defaults, **setup.settings}
        self.topics: dict[str, dict[str, Value]] = {
            topic.name: {**self.settings, **topic.settings} for topic in setup.topics
        }
        self.partitions = {topic.name: len(topic.assignment) for topic in setup.topics}
        self.assignments = {name: each for topic in setup.topics for name, each in topic.partitions.items()}
        self.starts = {
            f"{topic.name}-{number}": topic.start_of(number)
            for topic in setup.topics
            for number, replicas in enumerate(topic.assignment)
            if replicas
        }
        if self.by_majority and version.controller is ControllerKind.ZOOKEEPER:
            told = "its controllers elect from an ISR in ZooKeeper"
            raise UsageError(f"{version.name} cannot play replication=majority", told, "take a KRaft version")
        self.network = Network(self, self.integer("latency.us"), self.integer("jitter.us"))
        self.offline_directories: dict[int, set[str]] = {}
        self.kept_offsets: dict[str, dict[str, int]] = {}  # by applications, with their output: group, partition
        self._producer_ids = 0
        self.nodes: dict[str, Node] = {}
        self.brokers: dict[int, Broker] = {}
        self.quorum: MetadataQuorum
        self.zookeeper: ZooKeeper

    # -- settings

    def integer(self, name: str) -> int:
        """A setting of the cluster."""
        return int(self.settings[name])

    def boolean(self, name: str) -> bool:
        """A setting of the cluster."""
        return bool(self.settings[name])

    @property
    def by_majority(self) -> bool:
        """True if a majority of replicas commits and elects, not an ISR."""
        return self.settings["replication"] == "majority"

    def topic_integer(self, topic: str, name: str) -> int:
        """A topic's setting, or the brokers' default for it."""
        return int(self.topics.get(topic, self.settings)[name])

    def topic_boolean(self, topic: str, name: str) -> bool:
        """A topic's setting, or the brokers' default for it."""
        return bool(self.topics.get(topic, self.settings)[name])

    def new_producer_id(self) -> int:
        """A new producer id; controllers give them to brokers in blocks (ProducerIdManager)."""
        self._producer_ids += 1
        return self._producer_ids

    def home(self, topic: str, name: str) -> str:
        """The partition of an internal topic that stores a group or a transactional id: its leader coordinates it."""
        return f"{topic}-{coordinator_partition(name, self.partitions[topic])}"

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
        if partition not in self.assignments:
            raise UsageError(f"there is no partition {partition!r}", "", nearest_or_known(partition, self.assignments))
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
            controller = zookeeper_controller(self)
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
        from kreplica.engine.simulator.kraft.link import KraftLink
        from kreplica.engine.simulator.zookeeper.election_by_watching import WatchingLink
        from kreplica.engine.simulator.zookeeper.link import ZooKeeperLink

        if self.version.controller is ControllerKind.ZOOKEEPER:
            watching = self.settings["leader.election"] == "watching"
            return WatchingLink(broker, self.zookeeper) if watching else ZooKeeperLink(broker, self.zookeeper)
        if self.settings["leader.election"] == "watching":
            raise UsageError(f"{self.version.name} has no ZooKeeper to watch", "", "take a version up to 3.9")
        return KraftLink(broker)

    def controller_operations(self) -> ControllerOperations:
        """The interface for an operator's requests.

        Raises:
            UsageError: KRaft has no active controller at the moment; ZooKeeper keeps a request for the next one.
        """
        if self.version.controller is ControllerKind.ZOOKEEPER:
            return ZooKeeperOperations(self)
        active = self.active_controller()
        assert isinstance(active, Voter)
        assert active.controller is not None
        return active.controller.operations

    def expire_session(self, broker: Broker) -> None:
        """Ends a broker's session with ZooKeeper."""
        assert self.version.controller is ControllerKind.ZOOKEEPER, "the plan was checked"
        self.zookeeper.expire(broker.name)

    def offline_places(self, state: PartitionState) -> int:
        """The replicas of a partition whose log directory has failed."""
        return sum(
            1 << place
            for place, broker in enumerate(state.replicas)
            if state.partition in self.offline_directories.get(broker, ())
        )
