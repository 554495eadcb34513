"""Log directories of one broker, and the replicas in them (DescribeLogDirs, KIP-113, KIP-827)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kreplica.sources.kafka.messages import NO_ERROR, DescribeLogDirsRequest, DescribeLogDirsResponse, error_name

if TYPE_CHECKING:
    from kreplica.sources.kafka.connection import BrokerConnection


class LogDir(NamedTuple):
    """One row of the log_dirs table."""

    broker: int
    path: str
    error: str | None
    total_bytes: int | None
    usable_bytes: int | None


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
    """Log directories and replicas of one broker; ``refused`` is Kafka's error name if it may not be asked."""

    log_dirs: list[LogDir]
    replicas: list[Replica]
    refused: str | None = None


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
    dirs = [_log_dir(broker, one) for one in answer.results]
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
    return BrokerLogs(dirs, replicas)


def _topics(partitions: Sequence[tuple[str, int]]) -> list[Any]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    topic_class = DescribeLogDirsRequest.DescribableLogDirTopic
    return [topic_class(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()]


def _log_dir(broker: int, one: Any) -> LogDir:
    error = error_name(one.error_code) if one.error_code != NO_ERROR else None
    return LogDir(broker, one.log_dir, error, _known(one.total_bytes), _known(one.usable_bytes))


def _known(value: int) -> int | None:
    return value if value >= 0 else None
