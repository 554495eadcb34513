"""The simulated cluster: brokers, controllers, topics, clients. Frozen values; a run depends on them and a seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kreplica.engine.settings import MICROSECONDS, Scope, Value, of_scope

MILLISECOND = MICROSECONDS
SECOND = 1_000_000
"""One second in microseconds, the unit of every time here."""

FIRST_CONTROLLER = 3001
"""Id of the first controller; sandbox clusters and many sites number controllers apart from brokers like this."""

KAFKAS_OWN = "__"
"""The beginning of the names of topics that coordinators write; what producers write to such a one is not judged."""


@dataclass(frozen=True, slots=True)
class BrokerSetup:
    """A broker: its id, its rack, which may be empty, and its own settings."""

    id: int
    rack: str = ""
    settings: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """A partition at the beginning of a run; all its logs are empty.

    Args:
        leader: Broker id, -1 for none.
        isr: Broker ids.
        elr: Eligible leader replicas, broker ids.
    """

    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()

    def without(self, brokers: Collection[int]) -> PartitionStart:
        """The same without replicas on those brokers."""
        isr = tuple(broker for broker in self.isr if broker not in brokers)
        elr = tuple(broker for broker in self.elr if broker not in brokers)
        return PartitionStart((*isr, -1)[0] if self.leader in brokers else self.leader, isr, elr)


@dataclass(frozen=True, slots=True)
class TopicSetup:
    """A topic with fixed assignments.

    Args:
        name: Kafka's name.
        assignment: For each partition its replicas, the preferred leader first; none for a partition that is left out.
        settings: The topic's own settings by Kafka's names.
        starts: By number, partitions that do not begin with the first replica as leader and all in sync.
    """

    name: str
    assignment: tuple[tuple[int, ...], ...]
    settings: Mapping[str, Value] = field(default_factory=dict)
    starts: Mapping[int, PartitionStart] = field(default_factory=dict)

    def start_of(self, number: int) -> PartitionStart:
        """The partition of that number at the beginning."""
        replicas = self.assignment[number]
        return self.starts.get(number) or PartitionStart(replicas[0], replicas)

    @property
    def partitions(self) -> dict[str, tuple[int, ...]]:
        """The replicas of each partition that is there, by its name, as ``topic-0``."""
        return {f"{self.name}-{number}": replicas for number, replicas in enumerate(self.assignment) if replicas}


def topic_of(partition: str) -> str:
    """The topic of ``topic-0``."""
    return partition.rpartition("-")[0]


def topic_and_number(partition: str) -> tuple[str, int]:
    """The topic of ``topic-0``, and its 0: the sort key of partitions."""
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


@dataclass(frozen=True, slots=True)
class Send:
    """One record that a producer's application sends.

    Args:
        at: Time, in microseconds.
        value: Its value; unique in a run, because histories distinguish records by it.
        partition: Its partition, as ``topic-0``.
    """

    at: int
    value: str
    partition: str


@dataclass(frozen=True, slots=True)
class ProducerSetup:
    """A producer: its records and its settings.

    Args:
        name: Its node in the trace.
        sends: Its records, by time.
        settings: Its settings by Kafka's names.
        sync: Whether the application waits for each acknowledgement before the next send (``send().get()``).
    """

    name: str
    sends: tuple[Send, ...] = ()
    settings: Mapping[str, Value] = field(default_factory=dict)
    sync: bool = False


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of a producer.

    Args:
        sends: Its records; it begins with the first.
        end: Earliest time of its end, in microseconds; it waits for every answer first.
        commit: Whether the application commits it; one that cannot be committed is aborted.
        group: The group for which it commits offsets, empty for none. The setup then needs __consumer_offsets.
        offsets: The committed offsets, as partition and offset.
    """

    sends: tuple[Send, ...]
    end: int = 0
    commit: bool = True
    group: str = ""
    offsets: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TransactionalSetup:
    """A producer with a transactional id. The setup needs __transaction_state.

    Args:
        name: Its node in the trace.
        transactions: One after the other.
        settings: Its settings by Kafka's names, ``transactional.id`` among them.
        start: Start time, in microseconds: a second producer with the same id fences the first.
    """

    name: str
    transactions: tuple[Transaction, ...]
    settings: Mapping[str, Value]
    start: int = 0


@dataclass(frozen=True, slots=True)
class TransformSetup:
    """An application that writes, for every record of one partition, one to another: consume-transform-produce.

    The written records and the read position are one transaction. A record ``m`` becomes ``m-done``. The setup needs
    __transaction_state and __consumer_offsets.

    Args:
        name: Its node in the trace.
        source: The partition it reads, as ``topic-0``.
        target: The partition it writes.
        group: The group for which it commits its position.
        settings: Its settings by Kafka's names, ``transactional.id`` among them.
        start: Start time, in microseconds.
        records: Largest number of records in a transaction.
        processing: Time for each record, in microseconds.
    """

    name: str
    source: str
    target: str
    group: str
    settings: Mapping[str, Value]
    start: int = 0
    records: int = 10
    processing: int = MILLISECOND


@dataclass(frozen=True, slots=True)
class ReaderSetup:
    """A consumer with assigned partitions and no group.

    Args:
        name: Its node in the trace.
        partitions: The partitions it reads.
        start: Start time, in microseconds.
        settings: Its settings by Kafka's names.
    """

    name: str
    partitions: tuple[str, ...]
    start: int = 0
    settings: Mapping[str, Value] = field(default_factory=dict)


