"""Log directories of one broker, and the replicas in them (DescribeLogDirs, KIP-113, KIP-827)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kreplica.sources.kafka.connections.failures import BrokerFailure
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    error_name,
)
from kreplica.sources.kafka.nodes import Nodes

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.sources.kafka.connections.connection import BrokerConnection

_FIRST_WITH_CORDONED = 5


class LogDir(NamedTuple):
    """One row of the log_dirs table."""

    broker: int
    path: str
    error: str | None
    total_bytes: int | None
    usable_bytes: int | None
    cordoned: bool | None = None


class Replica(NamedTuple):
    """One row of the replicas table."""

    topic: str
    partition: int
    broker: int
    log_dir: str
    size: int
    offset_lag: int | None
    future: bool


@dataclass(frozen=True, slots=True)
class BrokerLogs:
    """Log directories and replicas of one broker.

    Args:
        log_dirs: Its directories.
        replicas: What is in them. The offset lag of a replica that is being added is 0 from its first byte; it tells
            something of future replicas only.
        refused: Kafka's error name if it may not be asked.
        cordoned: Directories that take no new replicas (KIP-1066, Kafka 4.3), None before.
    """

    log_dirs: list[LogDir]
    replicas: list[Replica]
    refused: str | None = None
    cordoned: frozenset[str] | None = None


def read_log_dirs(
    connection: BrokerConnection, broker: int, partitions: Sequence[tuple[str, int]] | None = None
) -> BrokerLogs:
    """Reads a broker's log directories and the replicas in them, whatever topics the credentials may describe.

    Args:
        connection: To that broker.
        broker: Its id.
        partitions: Topic and partition of the replicas to return; None for all of them.
    """
    request = DescribeLogDirsRequest(topics=None if partitions is None else _topics(partitions))
    answer: Any = connection.send(request, DescribeLogDirsResponse)
    if answer.error_code != NO_ERROR or not answer.results:
        # Before version 3 an answer without directories is a refusal.
        code = answer.error_code
        return BrokerLogs([], [], error_name(code) if code else "CLUSTER_AUTHORIZATION_FAILED")
    cordoned = _cordoned(connection, answer)
    dirs = [_log_dir(broker, one, cordoned) for one in answer.results]
    replicas = [
        Replica(
            topic.name,
            one.partition_index,
            broker,
            log_dir.log_dir,
            one.partition_size,
            _known(one.offset_lag),
            one.is_future_key,
        )
        for log_dir in answer.results
        for topic in log_dir.topics or ()
        for one in topic.partitions
    ]
    return BrokerLogs(dirs, replicas, cordoned=cordoned)


def _cordoned(connection: BrokerConnection, answer: Any) -> frozenset[str] | None:
    if not connection.supports(DescribeLogDirsRequest, _FIRST_WITH_CORDONED):
        return None
    return frozenset(one.log_dir for one in answer.results if one.is_cordoned)


def read_broker_logs(
    handle: ClusterHandle, brokers: Iterable[int], partitions: Sequence[tuple[str, int]] | None = None
) -> dict[int, BrokerLogs | str]:
    """Reads log directories and replicas of several brokers, straight from each.

    Args:
        handle: A live cluster whose brokers are named; ``handle.timeout`` bounds the whole read.
        brokers: Their ids.
        partitions: Topic and partition of the replicas to return; None for all of them.

    Returns:
        What each broker told, or why it could not be asked.

    Raises:
        UnreachableError: No server answered.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    with Nodes(handle) as nodes:
        calls = {broker: partial(read_log_dirs, broker=broker, partitions=partitions) for broker in brokers}
        answers = nodes.each_broker(calls)
    return {broker: str(one) if isinstance(one, BrokerFailure) else one for broker, one in answers.items()}


def _topics(partitions: Sequence[tuple[str, int]]) -> list[Any]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    topic_class = DescribeLogDirsRequest.DescribableLogDirTopic
    return [topic_class(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()]


def _log_dir(broker: int, one: Any, cordoned: frozenset[str] | None) -> LogDir:
    error = error_name(one.error_code) if one.error_code != NO_ERROR else None
    closed = None if cordoned is None else one.log_dir in cordoned
    return LogDir(broker, one.log_dir, error, _known(one.total_bytes), _known(one.usable_bytes), closed)


def _known(value: int) -> int | None:
    return value if value >= 0 else None
