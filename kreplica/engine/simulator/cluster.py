"""The simulated cluster as each of its processes is handed it: clock, trace, transport, version, settings, topics."""

from __future__ import annotations

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.engine.settings import Value
from kreplica.engine.setup import Setup
from kreplica.engine.simulator.environment import Clock, Sink, Transport
from kreplica.engine.simulator.scheduler import RandomStreams
from kreplica.engine.versions.supported import Version


class Cluster:
    """The joints of a run, the facts that all its processes share, and what outlives each of them.

    Args:
        setup: The cluster and its clients.
        version: Kafka's rules and defaults.
        clock, trace, transport: What a process acts by.
        streams: Randomness by name.

    ``offline_directories`` are the partitions of each broker whose log directory has failed; ``kept_offsets`` those
    that applications store with their output, by group and partition.
    """

    __slots__ = (
        "_producer_ids",
        "assignments",
        "clock",
        "kept_offsets",
        "offline_directories",
        "partitions",
        "settings",
        "setup",
        "starts",
        "streams",
        "topics",
        "trace",
        "transport",
        "version",
    )

    def __init__(
        self, setup: Setup, version: Version, clock: Clock, trace: Sink, transport: Transport, streams: RandomStreams
    ) -> None:
        self.setup = setup
        self.version = version
        self.clock = clock
        self.trace = trace
        self.transport = transport
        self.streams = streams
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
        self.offline_directories: dict[int, set[str]] = {}
        self.kept_offsets: dict[str, dict[str, int]] = {}
        self._producer_ids = 0

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

    # -- names, ids and directories

    def new_producer_id(self) -> int:
        """A new producer id; controllers give them to brokers in blocks (ProducerIdManager)."""
        self._producer_ids += 1
        return self._producer_ids

    def home(self, topic: str, name: str) -> str:
        """The partition of an internal topic that stores a group or a transactional id: its leader coordinates it."""
        return f"{topic}-{coordinator_partition(name, self.partitions[topic])}"

    def offline_places(self, partition: str, replicas: tuple[int, ...]) -> int:
        """The replicas of a partition whose log directory has failed, as a set of indexes in its assignment."""
        return sum(
            1 << place for place, broker in enumerate(replicas) if partition in self.offline_directories.get(broker, ())
        )
