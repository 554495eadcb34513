"""Voters and observers of the KRaft metadata quorum (DescribeQuorum, KIP-595, KIP-836)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kreplica.model.internal_topics import METADATA_TOPIC
from kreplica.model.snapshot import Gap
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    error_name,
)
from kreplica.sources.permissions import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kreplica.sources.kafka.connections.connection import BrokerConnection


class QuorumNode(NamedTuple):
    """One row of the quorum table."""

    node: int
    voter: bool
    leader: bool
    log_end_offset: int | None
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


def read_quorum(connection: BrokerConnection) -> tuple[list[QuorumNode], tuple[Gap, ...]]:
    """Reads the quorum's nodes; none if the cluster uses ZooKeeper."""
    if not connection.supports(DescribeQuorumRequest):
        return [], ()
    answer = _ask(connection)
    found = [one for topic in answer.topics for one in topic.partitions]
    error = answer.error_code or next((one.error_code for one in found if one.error_code), NO_ERROR)
    if error != NO_ERROR or not found:
        name = error_name(error)
        fix = f": {connection.lacks(DESCRIBE_CLUSTER)}" if name == "CLUSTER_AUTHORIZATION_FAILED" else ""
        return [], (Gap("failed-request", f"the metadata quorum could not be read, {name}{fix}", 1),)
    return [_node(one, found[0].leader_id, voter=True) for one in found[0].current_voters] + [
        _node(one, found[0].leader_id, voter=False) for one in found[0].observers
    ], ()


def leader_address(connection: BrokerConnection) -> Address:
    """Address of the active KRaft controller's own listener, which Kafka tells since 3.9 (KIP-853).

    Raises:
        BrokerFailure: It is not told.
    """
    answer = _ask(connection)
    leaders = {one.leader_id for topic in answer.topics for one in topic.partitions}
    for node in answer.nodes or ():
        if node.node_id in leaders and node.listeners:
            return Address(node.listeners[0].host, node.listeners[0].port)
    raise BrokerFailure(connection.address, "does not tell the address of the active controller")


def _ask(connection: BrokerConnection) -> Any:
    topic_class = DescribeQuorumRequest.TopicData
    partition = topic_class.PartitionData(partition_index=0)
    request = DescribeQuorumRequest(topics=[topic_class(topic_name=METADATA_TOPIC, partitions=[partition])])
    return connection.send(request, DescribeQuorumResponse)


def _node(one: Any, leader: int, *, voter: bool) -> QuorumNode:
    return QuorumNode(
        one.replica_id,
        voter,
        one.replica_id == leader,
        _known(one.log_end_offset),
        _known(one.last_fetch_timestamp),
        _known(one.last_caught_up_timestamp),
    )


def _known(value: int | None) -> int | None:
    return None if value is None or value < 0 else value
