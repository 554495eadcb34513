"""Exit codes of the gates on real clusters, row by row of the table in docs/gates.md.

One cluster for each mode. Sessions last: a broker that is stopped by SIGSTOP or killed stays live to everybody who does
not ask it (in ZooKeeper mode for about 20 s, in which one row is tried).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from clusters.gate_situations import GATES, ON_KRAFT, ON_ZOOKEEPER, Situation
from real_clusters.access import grant
from real_clusters.views import paused

from commands.main import run
from kreplica.sandbox import Listener, Mode, Sandbox
from kreplica.sources.permissions import DESCRIBE_CLUSTER, DESCRIBE_TOPIC_CONFIGS

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LONG = "120000"
ORDERS = {"min.insync.replicas": "2"}
CONTROLLER = 4


@pytest.fixture(scope="module")
def kraft(module_sandbox_factory: Callable[..., Sandbox]) -> Sandbox:
    """Three brokers and a controller; alice may describe ``orders`` alone, ``single`` stands on broker 3 alone."""
    sandbox = module_sandbox_factory(
        name="gates",
        mode=Mode.KRAFT,
        controllers=1,
        listeners=(Listener.SCRAM_SHA_256,),
        authorizer=True,
        broker_settings={"broker.session.timeout.ms": LONG, "replica.lag.time.max.ms": LONG},
    )
    sandbox.create_topic("orders", assignment=[[1, 2, 3], [2, 1, 3]], configs=ORDERS)
    sandbox.create_topic("single", assignment=[[3]], configs={"min.insync.replicas": "1"})
    sandbox.tool("acls", "--add", "--allow-principal", "User:alice", "--operation", "Describe", "--topic", "orders")
    return sandbox


@pytest.fixture(scope="module")
def plan(kraft: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("roll") / "roll.json"
    everybody = ["--bootstrap-server", kraft.bootstrap_servers_of(Listener.PLAINTEXT)]
    assert run(["roll", "plan", *everybody, "--accept", "rf-one", "--out", str(path)]) == 1, "the only controller stays"
    return path


def codes(gates: Sequence[str], plan: Path | None, *words: str, seconds: int = 20) -> dict[str, int]:
    """Exit code of each gate, which reads once; ``seconds`` bounds the read, which ends so where somebody is silent."""
    found = {}
    for gate in gates:
        own = {"safe-to-stop 1": ["--settle", "0"], "roll next": [str(plan), "--settle", "0"]}.get(gate, [])
        bound = ["--timeout", "0", "--read-timeout"] if gate.startswith("wait") else ["--timeout"]
        found[gate] = run([*GATES[gate], *own, *bound, str(seconds), *words])
    return found


def differing(
    outcome: Mapping[str, dict[str, int]], told: Mapping[str, Situation]
) -> dict[tuple[str, str], tuple[int, int]]:
    """Where an exit code is not the one that the table tells: found, told."""
    assert outcome.keys() == told.keys()
    return {
        (name, gate): (outcome[name][gate], code)
        for name, situation in told.items()
        for gate, code in situation.by_gate().items()
        if outcome[name][gate] != code
    }


@pytest.mark.timeout(600)
def test_kraft(kraft: Sandbox, plan: Path, tmp_path: Path) -> None:
    def found(name: str, *words: str, seconds: int = 20) -> dict[str, int]:
        return codes(tuple(ON_KRAFT[name].by_gate()), plan, *words, seconds=seconds)

    plain = kraft.bootstrap_servers_of(Listener.PLAINTEXT)
    secured = kraft.bootstrap_servers_of(Listener.SCRAM_SHA_256)
    properties = kraft.client_properties(Listener.SCRAM_SHA_256, "alice")
    alice = tmp_path / "alice.properties"
    alice.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    stranger = tmp_path / "stranger.properties"
    stranger.write_text(alice.read_text().replace("alice-secret", "wrong"))
    everything = ("--bootstrap-server", plain)
    one_topic = ("--bootstrap-server", secured, "--command-config", str(alice))

    outcome = {
        "healthy": found("healthy", *everything),
        "dead-bootstrap": found("dead-bootstrap", "--bootstrap-server", f"127.0.0.1:1,{plain}"),
        "wrong-password": found("wrong-password", "--bootstrap-server", secured, "--command-config", str(stranger)),
        "no-credentials": found("no-credentials", "--bootstrap-server", secured),
        "no-cluster-permission": found("no-cluster-permission", *one_topic),
    }
    grant(kraft, "alice", (DESCRIBE_CLUSTER, DESCRIBE_TOPIC_CONFIGS))
    outcome["hidden"] = found("hidden", *one_topic)
    with paused(kraft, 3):
        outcome["paused"] = found("paused", *everything, seconds=4)
        outcome["paused-hidden"] = found("paused-hidden", *one_topic, seconds=4)
        began = time.monotonic()
        assert run([*GATES["wait, broker 1"], "--timeout", "3s", *everything]) == 5
        assert time.monotonic() - began < 8, "a read by itself would wait 10 s for the broker that hangs"
    with paused(kraft, CONTROLLER):
        outcome["controller-paused"] = found("controller-paused", *everything, seconds=4)
    kraft.shut_down(3)
    kraft.wait_for_brokers(gone=[3])
    outcome["down"] = found("down", *everything)
    outcome["down-other-topic"] = found("down-other-topic", *everything, "--topic", "orders")
    outcome["down-hidden"] = found("down-hidden", *one_topic)
    assert differing(outcome, ON_KRAFT) == {}


@pytest.mark.timeout(600)
def test_zookeeper(module_sandbox_factory: Callable[..., Sandbox]) -> None:
    sandbox = module_sandbox_factory(
        name="zookeeper-gates",
        mode=Mode.ZOOKEEPER,
        broker_settings={"zookeeper.session.timeout.ms": LONG, "replica.lag.time.max.ms": LONG},
    )
    sandbox.create_topic("orders", assignment=[[1, 2, 3], [2, 1, 3]], configs=ORDERS)
    by_zookeeper = ("--zookeeper", sandbox.zookeeper_connect)

    def found(name: str, *connection_options: str, seconds: int = 20) -> dict[str, int]:
        return codes(tuple(ON_ZOOKEEPER[name].by_gate()), None, *connection_options, seconds=seconds)

    outcome = {"healthy": found("healthy", *by_zookeeper)}
    with paused(sandbox, 3):
        outcome["paused"] = found("paused", *by_zookeeper, seconds=4)
    sandbox.wait_for_healthy()
    with paused(sandbox, 3):
        outcome["paused-brokers"] = found("paused-brokers", "--bootstrap-server", sandbox.bootstrap_servers, seconds=4)
    sandbox.wait_for_healthy()
    sandbox.kill(3)
    outcome["killed"] = found("killed", *by_zookeeper)
    assert differing(outcome, ON_ZOOKEEPER) == {}
