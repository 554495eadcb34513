"""Options, environment and contexts file become handles; everything else is a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.config.addresses import parse_bootstrap_servers, parse_zookeeper
from kreplica.config.handle import ClusterHandle
from kreplica.config.ways_in import resolve_handles
from kreplica.errors import ConfigurationError, UsageError

CONTEXTS = """
current = "staging"

[contexts.prod-eu]
bootstrap_servers = "eu-1:9092,eu-2:9092"
command_config = "secrets/prod.properties"
timeout = 20
read_only = true
production = true

[contexts.prod-us]
bootstrap_servers = "us-1:9092"
properties = { "security.protocol" = "SSL", "request.timeout.ms" = 5000, "enable.idempotence" = true }

[contexts.staging]
bootstrap_servers = "staging:9092"
"""


@pytest.fixture
def contexts_file(tmp_path: Path) -> Path:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "prod.properties").write_text("security.protocol=SASL_SSL\nclient.id=ops\n")
    file = tmp_path / "contexts.toml"
    file.write_text(CONTEXTS)
    return file


def test_bootstrap_server_alone(tmp_path: Path) -> None:
    (handle,) = resolve_handles(bootstrap_server="a:9092,b:9093", environ={})
    assert (handle.name, handle.bootstrap_servers, handle.dump) == ("a:9092,b:9093", "a:9092,b:9093", None)
    assert (handle.timeout, handle.read_only, handle.production) == (10.0, False, False)
    assert dict(handle.properties) == {}


def test_command_config_is_read_as_java_properties(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes("security.protocol = SSL\nclient.id=caf\u00e9\nno.such.key=1\n".encode("iso-8859-1"))
    (handle,) = resolve_handles(bootstrap_server="a:1", command_config=str(file), timeout=2, environ={})
    assert handle.properties["client.id"] == "caf\u00e9"
    assert handle.timeout == 2
    assert handle.warnings == ("client property no.such.key is not known and has no effect",)


def test_bootstrap_servers_may_come_from_command_config(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1,b:2\n")
    (handle,) = resolve_handles(command_config=str(file), environ={})
    assert handle.bootstrap_servers == "a:1,b:2"
    (handle,) = resolve_handles(bootstrap_server="c:3", command_config=str(file), environ={})
    assert handle.bootstrap_servers == "c:3"


def test_dump_needs_nothing_else() -> None:
    assert resolve_handles(dump="sample", environ={}) == (ClusterHandle("sample", dump="sample"),)


def test_context_by_name_keeps_all_its_settings(contexts_file: Path) -> None:
    (handle,) = resolve_handles(contexts=["prod-eu"], config_path=str(contexts_file), environ={})
    assert handle == ClusterHandle(
        "prod-eu",
        "eu-1:9092,eu-2:9092",
        properties={"security.protocol": "SASL_SSL", "client.id": "ops"},
        timeout=20,
        read_only=True,
        production=True,
    )


def test_patterns_give_each_context_once_in_file_order(contexts_file: Path) -> None:
    handles = resolve_handles(contexts=["*-us", "prod-*"], config_path=str(contexts_file), environ={})
    assert [handle.name for handle in handles] == ["prod-eu", "prod-us"]


def test_current_context_is_used_when_nothing_is_given(contexts_file: Path) -> None:
    (handle,) = resolve_handles(environ={"KREPLICA_CONFIG": str(contexts_file)})
    assert (handle.name, handle.bootstrap_servers) == ("staging", "staging:9092")


def test_config_option_wins_over_the_environment(contexts_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('current = "x"\n[contexts.x]\nbootstrap_servers = "x:1"\n')
    (handle,) = resolve_handles(config_path=str(other), environ={"KREPLICA_CONFIG": str(contexts_file)})
    assert handle.name == "x"


def test_timeout_option_wins_over_the_context(contexts_file: Path) -> None:
    (handle,) = resolve_handles(contexts=["prod-eu"], config_path=str(contexts_file), timeout=3, environ={})
    assert handle.timeout == 3


def test_properties_of_toml_types_become_java_text(contexts_file: Path) -> None:
    (handle,) = resolve_handles(contexts=["prod-us"], config_path=str(contexts_file), environ={})
    assert dict(handle.properties) == {
        "security.protocol": "SSL",
        "request.timeout.ms": "5000",
        "enable.idempotence": "true",
    }


def test_secrets_are_not_in_repr() -> None:
    handle = ClusterHandle("x", "x:1", properties={"sasl.jaas.config": "hush"})
    assert "hush" not in repr(handle)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "give one of --bootstrap-server"),
        ({"bootstrap_server": "a:1", "dump": "d"}, "--bootstrap-server and --dump exclude each other"),
        ({"bootstrap_server": "a:1", "contexts": ["c"]}, "--bootstrap-server and --context exclude"),
        ({"dump": "d", "command_config": "f"}, "--command-config does not go with --dump"),
        ({"bootstrap_server": "a:1", "timeout": 0}, "--timeout is 0; expected seconds above 0"),
        ({"bootstrap_server": "a:1", "timeout": float("nan")}, "--timeout is nan"),
        ({"bootstrap_server": "a:x"}, "bootstrap server 'a:x' cannot be used; expected HOST:PORT"),
        ({"bootstrap_server": "a:70000"}, "'a:70000'"),
        ({"bootstrap_server": " , "}, "the bootstrap servers are empty"),
        ({"bootstrap_server": ""}, "the bootstrap servers are empty"),
        (
            {"bootstrap_server": "a:1", "command_config": "/no/such"},
            "cannot read client properties /no/such; no such file",
        ),
        ({"config_path": "/no/such.toml"}, "cannot read contexts file /no/such.toml; no such file"),
    ],
)
def test_unusable_options_are_told(options: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kreplica.config.contexts.default_path", lambda: Path("/no/such/default.toml"))
    with pytest.raises(UsageError) as caught:
        resolve_handles(**options, environ={})  # type: ignore[arg-type]
    assert told in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("colour = 1", "unknown key colour; one of current, contexts"),
        (
            "[contexts.a]\nbootstrap_server = 'a:1'",
            "unknown key contexts.a.bootstrap_server; did you mean bootstrap_servers?",
        ),
        ("[contexts.a]\nbootstrap_servers = 5", "contexts.a cannot be used; Expected `str | null`, got `int`"),
        ("[contexts.a]\nbootstrap_servers = 'a:1'\ntimeout = -1", "contexts.a.timeout is -1"),
        ("[contexts.a]\nread_only = true", "context a has no bootstrap_servers"),
        ("contexts = 3", "contexts is not a table"),
        ("[contexts]\na = 3", "contexts.a is not a table"),
        ("current = 'b'\n[contexts.a]\nbootstrap_servers = 'a:1'", "current names no context: 'b'; its contexts are a"),
        ("not toml", "cannot read contexts file"),
    ],
)
def test_unusable_contexts_files_name_file_and_key(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "contexts.toml"
    file.write_text(content)
    with pytest.raises(UsageError) as caught:
        resolve_handles(contexts=["a"], config_path=str(file), environ={})
    assert told in str(caught.value)
    assert str(file) in str(caught.value)


def test_an_unknown_context_names_those_that_are(contexts_file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no context matches 'prod-as\*'.*prod-eu, prod-us, staging"):
        resolve_handles(contexts=["prod-as*"], config_path=str(contexts_file), environ={})


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("a:1", (("a", 1),)),
        (" a:1 , b ", (("a", 1), ("b", 9092))),
        ("[::1]:9,[fe80::2]", (("::1", 9), ("fe80::2", 9092))),
    ],
)
def test_bootstrap_servers_are_split(text: str, addresses: tuple[tuple[str, int], ...]) -> None:
    assert parse_bootstrap_servers(text) == addresses


@pytest.mark.parametrize("text", ["a:", ":1", "a:0", "[::1", "::1", "a:1:2", "a:\u0661"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected HOST:PORT"):
        parse_bootstrap_servers(text)


def test_zookeeper_alone(tmp_path: Path) -> None:
    (handle,) = resolve_handles(zookeeper="zk-1:2181,zk-2/kafka", environ={})
    assert (handle.name, handle.zookeeper) == ("zk-1:2181,zk-2/kafka", "zk-1:2181,zk-2/kafka")
    assert (handle.bootstrap_servers, handle.dump) == (None, None)


def test_zookeeper_takes_command_config_but_not_its_brokers(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nzookeeper.ssl.client.enable=true\nzookeeper.ssl.ocsp.enable=true\n")
    (handle,) = resolve_handles(zookeeper="zk:2181", command_config=str(file), environ={})
    assert handle.bootstrap_servers is None
    assert handle.properties["zookeeper.ssl.client.enable"] == "true"
    assert handle.warnings == ("client property zookeeper.ssl.ocsp.enable has no effect: revocation is not looked up",)


def test_a_context_may_name_zookeeper_beside_the_brokers_or_alone(tmp_path: Path) -> None:
    file = tmp_path / "contexts.toml"
    file.write_text(
        '[contexts.both]\nbootstrap_servers = "a:1"\nzookeeper = "zk:2181/a"\nread_only = true\n'
        '[contexts.alone]\nzookeeper = "zk:2181"\n[contexts.neither]\ntimeout = 3\n'
        '[contexts.broken]\nzookeeper = "zk:0"\n'
    )
    both, alone = resolve_handles(contexts=["both", "alone"], config_path=str(file), environ={})
    assert (both.bootstrap_servers, both.zookeeper, both.read_only) == ("a:1", "zk:2181/a", True)
    assert (alone.name, alone.bootstrap_servers, alone.zookeeper) == ("alone", None, "zk:2181")
    with pytest.raises(ConfigurationError, match="neither has no bootstrap_servers; and no zookeeper"):
        resolve_handles(contexts=["neither"], config_path=str(file), environ={})
    with pytest.raises(UsageError, match="ZooKeeper server 'zk:0' cannot be used"):
        resolve_handles(contexts=["broken"], config_path=str(file), environ={})


@pytest.mark.parametrize(
    ("given", "servers", "chroot"),
    [
        ("zk", (("zk", 2181),), "/"),
        ("zk:21/", (("zk", 21),), "/"),
        (" a:1 , b/kafka/prod/", (("a", 1), ("b", 2181)), "/kafka/prod"),
        ("[::1]:2182,[fe80::1]/k", (("::1", 2182), ("fe80::1", 2181)), "/k"),
    ],
)
def test_zookeeper_connect_strings(given: str, servers: tuple[tuple[str, int], ...], chroot: str) -> None:
    assert parse_zookeeper(given) == (servers, chroot)


@pytest.mark.parametrize("given", ["", "/kafka", "zk:2181/a,zk2:2181/a", "zk:x", "zk:2181/a//b", "zk:2181/../a"])
def test_connect_strings_that_cannot_be_used(given: str) -> None:
    with pytest.raises(UsageError):
        parse_zookeeper(given)


def test_a_contexts_own_properties_win_over_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "a.properties").write_text("client.id=file\nbootstrap.servers=file:1\nssl.truststore.location=b.pem\n")
    config = tmp_path / "config.toml"
    config.write_text(
        "[contexts.a]\ncommand_config = 'a.properties'\n"
        "[contexts.a.properties]\n'client.id' = 'own'\n'ssl.keystore.location' = 'c.pem'\n"
    )
    (handle,) = resolve_handles(contexts=["a"], config_path=str(config), environ={})
    assert handle.bootstrap_servers == "file:1"
    assert dict(handle.properties) == {
        "client.id": "own",
        "bootstrap.servers": "file:1",
        "ssl.truststore.location": "b.pem",  # of a file that Kafka's tools read, too: from the current folder
        "ssl.keystore.location": str(tmp_path / "c.pem"),
    }


def test_references_are_followed_in_every_setting(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        "[contexts.a]\nbootstrap_servers = '${env:SERVERS}'\n[contexts.a.properties]\n'client.id' = '${file:id}'\n"
    )
    (tmp_path / "id").write_text("me\n")
    (handle,) = resolve_handles(contexts=["a"], config_path=str(config), environ={"SERVERS": "x:1"})
    assert (handle.bootstrap_servers, handle.properties["client.id"]) == ("x:1", "me")
    with pytest.raises(ConfigurationError, match="the environment variable SERVERS is not set"):
        resolve_handles(contexts=["a"], config_path=str(config), environ={})
