"""Ongoing reassignments, which only the controller knows (ListPartitionReassignments, KIP-455).

Reassignments and replicas come in separate answers. Kafka names the replicas in both, so a reassignment that began in
between, or goes on, is noticed: the partitions concerned are read again, and if that does not help a gap says so
(``torn-read``). One that ended in between is not listed any more, and leaves the replicas of both its sides, with some
out of sync: where few topics have such partitions, they are read again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kreplica.errors import AuthenticationError, UnreachableError
from kreplica.model.snapshot import Gap
from kreplica.model.wording.words import counted
from kreplica.sources.kafka.connections.failures import BrokerFailure, RequestUnsupportedError
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    error_name,
)
from kreplica.sources.kafka.layout import Layout, read_partitions
from kreplica.sources.kafka.nodes import Nodes
from kreplica.sources.permissions import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.sources.kafka.connections.connection import BrokerConnection

_ATTEMPTS = 3
_FEW_TOPICS = 50
"""Topics with replicas out of sync that are read again in case a reassignment has just ended; more have a cause that
lasts."""
_PAUSE_SECONDS = 0.2

PartitionKey: TypeAlias = tuple[str, int]


class Move(NamedTuple):
    """A partition's ongoing reassignment, with the replicas it had at that moment."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


Moves: TypeAlias = dict[PartitionKey, Move]


def read_ongoing(handle: ClusterHandle, partitions: Collection[PartitionKey] | None = None) -> Moves:
    """Reads the reassignments that go on, whoever started them, from the controller itself.

    A partition without one is left out. Kafka names the merged assignment: the target, then what is removed. A replica
    that is asked back while it is being removed stands in both lists (KRaft): such a move never ends by itself.

    Args:
        handle: A live cluster whose brokers are named; ``handle.timeout`` bounds the request.
        partitions: Those asked about; None for all.

    Raises:
        UnreachableError: The controller did not answer, or is older than Kafka 2.4.
        AuthenticationError: The cluster refused the credentials, or they may not describe it.
        ConfigurationError: The client properties cannot be used.
    """
    if partitions is not None and not partitions:
        return {}
    try:
        with Nodes(handle) as nodes:
            connection = nodes.controller()
            moves, error = _ask(connection, partitions)
            fix = connection.lacks(DESCRIBE_CLUSTER) if error == "CLUSTER_AUTHORIZATION_FAILED" else ""
    except RequestUnsupportedError as failure:
        raise UnreachableError("reassignments cannot be read", str(failure), "it needs Kafka 2.4") from None
    except BrokerFailure as failure:
        raise UnreachableError("reassignments cannot be read", str(failure)) from None
    if fix:
        raise AuthenticationError("reassignments cannot be read", error, fix)
    if error:
        raise UnreachableError("reassignments cannot be read", error, "try again in a moment")
    return moves


def read_assignments(nodes: Nodes, partitions: Iterable[PartitionKey]) -> dict[PartitionKey, Move]:
    """Reads replicas and reassignments of partitions right before they are changed; one that is gone is left out.

    Raises:
        BrokerFailure: The controller did not answer, or refuses to tell.
    """
    wanted = set(partitions)
    connection = nodes.controller()
    rows = read_partitions(connection, {topic for topic, _ in wanted})
    moves, error = _ask(connection, wanted)
    if error:
        raise BrokerFailure(connection.address, f"does not list reassignments: {error}")
    still = {(row.topic, row.partition): Move(row.replicas, [], []) for row in rows}
    return {key: moves.get(key, still[key]) for key in wanted if key in still}


def read_moves(connection: BrokerConnection, layout: Layout) -> tuple[Moves | None, tuple[Gap, ...]]:
    """Reads the reassignments; partitions of ``layout`` that changed meanwhile are replaced in place.

    Args:
        connection: The ZooKeeper controller, or any broker of a KRaft cluster, which forwards to its controller.
        layout: Brokers and partitions that were read before.

    Returns:
        The reassignments, None if they cannot be known, and the gaps.
    """
    if not connection.supports(ListPartitionReassignmentsRequest):
        # Before Kafka 2.4 reassignments are known to ZooKeeper alone.
        return None, ()
    moves, error = _ask(connection)
    if not error and 0 < len(behind := topics_behind(layout, moves)) <= _FEW_TOPICS:
        _reread(connection, layout, behind)
    for _ in range(_ATTEMPTS):
        torn = torn_partitions(layout, moves)
        if error or not torn:
            break
        time.sleep(_PAUSE_SECONDS)
        _reread(connection, layout, {topic for topic, _ in torn})
        moves, error = _ask(connection)
    if error:
        fix = f": {connection.lacks(DESCRIBE_CLUSTER)}" if error == "CLUSTER_AUTHORIZATION_FAILED" else ""
        return None, (Gap("failed-request", f"reassignments could not be read, {error}{fix}", 1),)
    if torn:
        message = f"{counted(len(torn), 'reassigning partition')} changed during the read; run the command again"
        return moves, (Gap("torn-read", message, len(torn)),)
    return moves, ()


def _ask(connection: BrokerConnection, partitions: Collection[PartitionKey] | None = None) -> tuple[Moves, str]:
    topics = None if partitions is None else _topics(partitions)
    request = ListPartitionReassignmentsRequest(timeout_ms=connection.milliseconds_left(), topics=topics)
    answer: Any = connection.send(request, ListPartitionReassignmentsResponse)
    if answer.error_code != NO_ERROR:
        return {}, error_name(answer.error_code)
    return {
        (topic.name, one.partition_index): Move(one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in answer.topics
        for one in topic.partitions
    }, ""


def _topics(partitions: Iterable[PartitionKey]) -> list[Any]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    topic_class = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    return [topic_class(name=name, partition_indexes=indexes) for name, indexes in by_topic.items()]


def topics_behind(layout: Layout, moves: Moves) -> set[str]:
    """Topics with a replica that is out of sync without being offline, in a partition that no listed move changes."""
    rows = (row for row in layout.partitions if set(row.replicas) - {*row.isr, *(row.offline_replicas or ())})
    return {row.topic for row in rows if (row.topic, row.partition) not in moves}


def torn_partitions(layout: Layout, moves: Moves) -> list[PartitionKey]:
    """Partitions whose replicas in their reassignment are not those of ``layout``."""
    if not moves:
        return []
    seen = {(row.topic, row.partition): set(row.replicas) for row in layout.partitions}
    return [key for key, move in moves.items() if key in seen and seen[key] != set(move.replicas)]


def _reread(connection: BrokerConnection, layout: Layout, topics: set[str]) -> None:
    again = {(row.topic, row.partition): row for row in read_partitions(connection, topics)}
    for position, row in enumerate(layout.partitions):
        layout.partitions[position] = again.get((row.topic, row.partition), row)
