"""A live cluster by the Kafka protocol, in few requests and under one deadline.

kreplica/sources/kafka_requests.py has every request sent, by facet; tests/kafka/sources/test_live_requests.py
counts them.

confluent-kafka is not used for reading: its metadata has no leader epochs, offline replicas or ELR, so that
kafka-python's would be needed besides; it can ask neither for chosen settings only nor for the log end offset; and a
second client would log in to every broker a second time. It elects leaders (kreplica/control) and moves data.

Any broker is asked about the cluster, the controller about reassignments and the quorum, each broker about itself.
Answers are objects that fill while they are read: if a broker falls silent half way, what it has answered is kept.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kreplica.config.addresses import parse_bootstrap_servers
from kreplica.config.properties import translate
from kreplica.model.internal_topics import METADATA_TOPIC
from kreplica.model.settings import RETENTION_SETTINGS
from kreplica.model.snapshot import ClusterSnapshot, Gap, controller_of, metadata_offset_of, utc_now
from kreplica.model.tables.schema import BROKERS, CONFIGS, GROUPS, LOG_DIRS, PARTITIONS, QUORUM, REPLICAS, TableSchema
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import are, counted, named
from kreplica.sources import Facet
from kreplica.sources.kafka.configs import (
    TOPIC_SETTINGS,
    Setting,
    read_balance_settings,
    read_broker_settings,
    read_cluster_settings,
    read_throttle_rates,
    read_topic_settings,
)
from kreplica.sources.kafka.connections.bootstrap import Bootstrap
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import (
    Address,
    BrokerFailure,
    BrokerSilentError,
    RequestUnsupportedError,
)
from kreplica.sources.kafka.connections.sasl import with_token
from kreplica.sources.kafka.groups import Committed, read_groups
from kreplica.sources.kafka.layout import (
    Broker,
    Layout,
    Partition,
    brokers_down_are_listed,
    hidden_gap,
    hidden_topics,
    log_directories_refused,
    read_layout,
)
from kreplica.sources.kafka.log_dirs import BrokerLogs, LogDir, Replica, read_log_dirs
from kreplica.sources.kafka.offsets import Offsets, read_offsets
from kreplica.sources.kafka.quorum import QuorumNode, read_quorum
from kreplica.sources.kafka.reassignments import Move, Moves, PartitionKey, read_moves
from kreplica.sources.kafka.visibility import why_topics_may_be_hidden
from kreplica.sources.permissions import DESCRIBE_TOPICS
from kreplica.system.deadline import Deadline
from kreplica.system.pool import Pool

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


EACH_BROKER = Facet.LOG_DIRS | Facet.BROKER_CONFIGS | Facet.OFFSETS | Facet.GROUPS | Facet.CAUSES | Facet.BALANCE
"""Facets that each broker answers for itself."""
OF_TOPICS = Facet.TOPIC_CONFIGS | Facet.RETENTION
"""Facets that one request for topics' settings answers, whichever of them are wanted."""

Answer = TypeVar("Answer")


@dataclass(slots=True)
class ClusterAnswers:
    """Answers of any broker about the whole cluster."""

    health: Mapping[str, tuple[int | None, bool | None]] = field(default_factory=dict)
    settings: list[Setting] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@dataclass(slots=True)
class ControllerAnswers:
    """Answers that only the controller can give."""

    moves: Moves | None = None
    quorum: list[QuorumNode] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class BrokerAnswers:
    """Answers of one broker about itself."""

    logs: BrokerLogs | None = None
    settings: list[Setting] = field(default_factory=list)
    offsets: Offsets | None = None
    groups: list[Committed] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def ask_cluster(connection: BrokerConnection, wanted: Facet, topics: Sequence[str], answers: ClusterAnswers) -> None:
    """Asks any broker for topics' settings and settings for all brokers."""
    if wanted & OF_TOPICS:
        found = _if_supported(lambda: read_topic_settings(connection, topics, _settings_wanted(wanted)))
        if found is not None:
            answers.health = found.health
            answers.settings += found.rows
            answers.gaps += found.gaps
    if Facet.BROKER_CONFIGS in wanted:
        _add(answers.settings, answers.gaps, _if_supported(lambda: read_cluster_settings(connection)))


def _settings_wanted(wanted: Facet) -> tuple[str, ...] | None:
    if Facet.TOPIC_CONFIGS | Facet.BROKER_CONFIGS in wanted:
        return None
    health = TOPIC_SETTINGS if Facet.TOPIC_CONFIGS in wanted else ()
    return health + (RETENTION_SETTINGS if Facet.RETENTION in wanted else ())


def ask_controller(connection: BrokerConnection, wanted: Facet, layout: Layout, answers: ControllerAnswers) -> None:
    """Asks for reassignments and the metadata quorum."""
    answers.moves, gaps = read_moves(connection, layout)
    answers.gaps += gaps
    if Facet.QUORUM in wanted:
        _add(answers.quorum, answers.gaps, read_quorum(connection))
    elif Facet.CAUSES in wanted:
        found, refused = read_quorum(connection)
        answers.quorum += found
        answers.notes += (f"since when a broker is gone is not known: {gap.message}" for gap in refused)


