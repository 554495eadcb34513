"""Starts reassignments without Kafka's tool: it refuses brokers that are not alive, and starts too late for a race."""

from __future__ import annotations

from kreplica.sandbox import Listener, Sandbox
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address
from kreplica.system.deadline import Deadline


def connection_to(sandbox: Sandbox, broker: int) -> BrokerConnection:
    """A connection to one broker of a sandbox."""
    host, port = sandbox.bootstrap_servers_of(Listener.PLAINTEXT, [broker]).split(":")
    return BrokerConnection(Address(host, int(port)), {"client_id": "test"}, Deadline(30))


def start_move(broker: BrokerConnection, topic: str, partition: int, replicas: list[int]) -> None:
    """Asks the controller behind that broker for new replicas of one partition."""
    from kafka.protocol.admin.topics import AlterPartitionReassignmentsRequest as Request
    from kafka.protocol.admin.topics import AlterPartitionReassignmentsResponse as Response

    move = Request.ReassignableTopic.ReassignablePartition(partition_index=partition, replicas=replicas)
    topics = [Request.ReassignableTopic(name=topic, partitions=[move])]
    with broker:
        answer = broker.send(Request(timeout_ms=10_000, topics=topics), Response)
    told = [(one.error_code, one.error_message) for found in answer.responses for one in found.partitions]
    assert [error for error, _ in told] == [0], f"{topic}-{partition} to {replicas}: {told or answer.error_code}"
