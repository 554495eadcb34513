"""The live source and credentials: hidden topics, refusals, TLS, SASL, tokens, and the wrong kind of listener."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback.certificates import pkcs12_of, self_signed
from loopback.token_endpoint import TokenAuthority, keys_allowed, settings_for_tokens, token_authority, with_tokens
from real_clusters.access import grant

from kreplica.config.handle import ClusterHandle
from kreplica.config.properties import translate
from kreplica.control.elect import librdkafka_settings
from kreplica.errors import AuthenticationError, UnreachableError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sandbox import Listener, Mode, Sandbox
from kreplica.sources import Facet
from kreplica.sources.kafka.broker_view import read_broker_view
from kreplica.sources.kafka.snapshot import read_live
from kreplica.sources.permissions import DESCRIBE_CLUSTER, DESCRIBE_TOPIC_CONFIGS, Permission
from kreplica.system.deadline import Deadline
from kreplica.system.java import probe

pytestmark = pytest.mark.kafka

LISTENERS = (Listener.SCRAM_SHA_256, Listener.SASL_PLAIN, Listener.TLS, Listener.MTLS, Listener.TLS_SCRAM_SHA_512)


@pytest.fixture(scope="module")
def authority() -> Iterator[TokenAuthority]:
    with token_authority({"service": "service-secret"}) as found:
        yield found


@pytest.fixture(scope="module")
def secured(module_sandbox_factory: Any, authority: TokenAuthority) -> Sandbox:
    """One broker with every kind of listener, ACLs and auto-created topics; alice may describe ``orders-*`` only.

    Its listener of SASL PLAIN takes tokens, too.
    """
    with keys_allowed(authority):
        sandbox: Sandbox = module_sandbox_factory(
            name="secured",
            mode=Mode.KRAFT,
            brokers=1,
            listeners=LISTENERS,
            authorizer=True,
            super_users=("admin", "service"),
            broker_settings={"auto.create.topics.enable": "true"} | settings_for_tokens(authority),
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


def read_with(properties: dict[str, str]) -> ClusterSnapshot:
    return read_live(handle_with(properties), Facet.HEALTH)


def handle_of(sandbox: Sandbox, listener: Listener, user: str = "alice", **changed: str) -> ClusterHandle:
    return handle_with(sandbox.client_properties(listener, user) | changed)


def handle_with(properties: dict[str, str]) -> ClusterHandle:
    return ClusterHandle("test", properties["bootstrap.servers"], properties=properties, timeout=20)


def metadata_by_librdkafka(properties: dict[str, str]) -> Any:
    from confluent_kafka.admin import AdminClient

    settings = librdkafka_settings(handle_with(properties), Deadline(20))
    admin = AdminClient(settings | {"bootstrap.servers": properties["bootstrap.servers"]})
    if properties.get("sasl.mechanism") == "OAUTHBEARER":
        admin.poll(2)  # the token is fetched by what serves its events
    return admin.list_topics(timeout=20)


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
        from kreplica.sources.kafka.connections.connection import BrokerConnection
        from kreplica.sources.kafka.connections.failures import Address
        from kreplica.sources.kafka.layout import hidden_topics

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
    assert snapshot.notes == ()
    (unseen,) = [gap for gap in snapshot.gaps if gap.kind == "hidden-topics"]
    assert unseen.message.startswith("hidden topics cannot be ruled out: log directories could not be read")
    assert "need Describe on the cluster" in unseen.message
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
    metadata = metadata_by_librdkafka(secured.client_properties(listener, "admin"))
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
    properties = secured.client_properties(Listener.MTLS, "admin")
    store = tmp_path / "client.p12"
    store.write_bytes(pkcs12_of(Path(properties["ssl.keystore.location"]), "opens"))
    changed = {
        "ssl.keystore.location": str(store),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": "opens",
    }
    assert read_as(secured, Listener.MTLS, user="admin", **changed).cluster_id == secured.cluster_id


def test_a_client_certificate_comes_from_a_jks_store_too(secured: Sandbox, tmp_path: Path) -> None:
    """The stores are made by the keytool beside the Java that the brokers run on."""
    given = secured.client_properties(Listener.MTLS, "admin")
    (tmp_path / "key.p12").write_bytes(pkcs12_of(Path(given["ssl.keystore.location"]), "opens-it"))
    runtime, _ = probe(
        Path(secured.state.java), "the sandbox"
    )  # a Spark session of this process wraps the java program
    assert runtime
    keytool = runtime.home / "bin" / "keytool"
    stores = {name: str(tmp_path / f"{name}.jks") for name in ("key", "trust")}
    jks = ("-storepass", "opens-it", "-storetype", "JKS", "-noprompt")
    source = ("-srckeystore", str(tmp_path / "key.p12"), "-srcstorepass", "opens-it")
    made = ("-destkeystore", stores["key"], "-deststorepass", "opens-it", "-deststoretype", "JKS", "-noprompt")
    subprocess.run([keytool, "-importkeystore", *source, *made], capture_output=True, check=True, timeout=60)
    trusted = ("-alias", "ca", "-file", given["ssl.truststore.location"], "-keystore", stores["trust"])
    subprocess.run([keytool, "-importcert", *trusted, *jks], capture_output=True, check=True, timeout=60)
    changed = {
        "ssl.keystore.location": stores["key"],
        "ssl.keystore.password": "opens-it",
        "ssl.keystore.type": "JKS",
        "ssl.truststore.location": stores["trust"],
        "ssl.truststore.type": "JKS",
    }
    assert read_as(secured, Listener.MTLS, "admin", **changed).cluster_id == secured.cluster_id
    assert set(metadata_by_librdkafka(given | changed).brokers) == {1}


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
        (Listener.PLAINTEXT, Listener.TLS, "its listener speaks TLS"),
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


def test_nothing_of_the_libraries_is_printed(secured: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    from kreplica.control.elect import elect_preferred

    read_as(secured, Listener.SCRAM_SHA_256, user="admin")
    with pytest.raises(UnreachableError):
        read_live(ClusterHandle("test", "127.0.0.1:1", timeout=1))
    with pytest.raises(UnreachableError):
        elect_preferred(ClusterHandle("test", "127.0.0.1:1", timeout=1), [("orders-1", 0)])
    assert capfd.readouterr() == ("", "")


# tokens


@pytest.mark.parametrize("where", ["endpoint", "properties of Kafka 4.1", "file"])
def test_tokens_are_taken_by_a_real_broker_from_both_libraries(
    where: str, secured: Sandbox, authority: TokenAuthority, tmp_path: Path
) -> None:
    servers = secured.bootstrap_servers_of(Listener.SASL_PLAIN)
    properties = with_tokens(servers, f"{authority.url}/token", clientId="service", clientSecret="service-secret")
    if where == "properties of Kafka 4.1":
        credentials = "sasl.oauthbearer.client.credentials.client"
        properties = with_tokens(servers, f"{authority.url}/token")
        properties |= {f"{credentials}.id": "service", f"{credentials}.secret": "service-secret"}
    if where == "file":
        file = tmp_path / "a token"
        file.write_text(authority.token("service") + "\n")
        properties = with_tokens(servers, file.as_uri())
    snapshot = read_with(properties)
    assert snapshot.gaps == ()
    assert snapshot.cluster_id == secured.cluster_id
    assert set(metadata_by_librdkafka(properties).brokers) == {1}


def test_the_endpoint_of_tokens_has_an_authority_of_its_own(
    secured: Sandbox, authority: TokenAuthority, tmp_path: Path
) -> None:
    servers, store = secured.bootstrap_servers_of(Listener.SASL_PLAIN), tmp_path / "endpoint.pem"
    store.write_bytes(self_signed(None, 1))
    login = {"clientId": "service", "clientSecret": "service-secret"}
    with token_authority(authority.clients, store) as safe:
        safe.key = authority.key  # brokers know this one
        trusting = with_tokens(servers, f"{safe.url}/token", **login, **{"ssl.truststore.location": str(store)})
        assert read_with(trusting).cluster_id == secured.cluster_id
        assert set(metadata_by_librdkafka(trusting).brokers) == {1}
        with pytest.raises(UnreachableError, match=r"no token from .* certificate verify failed"):
            read_with(with_tokens(servers, f"{safe.url}/token", **login))


def test_tokens_that_are_not_taken_are_told(secured: Sandbox, authority: TokenAuthority, tmp_path: Path) -> None:
    servers = secured.bootstrap_servers_of(Listener.SASL_PLAIN)
    with pytest.raises(AuthenticationError, match=r"no token from .*; .* answers HTTP 401"):
        read_with(with_tokens(servers, f"{authority.url}/token", clientId="service", clientSecret="guess"))
    for name, token in {
        "other audience": authority.token("service", audience="elsewhere"),
        "expired": authority.token("service", lifetime=-60),
    }.items():
        file = tmp_path / name
        file.write_text(token)
        with pytest.raises(AuthenticationError, match="the cluster does not accept the credentials") as caught:
            read_with(with_tokens(servers, file.as_uri()))
        assert token not in str(caught.value)