def ask_broker(
    connection: BrokerConnection,
    wanted: Facet,
    broker: int,
    led: Sequence[tuple[str, int]],
    answers: BrokerAnswers,
) -> None:
    """Asks one broker for its log directories, its settings, offsets of its partitions and groups it coordinates."""
    if Facet.LOG_DIRS in wanted:
        answers.logs = _if_supported(lambda: read_log_dirs(connection, broker))
    if Facet.BROKER_CONFIGS in wanted:
        _add(answers.settings, answers.gaps, _if_supported(lambda: read_broker_settings(connection, broker)))
    else:
        _ask_for_chosen_settings(connection, wanted, broker, answers)
    if Facet.OFFSETS in wanted and led:
        answers.offsets = _if_supported(lambda: read_offsets(connection, led))
    if Facet.GROUPS in wanted:
        _add(answers.groups, answers.gaps, _if_supported(lambda: read_groups(connection)))


def _ask_for_chosen_settings(connection: BrokerConnection, wanted: Facet, broker: int, answers: BrokerAnswers) -> None:
    rates = _if_supported(lambda: read_throttle_rates(connection, broker)) if Facet.CAUSES in wanted else None
    if rates is not None:
        answers.settings += rates[0]
        answers.notes += [rates[1]] if rates[1] else []
    if Facet.BALANCE in wanted:
        _add(answers.settings, answers.gaps, _if_supported(lambda: read_balance_settings(connection, broker)))


def _if_supported(call: Callable[[], Answer]) -> Answer | None:
    # A request that an old broker does not know is no gap: the source cannot know the answer, and the fields stay null.
    try:
        return call()
    except RequestUnsupportedError:
        return None


def _add(rows: list[Answer], gaps: list[Gap], found: tuple[list[Answer], tuple[Gap, ...]] | None) -> None:
    if found is not None:
        rows += found[0]
        gaps += found[1]


_STILL = Move([], [], [])


def partitions_table(
    layout: Layout,
    moves: Moves | None,
    health: Mapping[str, tuple[int | None, bool | None]],
    offsets: Mapping[str, Mapping[PartitionKey, int]],
) -> Table:
    """The partitions table.

    Args:
        layout: The partitions.
        moves: Their reassignments; None if not known.
        health: min.insync.replicas and unclean.leader.election.enable by topic.
        offsets: By field of the table, then by partition.
    """
    rows = layout.partitions
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in Partition.__dataclass_fields__
    }
    settings = [health.get(row.topic, (None, None)) for row in rows]
    columns["min_isr"] = [min_isr for min_isr, _ in settings]
    columns["unclean_leader_election"] = [unclean for _, unclean in settings]
    keys = [(row.topic, row.partition) for row in rows]
    if moves is not None:
        found_moves = [moves.get(key, _STILL) for key in keys]
        columns["adding"] = [move.adding for move in found_moves]
        columns["removing"] = [move.removing for move in found_moves]
    for name, found in offsets.items():
        columns[name] = [found.get(key) for key in keys]
    return Table.from_columns(PARTITIONS, columns)


def brokers_table(layout: Layout) -> Table:
    """The brokers table: registered brokers, and those that only assignments still name, as not alive."""
    known = {broker.broker for broker in layout.brokers}
    named = {replica for partition in layout.partitions for replica in partition.replicas}
    gone = [Broker(broker, None, None, None, alive=False, fenced=None) for broker in sorted(named - known)]
    return table_of(BROKERS, [*layout.brokers, *gone])


def table_of(schema: TableSchema, rows: Sequence[Any]) -> Table:
    """A table from named tuples whose fields are fields of the schema."""
    if not rows:
        return Table.empty(schema)
    return Table.from_columns(schema, dict(zip(rows[0]._fields, zip(*rows, strict=True), strict=True)))


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
    quorum = table_of(QUORUM, read.controller.quorum)
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
        quorum=quorum,
        metadata_offset=metadata_offset_of(quorum),
        controller=controller_of(layout.controller, features, quorum),
        features=features,
        gaps=(*layout.gaps, *read.gaps),
        notes=tuple(read.notes),
    )


@contextmanager
def _collector_paused() -> Iterator[None]:
    # Answers are trees of millions of small objects without cycles. At 200,000 partitions three DescribeLogDirs answers
    # take 2.2 s to decode with the cyclic collector at work, 0.5 s without.
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
        """Asks the cluster and every live broker at the same time and gathers the answers until the deadline."""
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
        # Asked as answers come in, on a connection that is free by then: a silent broker leaves no time afterwards.
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
            message = f"{named('broker', brokers)} did not answer within {deadline.seconds:g} s"
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
            what = f"{named('broker', [key])} could not be asked" if key >= 0 else self._missing(key)
            self.gaps.append(Gap("silent-brokers", f"{what}: {error}", 1))
        self._explain_topics()

    def _explain_topics(self) -> None:
        for name, count in self._failed_offsets.items():
            offsets = f"offsets of {counted(count, 'partition')}"
            self.gaps.append(Gap("failed-request", f"{offsets} could not be read, {name}", count))
        if self._hidden:
            self.gaps.append(hidden_gap(len(self._hidden)))
        if not self.layout.topics and not self.connection.anonymous:
            lacking = self.connection.lacks(DESCRIBE_TOPICS)
            self.notes.append(f"no topic is visible: there is none, or {lacking}")

    def _rule_out_hidden_topics(self) -> None:
        """Notes that topics may be hidden if a broker that may hold the only files of one was not seen."""
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
        """Explains why a broker may hold files that nobody reported; empty if all reported."""
        if self._refused_logs is not None:
            return log_directories_refused(self.connection, self._refused_logs)
        down = [broker.broker for broker in self.layout.brokers if not broker.alive]
        if down:
            return f"{named('broker', down)} {are(len(down))} down"
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
