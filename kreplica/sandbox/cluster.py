"""The handle of a running sandbox: inspects it, controls its servers, uses its cluster, stops it.

A view is the cluster's metadata as one broker reports it; a change is complete when every view shows it.

Each broker learns of a change at its own time, so views may differ. A view is None where a broker does not answer; it
shows nothing.

The status of a server is read from the operating system and the cluster.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import SandboxError, UsageError
from kreplica.sandbox import admin
from kreplica.sandbox.distribution.jars import class_path_of
from kreplica.sandbox.distribution.releases import Mode, release_named
from kreplica.sandbox.distribution.tools import (
    CLUSTER_TOOLS,
    ZOOKEEPER_TOOLS,
    ToolResult,
    main_class,
    run_tool,
    short_name,
    with_servers,
)
from kreplica.sandbox.launch import remove_sandbox, start_and_record
from kreplica.sandbox.processes import ProcessState, exclusive, send, state_of, wait_for_end
from kreplica.sandbox.servers.logs import LOG_FILE, reason_of_failure, write_tool_logging
from kreplica.sandbox.servers.nodes import LOCK_FILE, ZOOKEEPER_ID, Node, Role, SandboxState, controller_ids, load_state
from kreplica.sandbox.servers.properties import client_properties, render
from kreplica.sandbox.settings import Listener, SandboxSettings
from kreplica.system.folders import sandbox_home

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata


if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata, PartitionMetadata

    Views = Iterable[ClusterMetadata | None]


def count_alive(views: Views, expected: Collection[int], gone: Collection[int]) -> bool:
    """Tell whether every view has all the expected brokers alive, and none of those expected to be gone."""
    return all(view and view.brokers.keys() >= {*expected} and not view.brokers.keys() & {*gone} for view in views)


def show_isr(views: Views, topic: str, partition: int, isr: Collection[int]) -> bool:
    """Tell whether a partition has these in-sync replicas, as a set, in every view; not so where there is no view."""
    return _all_of_some(set(in_sync_replicas(view, topic, partition)) == {*isr} for view in views)


def show_partitions(views: Views, topic: str, count: int) -> bool:
    """Tell whether a topic has so many partitions in every view; 0 where it shall not be known."""
    return all(view and len(_partitions(view, topic)) == count for view in views)


def show_health(views: Views) -> bool:
    """Tell whether every partition has a leader and all its replicas in sync in every view."""
    return _all_of_some(
        view is not None and all(_is_healthy(one) for topic in view.topics for one in _partitions(view, topic).values())
        for view in views
    )


def _all_of_some(answers: Iterable[bool]) -> bool:
    """Tell whether there is an answer and all are yes; none is asked for behind the first that is not."""
    first = next(iterator := iter(answers), False)
    return first and all(iterator)


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


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server as it is now.

    Attributes:
        id: Node id; 0 is ZooKeeper.
        roles: What it does.
        state: Of its process.
        pid: Process id, None when it has ended.
        rack: Empty without racks.
        registered: Whether the cluster counts the broker as alive; None if no broker answered, or it is no broker.
        endpoints: ``host:port`` by listener name.
        log: Its log file.
    """

    id: int
    roles: tuple[Role, ...]
    state: ProcessState
    pid: int | None
    rack: str
    registered: bool | None
    endpoints: dict[str, str]
    log: Path


def server_status(node: Node, settings: SandboxSettings, registered: Collection[int] | None, log: Path) -> ServerStatus:
    """Return the state of a server.

    Args:
        node: The server.
        settings: Of its sandbox.
        registered: Brokers that the cluster counts as alive; None if no broker answered.
        log: Its log file.
    """
    state, is_broker = state_of(node.process), Role.BROKER in node.roles
    return ServerStatus(
        id=node.id,
        roles=node.roles,
        state=state,
        pid=node.process.pid if node.process and state is not ProcessState.ENDED else None,
        rack=settings.rack_of(node.id) if is_broker else "",
        registered=node.id in registered if is_broker and registered is not None else None,
        endpoints={name: node.address(name) for name in node.ports},
        log=log,
    )


LOCK_SECONDS = 120.0
REGISTER_SECONDS = 90.0
CLEAN_STOP_SECONDS = 60.0


