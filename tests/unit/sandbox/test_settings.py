"""Requests for a sandbox that are taken or refused, its servers, and their settings files."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from kreplica.errors import SandboxError, UsageError
from kreplica.sandbox import Listener, Mode, Role, SandboxSettings, mode_of
from kreplica.sandbox import processes as ports
from kreplica.sandbox.processes import choose_ports, is_free
from kreplica.sandbox.servers.nodes import Node, controller_ids, listener_names, roles_of
from kreplica.sandbox.servers.properties import client_properties, render, server_properties, zookeeper_properties


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"name": "../escape"}, "'../escape'"),
        ({"name": ""}, "''"),
        ({"brokers": 0}, "0 brokers"),
        ({"brokers": 21}, "21 brokers"),
        ({"controllers": 3, "mode": Mode.ZOOKEEPER}, "--controllers"),
        ({"ibp": "2.1"}, "--ibp"),
        ({"ibp": "old", "mode": Mode.ZOOKEEPER}, "'old'"),
        ({"racks": ("a", "b c")}, "'b c'"),
        ({"log_dirs": 0}, "log directories"),
        ({"heap_mib": 1}, "heap"),
        ({"users": {"eve": 'a"b'}}, "eve"),
        ({"users": {"eve": ""}}, "eve"),
        ({"users": {"e ve": "x"}}, "'e ve'"),
        ({"broker_settings": {"log.dirs": "/tmp"}}, "log.dirs"),
        ({"listeners": ()}, "listener"),
        ({"release": "2.8.9", "mode": Mode.ZOOKEEPER}, "did you mean 2.8.2, 2.8.1, 2.8.0?"),
        ({"release": "0.10", "mode": Mode.ZOOKEEPER}, "0.10.2.2"),
        ({"release": "kafka", "mode": Mode.ZOOKEEPER}, "it has 0.10.2.2, 0.11.0.3, 1.1.1"),
        ({"release": "2.8.2"}, "no Kafka 2.8.2 in kraft mode; zookeeper"),
        ({"release": "4.3.1", "mode": Mode.ZOOKEEPER}, "no Kafka 4.3.1 in zookeeper mode; kraft"),
        ({"release": "3.3.2", "mode": Mode.ZOOKEEPER, "authorizer": True}, "plaintext listener alone"),
        ({"release": "2.8.2", "mode": Mode.ZOOKEEPER, "listeners": (Listener.TLS,)}, "plaintext listener alone"),
        ({"settings_by_broker": {2: {"listeners": "x"}}}, "listeners cannot be set"),
        ({"settings_by_broker": {4: {"num.io.threads": "9"}}}, "there is no broker 4; 1 to 3"),
        ({"advertised_ports": {0: 1}}, "there is no broker 0"),
    ],
)
def test_what_cannot_be_is_named_before_anything_starts(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError) as caught:
        SandboxSettings(**settings).validate()
    assert named in str(caught.value)
    assert '"b' not in str(caught.value), "a password is never printed"


@pytest.mark.parametrize(
    ("brokers", "controllers", "expected"),
    [(1, 0, (1,)), (2, 0, (1,)), (3, 0, (1, 2, 3)), (5, 0, (1, 2, 3)), (2, 3, (3, 4, 5))],
)
def test_which_nodes_are_controllers(brokers: int, controllers: int, expected: tuple[int, ...]) -> None:
    settings = SandboxSettings(brokers=brokers, controllers=controllers)
    assert controller_ids(settings) == expected
    roles = roles_of(settings)
    assert sorted(node for node, of in roles.items() if Role.BROKER in of) == list(range(1, brokers + 1))
    assert len(roles) == brokers + controllers


def test_racks_begin_again_at_the_end() -> None:
    settings = SandboxSettings(brokers=5, racks=("a", "b"))
    assert [settings.rack_of(broker) for broker in range(1, 6)] == ["a", "b", "a", "b", "a"]


def nodes_of(settings: SandboxSettings) -> dict[int, Node]:
    free = iter(range(21000, 22000))
    return {
        node: Node(id=node, roles=roles, ports={name: next(free) for name in listener_names(settings, roles)})
        for node, roles in roles_of(settings).items()
    }


def test_every_server_listens_on_the_loopback_interface_only(tmp_path: Path) -> None:
    for mode in Mode:
        settings = SandboxSettings(mode=mode, listeners=tuple(Listener), authorizer=True, log_dirs=2, racks=("a",))
        nodes = nodes_of(settings)
        for node in nodes:
            if node == 0:
                assert zookeeper_properties(nodes[0], tmp_path)["clientPortAddress"] == "127.0.0.1"
                continue
            properties = server_properties(settings, nodes, node, tmp_path / "x")
            for text in (properties["listeners"], properties["advertised.listeners"]):
                assert {entry.split("://")[1].split(":")[0] for entry in text.split(",")} == {"127.0.0.1"}
            assert "CONTROLLER" not in properties["advertised.listeners"]
            assert len(properties["log.dirs"].split(",")) == 2


def test_the_users_own_settings_win(tmp_path: Path) -> None:
    settings = SandboxSettings(broker_settings={"min.insync.replicas": "3", "num.io.threads": "9"})
    properties = server_properties(settings, nodes_of(settings), 1, tmp_path)
    assert (properties["min.insync.replicas"], properties["num.io.threads"]) == ("3", "9")


def test_settings_of_one_broker_win_over_those_of_all(tmp_path: Path) -> None:
    settings = SandboxSettings(
        broker_settings={"num.io.threads": "9"}, settings_by_broker={2: {"num.io.threads": "5", "a.b": "c"}}
    )
    settings.validate()
    of = {broker: server_properties(settings, nodes_of(settings), broker, tmp_path) for broker in (1, 2)}
    assert (of[1]["num.io.threads"], of[2]["num.io.threads"]) == ("9", "5")
    assert (of[1].get("a.b"), of[2]["a.b"]) == (None, "c")


def test_proxies_stand_before_what_a_broker_tells_others_and_before_zookeeper(tmp_path: Path) -> None:
    settings = SandboxSettings(mode=Mode.ZOOKEEPER, advertised_ports={0: 30000, 2: 30002})
    settings.validate()
    nodes = nodes_of(settings)
    of = {broker: server_properties(settings, nodes, broker, tmp_path) for broker in (1, 2)}
    assert of[2]["advertised.listeners"] == "PLAINTEXT://127.0.0.1:30002"
    assert of[2]["listeners"] == f"PLAINTEXT://127.0.0.1:{nodes[2].ports['PLAINTEXT']}"
    assert of[1]["advertised.listeners"] == of[1]["listeners"]
    assert {properties["zookeeper.connect"] for properties in of.values()} == {"127.0.0.1:30000"}


def test_proxies_stand_before_nodes_that_are_controllers_only(tmp_path: Path) -> None:
    settings = SandboxSettings(brokers=2, controllers=2, advertised_ports={1: 30001, 3: 30003})
    settings.validate()
    nodes = nodes_of(settings)
    of = {node: server_properties(settings, nodes, node, tmp_path) for node in nodes}
    direct = f"127.0.0.1:{nodes[4].ports['CONTROLLER']}"
    assert {one["controller.quorum.bootstrap.servers"] for one in of.values()} == {f"127.0.0.1:30003,{direct}"}
    assert of[3]["advertised.listeners"] == "CONTROLLER://127.0.0.1:30003"
    assert of[3]["listeners"] == f"CONTROLLER://127.0.0.1:{nodes[3].ports['CONTROLLER']}"
    assert "advertised.listeners" not in of[4]
    assert "PLAINTEXT://127.0.0.1:30001" in of[1]["advertised.listeners"]


def test_a_broker_that_is_a_controller_as_well_has_no_proxy_for_controllers(tmp_path: Path) -> None:
    settings = SandboxSettings(brokers=1, advertised_ports={1: 30001})
    nodes = nodes_of(settings)
    direct = f"127.0.0.1:{nodes[1].ports['CONTROLLER']}"
    assert server_properties(settings, nodes, 1, tmp_path)["controller.quorum.bootstrap.servers"] == direct


@pytest.mark.parametrize(
    ("release", "quorum"),
    [("3.3.2", {"controller.quorum.voters": "1@{}"}), ("3.9.2", {"controller.quorum.bootstrap.servers": "{}"})],
)
def test_how_controllers_of_a_release_find_each_other(tmp_path: Path, release: str, quorum: dict[str, str]) -> None:
    settings = SandboxSettings(release=release, brokers=1)
    settings.validate()
    nodes = nodes_of(settings)
    properties = server_properties(settings, nodes, 1, tmp_path)
    expected = {key: value.format(nodes[1].address("CONTROLLER")) for key, value in quorum.items()}
    assert {key: value for key, value in properties.items() if key.startswith("controller.quorum.")} == expected


@pytest.mark.parametrize(
    ("name", "mode"), [("", Mode.KRAFT), ("4.3.1", Mode.KRAFT), ("3.9.2", Mode.ZOOKEEPER), ("2.0.0", Mode.ZOOKEEPER)]
)
def test_the_mode_of_a_release_where_none_is_asked_for(name: str, mode: Mode) -> None:
    assert mode_of(name) is mode
    SandboxSettings(mode=mode, release=name).validate()


@pytest.mark.parametrize(("ibp", "format_"), [("0.10.0", "0.10.0"), ("2.8", "2.8"), ("3.2", None), ("", None)])
def test_old_protocols_bring_their_message_format(tmp_path: Path, ibp: str, format_: str | None) -> None:
    settings = SandboxSettings(mode=Mode.ZOOKEEPER, ibp=ibp)
    properties = server_properties(settings, nodes_of(settings), 2, tmp_path)
    assert properties.get("inter.broker.protocol.version") == (ibp or None)
    assert properties.get("log.message.format.version") == format_


@pytest.mark.parametrize(
    ("listener", "protocol", "mechanism"),
    [
        (Listener.PLAINTEXT, "PLAINTEXT", ""),
        (Listener.TLS, "SSL", ""),
        (Listener.MTLS, "SSL", ""),
        (Listener.SASL_PLAIN, "SASL_PLAINTEXT", "PLAIN"),
        (Listener.SCRAM_SHA_256, "SASL_PLAINTEXT", "SCRAM-SHA-256"),
        (Listener.TLS_SASL_PLAIN, "SASL_SSL", "PLAIN"),
        (Listener.TLS_SCRAM_SHA_512, "SASL_SSL", "SCRAM-SHA-512"),
    ],
)
def test_protocol_and_mechanism_of_each_kind_of_listener(
    tmp_path: Path, listener: Listener, protocol: str, mechanism: str
) -> None:
    assert (listener.protocol, listener.mechanism) == (protocol, mechanism)
    settings = SandboxSettings(listeners=(listener,))
    client = client_properties(settings, "127.0.0.1:1", listener, "alice", tmp_path)
    assert client["security.protocol"] == protocol
    assert client.get("sasl.mechanism", "") == mechanism
    assert ("ssl.keystore.location" in client) == (listener is Listener.MTLS)


def test_a_properties_file_is_ascii_and_escapes_what_its_reader_would_change() -> None:
    # java.util.Properties: Latin-1, a backslash begins an escape, characters beyond are UTF-16 units \\uXXXX
    rendered = render({"path": "C:\\käse 🦊", "jaas": 'a required user="x";'})
    assert rendered == 'path=C:\\\\k\\u00e4se \\ud83e\\udd8a\njaas=a required user="x";\n'


def test_ports_are_free_distinct_and_not_those_of_other_sandboxes() -> None:
    chosen = choose_ports(30, set())
    assert len(set(chosen)) == 30
    assert all(map(is_free, chosen))
    assert max(chosen) <= ports.last_port()


def test_a_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "FIRST_PORT", 27500)
    monkeypatch.setattr(ports, "last_port", lambda: 27520)
    free = [port for port in range(27500, 27521) if is_free(port)]
    with socket.socket() as server:
        server.bind(("127.0.0.1", free[0]))
        server.listen()
        assert sorted(choose_ports(len(free) - 1, set())) == free[1:]
        with pytest.raises(SandboxError, match="free ports"):
            choose_ports(len(free), set())
        assert sorted(choose_ports(len(free) - 3, {free[2], free[-1]})) == [free[1], *free[3:-1]]
