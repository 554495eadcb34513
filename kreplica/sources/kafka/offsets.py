"""Log start offset, high watermark and log end offset, from each partition's leader (ListOffsets).

A consumer (replica id -1) gets the high watermark as the latest offset; the debugging replica (-2) gets the log
end offset (ListOffsetsRequest.DEBUGGING_REPLICA_ID, Partition.fetchOffsetForTimestamp).

Also log end offset and size of chosen replicas, leaders and followers alike, from the brokers that hold them.

DescribeLogDirs has an ``offset_lag``, but for a current replica it is no lag to the leader: it is the replica's own
high watermark minus its own log end offset, which a follower never lets fall below zero and which is 0 however far it
lags (ReplicaManager.getLogEndOffsetLag, UnifiedLog.updateHighWatermark). So the end offsets themselves are asked for:
followers, too, answer the debugging replica (ListOffsetsRequest.DEBUGGING_REPLICA_ID).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kreplica.config.properties import translate
from kreplica.model.snapshot import LogPosition
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure
from kreplica.sources.kafka.connections.messages import NO_ERROR, ListOffsetsRequest, ListOffsetsResponse, error_name
from kreplica.sources.kafka.connections.sasl import with_token
from kreplica.sources.kafka.log_dirs import read_log_dirs
from kreplica.sources.kafka.reassignments import PartitionKey
from kreplica.system.deadline import Deadline
from kreplica.system.pool import Pool

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot


_LATEST, _EARLIEST = -1, -2
_CONSUMER, _DEBUGGING = -1, -2
_ASKED = {
    "log_start_offset": (_CONSUMER, _EARLIEST),
    "high_watermark": (_CONSUMER, _LATEST),
    "end_offset": (_DEBUGGING, _LATEST),
}
_PARTITIONS_A_REQUEST = 20_000


@dataclass(slots=True)
class Offsets:
    """Offsets of the partitions that one broker leads.

    Args:
        found: By field of the partitions table, then by topic and partition.
        failed: Number of partitions by Kafka's error name.
    """

    found: dict[str, dict[tuple[str, int], int]] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)


def read_offsets(connection: BrokerConnection, partitions: Sequence[tuple[str, int]]) -> Offsets:
    """Reads the offsets of partitions from their leader.

    Args:
        connection: The leader.
        partitions: Topic and partition; each once.
    """
    offsets = Offsets()
    failures: dict[tuple[str, int], str] = {}
    for name, (replica_id, timestamp) in _ASKED.items():
        found = offsets.found.setdefault(name, {})
        for start in range(0, len(partitions), _PARTITIONS_A_REQUEST):
            chunk = partitions[start : start + _PARTITIONS_A_REQUEST]
            _ask(connection, chunk, replica_id, timestamp, found, failures)
    for error in failures.values():
        offsets.failed[error] = offsets.failed.get(error, 0) + 1
    return offsets


def read_end_offsets(connection: BrokerConnection, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Reads the log end offsets of one broker's own replicas, leader or follower; replicas it lacks are left out."""
    found: dict[tuple[str, int], int] = {}
    for start in range(0, len(partitions), _PARTITIONS_A_REQUEST):
        _ask(connection, partitions[start : start + _PARTITIONS_A_REQUEST], _DEBUGGING, _LATEST, found, {})
    return found


def _ask(
    connection: BrokerConnection,
    partitions: Sequence[tuple[str, int]],
    replica_id: int,
    timestamp: int,
    found: dict[tuple[str, int], int],
    failures: dict[tuple[str, int], str],
) -> None:
    request = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=0,
        topics=_topics(partitions, timestamp),
        timeout_ms=connection.milliseconds_left(),
    )
    # Version 1 (Kafka 0.10.1) is the first that answers one offset a partition.
    answer: Any = connection.send(request, ListOffsetsResponse, oldest=1)
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code != NO_ERROR:
                failures[topic.name, one.partition_index] = error_name(one.error_code)
            elif one.offset >= 0:
                found[topic.name, one.partition_index] = one.offset


def _topics(partitions: Sequence[tuple[str, int]], timestamp: int) -> list[Any]:
    topic_class = ListOffsetsRequest.ListOffsetsTopic
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return [
        topic_class(
            name=topic,
            partitions=[
                topic_class.ListOffsetsPartition(
                    partition_index=number, current_leader_epoch=-1, timestamp=timestamp, max_num_offsets=1
                )
                for number in numbers
            ],
        )
        for topic, numbers in by_topic.items()
    ]


def read_positions(
    handle: ClusterHandle, snapshot: ClusterSnapshot, wanted: Mapping[int, Sequence[PartitionKey]]
) -> tuple[list[LogPosition], list[int]]:
    """Reads positions of replicas: one DescribeLogDirs and one ListOffsets for each broker and 20,000 replicas.

    Args:
        handle: The live cluster; its timeout bounds this reading.
        snapshot: Read from the cluster before, for the brokers' addresses.
        wanted: Topic and partition of the replicas, by broker.

    Returns:
        The positions, and the brokers that did not answer.
    """
    deadline = Deadline(handle.timeout)
    settings = with_token(translate(handle.properties).kafka_python, deadline)
    addresses = _addresses(snapshot)
    calls = {
        broker: partial(_read, addresses[broker], settings, deadline, broker, copies)
        for broker, copies in wanted.items()
        if broker in addresses
    }
    pool: Pool[int, list[LogPosition]] = Pool(calls, deadline)
    positions: list[LogPosition] = []
    answered = set()
    for broker, found, error in pool.results():
        if error is None:
            positions += found or ()
            answered.add(broker)
        elif not isinstance(error, BrokerFailure):
            raise error
    return positions, sorted(set(wanted) - answered)


def _addresses(snapshot: ClusterSnapshot) -> dict[int, Address]:
    return {
        int(str(row["broker"])): Address(str(row["host"]), int(str(row["port"])))
        for row in snapshot.brokers.rows()
        if row["alive"] and row["host"] is not None and row["port"] is not None
    }


def _read(
    address: Address,
    settings: Mapping[str, object],
    deadline: Deadline,
    broker: int,
    copies: Sequence[PartitionKey],
) -> list[LogPosition]:
    with BrokerConnection(address, settings, deadline) as connection:
        ends = read_end_offsets(connection, copies)
        seconds = time.monotonic()
        logs = read_log_dirs(connection, broker, copies)
    sizes = {(one.topic, one.partition): one.size for one in logs.replicas if not one.future}
    return [LogPosition(*copy, broker, ends.get(copy), sizes.get(copy), seconds) for copy in copies]
