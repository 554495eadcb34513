"""Reading znodes from a real ZooKeeper: many of them, guarded ones, by TLS, and while they are being changed."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl
from real_clusters.znodes import EMPTY_CLUSTER, encoded, state, write_tree, writer
from real_clusters.zookeeper_server import Server, zookeeper_server

import kreplica.monitoring.comparison
from commands.main import run
from kreplica.config.handle import ClusterHandle
from kreplica.errors import ConfigurationError, UnreachableError, UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources import Facet, read_snapshot
from kreplica.sources.zookeeper import reading as zookeeper
from kreplica.sources.zookeeper.client import MultiRead, SessionLostError, ZookeeperSession

pytestmark = pytest.mark.kafka

BROKER = {"version": 5, "host": "one", "port": 9092, "jmx_port": -1, "endpoints": ["PLAINTEXT://one:9092"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[KazooClient]:
    with writer(server.plain) as connected:
        yield connected


def plant(client: KazooClient, chroot: str, topics: int, partitions: int = 1) -> None:
    """A cluster of one broker; every topic is led by it at epoch 0."""
    tree: dict[str, object] = {
        **EMPTY_CLUSTER,
        "/brokers/ids/1": BROKER,
        "/config/topics": None,
        "/config/brokers": None,
    }
    for topic in range(topics):
        path = f"/brokers/topics/t{topic}"
        tree[path] = {"version": 3, "partitions": {str(number): [1, 2] for number in range(partitions)}}
        tree |= {f"{path}/partitions/{number}/state": state(1, [1]) for number in range(partitions)}
    write_tree(client, {f"{chroot}{path}": value for path, value in tree.items()})


def read(connect: str, wanted: Facet = Facet.HEALTH, timeout: float = 30.0, **properties: str) -> ClusterSnapshot:
    named = {name.replace("__", "."): value for name, value in properties.items()}
    return read_snapshot(ClusterHandle("test", zookeeper=connect, timeout=timeout, properties=named), wanted)


def rows(snapshot: ClusterSnapshot) -> list[dict[str, object]]:
    return list(snapshot.partitions.rows())


def test_batches_and_single_requests_read_the_same(
    server: Server, client: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server before 3.6 refuses MultiRead as this one refuses a request that does not exist."""
    plant(client, "/many", topics=30, partitions=40)
    batched = read(f"{server.plain}/many")
    assert len(rows(batched)) == 1200
    monkeypatch.setattr(MultiRead, "type", 999)
    asked: list[str] = []
    single = ZookeeperSession._one_by_one
    monkeypatch.setattr(
        ZookeeperSession, "_one_by_one", lambda self, paths: [asked.extend(paths), single(self, paths)][1]
    )
    singly = read(f"{server.plain}/many")
    assert len(asked) > 1200
    assert rows(singly) == rows(batched)
    assert (singly.gaps, batched.gaps) == ((), ())


def test_what_is_not_there_is_told_apart(server: Server, client: KazooClient) -> None:
    client.create("/other-app")
    with pytest.raises(UsageError, match="has no znode /nowhere; the chroot is not there"):
        read(f"{server.plain}/nowhere")
    with pytest.raises(UsageError, match="no Kafka cluster is below /other-app"):
        read(f"{server.plain}/other-app")


def test_guarded_znodes_are_a_gap_that_names_the_permission(server: Server, client: KazooClient) -> None:
    plant(client, "/guarded", topics=3)
    guard = [make_digest_acl("reader", "s3cret", read=True)]
    client.set_acls("/guarded/brokers/topics/t1/partitions/0/state", guard)
    client.set_acls("/guarded/brokers/ids", guard)
    snapshot = read(f"{server.plain}/guarded")
    assert [row["topic"] for row in rows(snapshot)] == ["t0", "t2"]
    assert {row["alive"] for row in snapshot.brokers.rows()} == {None}
    (gap,) = snapshot.gaps
    assert (gap.kind, gap.count) == ("failed-request", 2)
    assert gap.message == (
        "2 znodes may not be read: the credentials need read permission (r) on /brokers/ids,"
        " /brokers/topics/t1/partitions/0/state"
    )
    allowed = read(f"{server.plain}/guarded", zookeeper__digest__auth="reader:s3cret")
    assert (len(rows(allowed)), allowed.gaps) == (3, ())
    client.set_acls("/guarded/brokers/topics", guard)
    hidden = read(f"{server.plain}/guarded")
    assert (len(rows(hidden)), hidden.gaps[0].message.count("/brokers/topics")) == (0, 1)
    wrong = read(f"{server.plain}/guarded", zookeeper__digest__auth="reader:wrong")
    assert len(wrong.gaps) == 1
    with pytest.raises(ConfigurationError, match="expected USER:PASSWORD") as caught:
        read(f"{server.plain}/guarded", zookeeper__digest__auth="s3cret")
    assert "s3cret" not in str(caught.value)


