"""Log end offset and size of chosen copies, leaders and followers alike, from the brokers that hold them.

DescribeLogDirs has an ``offset_lag``, and for a current copy it says nothing of the leader: it is the copy's own high
watermark less its own log end offset, which a follower never lets fall below zero and which is 0 however far behind it
is (ReplicaManager.getLogEndOffsetLag, UnifiedLog.updateHighWatermark). So the end offsets themselves are asked for: the
debugging replica is answered by followers, too (ListOffsetsRequest.DEBUGGING_REPLICA_ID).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kreplica.client_properties import translate
from kreplica.model.positions import LogPosition
from kreplica.sources.deadline import Deadline, Pool
from kreplica.sources.kafka_admin import Address, BrokerConnection
from kreplica.sources.kafka_failures import BrokerFailure
from kreplica.sources.kafka_log_dirs import read_log_dirs
from kreplica.sources.kafka_moves import PartitionKey
from kreplica.sources.kafka_offsets import read_end_offsets
from kreplica.sources.kafka_sasl import with_token

if TYPE_CHECKING:
    from kreplica.config import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot


def read_positions(
    handle: ClusterHandle, snapshot: ClusterSnapshot, wanted: Mapping[int, Sequence[PartitionKey]]
) -> tuple[list[LogPosition], list[int]]:
    """Reads where chosen copies stand: one DescribeLogDirs and one ListOffsets for each broker and 20,000 copies.

    Args:
        handle: The live cluster; its timeout bounds this reading.
        snapshot: Read from it before, for the brokers' addresses.
        wanted: Topic and partition of the copies, by broker.

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
