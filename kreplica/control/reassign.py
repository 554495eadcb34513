"""Replicas by the Kafka protocol (AlterPartitionReassignments, KIP-455, Kafka 2.4): moves, their cancellation, orders.

An accepted request is not yet a done one: the controller adds replicas, waits until they are in sync, then removes
others. ``sources.kafka.reassignments.read_ongoing`` tells which moves go on. In KRaft a move is taken back by
cancelling it (None): the earlier replicas asked for again while it goes on make a move that never ends, from Kafka 4.3
on (``engine.rules.controller.reassignment``). Cancelling brings the replicas back, not their order.

A reassignment that merely rearranges replicas moves no data and completes at once (KRaft:
ReplicationControlManager.changePartitionReassignment), with a ZooKeeper controller once all of them are in sync
(KafkaController.isReassignmentComplete), which the caller ensures. It changes no leader; the order decides which
replica the next preferred election elects.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kreplica.control.boundary import require_brokers, require_writable
from kreplica.errors import ChangeRefusedError, KreplicaError, UnreachableError
from kreplica.sources.kafka.connections.failures import BrokerFailure, RequestUnsupportedError
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    error_name,
)
from kreplica.sources.kafka.nodes import Nodes
from kreplica.sources.kafka.reassignments import Move, PartitionKey, read_assignments
from kreplica.sources.permissions import ALTER_CLUSTER, needed

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

BATCH = 1000
"""Partitions in one request; a KRaft controller refuses one of more than 10,000 records (KAFKA-14447)."""

CHANGED, UNANSWERED, NOT_ASKED = "changed", "unanswered", "not-asked"
"""Outcomes that are no error of Kafka: it is not as expected; the answer leaves it out; a request before it failed."""

_ATTEMPTS = 5
_PAUSE_SECONDS = 0.5

Target: TypeAlias = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class ReassignmentResult:
    """The controller's answer for one partition.

    Args:
        topic: Topic name.
        partition: Partition index.
        error: Empty where the controller accepted it; Kafka's error name, or ``changed``, ``unanswered``,
            ``not-asked``. Where a request failed after another one went through, the kind of that failure: its
            partitions may have been changed all the same.
        message: Kafka's own words, or a clause.
    """

    topic: str
    partition: int
    error: str = ""
    message: str = ""

    @property
    def accepted(self) -> bool:
        """True if the controller took it."""
        return not self.error

    def __str__(self) -> str:
        kafkas_own = self.error.isupper()
        return f"{self.error}: {self.message}" if kafkas_own and self.message else self.message or self.error


def alter_reassignments(
    handle: ClusterHandle,
    targets: Mapping[PartitionKey, Target],
    *,
    expected: Mapping[PartitionKey, Move] | None = None,
    change_replication_factor: bool = False,
) -> tuple[ReassignmentResult, ...]:
    """Asks the controller to move partitions to other replicas, or to cancel their moves.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds each request, and what is read right before it.
        targets: The replicas that each partition shall have, the preferred leader first; None cancels its move.
        expected: Replicas and move of partitions as they have to be. All of these are read again right before each
            request, and one that differs is not asked for (``changed``): Kafka itself compares nothing.
        change_replication_factor: Whether the number of replicas may change. A controller from Kafka 4.1 on refuses it
            otherwise (KIP-860); an older one does not look, so that the caller has to.

    Returns:
        One result for each partition, in the order given. When a request fails after another one went through, its
        partitions carry the failure and those after it are ``not-asked``.

    Raises:
        ChangeRefusedError: The handle is read-only, the cluster is too old, or the credentials may not alter it.
        UnreachableError: The controller did not answer the first request; it may have been carried out all the same.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    require_writable(handle)
    require_brokers(handle)
    wanted = list(targets)
    results: dict[PartitionKey, ReassignmentResult] = {}
    for start in range(0, len(wanted), BATCH):
        piece = {key: targets[key] for key in wanted[start : start + BATCH]}
        try:
            results.update(_alter(handle, piece, expected or {}, change_replication_factor))
        except KreplicaError as error:
            if not results:
                raise
            results |= {key: ReassignmentResult(*key, error.kind, str(error)) for key in piece}
            later = "a request before it failed"
            results |= {key: ReassignmentResult(*key, NOT_ASKED, later) for key in wanted[start + BATCH :]}
            break
    return tuple(results[key] for key in wanted)


