"""Log end offset and size of single copies, each from the broker that holds it, as brokers answer."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of
from loopback.answering_broker import AnsweringBroker, answering_broker

from kreplica.config.handle import ClusterHandle
from kreplica.model.snapshot import ClusterSnapshot, LogPosition
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address
from kreplica.sources.kafka.connections.messages import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kreplica.sources.kafka.offsets import read_end_offsets, read_offsets, read_positions
from kreplica.system.deadline import Deadline

HANDLE = ClusterHandle("test", "127.0.0.1:1", timeout=5)
REPLICA_NOT_AVAILABLE = 9
DEBUGGING = -2
"""ListOffsetsRequest.DEBUGGING_REPLICA_ID: what followers answer, too."""

Directory = DescribeLogDirsResponse.DescribeLogDirsResult


def offsets(ends: dict[int, int]) -> Callable[[Any], Any]:
    """End offsets of partitions of one topic; a partition without one is not on this broker."""
    response = ListOffsetsResponse.ListOffsetsTopicResponse

    def one(number: int) -> Any:
        error = 0 if number in ends else REPLICA_NOT_AVAILABLE
        return response.ListOffsetsPartitionResponse(
            partition_index=number, error_code=error, timestamp=-1, offset=ends.get(number, -1), leader_epoch=4
        )

    def answer(request: Any) -> Any:
        assert request.replica_id == DEBUGGING
        topics = [
            response(name=topic.name, partitions=[one(asked.partition_index) for asked in topic.partitions])
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics, throttle_time_ms=0)

    return answer


def sizes(current: dict[int, int], future: dict[int, int]) -> Callable[[Any], Any]:
    """Sizes of copies, and of those that are on their way to another directory (KIP-113)."""
    topic = Directory.DescribeLogDirsTopic
    rows = [
        topic.DescribeLogDirsPartition(partition_index=number, partition_size=size, offset_lag=0, is_future_key=later)
        for later, copies in ((False, current), (True, future))
        for number, size in copies.items()
    ]
    found = [Directory(error_code=0, log_dir="/d", topics=[topic(name="orders", partitions=rows)])]
    return lambda _: DescribeLogDirsResponse(error_code=0, results=found)


def broker_with(ends: dict[int, int], current: dict[int, int], future: dict[int, int] | None = None) -> Any:
    return answering_broker({ListOffsetsRequest: offsets(ends), DescribeLogDirsRequest: sizes(current, future or {})})


def cluster(*brokers: AnsweringBroker | None) -> ClusterSnapshot:
    """Brokers from 0 on; None for one that is down."""
    rows = [
        {"broker": node, "alive": one is not None, "host": "127.0.0.1", "port": one.port if one else 1}
        for node, one in enumerate(brokers)
    ]
    return snapshot_of([partition()], rows)


def test_each_copy_stands_where_its_own_broker_says() -> None:
    with broker_with({0: 70, 1: 9}, {0: 7000, 1: 900}) as leader, broker_with({0: 68}, {0: 6800}, {0: 1}) as follower:
        wanted = {0: [("orders", 0), ("orders", 1)], 1: [("orders", 0), ("orders", 1)]}
        found, silent = read_positions(HANDLE, cluster(leader, follower), wanted)
    assert silent == []
    places = {(one.broker, one.partition): (one.topic, one.end_offset, one.size) for one in found}
    assert places == {
        (0, 0): ("orders", 70, 7000),
        (0, 1): ("orders", 9, 900),
        (1, 0): ("orders", 68, 6800),
        (1, 1): ("orders", None, None),
    }
    assert all(isinstance(one, LogPosition) and one.seconds > 0 for one in found)


def test_brokers_that_are_down_or_break_off_are_named() -> None:
    def breaks_off(_: Any) -> Any:
        raise ConnectionResetError

    broken = answering_broker({ListOffsetsRequest: breaks_off, DescribeLogDirsRequest: breaks_off})
    with broker_with({0: 70}, {0: 7000}) as leader, broken as other:
        wanted = {node: [("orders", 0)] for node in (0, 1, 2, 7)}
        found, silent = read_positions(HANDLE, cluster(leader, other, None), wanted)
    assert [(one.broker, one.end_offset) for one in found] == [(0, 70)]
    assert silent == [1, 2, 7]


def test_many_partitions_are_asked_for_in_several_requests_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kreplica.sources.kafka.offsets._PARTITIONS_A_REQUEST", 2)
    ends = {number: 70 + number for number in range(5)}

    def answer(request: Any) -> Any:
        return offsets(ends)(SimpleNamespace(replica_id=DEBUGGING, topics=request.topics))

    with answering_broker({ListOffsetsRequest: answer}) as broker:
        address = Address("127.0.0.1", broker.port)
        with BrokerConnection(address, {"client_id": "test"}, Deadline(10)) as connection:
            partitions = [("orders", number) for number in range(5)]
            assert read_end_offsets(connection, partitions) == {("orders", n): end for n, end in ends.items()}
            of_leader = read_offsets(connection, partitions)
    assert of_leader.failed == {}
    assert all(len(found) == 5 for found in of_leader.found.values())
    asked = [[one.partition_index for topic in each.topics for one in topic.partitions] for each in broker.asked]
    assert asked == [[0, 1], [2, 3], [4]] * (1 + len(of_leader.found))