def test_tls_with_kafkas_properties(server: Server, client: KazooClient, tmp_path: Path) -> None:
    plant(client, "/secured", topics=300)

    def secured(connect: str = f"{server.secure}/secured", **changed: str) -> ClusterSnapshot:
        handle = ClusterHandle("test", zookeeper=connect, timeout=30, properties=server.properties() | changed)
        return read_snapshot(handle)

    assert len(rows(secured())) == 300
    for name, changed, reason in (
        ("another authority", {"zookeeper.ssl.truststore.location": ""}, "certificate verify failed"),
        ("no client certificate", {"zookeeper.ssl.keystore.location": ""}, ""),
        ("no TLS", {"zookeeper.ssl.client.enable": "false"}, ""),
    ):
        seconds = 6 if reason else 2  # the reason comes with the server's certificate
        values = server.properties() | changed
        given = {key: value for key, value in values.items() if value}
        handle = ClusterHandle(name, zookeeper=f"{server.secure}/secured", timeout=seconds, properties=given)
        with pytest.raises(UnreachableError) as caught:
            read_snapshot(handle)
        assert reason in str(caught.value), name
        assert "with TLS where it asks for it" in str(caught.value)
    with pytest.raises(ConfigurationError, match="TLS to ZooKeeper cannot be set up"):
        secured(**{"zookeeper.ssl.truststore.location": str(tmp_path / "absent.pem")})


def test_a_paused_server_is_unreachable_within_the_timeout(server: Server) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        with pytest.raises(UnreachableError, match=r"within 1\.5 s; .* takes connections and does not answer"):
            read(server.plain, timeout=1.5)
        assert time.monotonic() - begin < 10
    finally:
        os.kill(server.pid, signal.SIGCONT)


class Lockstep:
    """Changes the states of two topics together, in one transaction, again and again until stopped."""

    def __init__(self, client: KazooClient, chroot: str, pause: float) -> None:
        self._client, self._chroot, self._pause = client, chroot, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.epoch = 0

    def __enter__(self) -> Lockstep:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def step(self) -> None:
        self.epoch += 1
        change = self._client.transaction()
        for topic in ("t0", "t999"):
            path = f"{self._chroot}/brokers/topics/{topic}/partitions/0/state"
            change.set_data(path, encoded(state(1, [1], self.epoch)))
        results = change.commit()
        assert not any(isinstance(result, Exception) for result in results), results

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            self.step()


def epochs(snapshot: ClusterSnapshot) -> tuple[object, object]:
    first, second = (snapshot.partition(topic, 0)["leader_epoch"] for topic in ("t0", "t999"))
    return first, second


@pytest.fixture(scope="module")
def thousand(client: KazooClient) -> str:
    plant(client, "/torn", topics=1000)
    return "/torn"


def during_the_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], times: int) -> list[int]:
    """Has ``act`` run between the two batches of states, in the first ``times`` readings of the tree."""
    original, readings = zookeeper.read_tree, [0]

    def counted(session: ZookeeperSession, settings: bool) -> Any:
        readings[0] += 1
        return original(session, settings)

    results = ZookeeperSession._results

    def interrupted(self: ZookeeperSession, paths: Any) -> Iterator[Any]:
        for number, one in enumerate(results(self, paths)):
            if len(paths) == 1000 and paths[0].endswith("/state") and number == 499 and readings[0] <= times:
                act()
            yield one

    monkeypatch.setattr(zookeeper, "read_tree", counted)
    monkeypatch.setattr(ZookeeperSession, "_results", interrupted)
    monkeypatch.setattr("kreplica.sources.zookeeper.client.UNDER_WAY", 1)
    return readings


