"""The controller of a live cluster: with KRaft the leader of its quorum, never the broker that Metadata names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from loopback.answering_broker import Answers, answering_broker

from kreplica.config.handle import ClusterHandle
from kreplica.sources import Facet
from kreplica.sources.kafka.broker_view import read_broker_view
from kreplica.sources.kafka.connections.messages import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kreplica.sources.kafka.snapshot import read_live

KRAFT = {"metadata.version": 27}


def led_by(node: int, error: int = 0) -> Callable[[Any], Any]:
    topic = DescribeQuorumResponse.TopicData
    state = topic.PartitionData.ReplicaState
    voters = [state(replica_id=each, log_end_offset=9) for each in (2, 3)]
    quorum = topic.PartitionData(
        partition_index=0, error_code=error, leader_id=node, leader_epoch=4, high_watermark=9, current_voters=voters
    )
    return lambda _: DescribeQuorumResponse(error_code=error, topics=[topic(partitions=[quorum])])


@pytest.mark.parametrize(
    ("features", "answers", "read", "controller"),
    [
        pytest.param(KRAFT, {DescribeQuorumRequest: led_by(3)}, read_live, 3, id="KRaft"),
        pytest.param(KRAFT, {DescribeQuorumRequest: led_by(3, error=31)}, read_live, None, id="quorum not told"),
        pytest.param({}, {}, read_live, 1, id="ZooKeeper"),
        pytest.param(KRAFT, {}, lambda handle, _: read_broker_view(handle), None, id="one broker's view of KRaft"),
        pytest.param({}, {}, lambda handle, _: read_broker_view(handle), 1, id="one broker's view in ZooKeeper mode"),
    ],
)
def test_metadata_names_the_controller_of_zookeeper_only(
    features: Mapping[str, int], answers: Answers, read: Callable[..., Any], controller: int | None
) -> None:
    ports: dict[int, int] = {}

    def named(_: Any) -> Any:
        one = MetadataResponse.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=ports[1])
        return MetadataResponse(brokers=[one], cluster_id="c", controller_id=1, topics=[])

    settled = {ListPartitionReassignmentsRequest: lambda _: ListPartitionReassignmentsResponse(topics=[])}
    with answering_broker({MetadataRequest: named, **settled, **answers}, features=features) as broker:
        ports[1] = broker.port
        handle = ClusterHandle("test", broker.address, timeout=5.0)
        assert read(handle, Facet.QUORUM).controller == controller
