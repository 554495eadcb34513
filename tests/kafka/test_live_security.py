"""The live source and credentials: hidden topics, refusals, TLS and SASL, and the wrong kind of listener."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from secured_cluster import grant

from kreplica.client_properties import translate
from kreplica.config import ClusterHandle
from kreplica.errors import AuthenticationError, UnreachableError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sandbox import Listener, Mode, Sandbox
from kreplica.sources import Facet
from kreplica.sources.kafka import read_live
from kreplica.sources.kafka_view import read_broker_view
from kreplica.sources.permissions import DESCRIBE_CLUSTER, DESCRIBE_TOPIC_CONFIGS, Permission

pytestmark = pytest.mark.kafka

LISTENERS = (Listener.SCRAM_SHA_256, Listener.SASL_PLAIN, Listener.TLS, Listener.MTLS, Listener.TLS_SCRAM_SHA_512)


@pytest.fixture(scope="module")
def secured(module_sandbox_factory) -> Sandbox:  # type: ignore[no-untyped-def]
    """One broker with every kind of listener, ACLs and auto-created topics; alice may describe ``orders-*`` only."""
    sandbox: Sandbox = module_sandbox_factory(
        name="secured",
        mode=Mode.KRAFT,
        brokers=1,
        listeners=LISTENERS,
        authorizer=True,
        broker_settings={"auto.create.topics.enable": "true"},
    )
    for topic in ("orders-1", "orders-2", "secret-1", "secret-2", "secret-3"):
        sandbox.create_topic(topic, partitions=2, replication_factor=1)
    sandbox.tool(
        *("acls", "--add", "--allow-principal", "User:alice", "--operation", "Describe"),
        *("--resource-pattern-type", "prefixed", "--topic", "orders-"),
    )
    return sandbox


@contextlib.contextmanager
def allowed(sandbox: Sandbox, *what: Permission) -> Iterator[None]:
    grant(sandbox, "alice", what)
    try:
        yield
    finally:
        grant(sandbox, "alice", what, remove=True)


def read_as(sandbox: Sandbox, listener: Listener, user: str = "alice", **changed: str) -> ClusterSnapshot:
    return read_live(handle_of(sandbox, listener, user, **changed), Facet.HEALTH)


def handle_of(sandbox: Sandbox, listener: Listener, user: str = "alice", **changed: str) -> ClusterHandle:
    properties = sandbox.client_properties(listener, user) | changed
    return ClusterHandle("test", sandbox.bootstrap_servers_of(listener), properties=properties, timeout=20)


def topics_of(snapshot: ClusterSnapshot) -> set[object]:
    return {row["topic"] for row in snapshot.partitions.rows()}


def test_hidden_topics_are_counted(secured: Sandbox) -> None:
    with allowed(secured, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_CONFIGS):
        snapshot = read_as(secured, Listener.SCRAM_SHA_256)
    assert topics_of(snapshot) == {"orders-1", "orders-2"}
    (gap,) = snapshot.gaps
    assert gap.kind == "hidden-topics"
    assert (gap.count, gap.message) == (3, "3 hidden topics: the credentials may not describe them")
    assert snapshot.notes == ()


def test_one_brokers_view_counts_hidden_topics_too(secured: Sandbox) -> None:
    view = read_broker_view(handle_of(secured, Listener.SCRAM_SHA_256))
    assert (topics_of(view), view.gaps) == ({"orders-1", "orders-2"}, ())
    assert [note.split(":")[0] for note in view.notes] == ["hidden topics cannot be ruled out"]
    with allowed(secured, DESCRIBE_CLUSTER):
        view = read_broker_view(handle_of(secured, Listener.SCRAM_SHA_256))
    assert [(gap.kind, gap.count) for gap in view.gaps] == [("hidden-topics", 3)]
    assert view.notes == ()


def test_a_deleted_topic_whose_files_are_left_is_not_hidden(secured: Sandbox) -> None:
    with allowed(secured, DESCRIBE_CLUSTER):
        names = {"orders-1", "secret-1", "never-was"}
        from kreplica.sources.deadline import Deadline
        from kreplica.sources.kafka_admin import Address, BrokerConnection
        from kreplica.sources.kafka_layout import hidden_topics

        host, port = secured.bootstrap_servers_of(Listener.PLAINTEXT).split(":")
        with BrokerConnection(Address(host, int(port)), {"client_id": "test"}, Deadline(20)) as super_user:
            assert hidden_topics(super_user, names) == []
        settings = translate(secured.client_properties(Listener.SCRAM_SHA_256, "alice")).kafka_python
        host, port = secured.bootstrap_servers_of(Listener.SCRAM_SHA_256).split(":")
        with BrokerConnection(Address(host, int(port)), settings, Deadline(20)) as alice:
            assert hidden_topics(alice, {"orders-1", "secret-1"}) == ["secret-1"]
    assert "never-was" not in secured.tool("topics", "--list")


def test_without_describe_on_the_cluster_hidden_topics_cannot_be_ruled_out(secured: Sandbox) -> None:
    snapshot = read_as(secured, Listener.SCRAM_SHA_256)
    assert topics_of(snapshot) == {"orders-1", "orders-2"}
    (note,) = snapshot.notes
    assert "hidden topics cannot be ruled out" in note
    assert "need Describe on the cluster" in note
    refused = next(gap for gap in snapshot.gaps if "reassignments" in gap.message)
    assert "CLUSTER_AUTHORIZATION_FAILED: the credentials need Describe on the cluster" in refused.message
    assert [row["adding"] for row in snapshot.partitions.rows()] == [None] * 4


def test_refused_settings_leave_min_isr_unknown_and_name_the_acl(secured: Sandbox) -> None:
    snapshot = read_as(secured, Listener.SCRAM_SHA_256)
    refused = next(gap for gap in snapshot.gaps if "settings" in gap.message)
    assert (refused.kind, refused.count) == ("failed-request", 2)
    assert "the credentials need DescribeConfigs on the topics: kafka-acls --add" in refused.message
    assert [row["min_isr"] for row in snapshot.partitions.rows()] == [None] * 4


@pytest.mark.parametrize("listener", LISTENERS, ids=str)
def test_every_kind_of_listener_can_be_read(secured: Sandbox, listener: Listener) -> None:
    snapshot = read_as(secured, listener, user="admin")
    assert {"orders-1", "secret-3"} <= topics_of(snapshot)
    assert snapshot.gaps == ()
    assert snapshot.cluster_id == secured.cluster_id


@pytest.mark.parametrize("listener", LISTENERS, ids=str)
def test_both_libraries_get_in_with_the_same_properties(secured: Sandbox, listener: Listener) -> None:
    """The contract of client_properties where the two libraries overlap: brokers, leaders, replicas, ISR."""
    from confluent_kafka.admin import AdminClient

    properties = secured.client_properties(listener, "admin")
    settings: dict[str, Any] = dict(translate(properties).librdkafka) | {
        "bootstrap.servers": properties["bootstrap.servers"]
    }
    metadata = AdminClient(settings).list_topics(timeout=20)
    theirs = {
        (topic.topic, number): (partition.leader, partition.replicas, partition.isrs)
        for topic in metadata.topics.values()
        for number, partition in topic.partitions.items()
    }
    snapshot = read_as(secured, listener, user="admin")
    ours = {
        (row["topic"], row["partition"]): (row["leader"], row["replicas"], row["isr"])
        for row in snapshot.partitions.rows()
    }
    assert ours == theirs
    assert {broker.host for broker in metadata.brokers.values()} == {row["host"] for row in snapshot.brokers.rows()}


def test_a_client_certificate_comes_from_a_pkcs12_store_too(secured: Sandbox, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
    from cryptography.x509 import load_pem_x509_certificates

    properties = secured.client_properties(Listener.MTLS, "admin")
    pem = Path(properties["ssl.keystore.location"]).read_bytes()
    certificate, *others = load_pem_x509_certificates(pem)
    store = tmp_path / "client.p12"
    key = load_pem_private_key(pem, None)
    assert not isinstance(key, bytes)
    store.write_bytes(
        serialize_key_and_certificates(b"me", key, certificate, others, BestAvailableEncryption(b"opens"))  # type: ignore[arg-type]
    )
    changed = {
        "ssl.keystore.location": str(store),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": "opens",
    }
    assert read_as(secured, Listener.MTLS, user="admin", **changed).cluster_id == secured.cluster_id


def test_wrong_password_is_refused_at_once(secured: Sandbox) -> None:
    for listener in (Listener.SCRAM_SHA_256, Listener.SASL_PLAIN, Listener.TLS_SCRAM_SHA_512):
        jaas = secured.client_properties(listener, "alice")["sasl.jaas.config"].replace("alice-secret", "guess")
        begun = time.monotonic()
        with pytest.raises(AuthenticationError) as caught:
            read_as(secured, listener, **{"sasl.jaas.config": jaas})
        assert time.monotonic() - begun < 10
        assert "credentials" in str(caught.value)
        assert "guess" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_missing_client_certificate_is_named(secured: Sandbox) -> None:
    properties = secured.client_properties(Listener.TLS)
    handle = ClusterHandle("test", secured.bootstrap_servers_of(Listener.MTLS), properties=properties, timeout=10)
    with pytest.raises(AuthenticationError, match=r"client certificate \(ssl.keystore.location\)"):
        read_live(handle)


def test_an_untrusted_broker_certificate_is_named(secured: Sandbox) -> None:
    servers = secured.bootstrap_servers_of(Listener.TLS)
    handle = ClusterHandle("test", servers, properties={"security.protocol": "SSL"}, timeout=10)
    with pytest.raises(UnreachableError, match=r"certificate is not trusted \(ssl.truststore.location\)"):
        read_live(handle)


@pytest.mark.parametrize(
    ("client", "listener", "told"),
    [
        (Listener.PLAINTEXT, Listener.TLS, "wants TLS"),
        (Listener.PLAINTEXT, Listener.SCRAM_SHA_256, "may want SASL"),
        (Listener.TLS, Listener.PLAINTEXT, "speaks no TLS"),
        (Listener.TLS, Listener.SCRAM_SHA_256, "speaks no TLS"),
        (Listener.SCRAM_SHA_256, Listener.PLAINTEXT, "does not use SASL"),
        (Listener.SASL_PLAIN, Listener.SCRAM_SHA_256, "it takes SCRAM-SHA-256"),
    ],
    ids=str,
)
def test_the_wrong_kind_of_listener_is_told(secured: Sandbox, client: Listener, listener: Listener, told: str) -> None:
    properties = secured.client_properties(client, "admin")
    handle = ClusterHandle("test", secured.bootstrap_servers_of(listener), properties=properties, timeout=10)
    with pytest.raises(UnreachableError) as caught:
        read_live(handle)
    assert told in str(caught.value)
    assert secured.bootstrap_servers_of(listener) in str(caught.value)


@contextlib.contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """A server that answers every connection with ``answer``, or accepts and stays silent."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        if answer is not None:
            threading.Thread(target=serve, args=(server, answer), daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def serve(server: socket.socket, answer: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)


def test_something_else_than_kafka_is_told() -> None:
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server, pytest.raises(UnreachableError) as caught:
        read_live(ClusterHandle("test", server, timeout=5))
    assert f"tried {server} (not a Kafka broker: it answered 'HTTP'...)" in str(caught.value)


def test_unreachable_servers_are_all_named_in_one_line_within_the_timeout() -> None:
    with listening(None) as silent, socket.create_server(("127.0.0.1", 0)) as closed:
        refused = f"127.0.0.1:{closed.getsockname()[1]}"
        closed.close()
        begun = time.monotonic()
        with pytest.raises(UnreachableError) as caught:
            read_live(ClusterHandle("test", f"{silent},{refused},nowhere.invalid:9092", timeout=2))
        took = time.monotonic() - begun
    assert 1.5 < took < 5.5, "the timeout once for all of them"
    line = str(caught.value)
    assert f"{refused} (connection refused)" in line
    assert "nowhere.invalid:9092 (name not known)" in line
    assert f"{silent} (no answer within 2 s)" in line
    assert "\n" not in line


def test_nothing_of_the_libraries_is_printed(secured: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    from kreplica.control.elect import elect_preferred

    read_as(secured, Listener.SCRAM_SHA_256, user="admin")
    with pytest.raises(UnreachableError):
        read_live(ClusterHandle("test", "127.0.0.1:1", timeout=1))
    with pytest.raises(UnreachableError):
        elect_preferred(ClusterHandle("test", "127.0.0.1:1", timeout=1), [("orders-1", 0)])
    assert capfd.readouterr() == ("", "")