def test_a_change_during_the_read_is_read_again(
    server: Server, client: KazooClient, thousand: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lockstep = Lockstep(client, thousand, 0)
    readings = during_the_read(monkeypatch, lockstep.step, times=2)
    snapshot = read(f"{server.plain}{thousand}")
    assert readings == [3]
    assert epochs(snapshot) == (lockstep.epoch, lockstep.epoch)
    assert snapshot.gaps == ()


def test_a_tree_that_keeps_changing_is_reported_as_torn(
    server: Server, client: KazooClient, thousand: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lockstep = Lockstep(client, thousand, 0)
    readings = during_the_read(monkeypatch, lockstep.step, times=99)
    snapshot = read(f"{server.plain}{thousand}")
    assert readings == [zookeeper.ATTEMPTS]
    first, second = epochs(snapshot)
    assert first != second, "the test has torn it"
    (gap,) = snapshot.gaps
    assert (gap.kind, gap.count) == ("torn-read", 1)
    assert "1 znode changed while the tree was read, each time" in gap.message


def test_a_connection_that_breaks_during_the_read_is_made_again(
    server: Server, thousand: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, broken = zookeeper.read_tree, []

    def breaking(session: ZookeeperSession, settings: bool) -> Any:
        tree = original(session, settings)
        if len(broken) < 2:
            broken.append(session)
            with suppress(AttributeError, OSError):  # no socket, or a closed one: it is broken already
                session.client._connection._socket.shutdown(socket.SHUT_RDWR)
            raise SessionLostError("ConnectionLoss")  # said here: kazoo may have a new connection before it is asked
        return tree

    monkeypatch.setattr(zookeeper, "read_tree", breaking)
    snapshot = read(f"{server.plain}{thousand}")
    assert (len(broken), len(rows(snapshot)), snapshot.gaps) == (2, 1000, ())
    monkeypatch.setattr(zookeeper, "ATTEMPTS", 2)
    broken.clear()
    with pytest.raises(UnreachableError, match="closed the connection 2 times"):
        read(f"{server.plain}{thousand}")


def test_no_reading_without_a_gap_mixes_two_moments(server: Server, client: KazooClient, thousand: str) -> None:
    """Two states that only ever change together are never seen apart."""
    with Lockstep(client, thousand, 0.03) as lockstep:
        seen = [read(f"{server.plain}{thousand}") for _ in range(12)]
        assert lockstep.epoch > 5
    whole = [epochs(snapshot) for snapshot in seen if not snapshot.gaps]
    assert all(first == second for first, second in whole), whole


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a broker goes", lambda client, path: client.delete(f"{path}/brokers/ids/1")),
        ("a topic comes", lambda client, path: client.create(f"{path}/brokers/topics/new", b'{"partitions":{}}')),
        ("a reassignment is asked for", lambda client, path: client.create(f"{path}/admin/reassign_partitions", b"{}")),
        ("an election ends", lambda client, path: client.delete(f"{path}/admin/preferred_replica_election")),
        ("the controller goes", lambda client, path: client.delete(f"{path}/controller")),
        ("an assignment changes", lambda client, path: client.set(f"{path}/brokers/topics/t5", b'{"partitions":{}}')),
        ("the controller moves", lambda client, path: client.set(f"{path}/controller_epoch", b"5")),
    ],
)
def test_whatever_changes_before_it_is_read_is_noticed(
    name: str, change: Callable[[KazooClient, str], object], server: Server, client: KazooClient
) -> None:
    """A change right after the reading began, before anything was read."""
    path = f"/noticed-{name.replace(' ', '-')}"
    plant(client, path, topics=6)
    client.create(f"{path}/admin/preferred_replica_election", b'{"version":1,"partitions":[]}')
    with ZookeeperSession(ClusterHandle("test", zookeeper=f"{server.plain}{path}"), zookeeper.Deadline(30)) as session:
        moment = session.moment
        assert zookeeper.read_tree(session, True)[1] == 0
        session.moment = lambda: [moment(), change(client, path)][0]  # type: ignore[method-assign]
        assert zookeeper.read_tree(session, True)[1] > 0


def test_a_topic_deleted_during_the_read_is_no_partition_without_a_leader(
    server: Server, client: KazooClient, thousand: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{thousand}/brokers/topics/t999/partitions/0/state"
    before, _ = client.get(path)

    def delete() -> None:
        client.create(f"{thousand}/admin/delete_topics/t999")
        client.delete(path)

    readings = during_the_read(monkeypatch, delete, times=1)
    snapshot = read(f"{server.plain}{thousand}")
    client.create(path, before)
    client.delete(f"{thousand}/admin/delete_topics/t999")
    assert readings[0] > 1
    assert ("t999" in snapshot.partitions["topic"].to_list(), len(rows(snapshot))) == (False, 999)
    assert snapshot.gaps == ()


@pytest.fixture(scope="module")
def two_views(client: KazooClient) -> tuple[str, str]:
    """Two trees that differ in the state of t0: as if one side had missed an election."""
    for chroot in ("/left", "/right"):
        plant(client, chroot, topics=2)
    return "/left", "/right"


@pytest.mark.parametrize(
    ("epoch_afterwards", "code", "summary", "lasting"),
    [(0, 0, (0, 2), []), (7, 1, (2, 0), [True, True]), (9, 1, (2, 0), [True, False])],
    ids=["arrives meanwhile", "stays", "keeps changing"],
)
def test_compare_tells_a_change_on_its_way_from_a_lasting_difference(
    epoch_afterwards: int,
    code: int,
    summary: tuple[int, int],
    lasting: list[bool],
    server: Server,
    client: KazooClient,
    two_views: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left, right = two_views

    def put(chroot: str, leader: int, epoch: int) -> None:
        path = f"{chroot}/brokers/topics/t0/partitions/0/state"
        client.delete(path)  # so that the version of the znode stays what it is
        client.create(path, encoded(state(leader, [1], epoch)))

    put(left, 1, 0)
    put(right, 2, 7)
    clock = SimpleNamespace(sleep=lambda _: put(right, 2 if epoch_afterwards else 1, epoch_afterwards))
    monkeypatch.setattr(kreplica.monitoring.comparison, "time", clock)
    sources = [f"zookeeper:{server.plain}{chroot}" for chroot in two_views]
    assert run(["compare", *sources, "--settle", "0.5", "-o", "json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert (answer["summary"]["differences"], answer["summary"]["passing"]) == summary
    assert [row["lasting"] for row in answer["differences"]] == lasting
    assert {row["newer"] for row in answer["differences"]} <= {"right"}