def reorder_replicas(handle: ClusterHandle, orders: Mapping[PartitionKey, tuple[int, ...]]) -> dict[PartitionKey, str]:
    """Asks the controller for another order of the replicas of some partitions.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds each request.
        orders: The replicas of each partition, those it has, in the order wanted; all of them in sync.

    Returns:
        Kafka's error for each partition, empty where it was accepted. Read the state again: accepted is not yet done.

    Raises:
        ChangeRefusedError, UnreachableError, AuthenticationError, ConfigurationError: As ``alter_reassignments``.
    """
    return {(one.topic, one.partition): str(one) for one in alter_reassignments(handle, orders)}


def _alter(
    handle: ClusterHandle,
    piece: Mapping[PartitionKey, Target],
    expected: Mapping[PartitionKey, Move],
    change_replication_factor: bool,
) -> dict[PartitionKey, ReassignmentResult]:
    """Carries one request out; a controller that is none any more has done nothing, and its successor is asked."""
    for attempt in range(1, _ATTEMPTS + 1):
        asked: dict[PartitionKey, Target] = {}
        try:
            with Nodes(handle) as nodes:
                results = _changed(nodes, piece, expected)
                asked = {key: target for key, target in piece.items() if key not in results}
                answer = _ask(nodes, asked, change_replication_factor) if asked else None
        except RequestUnsupportedError as failure:
            raise ChangeRefusedError("reassignments cannot be made", str(failure), "it needs Kafka 2.4") from None
        except BrokerFailure as failure:
            done = "they may have been made all the same" if asked else "nothing was asked for"
            raise UnreachableError("no answer to the reassignments", str(failure), done) from None
        if answer is None:
            return results
        error = error_name(answer.error_code) if answer.error_code != NO_ERROR else ""
        if error != "NOT_CONTROLLER" or attempt == _ATTEMPTS:
            break
        time.sleep(_PAUSE_SECONDS)
    if error:
        fix = needed(ALTER_CLUSTER, nodes.settings) if error == "CLUSTER_AUTHORIZATION_FAILED" else ""
        raise ChangeRefusedError("the reassignments are refused", error, fix)
    return results | _results(answer, list(asked))


def _changed(
    nodes: Nodes, piece: Mapping[PartitionKey, Target], expected: Mapping[PartitionKey, Move]
) -> dict[PartitionKey, ReassignmentResult]:
    """Results of partitions that are not as they are expected to be."""
    compared = [key for key in piece if key in expected]
    found = read_assignments(nodes, compared) if compared else {}
    return {
        key: ReassignmentResult(*key, CHANGED, _difference(found.get(key)))
        for key in compared
        if not _same(found.get(key), expected[key])
    }


def _same(found: Move | None, expected: Move) -> bool:
    return found is not None and all(tuple(one) == tuple(other) for one, other in zip(found, expected, strict=True))


def _difference(found: Move | None) -> str:
    if found is None:
        return "there is no such partition any more"
    moving = f", adding {found.adding}, removing {found.removing}" if found.adding or found.removing else ""
    return f"it has the replicas {found.replicas}{moving}"


def _ask(nodes: Nodes, targets: Mapping[PartitionKey, Target], change_replication_factor: bool) -> Any:
    by_topic: dict[str, list[Any]] = {}
    topic_class = AlterPartitionReassignmentsRequest.ReassignableTopic
    for (topic, partition), target in targets.items():
        replicas = None if target is None else list(target)
        one = topic_class.ReassignablePartition(partition_index=partition, replicas=replicas)
        by_topic.setdefault(topic, []).append(one)
    connection = nodes.controller()
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=connection.milliseconds_left(),
        allow_replication_factor_change=change_replication_factor,
        topics=[topic_class(name=name, partitions=partitions) for name, partitions in by_topic.items()],
    )
    return connection.send(request, AlterPartitionReassignmentsResponse)


def _results(answer: Any, asked: Sequence[PartitionKey]) -> dict[PartitionKey, ReassignmentResult]:
    found = {(topic.name, one.partition_index): one for topic in answer.responses for one in topic.partitions}
    return {key: _result(key, found.get(key)) for key in asked}


def _result(key: PartitionKey, one: Any) -> ReassignmentResult:
    if one is None:
        return ReassignmentResult(*key, UNANSWERED, "the controller's answer leaves it out")
    if one.error_code == NO_ERROR:
        return ReassignmentResult(*key)
    return ReassignmentResult(*key, error_name(one.error_code), one.error_message or "")
