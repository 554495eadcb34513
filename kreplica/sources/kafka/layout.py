"""Brokers, topics and partitions of a live cluster: assignments, replicas in sync, leaders.

    Metadata, all topics       topics, leaders and epochs, replicas, ISR, offline replicas, as one broker sees them
    DescribeCluster            fenced brokers too (KIP-1073, Kafka 4.0)
    DescribeTopicPartitions    ELR, only for topics with a replica out of sync

Any broker answers these from its own copy of the metadata; none is forwarded to the controller, which may be the broker
that does not answer.

The ELR of a partition whose replicas are all in sync is empty by definition (it is disjoint from the ISR and within the
replicas), so a healthy cluster costs no DescribeTopicPartitions request however many partitions it has. Where one is
sent, all of the partition's state is taken from its answer: a row never mixes two moments.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kreplica.formats.schema import uuid_text
from kreplica.model.internal_topics import INTERNAL_TOPICS
from kreplica.model.snapshot import Gap
from kreplica.model.wording.words import counted
from kreplica.sources.kafka.connections.failures import BrokerFailure
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
    error_name,
)
from kreplica.sources.permissions import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kreplica.sources.kafka.connections.connection import BrokerConnection

PAGE = 2000
"""Partitions asked for in one DescribeTopicPartitions request: the default of max.request.partition.size.limit."""

_LISTENER_NOT_FOUND = 72
_TOPIC_AUTHORIZATION_FAILED = 29
_NAMES_A_REQUEST = 1000


class Broker(NamedTuple):
    """A broker as the cluster knows it."""

    broker: int
    host: str | None
    port: int | None
    rack: str | None
    alive: bool
    fenced: bool | None


@dataclass(slots=True)
class Partition:
    """One partition while the answers are combined; the snapshot holds columns."""

    topic: str
    topic_id: str | None
    internal: bool
    partition: int
    leader: int | None
    leader_epoch: int | None
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int] | None
    elr: list[int] | None = None
    last_known_elr: list[int] | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Brokers and partitions from the first answers."""

    cluster_id: str | None
    controller: int | None
    brokers: tuple[Broker, ...]
    partitions: list[Partition]
    gaps: tuple[Gap, ...] = ()

    @property
    def topics(self) -> dict[str, int]:
        """Number of partitions by topic."""
        counts: dict[str, int] = {}
        for partition in self.partitions:
            counts[partition.topic] = counts.get(partition.topic, 0) + 1
        return counts

    @property
    def replica_missing(self) -> bool:
        """True if any partition has a replica out of sync."""
        return any(len(partition.isr) < len(partition.replicas) for partition in self.partitions)


def read_layout(connection: BrokerConnection) -> Layout:
    """Reads brokers and partitions as one broker sees them.

    Raises:
        BrokerFailure: The broker stopped answering.
    """
    answer = _metadata(connection, None)
    brokers, cluster_id = _brokers(connection, answer)
    partitions, homeless = _partitions(answer.topics)
    _add_eligible_leaders(connection, partitions)
    gaps: tuple[Gap, ...] = ()
    if homeless:
        leaders = counted(homeless, "partition whose leader has", "partitions whose leaders have")
        message = f"{leaders} no address on this listener; ask by another listener"
        gaps = (Gap("failed-request", message, homeless),)
    controller = answer.controller_id if answer.controller_id >= 0 else None
    return Layout(cluster_id, controller, brokers, partitions, gaps)


def read_partitions(connection: BrokerConnection, topics: Iterable[str]) -> list[Partition]:
    """Reads the partitions of the named topics, without those of topics that are gone."""
    partitions: list[Partition] = []
    for chunk in _chunks(sorted(topics), _NAMES_A_REQUEST):
        partitions += _partitions(_metadata(connection, chunk).topics)[0]
    _add_eligible_leaders(connection, partitions)
    return partitions


def hidden_topics(connection: BrokerConnection, candidates: Iterable[str]) -> list[str]:
    """Those of ``candidates`` that exist but that the credentials may not describe.

    A name that brokers hold files of may also be a deleted topic's: asked by name, Kafka tells "not authorised" from
    "unknown". The request never creates a topic.
    """
    hidden: list[str] = []
    for chunk in _chunks(sorted(candidates), _NAMES_A_REQUEST):
        topics = _metadata(connection, chunk).topics
        hidden += [topic.name for topic in topics if topic.error_code == _TOPIC_AUTHORIZATION_FAILED]
    return hidden


def brokers_down_are_listed(connection: BrokerConnection) -> bool:
    """True if the list of brokers has those that are down, too (KIP-1073)."""
    return connection.supports(DescribeClusterRequest, 2)


def hidden_gap(count: int) -> Gap:
    """The gap for that many hidden topics."""
    message = f"{counted(count, 'hidden topic')}: the credentials may not describe them"
    return Gap("hidden-topics", message, count)


def log_directories_refused(connection: BrokerConnection, refused: str) -> str:
    """Says that log directories could not be read, and what the credentials lack.

    Args:
        connection: To a broker, with the credentials.
        refused: Kafka's error name.
    """
    return f"log directories could not be read, {refused}: {connection.lacks(DESCRIBE_CLUSTER)}"


