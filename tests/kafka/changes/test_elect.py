"""Preferred elections on real clusters, judged by Kafka's own tool and by confluent-kafka's metadata."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from real_clusters.views import leaders, wait_for_leaders

from kreplica.config.handle import ClusterHandle
from kreplica.control import elect
from kreplica.control.elect import ElectionResult, elect_preferred
from kreplica.errors import AuthenticationError, ChangeRefusedError
from kreplica.sandbox import Listener, Mode, Sandbox

pytestmark = pytest.mark.kafka

ASSIGNMENT = [[3, 1, 2], [3, 2, 1], [1, 2, 3], [2, 3, 1]]


# First, before ``moved`` has the cluster for the rest of this file.
def test_a_dead_preferred_replica_is_reported_with_kafkas_name(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("elect", assignment=[[3, 1, 2]])
    kraft_cluster.kill(3)
    kraft_cluster.wait_for_brokers(gone=[3])
    handle = ClusterHandle("test", kraft_cluster.live_bootstrap_servers(), timeout=30)
    (result,) = elect_preferred(handle, [("elect", 0)])
    assert result.outcome == "PREFERRED_LEADER_NOT_AVAILABLE"
    assert result.message


@pytest.fixture(scope="module", params=["kraft_session", "zookeeper_session"])
def moved(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Broker 3 was killed and is back in every ISR: it leads nothing."""
    sandbox: Sandbox = request.getfixturevalue(request.param)
    for topic in ("elect", "bystander"):
        sandbox.create_topic(topic, assignment=ASSIGNMENT)
    sandbox.kill(3)
    sandbox.wait_for_brokers(gone=[3])
    sandbox.start_broker(3)
    sandbox.wait_for_healthy()
    yield sandbox
    for topic in ("elect", "bystander"):
        sandbox.delete_topic(topic)


def handle_of(sandbox: Sandbox) -> ClusterHandle:
    return ClusterHandle("test", sandbox.bootstrap_servers, timeout=30)


def test_only_the_named_partitions_get_their_preferred_leader(moved: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elect, "BATCH", 2)
    assert 3 not in leaders(moved, "elect")
    bystander = leaders(moved, "bystander")
    wanted = [("elect", 0), ("elect", 2), ("elect", 3), ("elect", 0), ("elect", 77), ("nowhere", 0)]

    results = elect_preferred(handle_of(moved), wanted)

    assert [(one.topic, one.partition, one.outcome) for one in results] == [
        ("elect", 0, "elected"),
        ("elect", 2, "not-needed"),
        ("elect", 3, "not-needed"),
        ("elect", 77, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("nowhere", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    wait_for_leaders(moved, "elect", [3, 2, 1, 2])
    described = moved.tool("topics", "--describe", "--topic", "elect")
    assert "Partition: 0\tLeader: 3\t" in described
    assert "Partition: 1\tLeader: 2\t" in described
    assert leaders(moved, "bystander") == bystander


def test_an_empty_list_elects_nothing_at_all(moved: Sandbox) -> None:
    before = [leaders(moved, topic) for topic in ("elect", "bystander")]
    assert elect_preferred(handle_of(moved), []) == ()
    assert [leaders(moved, topic) for topic in ("elect", "bystander")] == before


@pytest.fixture(scope="module")
def secured(module_sandbox_factory) -> Sandbox:  # type: ignore[no-untyped-def]
    sandbox: Sandbox = module_sandbox_factory(
        name="secured-elect",
        mode=Mode.KRAFT,
        brokers=1,
        listeners=(Listener.SCRAM_SHA_256, Listener.TLS_SCRAM_SHA_512),
        authorizer=True,
    )
    sandbox.create_topic("elect", partitions=1, replication_factor=1)
    return sandbox


@pytest.mark.parametrize("listener", [Listener.SCRAM_SHA_256, Listener.TLS_SCRAM_SHA_512], ids=str)
def test_credentials_are_used_and_judged(secured: Sandbox, listener: Listener) -> None:
    def handle(user: str, password: str) -> ClusterHandle:
        properties = secured.client_properties(listener, user)
        properties["sasl.jaas.config"] = properties["sasl.jaas.config"].replace(f"{user}-secret", password)
        return ClusterHandle("test", secured.bootstrap_servers_of(listener), properties=properties, timeout=15)

    assert elect_preferred(handle("admin", "admin-secret"), [("elect", 0)]) == (
        ElectionResult("elect", 0, "not-needed"),
    )
    with pytest.raises(ChangeRefusedError, match="the credentials need Alter on the cluster"):
        elect_preferred(handle("alice", "alice-secret"), [("elect", 0)])
    with pytest.raises(AuthenticationError) as caught:
        elect_preferred(handle("alice", "guess"), [("elect", 0)])
    assert "guess" not in str(caught.value)
