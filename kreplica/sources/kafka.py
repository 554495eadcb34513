"""A live cluster by the Kafka protocol, in few requests and under one deadline.

kreplica/sources/requests.py has every request sent, by facet; tests/kafka/test_live_requests.py counts them.

confluent-kafka does not read here: its metadata has no leader epochs, offline replicas or ELR, so that kafka-python's
would be needed besides; it can ask neither for chosen settings only nor for the log end offset; and a second client
would log in to every broker a second time. It elects leaders (kreplica/control) and moves data.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kreplica.client_properties import translate
from kreplica.config import parse_bootstrap_servers
from kreplica.model.schema import CONFIGS, GROUPS, LOG_DIRS, QUORUM, REPLICAS
from kreplica.model.snapshot import METADATA_TOPIC, ClusterSnapshot, Gap, utc_now
from kreplica.sources import Facet
from kreplica.sources.deadline import Deadline, Pool
from kreplica.sources.kafka_admin import Address, BrokerConnection
from kreplica.sources.kafka_bootstrap import Bootstrap
from kreplica.sources.kafka_configs import Setting
from kreplica.sources.kafka_facets import (
    EACH_BROKER,
    BrokerAnswers,
    ClusterAnswers,
    ControllerAnswers,
    ask_broker,
    ask_cluster,
    ask_controller,
)
from kreplica.sources.kafka_failures import BrokerFailure, BrokerSilentError, RequestUnsupportedError
from kreplica.sources.kafka_groups import Committed
from kreplica.sources.kafka_layout import (
    Broker,
    Layout,
    brokers_down_are_listed,
    hidden_gap,
    hidden_topics,
    log_directories_refused,
    read_layout,
)
from kreplica.sources.kafka_log_dirs import LogDir, Replica
from kreplica.sources.kafka_moves import PartitionKey
from kreplica.sources.kafka_sasl import with_token
from kreplica.sources.kafka_tables import brokers_table, partitions_table, table_of
from kreplica.sources.kafka_visibility import why_topics_may_be_hidden
from kreplica.sources.permissions import DESCRIBE_TOPICS

if TYPE_CHECKING:
    from kreplica.config import ClusterHandle

_CLUSTER, _CONTROLLER = -1, -2


def read_live(
    handle: ClusterHandle, wanted: Facet = Facet.HEALTH, offsets_of: Collection[PartitionKey] | None = None
) -> ClusterSnapshot:
    """Reads a live cluster.

    Args:
        handle: With bootstrap servers; ``handle.timeout`` bounds the whole read.
        wanted: What to ask for besides brokers and partitions. Topics' settings are those that health or retention
            needs, and all of them if brokers' settings are wanted too.
        offsets_of: Partitions whose offsets are asked for, with Facet.OFFSETS; None for all. A broker that leads none
            of them, and is asked for nothing else, is left alone.

    Raises:
        UnreachableError: No bootstrap server answered in time.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    with _collector_paused():
        return _read(handle, wanted, offsets_of)


def _read(handle: ClusterHandle, wanted: Facet, offsets_of: Collection[PartitionKey] | None) -> ClusterSnapshot:
    assert handle.bootstrap_servers is not None, "a live cluster has bootstrap servers"
    taken_at = utc_now()
    deadline = Deadline(handle.timeout)
    settings = with_token(translate(handle.properties).kafka_python, deadline)
    servers = [Address(*server) for server in parse_bootstrap_servers(handle.bootstrap_servers)]
    connection, layout = enter(servers, settings, deadline)
    with connection:
        read = _Read(connection, layout, wanted, offsets_of)
        read.run(settings, deadline)
        features = connection.features
    return ClusterSnapshot(
        cluster_id=layout.cluster_id,
        name=handle.name,
        taken_at=taken_at,
        source="kafka",
        partitions=partitions_table(layout, read.controller.moves, read.cluster.health, read.offsets),
        brokers=brokers_table(layout),
        log_dirs=table_of(LOG_DIRS, read.log_dirs),
        replicas=table_of(REPLICAS, read.replicas),
        configs=table_of(CONFIGS, read.settings),
        groups=table_of(GROUPS, read.groups),
        quorum=table_of(QUORUM, read.controller.quorum),
        controller=layout.controller,
        features=features,
        gaps=(*layout.gaps, *read.gaps),
        notes=tuple(read.notes),
    )


