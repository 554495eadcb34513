"""Log directories of replicas (AlterReplicaLogDirs, KIP-113, Kafka 1.1): moves within a broker, places of new replicas.

A broker copies a replica that it has into a future one beside it and swaps them when it has caught up; asked for the
directory that it is in, it drops the future one. For a replica that it does not have yet it remembers the directory,
in memory only, and answers REPLICA_NOT_AVAILABLE, which is success here: the reassignment that follows puts the replica
there, unless the broker restarts in between. Left to itself it takes the directory with the fewest partitions, not the
one with room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from kreplica.control.boundary import require_brokers, require_writable
from kreplica.sources.kafka.connections.failures import BrokerFailure, RequestUnsupportedError
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    error_name,
)
from kreplica.sources.kafka.nodes import Nodes
from kreplica.sources.permissions import ALTER_CLUSTER, needed

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.sources.kafka.connections.connection import BrokerConnection

REPLICAS_A_REQUEST = 1000
UNANSWERED = "unanswered"

ReplicaKey: TypeAlias = tuple[str, int, int]
"""Topic, partition and broker."""


@dataclass(frozen=True, slots=True)
class DirectoryResult:
    """A broker's answer about one of its replicas.

    Args:
        remembered: The broker has no such replica and puts a new one there.
        error: Empty where it was accepted; Kafka's error name, or ``unanswered``.
        message: A clause that explains it; Kafka gives none.
    """

    remembered: bool = False
    error: str = ""
    message: str = ""

    @property
    def accepted(self) -> bool:
        """True if the replica goes there, or is there."""
        return not self.error


def alter_log_directories(
    handle: ClusterHandle, directories: Mapping[ReplicaKey, str]
) -> dict[ReplicaKey, DirectoryResult]:
    """Asks brokers to put replicas into log directories; accepted is not yet moved (DescribeLogDirs tells).

    Args:
        handle: A live cluster; ``handle.timeout`` bounds the whole call.
        directories: The absolute path, as in log.dirs, by topic, partition and broker.

    Returns:
        The answer for each replica. A broker that is down or falls silent fails its own replicas only.

    Raises:
        ChangeRefusedError: The handle is read-only.
        UnreachableError: No bootstrap server answered.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    require_writable(handle)
    require_brokers(handle)
    if not directories:
        return {}
    by_broker: dict[int, list[ReplicaKey]] = {}
    for key in directories:
        by_broker.setdefault(key[2], []).append(key)
    with Nodes(handle) as nodes:
        answers = nodes.each_broker(
            {broker: partial(_ask, {key: directories[key] for key in keys}) for broker, keys in by_broker.items()}
        )
        return {key: _result(key, answers[key[2]], nodes.settings) for key in directories}


def _ask(directories: Mapping[ReplicaKey, str], connection: BrokerConnection) -> dict[tuple[str, int], int]:
    """Error codes by topic and partition, from as many requests as it takes."""
    codes: dict[tuple[str, int], int] = {}
    keys = list(directories)
    for start in range(0, len(keys), REPLICAS_A_REQUEST):
        piece = {key: directories[key] for key in keys[start : start + REPLICAS_A_REQUEST]}
        answer: Any = connection.send(_request(piece), AlterReplicaLogDirsResponse)
        found = [(topic.topic_name, one) for topic in answer.results for one in topic.partitions]
        codes |= {(topic, one.partition_index): one.error_code for topic, one in found}
    return codes


def _request(directories: Mapping[ReplicaKey, str]) -> Any:
    directory_class = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    by_path: dict[str, dict[str, list[int]]] = {}
    for (topic, partition, _), path in directories.items():
        by_path.setdefault(path, {}).setdefault(topic, []).append(partition)
    return AlterReplicaLogDirsRequest(
        dirs=[directory_class(path=path, topics=_topics(topics)) for path, topics in by_path.items()]
    )


def _topics(topics: Mapping[str, Sequence[int]]) -> list[Any]:
    topic_class = AlterReplicaLogDirsRequest.AlterReplicaLogDir.AlterReplicaLogDirTopic
    return [topic_class(name=name, partitions=list(partitions)) for name, partitions in topics.items()]


def _result(
    key: ReplicaKey, answer: Mapping[tuple[str, int], int] | BrokerFailure, settings: Mapping[str, object]
) -> DirectoryResult:
    if isinstance(answer, BrokerFailure):
        unsupported = isinstance(answer, RequestUnsupportedError)
        return DirectoryResult(error="UNSUPPORTED_VERSION" if unsupported else UNANSWERED, message=str(answer))
    topic, partition, _ = key
    if (topic, partition) not in answer:
        return DirectoryResult(error=UNANSWERED, message="the answer leaves it out")
    code = answer[topic, partition]
    if code == NO_ERROR:
        return DirectoryResult()
    error = error_name(code)
    if error == "REPLICA_NOT_AVAILABLE":
        return DirectoryResult(remembered=True)
    message = needed(ALTER_CLUSTER, settings) if error == "CLUSTER_AUTHORIZATION_FAILED" else _REASONS.get(error, "")
    return DirectoryResult(error=error, message=message)


_REASONS = {
    "LOG_DIR_NOT_FOUND": "the broker has no such log directory, or it is offline",
    "KAFKA_STORAGE_ERROR": "the directory that the replica is in is offline",
}
