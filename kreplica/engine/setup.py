"""What is simulated: brokers, controllers, topics, clients. Frozen values; a run is a function of them and a seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kreplica.engine.settings import MICROSECONDS, Scope, Value, of_scope

MILLISECOND = MICROSECONDS
SECOND = 1_000_000
"""In microseconds, the unit of every time here."""

FIRST_CONTROLLER = 3001
"""Ids of controllers begin here, as sandbox clusters and many sites number them apart from brokers."""


@dataclass(frozen=True, slots=True)
class BrokerSetup:
    """A broker: its id, its rack, which may be empty, and what it has set differently from the others."""

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
        assignment: For each partition its replicas, the preferred leader first; none where a partition is left out.
        settings: Its own settings by Kafka's names.
        starts: By number, partitions of which not the first replica leads and all are in sync at the beginning.
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
    """The topic of ``topic-0``, and its 0: what partitions are sorted by."""
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


@dataclass(frozen=True, slots=True)
class Send:
    """One record that a producer's application sends.

    Args:
        at: When, in microseconds.
        value: What; unique in a run, because histories tell records apart by it.
        partition: To which one, as ``topic-0``.
    """

    at: int
    value: str
    partition: str


@dataclass(frozen=True, slots=True)
class ProducerSetup:
    """A producer: what it sends and its settings.

    Args:
        name: Its node in the trace.
        sends: By time.
        settings: Kafka's names.
        sync: Whether the application waits for each acknowledgement before it sends on (``send().get()``).
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
        end: Not before this time it ends, in microseconds; it waits for every answer first.
        commit: Whether the application commits it; one that cannot be committed is aborted.
        group: For whom it commits offsets beside, empty for nobody. The setup then needs __consumer_offsets.
        offsets: Partition and offset of each.
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
        settings: Kafka's names, ``transactional.id`` among them.
        start: When it begins, in microseconds: a second one with the same id fences the first.
    """

    name: str
    transactions: tuple[Transaction, ...]
    settings: Mapping[str, Value]
    start: int = 0


@dataclass(frozen=True, slots=True)
class TransformSetup:
    """An application that writes, for every record of one partition, one to another: consume-transform-produce.

    What it wrote and how far it has read are one transaction. A record ``m`` becomes ``m-done``. The setup needs
    __transaction_state and __consumer_offsets.

    Args:
        name: Its node in the trace.
        source: What it reads, as ``topic-0``.
        target: Where it writes.
        group: For whom it commits its position.
        settings: Kafka's names, ``transactional.id`` among them.
        start: When it begins, in microseconds.
        records: At most so many in a transaction.
        processing: How long each takes, in microseconds.
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
        partitions: What it reads.
        start: When it begins, in microseconds.
        settings: Kafka's names.
    """

    name: str
    partitions: tuple[str, ...]
    start: int = 0
    settings: Mapping[str, Value] = field(default_factory=dict)


class Commit(StrEnum):
    """When an application commits that does it itself (enable.auto.commit=false)."""

    AFTER = "after"
    """commitSync once the records of a poll are processed."""
    ASYNC = "async"
    """commitAsync then: it does not wait for the answer."""
    BEFORE = "before"
    """commitSync before they are processed: at most once."""
    NEVER = "never"


class OnFailure(StrEnum):
    """What an application does with a record that it cannot process."""

    AGAIN = "again"
    """It tries again and again; what stands behind it waits."""
    SKIP = "skip"
    """It goes on."""
    DEAD_LETTER = "dead-letter"
    """It writes the record to another topic, waits for the acknowledgement and goes on."""
    SET_ASIDE = "set-aside"
    """It notes the offset, goes on, and reads it once more later."""


@dataclass(frozen=True, slots=True)
class Application:
    """What is done with the records that a consumer reads. Times are in microseconds.

    Args:
        processing: How long each record takes.
        stalls: How much longer these values take, the first time.
        commit: When it commits, unless enable.auto.commit does.
        hand_off: Another thread processes the records while the consumer polls on.
        fails_on: Values that cannot be processed.
        on_failure: What it does then.
        dead_letters: The partition for DEAD_LETTER.
        again_after: After how long SET_ASIDE reads a record once more, and succeeds; between two tries of AGAIN.
        writes_to: A partition to which it writes ``VALUE-out`` for each record, with acks=all.
        transactional: Whether that, and the offsets, go into one transaction a poll; it needs __transaction_state.
        keeps_offsets: What it writes to goes with the offset, and refuses an offset that is not newer.
        seeks: At a time, to which offset of which partition.
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
        topics: What it subscribes.
        start: When it begins, in microseconds.
        stop: When it closes, in microseconds; 0 for never.
        settings: Kafka's names.
        application: What it does with the records.
        sees: From when on its metadata has a partition, in microseconds, where that is later than the partition: it
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
"""Everything that may stand among a setup's clients."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A cluster with clients.

    Args:
        brokers: At least one.
        topics: Whose partitions.
        clients: Producers and consumers.
        settings: Brokers', topics' and clients' settings, by Kafka's names: defaults for every one of them.
        controllers: How many KRaft controllers there are; ZooKeeper mode has none.
        down: Nodes that do not run at the beginning, as ``broker-3``; a plan may start them.
        duration: How long a run lasts, in microseconds.
    """

    brokers: tuple[BrokerSetup, ...]
    topics: tuple[TopicSetup, ...]
    clients: tuple[Client, ...] = ()
    settings: Mapping[str, Value] = field(default_factory=dict)
    controllers: int = 3
    duration: int = 60 * SECOND
    down: tuple[str, ...] = ()

    def with_settings(self, settings: Mapping[str, Value]) -> Setup:
        """The same with other settings, which win over those that topics and clients have themselves."""
        return replace(
            self,
            settings={**self.settings, **settings},
            topics=tuple(
                replace(topic, settings={**topic.settings, **of_scope(settings, Scope.TOPIC)}) for topic in self.topics
            ),
            clients=tuple(_client_with(client, settings) for client in self.clients),
        )


def scope_of(holder: TopicSetup | Client) -> Scope:
    """Which settings it takes."""
    if isinstance(holder, TopicSetup):
        return Scope.TOPIC
    writes = isinstance(holder, ProducerSetup | TransactionalSetup | TransformSetup)
    return Scope.PRODUCER if writes else Scope.CONSUMER


def _client_with(client: Client, settings: Mapping[str, Value]) -> Client:
    return replace(client, settings={**client.settings, **of_scope(settings, scope_of(client))})


def cluster(brokers: int, *topics: TopicSetup, racks: tuple[str, ...] = (), **others: object) -> Setup:
    """A setup with brokers 1 to ``brokers``; ``racks`` gives each its rack in turn."""
    names = (racks * brokers)[:brokers] if racks else ("",) * brokers
    made = tuple(BrokerSetup(number, rack) for number, rack in enumerate(names, start=1))
    return Setup(brokers=made, topics=topics, **others)  # type: ignore[arg-type]


def sends(partition: str, *values: str, start: int = 0, every: int = MILLISECOND) -> tuple[Send, ...]:
    """Records one after the other, ``every`` microseconds apart."""
    return tuple(Send(start + place * every, value, partition) for place, value in enumerate(values))
