"""A secured cluster as an operator meets it: contexts, permissions of each command, wrong settings."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from loopback.certificates import posing, self_signed
from real_clusters.access import grant
from real_clusters.views import commit, leaders, wait_for_leaders, wait_for_replicas

from commands.main import run
from commands.shared.kafka_requests import COMMAND_REQUESTS
from kreplica.sandbox import Listener, Mode, Sandbox
from kreplica.sandbox.servers.properties import render
from kreplica.sources import Facet
from kreplica.sources.permissions import (
    ALTER_CLUSTER,
    ALTER_CLUSTER_CONFIGS,
    ALTER_TOPIC_CONFIGS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_TOPIC_CONFIGS,
    DESCRIBE_TOPICS,
)

pytestmark = pytest.mark.kafka

WORDS = {
    "describe": ["describe", "--exit-zero"],
    "describe --measure": ["describe", "--measure", "1s", "--exit-zero"],
    "check": ["check", "--exit-zero"],
    "compare": ["compare", "bootstrap:{servers}", "bootstrap:{servers}"],
    "rebalance leaders": ["rebalance", "leaders"],
    "rebalance leaders --execute": ["rebalance", "leaders", "--execute", "--yes"],
    "rebalance replicas": ["rebalance", "replicas", "--rack-aware"],
    "rebalance replicas --dead-for": ["rebalance", "replicas", "--dead-for", "1h"],
    "rebalance verify": ["rebalance", "verify", "{moves}"],
    "disks": ["disks", "--min-usable", "0"],
    "imbalance": ["imbalance", "--exit-zero"],
    "safe-to-stop": ["safe-to-stop", "2", "--settle", "0", "--accept", "rf-one", "--accept-topic", ".*"],
    "whatif fail": ["whatif", "fail", "--broker", "2", "--min-isr", "1", "--exclude-internal"],
    "assign": ["assign", "new-topic", "--partitions", "1", "--replication-factor", "1"],
    "roll plan": ["roll", "plan", "--broker", "2", "--accept", "rf-one", "--accept-topic", ".*"],
    "roll next": ["roll", "next", "{roll}", "--settle", "0"],
    "wait": ["wait", "--for", "no-under-replicated", "--timeout", "0"],
    "recommend": ["recommend", "--fail-on", "critical"],
    "snapshot": ["snapshot", "--out", "dumps"],
    "snapshot --with groups": ["snapshot", "--out", "dumps", "--with", "groups"],
}
"""A command line for each command that asks a cluster; ``{servers}`` stands for its bootstrap servers, ``{roll}`` for a
plan of a rolling restart that was not begun, ``{moves}`` for one of replicas."""

OF_PLANS = {
    name for name in COMMAND_REQUESTS if re.match("rebalance (apply|status|resume|cancel|rollback|throttles)", name)
}
"""Commands on one plan, which go through its life together, and on throttles."""

OF_FILES = {"decode offsets --against", "rebalance rehearse"}
"""Judged by the ranges that it reads alone (tests/kafka/decode/test_decode_story.py); rehearsals of dumps."""

USERS = {name: f"user-{number}" for number, name in enumerate(WORDS)}


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Kreplica = Callable[..., Ended]


@pytest.fixture
def kreplica(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kreplica:
    """Runs a command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str | Path) -> Ended:
        code = run([str(word) for word in words])
        printed = capsys.readouterr()
        return Ended(int(code), printed.out, printed.err)

    return call


@pytest.fixture(scope="module")
def secured(module_sandbox_factory: Any) -> Sandbox:
    """Two brokers with ACLs and each kind of listener."""
    passwords = {user: f"{user}-secret" for user in ("admin", "alice", "planner", "clearer", *USERS.values())}
    sandbox: Sandbox = module_sandbox_factory(
        name="security-story",
        mode=Mode.KRAFT,
        brokers=2,
        listeners=(Listener.TLS_SCRAM_SHA_512, Listener.SASL_PLAIN, Listener.TLS, Listener.MTLS),
        authorizer=True,
        users=passwords,
    )
    sandbox.create_topic("orders", assignment=[[1, 2], [1, 2]])
    return sandbox


def properties_file(sandbox: Sandbox, folder: Path, listener: Listener, user: str = "admin", **changed: str) -> Path:
    path = folder / f"{user}-{listener}-{len(list(folder.iterdir()))}.properties"
    path.touch(mode=0o600)
    changes = {key.replace("_", "."): value for key, value in changed.items()}
    path.write_text(render(sandbox.client_properties(listener, user) | changes), encoding="ascii")
    return path


