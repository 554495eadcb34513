"""Log directories of replicas: what brokers are asked, and what their answers mean. tests/kafka asks real ones."""

from __future__ import annotations

from typing import Any

import pytest
from loopback.answering_broker import AnsweringBroker

from kreplica.config.handle import ClusterHandle
from kreplica.control.log_directories import DirectoryResult, alter_log_directories
from kreplica.errors import ChangeRefusedError
from kreplica.sources.kafka.connections.messages import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kreplica.sources.kafka.log_dirs import BrokerLogs, LogDir, read_broker_logs

# org.apache.kafka.common.protocol.Errors
NONE, REPLICA_NOT_AVAILABLE, CLUSTER_AUTHORIZATION_FAILED, LOG_DIR_NOT_FOUND = 0, 9, 31, 57


class Broker(AnsweringBroker):
    """A broker that answers about each replica as prepared; 1 knows the others.

    Args:
        node: Its id.
        codes: Error codes by topic and partition; a replica that is not named is left out of the answer.
        cordoned: Whether its directory is cordoned; None for a broker that does not know.
    """

    def __init__(self, node: int, codes: dict[tuple[str, int], int], cordoned: bool | None = None) -> None:
        self.node, self.codes, self.cordoned = node, codes, cordoned
        self.others: dict[int, Broker] = {}
        answers = {
            MetadataRequest: self._metadata,
            AlterReplicaLogDirsRequest: self._altered,
            DescribeLogDirsRequest: self._described,
        }
        super().__init__(answers, newest={DescribeLogDirsRequest: 4} if cordoned is None else None)

    def _metadata(self, _: Any) -> Any:
        nodes = {self.node: self.port} | {node: one.port for node, one in self.others.items()}
        kind = MetadataResponse.MetadataResponseBroker
        brokers = [kind(node_id=node, host="127.0.0.1", port=port) for node, port in nodes.items()]
        return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=[])

    def _altered(self, _: Any) -> Any:
        kind = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
        results = [
            kind(
                topic_name=topic,
                partitions=[kind.AlterReplicaLogDirPartitionResult(partition_index=partition, error_code=code)],
            )
            for (topic, partition), code in self.codes.items()
        ]
        return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=results)

    def _described(self, _: Any) -> Any:
        kind = DescribeLogDirsResponse.DescribeLogDirsResult
        one = kind(
            error_code=0, log_dir="/d", topics=[], total_bytes=9, usable_bytes=4, is_cordoned=bool(self.cordoned)
        )
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[one])

    @property
    def directories(self) -> list[dict[str, dict[str, list[int]]]]:
        """Partitions by directory and topic, request by request."""
        return [
            {one.path: {topic.name: topic.partitions for topic in one.topics} for one in request.dirs}
            for request in self.asked
            if isinstance(request, AlterReplicaLogDirsRequest)
        ]


def test_each_broker_is_asked_about_its_own_replicas() -> None:
    one = Broker(1, {("a", 0): NONE, ("a", 1): REPLICA_NOT_AVAILABLE, ("b", 0): LOG_DIR_NOT_FOUND})
    two = Broker(2, {("a", 0): CLUSTER_AUTHORIZATION_FAILED})
    one.others[2] = two
    wanted = {("a", 0, 2): "/x", ("a", 0, 1): "/x", ("a", 1, 1): "/x", ("b", 0, 1): "/y", ("b", 1, 1): "/x"}
    found = alter_log_directories(ClusterHandle("c", one.address, timeout=20), wanted | {("a", 0, 3): "/x"})
    one.close()
    two.close()
    assert one.directories == [{"/x": {"a": [0, 1], "b": [1]}, "/y": {"b": [0]}}]
    assert two.directories == [{"/x": {"a": [0]}}]
    assert found["a", 0, 1] == DirectoryResult()
    assert found["a", 1, 1] == DirectoryResult(remembered=True), "a new replica will be put there"
    assert found["b", 0, 1].error == "LOG_DIR_NOT_FOUND"
    assert found["b", 1, 1] == DirectoryResult(error="unanswered", message="the answer leaves it out")
    assert found["a", 0, 2].error == "CLUSTER_AUTHORIZATION_FAILED"
    assert found["a", 0, 2].message.startswith("the credentials need Alter on the cluster")
    assert found["a", 0, 3].error == "unanswered"
    assert found["a", 0, 3].message.endswith("says that broker 3 is not alive")
    assert [one.accepted for one in found.values()] == [False, True, True, False, False, False]


def test_nobody_is_asked_for_nothing_and_a_read_only_context_is_not_changed() -> None:
    assert alter_log_directories(ClusterHandle("c", "localhost:1"), {}) == {}
    with pytest.raises(ChangeRefusedError, match="read_only"):
        alter_log_directories(ClusterHandle("c", "localhost:1", read_only=True), {("a", 0, 1): "/x"})


def test_cordoned_directories_are_known_from_kafka_4_3_on() -> None:
    brokers = Broker(1, {}, cordoned=True), Broker(2, {}, cordoned=False), Broker(3, {})
    brokers[0].others = {2: brokers[1], 3: brokers[2]}
    found = read_broker_logs(ClusterHandle("c", brokers[0].address, timeout=20), [1, 2, 3, 4])
    for one in brokers:
        one.close()
    rows = [LogDir(node, "/d", None, 9, 4, cordoned) for node, cordoned in ((1, True), (2, False), (3, None))]
    assert found[1] == BrokerLogs([rows[0]], [], cordoned=frozenset({"/d"}))
    assert found[2] == BrokerLogs([rows[1]], [], cordoned=frozenset())
    assert found[3] == BrokerLogs([rows[2]], [], cordoned=None)
    assert str(found[4]).endswith("says that broker 4 is not alive")
