"""Access to a cluster: who is asked for it, and what the answers say. tests/kafka asks real clusters."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest
from loopback.answering_broker import AnsweringBroker, Answers, LateBroker, answering_broker

from kreplica.config.handle import ClusterHandle
from kreplica.errors import UnreachableError
from kreplica.sources.kafka import access as kafka_access
from kreplica.sources.kafka.access import read_access
from kreplica.sources.kafka.connections import bootstrap
from kreplica.sources.kafka.connections.messages import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    MetadataResponse,
)

# org.apache.kafka.common.protocol.Errors
NONE = 0
LEADER_NOT_AVAILABLE = 5
REQUEST_TIMED_OUT = 7
TOPIC_AUTHORIZATION_FAILED = 29

# org.apache.kafka.common.acl.AclOperation
READ = 3
ALTER = 7
DESCRIBE = 8

Topic = MetadataResponse.MetadataResponseTopic
Answer = Callable[[Any], Any]


def topic(name: str, operations: Collection[int] | None, *, error: int = NONE, partitions: int = 1) -> Any:
    listed = [
        Topic.MetadataResponsePartition(
            error_code=error, partition_index=number, leader_id=1, replica_nodes=[1], isr_nodes=[1]
        )
        for number in range(partitions)
    ]
    return Topic(error_code=error, name=name, partitions=listed, authorized_operations=operations)


def metadata(*topics: Any, brokers: int = 1) -> Answer:
    listed = [
        MetadataResponse.MetadataResponseBroker(node_id=node, host="127.0.0.1", port=1) for node in range(brokers)
    ]
    return lambda _: MetadataResponse(brokers=listed, cluster_id="c1", controller_id=1, topics=list(topics))


def described(operations: Collection[int] | None, error: int = NONE) -> Answer:
    return lambda _: DescribeClusterResponse(
        error_code=error, cluster_id="c1", controller_id=1, brokers=[], authorized_operations=operations
    )


def handle(*brokers: AnsweringBroker, timeout: float = 20) -> ClusterHandle:
    return ClusterHandle("test", ",".join(one.address for one in brokers), timeout=timeout)


def test_operations_are_asked_for_and_no_topic_is_made() -> None:
    """Topics are null, all of them; endpoint type 1 is that of brokers (KIP-919)."""
    answers: Answers = {MetadataRequest: metadata(), DescribeClusterRequest: described([DESCRIBE])}
    with answering_broker(answers) as broker:
        read_access(handle(broker))
    topics, cluster = broker.asked
    assert topics.topics is None
    assert topics.include_topic_authorized_operations is True
    assert topics.allow_auto_topic_creation is False
    assert cluster.include_cluster_authorized_operations is True
    assert (cluster.endpoint_type, cluster.include_fenced_brokers) == (1, False)


def test_what_one_server_tells() -> None:
    topics = [
        topic("allowed", [READ, DESCRIBE]),
        topic("without", []),
        topic("silent", None),
        topic("hidden", None, error=TOPIC_AUTHORIZATION_FAILED, partitions=0),
        topic("leaderless", [ALTER], error=LEADER_NOT_AVAILABLE),
        topic("empty", [ALTER], partitions=0),
    ]
    answers: Answers = {
        MetadataRequest: metadata(*topics, brokers=3),
        DescribeClusterRequest: described([DESCRIBE, ALTER]),
    }
    with answering_broker(answers, features={"metadata.version": 25, "group.version": 1}) as broker:
        found = read_access(handle(broker))
        assert found.address == broker.address
    assert (found.principal, found.cluster_id, found.brokers) == ("User:ANONYMOUS", "c1", 3)
    assert found.metadata_version == 25
    assert found.cluster == {"Describe", "Alter"}
    assert found.topics == {
        "allowed": {"Read", "Describe"},
        "without": frozenset(),
        "silent": None,
        "leaderless": {"Alter"},
        "empty": {"Alter"},
    }


@pytest.mark.parametrize(("operations", "cluster"), [(None, None), ([], None), ([ALTER], {"Alter"})])
def test_no_operation_on_the_cluster_is_an_answer_that_was_not_given(
    operations: list[int] | None, cluster: set[str] | None
) -> None:
    """KafkaApis answers 0 to whoever lacks Describe on the cluster."""
    answers: Answers = {MetadataRequest: metadata(), DescribeClusterRequest: described(operations)}
    with answering_broker(answers) as broker:
        assert read_access(handle(broker)).cluster == cluster


@pytest.mark.parametrize(("newest", "told"), [(7, None), (8, {"Read"})])
def test_a_broker_before_kafka_2_3_does_not_tell_and_one_before_2_8_nothing_of_the_cluster(
    newest: int, told: set[str] | None
) -> None:
    """Metadata has operations from version 8 on (KIP-430), DescribeCluster is of Kafka 2.8 (KIP-700)."""
    answers: Answers = {MetadataRequest: metadata(topic("t", [READ]))}
    with answering_broker(answers, newest={MetadataRequest: newest}) as broker:
        found = read_access(handle(broker))
    assert found.topics == {"t": told}
    assert (found.cluster, found.metadata_version) == (None, None)


def test_after_a_server_that_fails_the_next_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "PATIENCE_SECONDS", 60)
    second: Answers = {MetadataRequest: metadata(brokers=2), DescribeClusterRequest: described([ALTER])}
    refusing = {**second, DescribeClusterRequest: described(None, REQUEST_TIMED_OUT)}
    with answering_broker(refusing) as one, answering_broker(second) as other:
        assert read_access(handle(one, other)).address == other.address
        assert [type(request) for request in one.asked] == [MetadataRequest, DescribeClusterRequest]


def test_servers_that_all_fail_are_named_with_their_reasons() -> None:
    refuses: Answers = {MetadataRequest: metadata(), DescribeClusterRequest: described(None, REQUEST_TIMED_OUT)}
    silent: Answers = {MetadataRequest: lambda _: None}
    with answering_broker(refuses) as one, answering_broker(silent) as other:
        with pytest.raises(UnreachableError) as caught:
            read_access(handle(one, other, timeout=1))
        assert f"{one.address} (DescribeCluster failed: REQUEST_TIMED_OUT)" in caught.value.why
        assert f"{other.address} (no answer within 1 s)" in caught.value.why


def test_a_failure_that_is_about_no_server_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kafka_access, "_ask", interrupted)
    with answering_broker({MetadataRequest: metadata()}) as broker:
        with pytest.raises(KeyboardInterrupt):
            read_access(handle(broker))
        assert broker.left.wait(10), "its connection is closed"


def test_a_server_that_has_answered_is_left() -> None:
    with answering_broker({MetadataRequest: metadata()}) as broker:
        assert read_access(handle(broker)).cluster_id == "c1"
        assert broker.left.wait(10)


def test_a_server_that_answers_too_late_is_left() -> None:
    """Another has been asked meanwhile: nobody will use the connection to it."""
    late = LateBroker()
    with answering_broker({MetadataRequest: metadata()}) as broker:
        assert read_access(handle(late, broker)).address == broker.address
    assert not late.left.is_set()
    late.speaks.set()
    assert late.left.wait(10)
    late.close()
