"""Replica orders by the Kafka protocol (AlterPartitionReassignments, KIP-455, Kafka 2.4).

Only the order of a partition's replicas is changed here, never which they are: no data moves. A reassignment that
merely rearranges replicas completes at once (KRaft: ReplicationControlManager.changePartitionReassignment), with a
ZooKeeper controller once all of them are in sync (KafkaController.isReassignmentComplete), which the caller ensures.
It changes no leader; the order decides which replica the next preferred election elects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from kreplica.config.properties import translate
from kreplica.config.resolve import parse_bootstrap_servers
from kreplica.control.boundary import require_brokers, require_writable
from kreplica.errors import ChangeRefusedError, UnreachableError
from kreplica.sources.kafka.bootstrap import Bootstrap
from kreplica.sources.kafka.connection import BrokerConnection
from kreplica.sources.kafka.failures import Address, BrokerFailure, RequestUnsupportedError
from kreplica.sources.kafka.messages import (
    NO_ERROR,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
    error_name,
)
from kreplica.sources.kafka.sasl import with_token
from kreplica.sources.permissions import ALTER_CLUSTER, needed
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

PartitionKey: TypeAlias = tuple[str, int]


def reorder_replicas(handle: ClusterHandle, orders: Mapping[PartitionKey, tuple[int, ...]]) -> dict[PartitionKey, str]:
    """Asks the controller for another order of the replicas of some partitions.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds the request.
        orders: The replicas of each partition, those it has, in the order wanted; all of them in sync.

    Returns:
        Kafka's error for each partition, empty where it was accepted. Read the state again: accepted is not yet done.

    Raises:
        ChangeRefusedError: The handle is read-only, the cluster is too old, or the credentials may not alter it.
        UnreachableError: The controller did not answer.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    require_writable(handle)
    if not orders:
        return {}
    deadline = Deadline(handle.timeout)
    settings = with_token(translate(handle.properties).kafka_python, deadline)
    servers = [Address(*server) for server in parse_bootstrap_servers(require_brokers(handle))]
    try:
        with _controller(servers, settings, deadline) as connection:
            return _ask(connection, orders, settings)
    except RequestUnsupportedError as failure:
        raise ChangeRefusedError("replica orders cannot be changed", str(failure), "it needs Kafka 2.4") from None
    except BrokerFailure as failure:
        raise UnreachableError(
            "no answer to the change of replica orders", str(failure), "it may have been made all the same"
        ) from None


def _controller(servers: list[Address], settings: Mapping[str, object], deadline: Deadline) -> BrokerConnection:
    """A connection to the ZooKeeper controller, or to any broker of a KRaft cluster: it forwards to its controller."""
    bootstrap = Bootstrap(servers, settings, deadline)
    try:
        connection = bootstrap.connect()
    finally:
        bootstrap.close()
    if "metadata.version" in connection.features:
        return connection
    with connection:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False, include_topic_authorized_operations=False)
        answer: Any = connection.send(request, MetadataResponse, oldest=1)
    for broker in answer.brokers:
        if broker.node_id == answer.controller_id:
            return BrokerConnection(Address(broker.host, broker.port), settings, deadline)
    raise UnreachableError("the cluster has no controller", f"says {connection.address}", "try again in a moment")


def _ask(
    connection: BrokerConnection, orders: Mapping[PartitionKey, tuple[int, ...]], settings: Mapping[str, object]
) -> dict[PartitionKey, str]:
    by_topic: dict[str, list[Any]] = {}
    topic_class = AlterPartitionReassignmentsRequest.ReassignableTopic
    for (topic, partition), replicas in orders.items():
        one = topic_class.ReassignablePartition(partition_index=partition, replicas=list(replicas))
        by_topic.setdefault(topic, []).append(one)
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=connection.milliseconds_left(),
        topics=[topic_class(name=name, partitions=partitions) for name, partitions in by_topic.items()],
    )
    answer: Any = connection.send(request, AlterPartitionReassignmentsResponse)
    if answer.error_code != NO_ERROR:
        name = error_name(answer.error_code)
        fix = needed(ALTER_CLUSTER, settings) if name == "CLUSTER_AUTHORIZATION_FAILED" else ""
        raise ChangeRefusedError("the change of replica orders is refused", name, fix)
    found = {(topic.name, one.partition_index): _error(one) for topic in answer.responses for one in topic.partitions}
    return {key: found.get(key, "the controller's answer leaves it out") for key in orders}


def _error(one: Any) -> str:
    if one.error_code == NO_ERROR:
        return ""
    name = error_name(one.error_code)
    return f"{name}: {one.error_message}" if one.error_message else name
