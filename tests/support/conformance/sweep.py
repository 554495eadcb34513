"""A sweep over real brokers: one partition as each of them tells it, has it and stored it.

Nothing here is asked with a replica id of 0 or more: a leader would take that for the position of a follower. Each
broker is asked on a connection of its own, so that none answers for another.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.reading import NO_REPLICA, NOT_READABLE, OFFLINE, Disk, Position, Reading, Told
from kreplica.formats.damage import DamageTally
from kreplica.formats.log_directory.leader_epoch_checkpoint import (
    LEADER_EPOCH_CHECKPOINT,
    decode_leader_epoch_checkpoint,
)
from kreplica.formats.log_directory.offset_checkpoint import (
    RECOVERY_POINT,
    REPLICATION,
    decode_offset_checkpoint,
)
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.segments.rows import log_records
from kreplica.sandbox import Listener, ProcessState, Sandbox
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure
from kreplica.sources.kafka.connections.messages import error_name
from kreplica.sources.kafka.offsets import read_end_offsets
from kreplica.system.deadline import Deadline

ANSWER_SECONDS = 5.0
DEBUGGING = -2
"""ListOffsetsRequest.DEBUGGING_REPLICA_ID: any replica answers with its own offsets."""
_KEY = struct.Struct(">hh")
_MARKERS = {0: "abort", 1: "commit"}
_STORAGE_ERROR, _NONE = "KAFKA_STORAGE_ERROR", "NO_ERROR"


@dataclass(frozen=True, slots=True)
class Cast:
    """The brokers of a cluster that play those of a row.

    Args:
        real: The cluster's broker by the row's number.
    """

    real: Mapping[int, int]

    def number(self, real: int) -> int:
        """The row's number of a broker; -1 for none."""
        return next((number for number, one in self.real.items() if one == real), -1)


def sweep(sandbox: Sandbox, topic: str, cast: Cast) -> Reading:
    """Reads partition 0 of the topic once, from every broker of the cast."""
    told: dict[int, Told | str] = {}
    positions: dict[int, Position | str] = {}
    for number, real in cast.real.items():
        told[number], positions[number] = _ask(sandbox, topic, cast, real)
    disks = {
        number: OFFLINE if positions[number] == OFFLINE else _disk(sandbox.folder / f"broker-{real}", topic)
        for number, real in cast.real.items()
    }
    return Reading(told, positions, disks)


def _ask(sandbox: Sandbox, topic: str, cast: Cast, real: int) -> tuple[Told | str, Position | str]:
    if sandbox.process_state(real) is not ProcessState.RUNNING:
        return NOT_READABLE, NOT_READABLE
    try:
        with connection_to(sandbox, real) as connection:
            return _told(connection, topic, cast), _position(connection, topic)
    except BrokerFailure:  # it starts, or ends
        return NOT_READABLE, NOT_READABLE


def connection_to(sandbox: Sandbox, broker: int) -> BrokerConnection:
    """A connection to one broker of the cluster.

    Raises:
        BrokerFailure: It cannot be opened.
    """
    host, port = sandbox.bootstrap_servers_of(Listener.PLAINTEXT, [broker]).split(":")
    return BrokerConnection(Address(host, int(port)), {"client_id": "conformance"}, Deadline(ANSWER_SECONDS))


def _told(connection: BrokerConnection, topic: str, cast: Cast) -> Told | str:
    from kafka.protocol.metadata import MetadataRequest, MetadataResponse

    asked = MetadataRequest.MetadataRequestTopic(name=topic)
    request = MetadataRequest(topics=[asked], allow_auto_topic_creation=False)
    answer: Any = connection.send(request, MetadataResponse, newest=9)  # from 10 on topics may be told by id
    found = [one for each in answer.topics for one in each.partitions]
    if not found:
        return NO_REPLICA
    isr = tuple(sorted(cast.number(broker) for broker in found[0].isr_nodes))
    epoch = getattr(found[0], "leader_epoch", None)
    return Told(cast.number(found[0].leader_id), -1 if epoch is None else epoch, isr, _elr(connection, topic, cast))


def _elr(connection: BrokerConnection, topic: str, cast: Cast) -> tuple[int, ...] | None:
    from kafka.protocol.admin.topics import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse

    if not connection.supports(DescribeTopicPartitionsRequest):
        return None
    request = DescribeTopicPartitionsRequest(
        topics=[DescribeTopicPartitionsRequest.TopicRequest(name=topic)], response_partition_limit=10, cursor=None
    )
    answer: Any = connection.send(request, DescribeTopicPartitionsResponse)
    eligible = [one.eligible_leader_replicas or () for each in answer.topics for one in each.partitions]
    return tuple(sorted(cast.number(broker) for broker in eligible[0])) if eligible else ()


def _position(connection: BrokerConnection, topic: str) -> Position | str:
    from kafka.protocol.consumer import FetchRequest, FetchResponse

    end = read_end_offsets(connection, [(topic, 0)]).get((topic, 0))
    partition = FetchRequest.FetchTopic.FetchPartition(
        partition=0, fetch_offset=max(end or 0, 0), partition_max_bytes=1
    )
    request = FetchRequest(
        replica_id=DEBUGGING,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        isolation_level=1,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[partition])],
    )
    answer: Any = connection.send(request, FetchResponse, newest=12)  # from 13 on topics are told by id
    (one,) = [one for each in answer.responses for one in each.partitions]
    error = error_name(one.error_code)
    if error == _STORAGE_ERROR:
        return OFFLINE
    if end is None or one.error_code:
        return NO_REPLICA
    return Position(end, one.high_watermark, getattr(one, "last_stable_offset", one.high_watermark))


def _disk(folder: Path, topic: str) -> Disk | str:
    found = sorted(folder.glob(f"data-*/{topic}-0"))
    if not found:
        return NO_REPLICA
    try:
        points = (_checkpointed(found[0], topic, name) for name in (REPLICATION, RECOVERY_POINT))
        return Disk(tuple(_records(found[0])), _epochs(found[0]), *points)
    except FileNotFoundError:  # it was removed meanwhile
        return NO_REPLICA


def _records(folder: Path) -> Iterator[tuple[int, int, str]]:
    damage = DamageTally()
    for _, records in log_records(sorted(folder.glob("*.log")), AsOf(), damage):
        control, epochs = records.batches.control[records.batch], records.batches.leader_epoch[records.batch]
        for index, offset in enumerate(records.offset.tolist()):
            text = _marker(records.key(index)) if control[index] else (records.value(index) or b"").decode()
            yield offset, int(epochs[index]), text
    assert damage.places == 0, damage.kept


def _marker(key: bytes | None) -> str:
    _, kind = _KEY.unpack_from(key or b"")
    return _MARKERS.get(kind, f"control {kind}")


def _epochs(folder: Path) -> tuple[tuple[int, int], ...]:
    file = folder / LEADER_EPOCH_CHECKPOINT
    if not file.exists():
        return ()
    return tuple(decode_leader_epoch_checkpoint(file.read_bytes(), file.name).pairs())


def _checkpointed(folder: Path, topic: str, name: str) -> int:
    """The offset that the broker wrote last, as a second witness to what it tells."""
    file = folder.parent / name
    checkpoint = decode_offset_checkpoint(file.read_bytes(), file.name) if file.exists() else None
    return checkpoint.by_partition().get((topic, 0), 0) if checkpoint else 0