def _metadata(connection: BrokerConnection, names: Sequence[str] | None) -> Any:
    topic_class = MetadataRequest.MetadataRequestTopic
    topics = None if names is None else [topic_class(name=name, topic_id=uuid.UUID(int=0)) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=False)
    # Versions before 4 cannot say allow_auto_topic_creation=False: by name they are not asked.
    answer: Any = connection.send(request, MetadataResponse, oldest=0 if names is None else 4)
    if answer.error_code != NO_ERROR:
        raise BrokerFailure(connection.address, f"Metadata failed: {error_name(answer.error_code)}")
    return answer


def _brokers(connection: BrokerConnection, metadata: Any) -> tuple[tuple[Broker, ...], str | None]:
    alive = {one.node_id: one for one in metadata.brokers}
    if not brokers_down_are_listed(connection):
        rows = [Broker(one.node_id, one.host, one.port, one.rack, True, None) for one in alive.values()]
        return tuple(rows), metadata.cluster_id
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=1, include_fenced_brokers=True
    )
    answer: Any = connection.send(request, DescribeClusterResponse, oldest=2)
    if answer.error_code != NO_ERROR:
        raise BrokerFailure(connection.address, f"DescribeCluster failed: {error_name(answer.error_code)}")
    rows = [
        Broker(one.broker_id, one.host, one.port, one.rack, not one.is_fenced, one.is_fenced) for one in answer.brokers
    ]
    return tuple(rows), metadata.cluster_id or answer.cluster_id


def _partitions(topics: Iterable[Any]) -> tuple[list[Partition], int]:
    rows, homeless = [], 0
    for topic in topics:
        topic_id = topic_id_text(topic.topic_id)
        internal = bool(topic.is_internal) or topic.name in INTERNAL_TOPICS
        for one in topic.partitions:
            # The leader exists, and only this listener has no address for it: nothing can be said about the leader.
            hidden_leader = one.error_code == _LISTENER_NOT_FOUND
            homeless += hidden_leader
            rows.append(
                Partition(
                    topic.name,
                    topic_id,
                    internal,
                    one.partition_index,
                    None if hidden_leader else one.leader_id,
                    one.leader_epoch if one.leader_epoch >= 0 else None,
                    one.replica_nodes,
                    one.isr_nodes,
                    one.offline_replicas,
                )
            )
    return rows, homeless


def _add_eligible_leaders(connection: BrokerConnection, partitions: list[Partition]) -> None:
    if not connection.supports(DescribeTopicPartitionsRequest):
        return
    wanted: dict[tuple[str, int], Partition] = {}
    sizes: dict[str, int] = {}
    for row in partitions:
        sizes[row.topic] = sizes.get(row.topic, 0) + 1
        if len(row.isr) < len(row.replicas):
            wanted[row.topic, row.partition] = row
        else:
            row.elr, row.last_known_elr = [], []
    topics = {topic: sizes[topic] for topic, _ in wanted}
    for names in pages(topics, PAGE):
        for topic, one in _described(connection, names):
            row = wanted.get((topic.name, one.partition_index))  # type: ignore[assignment]
            if row is not None:
                _take_state(row, one)


def _take_state(row: Partition, one: Any) -> None:
    # A leader that Metadata could not address stays unknown: this request has no way to say so.
    row.leader = None if row.leader is None else one.leader_id
    row.leader_epoch, row.replicas, row.isr = one.leader_epoch, one.replica_nodes, one.isr_nodes
    row.offline_replicas = one.offline_replicas
    row.elr, row.last_known_elr = one.eligible_leader_replicas, one.last_known_elr


def _described(connection: BrokerConnection, names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    request_class = DescribeTopicPartitionsRequest
    cursor: Any = None
    while True:
        request = request_class(
            topics=[request_class.TopicRequest(name=name) for name in names],
            response_partition_limit=PAGE,
            cursor=cursor,
        )
        answer: Any = connection.send(request, DescribeTopicPartitionsResponse)
        for topic in answer.topics:
            for one in topic.partitions or ():
                yield topic, one
        last, cursor = cursor, _next_cursor(answer.next_cursor)
        if cursor is None:
            return
        if last is not None and (last.topic_name, last.partition_index) == (cursor.topic_name, cursor.partition_index):
            raise BrokerFailure(connection.address, "DescribeTopicPartitions repeats a page")


def _next_cursor(cursor: Any) -> Any:
    if cursor is None:
        return None
    return DescribeTopicPartitionsRequest.Cursor(topic_name=cursor.topic_name, partition_index=cursor.partition_index)


def topic_id_text(topic_id: uuid.UUID | None) -> str | None:
    """A topic id as Kafka prints it: URL-safe base64 without padding (org.apache.kafka.common.Uuid)."""
    if topic_id is None or topic_id.int == 0:
        return None
    return uuid_text(topic_id.bytes)


def pages(sizes: dict[str, int], limit: int) -> Iterator[list[str]]:
    """Topics together as long as their partitions fit one answer; a larger one goes alone and the cursor pages it."""
    page: list[str] = []
    total = 0
    for name, size in sizes.items():
        if page and total + size > limit:
            yield page
            page, total = [], 0
        page.append(name)
        total += size
    if page:
        yield page


def _chunks(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), size):
        yield names[start : start + size]