class Sandbox:
    """A sandbox that was started, by this process or another one.

    Every method reads the record on disk anew, so several processes may hold one sandbox at a time. Use
    ``kreplica.sandbox.start`` to start one; as a context manager it is stopped at the end of the block.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = load_state(folder)

    @classmethod
    def open(cls, name: str, home: Path | None = None) -> Sandbox:
        """Return the sandbox of that name.

        Raises:
            SandboxError: There is none.
        """
        return cls((home or sandbox_home()) / name)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # what it is

    @property
    def name(self) -> str:
        """Its name."""
        return self.folder.name

    @property
    def state(self) -> SandboxState:
        """The record as it was last read."""
        return self._state

    @property
    def settings(self) -> SandboxSettings:
        """The settings it was started with."""
        return self._state.settings

    @property
    def mode(self) -> Mode:
        """KRaft or ZooKeeper."""
        return self.settings.mode

    @property
    def kafka_version(self) -> str:
        """The Kafka that runs."""
        return self.settings.kafka_version

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._state.cluster_id

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Ids of its brokers, ended ones too."""
        return tuple(sorted(node.id for node in self._state.nodes.values() if Role.BROKER in node.roles))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Ids of its KRaft controllers, ended ones too; combined nodes are also brokers."""
        return controller_ids(self.settings)

    @property
    def bootstrap_servers(self) -> str:
        """Bootstrap servers of the first listener asked for: every broker, ended ones too."""
        return self.bootstrap_servers_of(self.settings.listeners[0])

    @property
    def zookeeper_connect(self) -> str:
        """``host:port`` of ZooKeeper; empty in KRaft mode."""
        node = self._state.nodes.get(ZOOKEEPER_ID)
        return node.address("ZOOKEEPER") if node else ""

    def bootstrap_servers_of(self, listener: Listener, brokers: Iterable[int] | None = None) -> str:
        """Return ``host:port,...`` of one listener, of all brokers or the given ones."""
        self._require_listener(listener)
        ids = self.broker_ids if brokers is None else brokers
        return ",".join(self._state.nodes[broker].address(listener.kafka_name) for broker in ids)

    def client_properties(self, listener: Listener | None = None, user: str = "admin") -> dict[str, str]:
        """Return Java client properties for a listener (by default the first asked for) and a user."""
        listener = listener or self.settings.listeners[0]
        if (listener.mechanism or listener is Listener.MTLS) and user not in self.settings.users:
            raise UsageError(f"the sandbox has no user {user!r}", f"there is: {', '.join(self.settings.users)}")
        servers = self.bootstrap_servers_of(listener)
        return client_properties(self.settings, servers, listener, user, self.folder / "tls")

    def client_settings(self, listener: Listener | None = None, user: str = "admin") -> dict[str, object]:
        """Return librdkafka's settings for a listener (by default the first asked for) and a user, for ``run_load``."""
        from kreplica.config.properties import translate

        properties = self.client_properties(listener, user)
        return dict(translate(properties).librdkafka) | {"bootstrap.servers": properties["bootstrap.servers"]}

    def client_properties_file(self, listener: Listener | None = None, user: str = "admin") -> Path:
        """Write these properties into the sandbox's folder and return the file, for ``--command-config``."""
        listener = listener or self.settings.listeners[0]
        path = self.folder / f"client-{listener}-{user}.properties"
        path.touch(mode=0o600)
        path.write_text(render(self.client_properties(listener, user)), encoding="ascii")
        return path

    def log_file(self, node: int) -> Path:
        """Return the log of a server (its older half has ``.1`` at the end)."""
        return self.folder / self.node(node).folder_name / LOG_FILE

    def _require_listener(self, listener: Listener) -> None:
        if listener not in self.settings.all_listeners:
            there_is = ", ".join(self.settings.all_listeners)
            raise UsageError(f"the sandbox {self.name!r} has no listener {listener}", f"there is: {there_is}")

    # its servers

    def node(self, node: int) -> Node:
        """Return a server by its id (0 is ZooKeeper).

        Raises:
            SandboxError: The sandbox has no such server.
        """
        found = self._state.nodes.get(node)
        if found is None:
            ids = ", ".join(str(key) for key in self._state.nodes)
            raise SandboxError(f"the sandbox {self.name!r} has no server {node}", f"there is: {ids}")
        return found

    def process_state(self, node: int) -> ProcessState:
        """Return what the operating system says about a server's process."""
        self._state = load_state(self.folder)
        return state_of(self.node(node).process)

    def pid(self, node: int) -> int | None:
        """Return a server's process id; None when it has ended."""
        if self.process_state(node) is ProcessState.ENDED:
            return None
        process = self.node(node).process
        return process.pid if process else None

    def running_brokers(self) -> tuple[int, ...]:
        """Return the ids of the brokers whose processes run (neither ended nor paused)."""
        return tuple(broker for broker in self.broker_ids if self.process_state(broker) is ProcessState.RUNNING)

    def status(self) -> list[ServerStatus]:
        """Return every server as it is now, in the order of ids."""
        registered = self.registered_brokers()  # reads the record anew
        nodes = sorted(self._state.nodes.items())
        return [server_status(node, self.settings, registered, self.log_file(number)) for number, node in nodes]

    def kill(self, node: int) -> None:
        """End a server with SIGKILL, as a crash would; its data stay."""
        self._signal(node, signal.SIGKILL)
        process = self.node(node).process
        assert process is not None
        if not wait_for_end(process, CLEAN_STOP_SECONDS):
            raise SandboxError(f"server {node} has not ended", f"process {process.pid} was sent SIGKILL")

    def shut_down(self, node: int) -> None:
        """End a server with SIGTERM: a broker hands its leaderships over first. Its data stay.

        Raises:
            SandboxError: It had not ended after 60 s (a broker needs a live controller to go).
        """
        if self.process_state(node) is ProcessState.PAUSED:
            raise SandboxError(f"server {node} is paused", "", f"resume it first, or kill {node}")
        self._signal(node, signal.SIGTERM)
        process = self.node(node).process
        if process and not wait_for_end(process, CLEAN_STOP_SECONDS):
            raise SandboxError(f"server {node} has not ended within {CLEAN_STOP_SECONDS:g} s of SIGTERM")

    def pause(self, node: int) -> None:
        """Stop a server in its tracks with SIGSTOP: its connections stay open and nothing answers."""
        self._signal(node, signal.SIGSTOP)
        admin.wait_until(lambda: self.process_state(node) is ProcessState.PAUSED, 10, f"server {node} to pause")

    def resume(self, node: int) -> None:
        """Let a paused server go on."""
        self._signal(node, signal.SIGCONT)

    def _signal(self, node: int, number: signal.Signals) -> None:
        process = self.node(node).process if self.process_state(node) is not ProcessState.ENDED else None
        if process is None or not send(process, number):
            raise SandboxError(
                f"server {node} of the sandbox {self.name!r} is not running",
                "its process has ended",
                f"kreplica sandbox start-broker {node}",
            )

    def start_broker(self, node: int, wait: bool = True) -> None:
        """Start a server that has ended on the data it left; wait until the cluster counts it as alive.

        Raises:
            SandboxError: It runs already, or it did not come up; with its own reason.
        """
        with exclusive(self.folder / LOCK_FILE, LOCK_SECONDS, f"the sandbox {self.name!r}"):
            if self.process_state(node) is not ProcessState.ENDED:
                raise SandboxError(f"server {node} of the sandbox {self.name!r} is running")
            self._state = start_and_record(self.folder, self._state, self.node(node))
        if wait and node in self.broker_ids:
            self.wait_for_brokers(expected=[node])

    # its cluster

    def live_bootstrap_servers(self) -> str:
        """Return the plaintext bootstrap servers of the brokers that run.

        Raises:
            SandboxError: None runs.
        """
        running = self.running_brokers()
        if not running:
            raise SandboxError(f"no broker of the sandbox {self.name!r} is running")
        return self.bootstrap_servers_of(Listener.PLAINTEXT, running)

    def metadata(self, broker: int | None = None) -> ClusterMetadata | None:
        """Return the metadata that the brokers that run (or one broker) tell; None if none answers."""
        if broker is None:
            return admin.metadata(self.live_bootstrap_servers()) if self.running_brokers() else None
        return admin.metadata(self.bootstrap_servers_of(Listener.PLAINTEXT, [broker]))

    def views(self) -> tuple[ClusterMetadata | None, ...]:
        """Return the metadata as each running broker reports it; None for one that does not answer."""
        return tuple(self.each_view())

    def each_view(self) -> Iterator[ClusterMetadata | None]:
        """Yield the same one by one: who stops at the first that is not as wanted does not ask the other brokers."""
        return (self.metadata(broker) for broker in self.running_brokers())

    def registered_brokers(self) -> frozenset[int] | None:
        """Return the brokers the cluster counts as alive (registered, and in KRaft mode unfenced)."""
        found = self.metadata()
        return frozenset(found.brokers) if found else None

    def wait_for_brokers(
        self,
        expected: Iterable[int] | None = None,
        gone: Iterable[int] = (),
        timeout: float = REGISTER_SECONDS,
    ) -> None:
        """Wait until every running broker counts ``expected`` as alive and ``gone`` as not.

        Args:
            expected: Broker ids; by default those whose processes run.
            gone: Broker ids that must have been fenced or have lost their registration.
            timeout: Seconds.

        Raises:
            SandboxError: It did not come so in time, or an expected broker ended; with its own reason.
        """
        wanted = frozenset(self.running_brokers() if expected is None else expected)
        unwanted = frozenset(gone)

        def agreed() -> bool:
            for broker in wanted:
                self._require_running(broker)
            return count_alive(self.each_view(), wanted, unwanted)

        what = f"brokers {sorted(wanted)} to be alive" + (f" and {sorted(unwanted)} to be gone" if unwanted else "")
        admin.wait_until(agreed, timeout, what)

    def _require_running(self, node: int) -> None:
        if self.process_state(node) is ProcessState.ENDED:
            reason = reason_of_failure(self.folder / self.node(node).folder_name)
            raise SandboxError(f"server {node} of the sandbox {self.name!r} has ended", reason)

    def isr(self, topic: str, partition: int) -> list[int]:
        """Return the in-sync replicas of a partition; empty if the topic or partition is not known."""
        return in_sync_replicas(self.metadata(), topic, partition)

    def wait_for_isr(self, topic: str, partition: int, isr: Iterable[int], timeout: float = 60.0) -> None:
        """Wait until the in-sync replicas of a partition are ``isr``, as a set, to every broker that runs.

        Raises:
            SandboxError: They were not in time.
        """
        wanted = set(isr)
        what = f"the in-sync replicas of {topic}-{partition} to be {sorted(wanted)}"
        admin.wait_until(lambda: show_isr(self.each_view(), topic, partition, wanted), timeout, what)

    def wait_for_healthy(self, timeout: float = 90.0) -> None:
        """Wait until every broker is alive and says that every partition has all its replicas in sync and a leader.

        Raises:
            SandboxError: It did not come so in time.
        """
        self.wait_for_brokers(self.broker_ids, timeout=timeout)

        admin.wait_until(lambda: show_health(self.each_view()), timeout, "every partition to have all replicas in sync")

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication_factor: int = -1,
        assignment: Sequence[Sequence[int]] = (),
        configs: dict[str, str] | None = None,
    ) -> None:
        """Create a topic and wait until every running broker knows it, and those that lead its partitions serve them.

        Args:
            topic: Its name.
            partitions: Number of partitions; not used with an assignment.
            replication_factor: -1 for the broker's default; not used with an assignment.
            assignment: Broker ids of the replicas of partition 0, 1, ...; the first of each is preferred.
            configs: Topic settings.

        Raises:
            SandboxError: The cluster refuses it.
        """
        admin.create_topic(
            self.live_bootstrap_servers(),
            topic,
            partitions=partitions,
            replication_factor=replication_factor,
            assignment=assignment,
            configs=configs or {},
        )
        count = len(assignment) or partitions
        known = f"every broker to know topic {topic}"
        admin.wait_until(lambda: show_partitions(self.each_view(), topic, count), 30, known)
        admin.wait_until(lambda: self._is_served(topic), 30, f"the leaders of topic {topic} to serve it")

    def delete_topic(self, topic: str) -> None:
        """Delete a topic and wait until no running broker knows it.

        Raises:
            SandboxError: The cluster refuses it.
        """
        admin.delete_topic(self.live_bootstrap_servers(), topic)
        forgotten = f"every broker to forget topic {topic}"
        admin.wait_until(lambda: show_partitions(self.each_view(), topic, 0), 30, forgotten)

    def _is_served(self, topic: str) -> bool:
        """Waits for the logs: a broker reports that it leads a partition a moment before it has its log."""
        found, running = self.metadata(), self.running_brokers()
        leaders = leaders_of(found, topic) if found else {}
        led = [partition for partition, leader in leaders.items() if leader in running]
        return found is not None and admin.serve(self.live_bootstrap_servers(), topic, led)

    def run_tool(self, tool: str, *arguments: str, timeout: float = 60.0) -> ToolResult:
        """Run one of Kafka's own tools, with ``--bootstrap-server`` of the running brokers where it takes one.

        Args:
            tool: Its name without ``kafka-`` and ``.sh`` (``topics``), or a class name (run as it is given).
            arguments: Its arguments.
            timeout: Seconds.
        """
        class_path = self.folder / "class-path.args"
        release = release_named(self.kafka_version)
        servers: list[str] = []
        if not release.tools_ask_brokers and short_name(tool) in ZOOKEEPER_TOOLS:
            servers = ["--zookeeper", self.zookeeper_connect]
        elif short_name(tool) in CLUSTER_TOOLS:
            servers = ["--bootstrap-server", self.live_bootstrap_servers()]
        program = [main_class(tool, class_path_of(release.name)), *with_servers(tool, servers, arguments)]
        logging = write_tool_logging(self.kafka_version, self.folder)
        return run_tool(Path(self._state.java), class_path, logging, program, timeout)

    def tool(self, tool: str, *arguments: str, timeout: float = 60.0) -> str:
        """Run one of Kafka's own tools as ``run_tool`` does and return its standard output.

        Raises:
            SandboxError: Its exit status is not 0; with what it printed.
        """
        result = self.run_tool(tool, *arguments, timeout=timeout)
        if result.exit_status != 0:
            said = (result.stderr.strip() or result.stdout.strip()).splitlines()
            raise SandboxError(f"Kafka's tool {tool} failed", said[0] if said else f"status {result.exit_status}")
        return result.stdout

    def stop(self) -> None:
        """End every server and remove the sandbox's folder. Nothing is left; stopping twice does no harm."""
        if self.folder.exists():
            remove_sandbox(self.folder)