def prefer_broker_2(sandbox: Sandbox, folder: Path) -> None:
    """Broker 1 leads what broker 2 should: the order of the replicas is turned, no data move."""
    if leaders(sandbox, "orders") != [1, 1]:
        order_replicas(sandbox, folder, [1, 2])
        sandbox.tool("leader-election", "--election-type", "preferred", "--all-topic-partitions")
        wait_for_leaders(sandbox, "orders", [1, 1])
    order_replicas(sandbox, folder, [2, 1])
    wait_for_leaders(sandbox, "orders", [1, 1])


def order_replicas(sandbox: Sandbox, folder: Path, replicas: list[int]) -> None:
    """Gives every partition this order, and waits until the brokers know it."""
    plan = folder / "order.json"
    partitions = [{"topic": "orders", "partition": number, "replicas": replicas} for number in (0, 1)]
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    sandbox.tool("reassign-partitions", "--execute", "--reassignment-json-file", str(plan))
    wait_for_replicas(sandbox, "orders", [replicas, replicas])


# the way in


def test_a_cluster_of_tls_and_scram_through_a_context(
    secured: Sandbox, kreplica: Kreplica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefer_broker_2(secured, tmp_path)
    config, secret = tmp_path / "config.toml", tmp_path / "password"
    given = secured.client_properties(Listener.TLS_SCRAM_SHA_512, "admin")
    (tmp_path / "ca.pem").write_bytes(Path(given["ssl.truststore.location"]).read_bytes())
    secret.touch(mode=0o600)
    secret.write_text("admin-secret\n")
    assert kreplica("config", "init", "--config", config).code == 0
    with config.open("a") as file:
        file.write(
            f'[contexts.prod]\nbootstrap_servers = "{given["bootstrap.servers"]}"\n[contexts.prod.properties]\n'
            '"security.protocol" = "SASL_SSL"\n"ssl.truststore.location" = "ca.pem"\n'
            '"sasl.mechanism" = "SCRAM-SHA-512"\n"sasl.jaas.config" = '
            '\'ScramLoginModule required username="admin" password="${command:pw}";\'\n'
            f'[contexts.prod.commands]\npw = ["cat", "{secret}"]\n'
            "[contexts.kept]\nread_only = true\n"
            f'bootstrap_servers = "{secured.bootstrap_servers_of(Listener.PLAINTEXT)}"\n'
        )
    monkeypatch.setenv("KREPLICA_CONFIG", str(config))
    assert kreplica("config", "use", "prod").code == 0
    checked = kreplica("config", "check")
    assert checked.code == 0, checked
    assert "asked as User:admin" in checked.out
    described = kreplica("describe", "--non-preferred")
    assert (described.code, described.err) == (1, "")
    assert "2 of 2 partitions" in described.out
    assert kreplica("rebalance", "leaders", "--context", "kept", "--execute", "--yes").code == 4
    assert leaders(secured, "orders") == [1, 1]
    done = kreplica("rebalance", "leaders", "--context", "prod", "--execute", "--yes")
    assert (done.code, done.err) == (0, "")
    wait_for_leaders(secured, "orders", [2, 2])
    assert "admin-secret" not in "".join(one.out + one.err for one in (checked, described, done))


def wrong_password(sandbox: Sandbox, folder: Path) -> Path:
    jaas = sandbox.client_properties(Listener.TLS_SCRAM_SHA_512, "alice")["sasl.jaas.config"]
    changed = jaas.replace("alice-secret", "guess-hush")
    return properties_file(sandbox, folder, Listener.TLS_SCRAM_SHA_512, "alice", sasl_jaas_config=changed)


@pytest.mark.parametrize(
    ("names", "days", "told"),
    [
        ({"san": "elsewhere.example"}, 1, "mismatch, certificate is not valid for '127.0.0.1'"),
        ({"san": None}, -1, "certificate has expired"),
    ],
    ids=["another host's certificate", "expired"],
)
def test_a_certificate_that_is_not_the_brokers_is_told(
    names: dict[str, str | None], days: int, told: str, kreplica: Kreplica, tmp_path: Path
) -> None:
    store = tmp_path / "server.pem"
    store.write_bytes(self_signed(names["san"], days))
    with posing(store) as server:
        (tmp_path / "c.properties").write_text(
            f"bootstrap.servers={server}\nsecurity.protocol=SSL\nssl.truststore.location={store}\n"
        )
        ended = kreplica("describe", "--command-config", tmp_path / "c.properties", "--timeout", "10")
    assert (ended.code, ended.out) == (3, "")
    assert "its certificate is not trusted" in ended.err
    assert told in ended.err
    assert ended.err.count("\n") == 1


def other_authority(sandbox: Sandbox, folder: Path) -> Path:
    from kreplica.sandbox.certificates import write_certificates

    write_certificates(folder / "other", ("alice",))
    return properties_file(sandbox, folder, Listener.TLS, ssl_truststore_location=str(folder / "other" / "ca.pem"))


def other_client(sandbox: Sandbox, folder: Path) -> Path:
    from kreplica.sandbox.certificates import write_certificates

    write_certificates(folder / "other", ("alice",))
    return properties_file(
        sandbox, folder, Listener.MTLS, ssl_keystore_location=str(folder / "other" / "user-alice.pem")
    )


def no_store(sandbox: Sandbox, folder: Path) -> Path:
    return properties_file(sandbox, folder, Listener.TLS, ssl_truststore_location=str(folder / "nowhere.p12"))


def no_mechanism(sandbox: Sandbox, folder: Path) -> Path:
    return properties_file(sandbox, folder, Listener.SASL_PLAIN, sasl_mechanism="SCRAM-SHA-256")


def plaintext_to_tls(sandbox: Sandbox, folder: Path) -> Path:
    return properties_file(sandbox, folder, Listener.TLS, security_protocol="PLAINTEXT")


def tls_to_plaintext(sandbox: Sandbox, folder: Path) -> Path:
    servers = sandbox.bootstrap_servers_of(Listener.PLAINTEXT)
    return properties_file(sandbox, folder, Listener.TLS, bootstrap_servers=servers)


def no_jaas(sandbox: Sandbox, folder: Path) -> Path:
    return properties_file(sandbox, folder, Listener.SASL_PLAIN, sasl_jaas_config="broken hush")


MISTAKES: dict[str, tuple[Callable[[Sandbox, Path], Path], int, str]] = {
    "wrong password": (wrong_password, 3, "the cluster does not accept the credentials"),
    "unknown authority": (other_authority, 3, "its certificate is not trusted (ssl.truststore.location)"),
    "unknown client": (other_client, 3, "it does not accept the client's certificate"),
    "no such file": (no_store, 2, "cannot read ssl.truststore.location"),
    "other mechanism": (no_mechanism, 3, "it does not take sasl.mechanism SCRAM-SHA-256, it takes"),
    "plaintext to TLS": (plaintext_to_tls, 3, "its listener speaks TLS: security.protocol is SSL or SASL_SSL there"),
    "TLS to plaintext": (tls_to_plaintext, 3, "speaks no TLS"),
    "broken login": (no_jaas, 2, "sasl.jaas.config cannot be used"),
}


@pytest.mark.parametrize(("mistake", "code", "told"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_is_one_clear_line_in_time(
    mistake: Callable[[Sandbox, Path], Path], code: int, told: str, secured: Sandbox, kreplica: Kreplica, tmp_path: Path
) -> None:
    file = mistake(secured, tmp_path)
    begun = time.monotonic()
    ended = kreplica("describe", "--command-config", file, "--timeout", "10")
    assert time.monotonic() - begun < 19, "not the timeout twice"
    assert (ended.code, ended.out) == (code, "")
    warned, error = ended.err.splitlines()[:-1], ended.err.splitlines()[-1]
    assert told in error
    assert error.startswith("error: ")
    assert all("has no effect: security.protocol is PLAINTEXT" in line for line in warned)
    assert bool(warned) is (mistake is plaintext_to_tls), "a trust store without TLS is warned of"
    assert "hush" not in ended.err


# permissions


def settled(call: Callable[[], Ended], code: int) -> Ended:
    """The brokers know of each entry; the controller, which is asked for changes, may hear of it a moment later."""
    deadline = time.monotonic() + 30
    while (ended := call()).code != code and time.monotonic() < deadline:
        time.sleep(0.2)
    return ended


@pytest.fixture(scope="module")
def group(secured: Sandbox) -> None:
    """A consumer group that has committed an offset."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": secured.bootstrap_servers_of(Listener.PLAINTEXT), "group.id": "billing"})
    try:
        commit(consumer, "orders", {0: 0})
    finally:
        consumer.close()


def test_every_command_has_a_case_here() -> None:
    assert set(WORDS) | OF_PLANS | OF_FILES == set(COMMAND_REQUESTS)


@pytest.mark.parametrize("name", WORDS)
def test_a_command_works_with_its_permissions_and_names_the_one_it_lacks(
    name: str, secured: Sandbox, group: None, kreplica: Kreplica, tmp_path: Path
) -> None:
    command, user = COMMAND_REQUESTS[name], USERS[name]
    file = properties_file(secured, tmp_path, Listener.TLS_SCRAM_SHA_512, user)
    if command.changes:
        prefer_broker_2(secured, tmp_path)

    servers = secured.bootstrap_servers_of(Listener.TLS_SCRAM_SHA_512)
    words = [word.replace("{servers}", servers) for word in WORDS[name]]
    if "{roll}" in words:
        admin = properties_file(secured, tmp_path, Listener.TLS_SCRAM_SHA_512)
        assert kreplica(*WORDS["roll plan"], "--out", "roll.json", "--command-config", admin).code == 0
    if "{moves}" in words:
        admin = properties_file(secured, tmp_path, Listener.TLS_SCRAM_SHA_512)
        planned = kreplica(*WORDS["rebalance replicas"], "--out", "moves.json", "--command-config", admin)
        assert planned.code == 0, planned

    def call() -> Ended:
        plan = tmp_path / f"roll-{len(list(tmp_path.iterdir()))}.json"
        if "{roll}" in words:
            plan.write_bytes((tmp_path / "roll.json").read_bytes())
        places = {"{roll}": str(plan), "{moves}": "moves.json"}
        return kreplica(*(places.get(word, word) for word in words), "--command-config", file)

    grant(secured, user, command.permissions)
    # What a change is refused for comes first: without another permission it is made, and there is nothing left.
    for lacking in sorted(command.permissions, key=lambda one: one not in {change.needs for change in command.changes}):
        if lacking == DESCRIBE_TOPICS:
            continue
        grant(secured, user, (lacking,), remove=True)
        refused = 4 if any(lacking == one.needs for one in command.changes) else 5
        ended = settled(call, refused)
        assert ended.code == refused, (lacking, ended)
        assert lacking.command(f"User:{user}") in ended.err + ended.out, (lacking, ended)
        grant(secured, user, (lacking,))
    allowed = settled(call, 0)
    assert allowed.code == 0, allowed
    assert "kafka-acls" not in allowed.err + allowed.out
    if Facet.LOG_DIRS in command.reads:  # without them nothing names a hidden topic
        grant(secured, user, (DESCRIBE_TOPICS,), remove=True)
        hidden = settled(call, 5)
        assert hidden.code == 5, hidden
        assert "hidden topics: the credentials may not describe them" in hidden.err


def test_a_plan_and_its_way_back_with_their_permissions(secured: Sandbox, kreplica: Kreplica, tmp_path: Path) -> None:
    user = "planner"
    file = properties_file(secured, tmp_path, Listener.TLS_SCRAM_SHA_512, user)
    prefer_broker_2(secured, tmp_path)
    permissions = COMMAND_REQUESTS["rebalance rollback --execute"].permissions
    grant(secured, user, permissions)

    def on_plan(command: str, *options: str) -> Callable[[], Ended]:
        return lambda: kreplica("rebalance", command, "plan.json", *options, "--command-config", file)

    def planned() -> Ended:
        return kreplica("rebalance", "leaders", "--out", "plan.json", "--force", "--command-config", file)

    back = ("--execute", "--allow-reorder")
    assert settled(planned, 0).code == 0
    grant(secured, user, (ALTER_CLUSTER,), remove=True)
    grant(secured, user, (DESCRIBE_CLUSTER,))
    refused = settled(on_plan("resume", "--execute"), 4)
    assert (refused.code, leaders(secured, "orders")) == (4, [1, 1])
    assert ALTER_CLUSTER.command(f"User:{user}") in refused.out
    grant(secured, user, (ALTER_CLUSTER,))
    assert settled(on_plan("resume", "--execute"), 0).code == 0
    wait_for_leaders(secured, "orders", [2, 2])

    grant(secured, user, (ALTER_CLUSTER,), remove=True)
    refused = settled(on_plan("rollback", *back), 4)
    assert (refused.code, leaders(secured, "orders")) == (4, [2, 2])
    assert ALTER_CLUSTER.command(f"User:{user}") in refused.out
    assert "not restored" not in refused.out, "no order was changed"
    grant(secured, user, (ALTER_CLUSTER,))
    assert settled(on_plan("rollback", *back), 0).code == 0
    wait_for_leaders(secured, "orders", [1, 1])
    wait_for_replicas(secured, "orders", [[2, 1], [2, 1]])

    grant(secured, user, (DESCRIBE_TOPIC_CONFIGS,), remove=True)
    status = settled(on_plan("status"), 5)
    assert status.code == 5
    assert DESCRIBE_TOPIC_CONFIGS.command(f"User:{user}") in status.err


def test_throttles_are_shown_and_deleted_with_their_permissions(
    secured: Sandbox, kreplica: Kreplica, tmp_path: Path
) -> None:
    user = "clearer"
    file = properties_file(secured, tmp_path, Listener.TLS_SCRAM_SHA_512, user)
    throttle(secured)
    told, shown = (DESCRIBE_TOPIC_CONFIGS, DESCRIBE_CLUSTER_CONFIGS), 1
    grant(secured, user, COMMAND_REQUESTS["rebalance throttles"].permissions)

    def throttles(*options: str) -> Callable[[], Ended]:
        return lambda: kreplica("rebalance", "throttles", *options, "--command-config", file)

    assert settled(throttles(), shown).code == shown
    for lacking in told:
        grant(secured, user, (lacking,), remove=True)
        refused = settled(throttles(), 3)
        assert (refused.code, refused.out) == (3, ""), refused
        assert lacking.command(f"User:{user}") in refused.err
        grant(secured, user, (lacking,))
    words = ("--topic", "orders", "--broker", "1", "--execute")
    for lacking in (ALTER_TOPIC_CONFIGS, ALTER_CLUSTER_CONFIGS):
        throttle(secured)
        grant(secured, user, tuple({ALTER_TOPIC_CONFIGS, ALTER_CLUSTER_CONFIGS} - {lacking}))
        grant(secured, user, (lacking,), remove=True)
        refused = settled(throttles(*words), 4)
        assert refused.code == 4, refused
        assert lacking.command(f"User:{user}") in refused.err + refused.out
        grant(secured, user, (lacking,))
    throttle(secured)
    assert settled(throttles(*words), 0).code == 0
    assert "throttled" not in secured.tool(
        "configs", "--describe", "--entity-type", "topics", "--entity-name", "orders"
    )
    assert settled(throttles(), 0).out == "nothing throttles replication\n"


def throttle(sandbox: Sandbox) -> None:
    """A list and a rate that nothing needs."""
    listed = "leader.replication.throttled.replicas=[0:1]"
    rate = "leader.replication.throttled.rate=5000000"
    sandbox.tool("configs", "--alter", "--entity-type", "topics", "--entity-name", "orders", "--add-config", listed)
    sandbox.tool("configs", "--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config", rate)


def test_config_check_tells_what_lacks(secured: Sandbox, kreplica: Kreplica, tmp_path: Path) -> None:
    from kreplica.sources.permissions import DESCRIBE_CLUSTER

    file = properties_file(secured, tmp_path, Listener.TLS_SCRAM_SHA_512, "alice")
    config = tmp_path / "config.toml"
    config.write_text(f'[contexts.alice]\ncommand_config = "{file}"\n')

    def found() -> dict[str, Any]:
        ended = kreplica("config", "check", "alice", "--config", config, "-o", "json")
        assert ended.code == 0
        return {row["check"]: row for row in json.loads(ended.out)["checks"]}

    rows = found()
    assert rows["Describe on the cluster"]["status"] == "lacking"
    assert rows["Describe on the cluster"]["fix"] == DESCRIBE_CLUSTER.command("User:alice")
    assert rows["Alter on the cluster"]["status"] == "unknown"
    grant(secured, "alice", (DESCRIBE_CLUSTER, DESCRIBE_TOPICS))
    rows = found()
    assert rows["Describe on the cluster"]["status"] == "ok"
    assert rows["Alter on the cluster"]["status"] == "lacking"
    assert rows["Describe on the topics"]["status"] == "ok"
    assert "0 of" in rows["DescribeConfigs on the topics"]["message"]
    assert rows["identity"]["message"] == "asked as User:alice"
    assert rows["version"]["message"].startswith("Kafka 4.3 or newer, KRaft")