class Commit(StrEnum):
    """Times at which an application commits by itself (enable.auto.commit=false)."""

    AFTER = "after"
    """commitSync once the records of a poll are processed."""
    ASYNC = "async"
    """commitAsync then: the application does not wait for the answer."""
    BEFORE = "before"
    """commitSync before they are processed: at most once."""
    NEVER = "never"


class OnFailure(StrEnum):
    """Handling of a record that the application cannot process."""

    AGAIN = "again"
    """It tries again and again; the records after it wait."""
    SKIP = "skip"
    """It goes on."""
    DEAD_LETTER = "dead-letter"
    """It writes the record to another topic, waits for the acknowledgement and goes on."""
    SET_ASIDE = "set-aside"
    """It notes the offset, goes on, and reads the record once more later."""


@dataclass(frozen=True, slots=True)
class Application:
    """Processing of the records that a consumer reads. Times are in microseconds.

    Args:
        processing: Time for each record.
        stalls: Additional time for these values, the first time.
        commit: When it commits, unless enable.auto.commit does.
        hand_off: Another thread processes the records while the consumer polls on.
        fails_on: Values that cannot be processed.
        on_failure: Handling of those values.
        dead_letters: The partition for DEAD_LETTER.
        again_after: Time after which SET_ASIDE reads a record once more, and succeeds; between two tries of AGAIN.
        writes_to: A partition to which it writes ``VALUE-out`` for each record, with acks=all.
        transactional: Whether these records, and the offsets, are one transaction a poll; it needs __transaction_state.
        keeps_offsets: Its output is stored with the offset, and refuses an offset that is not newer.
        seeks: Seeks, each as time, partition and offset.
    """

    processing: int = 0
    stalls: Mapping[str, int] = field(default_factory=dict)
    commit: Commit = Commit.AFTER
    hand_off: bool = False
    fails_on: tuple[str, ...] = ()
    on_failure: OnFailure = OnFailure.AGAIN
    dead_letters: str = ""
    again_after: int = SECOND
    writes_to: str = ""
    transactional: bool = False
    keeps_offsets: bool = False
    seeks: tuple[tuple[int, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ConsumerSetup:
    """A consumer that is a member of the group ``group.id``, and its application. The setup needs __consumer_offsets.

    Args:
        name: Its node in the trace.
        topics: The topics it subscribes to.
        start: Start time, in microseconds.
        stop: Time at which it closes, in microseconds; 0 for never.
        settings: Its settings by Kafka's names.
        application: Its processing of the records.
        sees: By partition, the time from which its metadata has it, in microseconds, if later than the partition's: it
            looks every metadata.max.age.ms.
    """

    name: str
    topics: tuple[str, ...]
    start: int = 0
    stop: int = 0
    settings: Mapping[str, Value] = field(default_factory=dict)
    application: Application = field(default_factory=Application)
    sees: Mapping[str, int] = field(default_factory=dict)


Client = ProducerSetup | TransactionalSetup | TransformSetup | ReaderSetup | ConsumerSetup
"""Any client of a setup."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A cluster with clients.

    Args:
        brokers: At least one.
        topics: Its topics.
        clients: Producers and consumers.
        settings: Brokers', topics' and clients' settings, by Kafka's names: defaults for all of them.
        controllers: Number of KRaft controllers; ZooKeeper mode has none.
        down: Nodes that do not run at the beginning, as ``broker-3``; a plan may start them.
        duration: Duration of a run, in microseconds.
    """

    brokers: tuple[BrokerSetup, ...]
    topics: tuple[TopicSetup, ...]
    clients: tuple[Client, ...] = ()
    settings: Mapping[str, Value] = field(default_factory=dict)
    controllers: int = 3
    duration: int = 60 * SECOND
    down: tuple[str, ...] = ()

    def with_settings(self, settings: Mapping[str, Value]) -> Setup:
        """Returns the setup with other settings, which take precedence over those of topics and clients."""
        return replace(
            self,
            settings={**self.settings, **settings},
            topics=tuple(
                replace(topic, settings={**topic.settings, **of_scope(settings, Scope.TOPIC)}) for topic in self.topics
            ),
            clients=tuple(_client_with(client, settings) for client in self.clients),
        )


def scope_of(holder: TopicSetup | Client) -> Scope:
    """The scope of the settings that a topic or client takes."""
    if isinstance(holder, TopicSetup):
        return Scope.TOPIC
    writes = isinstance(holder, ProducerSetup | TransactionalSetup | TransformSetup)
    return Scope.PRODUCER if writes else Scope.CONSUMER


def _client_with(client: Client, settings: Mapping[str, Value]) -> Client:
    return replace(client, settings={**client.settings, **of_scope(settings, scope_of(client))})


def cluster(brokers: int, *topics: TopicSetup, racks: tuple[str, ...] = (), **others: object) -> Setup:
    """Returns a setup with brokers 1 to ``brokers``; ``racks`` are assigned to them in turn."""
    names = (racks * brokers)[:brokers] if racks else ("",) * brokers
    made = tuple(BrokerSetup(number, rack) for number, rack in enumerate(names, start=1))
    return Setup(brokers=made, topics=topics, **others)  # type: ignore[arg-type]


def sends(partition: str, *values: str, start: int = 0, every: int = MILLISECOND) -> tuple[Send, ...]:
    """Returns records one after the other, ``every`` microseconds apart."""
    return tuple(Send(start + place * every, value, partition) for place, value in enumerate(values))
