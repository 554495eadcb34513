"""Elections through ZooKeeper: on a cluster whose controller heeds them, and where they are refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl
from real_clusters.moves import connection_to, start_move
from real_clusters.views import wait_for_leaders
from real_clusters.znodes import EMPTY_CLUSTER, state, write_tree, writer
from waiting import until

from kreplica.config.handle import ClusterHandle
from kreplica.control import zookeeper_election
from kreplica.control.zookeeper_election import elect_preferred_by_zookeeper
from kreplica.errors import ChangeRefusedError, UnreachableError
from kreplica.sandbox import Sandbox
from kreplica.sources.zookeeper.reading import read_zookeeper

pytestmark = pytest.mark.kafka

ELECTION = "/admin/preferred_replica_election"


def test_the_controller_elects_the_named_partitions_and_no_others(
    zookeeper_cluster: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper_election, "BATCH", 2)
    connect = zookeeper_cluster.zookeeper_connect
    handle = ClusterHandle("test", zookeeper=connect, timeout=30)
    zookeeper_cluster.create_topic("elect", assignment=[[1, 2, 3]] * 4)
    reorder(zookeeper_cluster, handle, {0: [2, 1, 3], 1: [3, 1, 2], 3: [3, 2, 1]})
    wanted = [("elect", 0), ("elect", 2), ("elect", 3), ("elect", 0), ("elect", 77), ("nowhere", 0)]

    with pytest.raises(ChangeRefusedError, match="--allow-zookeeper-write allows that"):
        elect_preferred_by_zookeeper(handle, wanted, allowed=False)
    assert leaders(handle) == [1, 1, 1, 1]
    results = elect_preferred_by_zookeeper(handle, wanted, allowed=True)

    assert [(one.topic, one.partition, one.outcome) for one in results] == [
        ("elect", 0, "elected"),
        ("elect", 2, "not-needed"),
        ("elect", 3, "elected"),
        ("elect", 77, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("nowhere", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    wait_for_leaders(zookeeper_cluster, "elect", [2, 1, 1, 3])
    described = zookeeper_cluster.tool("topics", "--describe", "--topic", "elect")
    for line in ("Partition: 0\tLeader: 2\t", "Partition: 1\tLeader: 1\t", "Partition: 3\tLeader: 3\t"):
        assert line in described
    assert elect_preferred_by_zookeeper(handle, [], allowed=True) == ()
    with writer(connect) as client:
        assert client.exists(ELECTION) is None


def reorder(sandbox: Sandbox, handle: ClusterHandle, assignment: dict[int, list[int]]) -> None:
    controller = read_zookeeper(handle).controller
    assert controller is not None
    for partition, replicas in assignment.items():
        start_move(connection_to(sandbox, controller), "elect", partition, replicas)
    until(
        lambda: all(row(handle, partition)["replicas"] == replicas for partition, replicas in assignment.items()),
        "the reassignment to end",
    )


def row(handle: ClusterHandle, partition: int) -> dict[str, object]:
    return read_zookeeper(handle).partition("elect", partition)


def leaders(handle: ClusterHandle) -> list[object]:
    return [row(handle, partition)["leader"] for partition in range(4)]


@contextmanager
def cluster_of_znodes(sandbox: Sandbox, chroot: str, tree: dict[str, object]) -> Iterator[KazooClient]:
    """A cluster without brokers, in which nothing moves by itself."""
    with writer(sandbox.zookeeper_connect) as client:
        write_tree(client, {f"{chroot}{path}": value for path, value in ({**EMPTY_CLUSTER, **tree}).items()})
        try:
            yield client
        finally:
            client.delete(chroot, recursive=True)


TOPIC = {
    "/brokers/topics/elect": {"version": 1, "partitions": {"0": [2, 1]}},
    "/brokers/topics/elect/partitions/0/state": state(1, [1, 2]),
}


@pytest.fixture(scope="module")
def zookeeper(zookeeper_session: Sandbox) -> Sandbox:
    return zookeeper_session


def elect(sandbox: Sandbox, chroot: str, *partitions: tuple[str, int], **more: object) -> list[str]:
    options: dict[str, object] = {"timeout": 20.0, **more}
    handle = ClusterHandle("test", zookeeper=f"{sandbox.zookeeper_connect}{chroot}", **options)  # type: ignore[arg-type]
    return [one.outcome for one in elect_preferred_by_zookeeper(handle, partitions, allowed=True)]


def test_elections_that_wait_already_are_left_alone(zookeeper: Sandbox) -> None:
    with cluster_of_znodes(zookeeper, "/waiting", {**TOPIC, ELECTION: {"version": 1, "partitions": []}}) as client:
        with pytest.raises(ChangeRefusedError, match="is there already: elections of somebody else"):
            elect(zookeeper, "/waiting", ("elect", 0))
        assert client.get(f"/waiting{ELECTION}")[0] == b'{"version":1,"partitions":[]}'


def test_nothing_is_written_where_it_is_of_no_use_or_not_wanted(zookeeper: Sandbox) -> None:
    with cluster_of_znodes(zookeeper, "/refused", TOPIC) as client:
        with pytest.raises(ChangeRefusedError, match="its context says read_only"):
            elect(zookeeper, "/refused", ("elect", 0), read_only=True)
        assert elect(zookeeper, "/refused", ("nowhere", 0)) == ["UNKNOWN_TOPIC_OR_PARTITION"]
        client.create("/refused/admin/delete_topics/elect")
        assert elect(zookeeper, "/refused", ("elect", 0)) == ["UNKNOWN_TOPIC_OR_PARTITION"]
        client.delete("/refused/admin/delete_topics/elect")
        client.set("/refused/controller", b'{"version":2,"brokerid":3000,"kraftControllerEpoch":7}')
        with pytest.raises(ChangeRefusedError, match="a KRaft controller, which does not heed ZooKeeper"):
            elect(zookeeper, "/refused", ("elect", 0))
        client.delete("/refused/controller")
        with pytest.raises(ChangeRefusedError, match="no broker is the controller"):
            elect(zookeeper, "/refused", ("elect", 0))
        assert client.exists(f"/refused{ELECTION}") is None


def test_elections_that_nobody_takes_are_reported_and_those_behind_them_not_written(
    zookeeper: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper_election, "BATCH", 1)
    topic = {**TOPIC, "/brokers/topics/elect": {"version": 1, "partitions": {"0": [2, 1], "1": [2, 1]}}}
    tree = {**topic, "/brokers/topics/elect/partitions/1/state": state(1, [1, 2])}
    with cluster_of_znodes(zookeeper, "/slow", tree) as client:
        assert elect(zookeeper, "/slow", ("elect", 0), ("elect", 1), timeout=5.0) == ["not-taken", "not-taken"]
        written = client.get(f"/slow{ELECTION}")[0]
    assert written == b'{"version":1,"partitions":[{"topic":"elect","partition":0}]}'


def test_credentials_that_may_not_write_are_told_the_permission(zookeeper: Sandbox) -> None:
    with cluster_of_znodes(zookeeper, "/guarded", TOPIC) as client:
        client.set_acls("/guarded/admin", [make_digest_acl("admin", "secret", all=True)])
        with pytest.raises(ChangeRefusedError, match=r"need create permission \(c\) on /admin"):
            elect(zookeeper, "/guarded", ("elect", 0))
        state_path = "/brokers/topics/elect/partitions/0/state"
        client.set_acls(f"/guarded{state_path}", [make_digest_acl("admin", "secret", all=True)])
        with pytest.raises(ChangeRefusedError, match=rf"need read permission \(r\) on {state_path}"):
            elect(zookeeper, "/guarded", ("elect", 0))
        client.add_auth("digest", "admin:secret")


def test_a_dump_the_brokers_alone_and_a_dead_server_are_told_apart() -> None:
    with pytest.raises(ChangeRefusedError, match="it is a dump"):
        elect_preferred_by_zookeeper(ClusterHandle("d", dump="sample"), [("t", 0)], allowed=True)
    with pytest.raises(ChangeRefusedError, match="its ZooKeeper is not named"):
        elect_preferred_by_zookeeper(ClusterHandle("b", "localhost:1"), [("t", 0)], allowed=True)
    handle = ClusterHandle("z", zookeeper="127.0.0.1:1", timeout=2)
    with pytest.raises(UnreachableError, match="connection refused"):
        elect_preferred_by_zookeeper(handle, [("t", 0)], allowed=True)
