"""The principal a cluster sees, its Kafka release, and the operations that it allows (KIP-430).

Requests: Metadata and DescribeCluster, 1 each, with the operations that are allowed on the cluster and on each topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kreplica.config.addresses import parse_bootstrap_servers
from kreplica.config.properties import translate
from kreplica.sources.kafka.connections.bootstrap import Bootstrap
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataResponse,
    error_name,
)
from kreplica.sources.kafka.connections.sasl import with_token
from kreplica.sources.permissions import operations_of, principal_of
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

_FIRST_WITH_TOPIC_OPERATIONS = 8


@dataclass(frozen=True, slots=True)
class Access:
    """The answers of one server about the client that asks.

    Args:
        address: The server that answered.
        principal: The client's principal, as far as it can be known here.
        cluster_id: The cluster's id.
        release: The oldest Kafka release that knows the same requests, such as ``4.0``.
        metadata_version: Level of the feature metadata.version; None with ZooKeeper.
        brokers: Number of brokers that are alive.
        cluster: Operations allowed on the cluster, None if it does not say: Describe is missing, or Kafka is older
            than 2.8.
        topics: Operations allowed on each topic that may be described, None for a topic where it does not say.
    """

    address: str
    principal: str
    cluster_id: str | None
    release: str
    metadata_version: int | None
    brokers: int
    cluster: frozenset[str] | None
    topics: Mapping[str, frozenset[str] | None]


def read_access(handle: ClusterHandle) -> Access:
    """Asks the first server that answers.

    Raises:
        UnreachableError: No bootstrap server answered in time.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    assert handle.bootstrap_servers is not None, "only brokers are asked"
    deadline = Deadline(handle.timeout)
    settings = with_token(translate(handle.properties).kafka_python, deadline)
    servers = [Address(*server) for server in parse_bootstrap_servers(handle.bootstrap_servers)]
    bootstrap = Bootstrap(servers, settings, deadline)
    try:
        while True:
            connection = bootstrap.connect()
            try:
                with connection:
                    return _ask(connection, principal_of(settings))
            except BaseException as error:
                bootstrap.failed(error)
    finally:
        bootstrap.close()


def _ask(connection: BrokerConnection, principal: str) -> Access:
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=True)
    answer: Any = connection.send(request, MetadataResponse)
    tells = connection.supports(MetadataRequest, _FIRST_WITH_TOPIC_OPERATIONS)
    return Access(
        address=str(connection.address),
        principal=principal,
        cluster_id=answer.cluster_id,
        release=connection.release(),
        metadata_version=connection.features.get("metadata.version"),
        brokers=len(answer.brokers),
        cluster=_cluster_operations(connection),
        topics={
            topic.name: operations_of(topic.authorized_operations) if tells else None
            for topic in answer.topics
            if topic.error_code == NO_ERROR or topic.partitions
        },
    )


def _cluster_operations(connection: BrokerConnection) -> frozenset[str] | None:
    if not connection.supports(DescribeClusterRequest):
        return None
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=True, endpoint_type=1, include_fenced_brokers=False
    )
    answer: Any = connection.send(request, DescribeClusterResponse)
    if answer.error_code != NO_ERROR:
        raise BrokerFailure(connection.address, f"DescribeCluster failed: {error_name(answer.error_code)}")
    # A client that may not describe the cluster gets 0, whatever else is allowed (KafkaApis.handleDescribeCluster).
    return operations_of(answer.authorized_operations) or None