@contextmanager
def _collector_paused() -> Iterator[None]:
    # Answers are trees of millions of small objects without cycles. At 200,000 partitions three DescribeLogDirs
    # answers take 2.2 s to decode with the cyclic collector at work, 0.5 s without.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def enter(
    servers: list[Address], settings: Mapping[str, object], deadline: Deadline
) -> tuple[BrokerConnection, Layout]:
    """The first server that answers, and the cluster's layout as it sees it; the caller closes the connection.

    Raises:
        UnreachableError: None answered in time.
        AuthenticationError: The cluster refused the credentials.
    """
    bootstrap = Bootstrap(servers, settings, deadline)
    try:
        while True:
            connection = bootstrap.connect()
            try:
                return connection, read_layout(connection)
            except BaseException as error:
                connection.close()
                bootstrap.failed(error)
    finally:
        bootstrap.close()


class _Read:
    """The facets of one read, gathered from all brokers."""

    def __init__(
        self,
        connection: BrokerConnection,
        layout: Layout,
        wanted: Facet,
        offsets_of: Collection[PartitionKey] | None = None,
    ) -> None:
        self.connection = connection
        self.layout = layout
        self.wanted = wanted if layout.replica_missing else wanted & ~Facet.CAUSES
        self.offsets_of = None if offsets_of is None else frozenset(offsets_of)
        self.cluster = ClusterAnswers()
        self.controller = ControllerAnswers()
        self.log_dirs: list[LogDir] = []
        self.replicas: list[Replica] = []
        self.settings: list[Setting] = []
        self.groups: list[Committed] = []
        self.offsets: dict[str, dict[PartitionKey, int]] = {}
        self.gaps: list[Gap] = []
        self.notes: list[str] = []
        self._failed_offsets: dict[str, int] = {}
        self._refused_logs: str | None = None
        self._visible = set(layout.topics) | {METADATA_TOPIC}
        self._unlisted: set[str] = set()
        self._hidden: set[str] = set()
        self._connection_free = False

    def run(self, settings: Mapping[str, object], deadline: Deadline) -> None:
        """Asks the cluster and every live broker at the same time and gathers what comes until the deadline."""
        led = self._led() if Facet.OFFSETS in self.wanted else {}
        by_broker = {broker.broker: BrokerAnswers() for broker in self._brokers_to_ask(led)}
        calls: dict[int, Callable[[], None]] = {
            _CLUSTER: self._ask_cluster,
            _CONTROLLER: partial(self._ask_controller, settings, deadline),
        }
        for broker, answers in by_broker.items():
            calls[broker] = partial(self._ask_broker, broker, led.get(broker, []), answers, settings, deadline)
        pool: Pool[int, None] = Pool(calls, deadline)
        failures: dict[int, BaseException] = {}
        for key, _, error in pool.results():
            if error is not None:
                failures[key] = error
            self._look_for_hidden(key, by_broker.get(key))
        for key in pool.unfinished:
            failures[key] = BrokerSilentError(self._address(key), "")
        self._gather(by_broker)
        self._explain(failures, deadline)
        if Facet.LOG_DIRS in self.wanted and not failures:
            self._rule_out_hidden_topics()

    def _brokers_to_ask(self, led: Mapping[int, list[PartitionKey]]) -> list[Broker]:
        if not self.wanted & EACH_BROKER:
            return []
        only_leaders = self.offsets_of is not None and not self.wanted & EACH_BROKER & ~Facet.OFFSETS
        live = [broker for broker in self.layout.brokers if broker.alive and broker.host]
        return [broker for broker in live if broker.broker in led or not only_leaders]

    def _led(self) -> dict[int, list[PartitionKey]]:
        led: dict[int, list[PartitionKey]] = {}
        for row in self.layout.partitions:
            key = (row.topic, row.partition)
            asked = self.offsets_of is None or key in self.offsets_of
            if asked and row.leader is not None and row.leader >= 0:
                led.setdefault(row.leader, []).append(key)
        return led

    def _ask_cluster(self) -> None:
        ask_cluster(self.connection, self.wanted, list(self.layout.topics), self.cluster)

    def _ask_controller(self, settings: Mapping[str, object], deadline: Deadline) -> None:
        # A KRaft broker forwards to its controller; a ZooKeeper controller is a broker and answers for itself.
        controller = self.layout.controller if "metadata.version" not in self.connection.features else None
        address = self.connection.address if controller is None else self._address(controller)
        with BrokerConnection(address, settings, deadline) as connection:
            ask_controller(connection, self.wanted, self.layout, self.controller)

    def _ask_broker(
        self,
        broker: int,
        led: list[PartitionKey],
        answers: BrokerAnswers,
        settings: Mapping[str, object],
        deadline: Deadline,
    ) -> None:
        with BrokerConnection(self._address(broker), settings, deadline) as connection:
            ask_broker(connection, self.wanted, broker, led, answers)

    def _look_for_hidden(self, key: int, answers: BrokerAnswers | None) -> None:
        # Asked as answers come in, on the connection that is free by then: a silent broker leaves no time afterwards.
        self._connection_free |= key == _CLUSTER
        if key == _CONTROLLER:
            self._unlisted |= {topic for topic, _ in self.controller.moves or ()} - self._visible
        if answers is not None and answers.logs is not None:
            self._unlisted |= {replica.topic for replica in answers.logs.replicas} - self._visible
        if self._unlisted and self._connection_free:
            try:
                self._hidden |= set(hidden_topics(self.connection, self._unlisted))
            except BrokerFailure as failure:
                self.notes.append(f"hidden topics cannot be ruled out: {failure}")
            self._visible |= self._unlisted
            self._unlisted = set()

    def _gather(self, by_broker: Mapping[int, BrokerAnswers]) -> None:
        self.settings += self.cluster.settings
        self.gaps += (*self.cluster.gaps, *self.controller.gaps)
        answered = [*self.controller.notes, *(note for answers in by_broker.values() for note in answers.notes)]
        self.notes += dict.fromkeys(answered)  # brokers refuse in the same words
        for answers in by_broker.values():
            self.settings += answers.settings
            self.groups += answers.groups
            self.gaps += answers.gaps
            if answers.logs is not None:
                self.log_dirs += answers.logs.log_dirs
                self.replicas += answers.logs.replicas
                self._refused_logs = self._refused_logs or answers.logs.refused
            if answers.offsets is not None:
                for name, found in answers.offsets.found.items():
                    self.offsets.setdefault(name, {}).update(found)
                for error, count in answers.offsets.failed.items():
                    self._failed_offsets[error] = self._failed_offsets.get(error, 0) + count

    def _explain(self, failures: Mapping[int, BaseException], deadline: Deadline) -> None:
        silent = sorted(key for key, error in failures.items() if isinstance(error, BrokerSilentError))
        brokers = [key for key in silent if key >= 0]
        if brokers:
            message = f"{_named(brokers)} did not answer within {deadline.seconds:g} s"
            self.gaps.append(Gap("silent-brokers", message, len(brokers)))
        for key in silent:
            if key < 0:
                message = f"{self._missing(key)}: no answer within {deadline.seconds:g} s"
                self.gaps.append(Gap("silent-brokers", message, 1))
        for key, error in sorted(failures.items()):
            if isinstance(error, BrokerSilentError):
                continue
            if not isinstance(error, BrokerFailure):
                raise error
            what = f"{_named([key])} could not be asked" if key >= 0 else self._missing(key)
            self.gaps.append(Gap("silent-brokers", f"{what}: {error}", 1))
        self._explain_topics()

    def _explain_topics(self) -> None:
        for name, count in self._failed_offsets.items():
            self.gaps.append(Gap("failed-request", f"offsets of {count} partitions could not be read, {name}", count))
        if self._hidden:
            self.gaps.append(hidden_gap(len(self._hidden)))
        if not self.layout.topics and not self.connection.anonymous:
            lacking = self.connection.lacks(DESCRIBE_TOPICS)
            self.notes.append(f"no topic is visible: there is none, or {lacking}")

    def _rule_out_hidden_topics(self) -> None:
        """Notes that topics may be hidden where not every broker was seen that may hold the only files of one."""
        unseen = self._unseen()
        if self._hidden or not unseen:
            return
        try:
            why = why_topics_may_be_hidden(self.connection, self.layout.topics)
        except RequestUnsupportedError:  # an old broker cannot know it
            return
        except BrokerFailure as failure:
            why = str(failure)
        if why:
            told = unseen if self._refused_logs is not None else f"{unseen}, and {why}"
            self.gaps.append(Gap("hidden-topics", f"hidden topics cannot be ruled out: {told}", 0))

    def _unseen(self) -> str:
        """Why a broker may hold files that nobody told of; empty if all told."""
        if self._refused_logs is not None:
            return log_directories_refused(self.connection, self._refused_logs)
        down = [broker.broker for broker in self.layout.brokers if not broker.alive]
        if down:
            return f"{_named(down)} {'is' if len(down) == 1 else 'are'} down"
        return "" if brokers_down_are_listed(self.connection) else "this Kafka lists no brokers that are down"

    def _missing(self, key: int) -> str:
        if key == _CLUSTER:
            return f"settings could not be read from {self.connection.address}"
        return "reassignments could not be read from the controller"

    def _address(self, key: int) -> Address:
        for broker in self.layout.brokers:
            if broker.broker == key:
                return Address(str(broker.host), int(broker.port or 0))
        return self.connection.address


def _named(brokers: list[int]) -> str:
    ids = ", ".join(map(str, brokers))
    return f"broker {ids}" if len(brokers) == 1 else f"brokers {ids}"
