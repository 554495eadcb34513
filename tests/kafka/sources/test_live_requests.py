"""Numbers of requests that a read costs, facet by facet: those of the table in kreplica/sources/kafka_requests.py."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from kreplica.config.handle import ClusterHandle
from kreplica.sandbox import Sandbox
from kreplica.sources import Facet
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.snapshot import read_live
from kreplica.sources.kafka_requests import Target, requests_of

pytestmark = pytest.mark.kafka

ALWAYS = {"ApiVersions": 2, "Metadata": 1, "DescribeCluster": 1, "ListPartitionReassignments": 1}
EACH_BROKER = ALWAYS | {"ApiVersions": 5}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what goes over the wire; nothing is replaced."""
    counts: Counter[str] = Counter()
    exchange, lock = BrokerConnection._exchange, threading.Lock()

    def counting(self: BrokerConnection, request: Any, response: Any, version: int) -> Any:
        with lock:
            counts[request.name.removesuffix("Request")] += 1
        return exchange(self, request, response, version)

    monkeypatch.setattr(BrokerConnection, "_exchange", counting)
    return counts


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Facet.PARTITIONS, ALWAYS),
        (Facet.TOPIC_CONFIGS, ALWAYS | {"DescribeConfigs": 1}),
        (Facet.RETENTION, ALWAYS | {"DescribeConfigs": 1}),
        (Facet.TOPIC_CONFIGS | Facet.RETENTION, ALWAYS | {"DescribeConfigs": 1}),
        (Facet.LOG_DIRS, EACH_BROKER | {"DescribeLogDirs": 3}),
        (Facet.HEALTH, EACH_BROKER | {"DescribeConfigs": 1, "DescribeLogDirs": 3}),
        (Facet.BROKER_CONFIGS, EACH_BROKER | {"DescribeConfigs": 4}),
        (Facet.OFFSETS, EACH_BROKER | {"ListOffsets": 9}),
        (Facet.QUORUM, ALWAYS | {"DescribeQuorum": 1}),
        (Facet.CAUSES, ALWAYS),
    ],
    ids=str,
)
def test_a_healthy_cluster_costs_these_requests(
    kraft_cluster: Sandbox, sent: Counter[str], wanted: Facet, expected: dict[str, int]
) -> None:
    for topic in ("orders", "payments"):
        kraft_cluster.create_topic(topic, assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    snapshot = read_live(ClusterHandle("test", kraft_cluster.bootstrap_servers, timeout=30), wanted)
    assert snapshot.gaps == ()
    assert dict(sent) == expected
    assert documented(wanted) == {name: count for name, count in expected.items() if name != "ApiVersions"}


def test_only_leaders_of_the_partitions_named_are_asked_for_offsets(kraft_cluster: Sandbox, sent: Counter[str]) -> None:
    for topic in ("orders", "payments"):
        kraft_cluster.create_topic(topic, assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    handle = ClusterHandle("test", kraft_cluster.bootstrap_servers, timeout=30)
    snapshot = read_live(handle, Facet.OFFSETS, [("orders", 1), ("payments", 1), ("gone", 0)])
    assert snapshot.gaps == ()
    assert dict(sent) == ALWAYS | {"ApiVersions": 3, "ListOffsets": 3}
    places = zip(snapshot.strings("topic").to_list(), snapshot.integers("partition").to_list(), strict=True)
    ends = zip(places, snapshot.integers("end_offset").to_list(), strict=True)
    assert {place for place, end in ends if end is not None} == {("orders", 1), ("payments", 1)}


def documented(wanted: Facet) -> dict[str, int]:
    """What the table says of three brokers that all lead, all in sync, without groups."""
    counts: Counter[str] = Counter()
    for one in requests_of(wanted):
        counts[one.name] += one.each * (1 if one.to in (Target.BOOTSTRAP, Target.CONTROLLER) else 3)
    return {name: count for name, count in counts.items() if count}


def test_replicas_out_of_sync_cost_one_page_of_elr_and_what_tells_why(
    kraft_cluster: Sandbox, sent: Counter[str]
) -> None:
    kraft_cluster.create_topic("healthy", assignment=[[1, 2]])
    for number in range(5):
        kraft_cluster.create_topic(f"topic-{number}", assignment=[[1, 3], [3, 1]])
    kraft_cluster.kill(3)
    kraft_cluster.wait_for_brokers(gone=[3])
    wanted = Facet.HEALTH | Facet.CAUSES
    read_live(ClusterHandle("test", kraft_cluster.live_bootstrap_servers(), timeout=30), wanted)
    assert dict(sent) == {
        "ApiVersions": 4,
        "Metadata": 2,  # one for a name that there is not: nobody tells what the broker that is down holds
        "DescribeAcls": 1,
        "DescribeCluster": 1,
        "DescribeTopicPartitions": 1,
        "ListPartitionReassignments": 1,
        "DescribeLogDirs": 2,
        "DescribeConfigs": 3,  # one for the topics, one for the throttle rates of each live broker
        "DescribeQuorum": 1,
    }
