"""kreplica recommend on real clusters, KRaft with eligible leader replicas and ZooKeeper mode: what was planted is
found, nothing else, and the printed commands, run by Kafka's own tools, leave nothing to recommend."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answers.in_process import answered

from kreplica.sandbox import Mode, Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

UNCLEAN = "unclean.leader.election.enable"
EVERY_BROKER = ("--alter", "--entity-type", "brokers", "--entity-default")
BOUND_SECONDS = 120


@pytest.fixture(params=["kraft_cluster", "zookeeper_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    sandbox: Sandbox = request.getfixturevalue(request.param)
    yield sandbox
    sandbox.run_tool("configs", *EVERY_BROKER, "--delete-config", UNCLEAN)


def recommend(sandbox: Sandbox, *options: str | Path) -> tuple[int, list[dict[str, Any]]]:
    words = ["recommend", "--bootstrap-server", sandbox.bootstrap_servers, "--timeout", "30", *map(str, options)]
    code, document = answered(*words)
    assert document["summary"]["unjudged"] == []
    return code, document["recommendations"]


def found(rows: list[dict[str, Any]]) -> set[tuple[str, str | None, str, str | None, str | None, str]]:
    names = ("rule", "name", "setting", "current", "origin", "recommended")
    return {tuple(row[name] for name in names) for row in rows}  # type: ignore[misc]


def run(sandbox: Sandbox, command: str, folder: Path) -> None:
    """Runs a printed command as it stands, Kafka's tools from the sandbox's jars."""
    for part in command.split(" && "):
        if part.startswith("echo "):
            subprocess.run(["bash", "-c", part], cwd=folder, timeout=30, check=True)
            continue
        tool, *words = shlex.split(part)
        at = words.index("--bootstrap-server")
        assert words[at + 1] == sandbox.bootstrap_servers
        del words[at : at + 2]  # the sandbox gives its own
        words = [str(folder / word) if word.endswith(".json") else word for word in words]
        sandbox.tool(tool.removeprefix("kafka-"), *words)


def test_advice_is_what_was_planted_and_following_it_leaves_none(cluster: Sandbox, tmp_path: Path) -> None:
    before, rows = recommend(cluster)
    assert (before, rows) == (0, [])
    plant(cluster)
    expected = planted()
    deadline = time.monotonic() + BOUND_SECONDS
    while found(recommend(cluster, "--fail-on", "critical")[1]) != expected and time.monotonic() < deadline:
        time.sleep(1)  # what all brokers are set to reaches each of them in its own time
    code, rows = recommend(cluster)
    assert found(rows) == expected
    assert code == 1
    assert recommend(cluster, "--topic", "loose", "--fail-on", "critical")[0] == 0
    price = next(row["price"] for row in rows if row["rule"] == "min-isr-one")
    assert ("KIP-966" in price) is (cluster.mode is Mode.KRAFT)
    follow(cluster, tmp_path)


def plant(sandbox: Sandbox) -> None:
    sandbox.create_topic("single", assignment=[[1], [2]])
    sandbox.create_topic("pairs", assignment=[[1, 2], [2, 3]])
    loose = {"min.insync.replicas": "1", "flush.messages": "1", UNCLEAN: "true"}
    sandbox.create_topic("loose", assignment=[[1, 2, 3]], configs=loose)
    sandbox.create_topic("strict", assignment=[[3, 1, 2]], configs={"min.insync.replicas": "3"})
    sandbox.create_topic("good", assignment=[[2, 3, 1]], configs={UNCLEAN: "false"})
    sandbox.tool("configs", *EVERY_BROKER, "--add-config", f"{UNCLEAN}=true")


def planted() -> set[tuple[str, str | None, str, str | None, str | None, str]]:
    """The sandbox sets min.insync.replicas 2 for all: the topic of two copies needs both."""
    factor, min_isr = "replication factor", "min.insync.replicas"
    return {
        ("unclean-default", None, UNCLEAN, "true", "cluster-dynamic", "false"),
        ("rf-one", "single", factor, "1", "assignment", "3"),
        ("min-isr-equals-rf", "pairs", factor, "2", "assignment", "3"),
        ("min-isr-equals-rf", "strict", min_isr, "3", "topic", "2"),
        ("min-isr-one", "loose", min_isr, "1", "topic", "2"),
        ("unclean-enabled", "loose", UNCLEAN, "true", "topic", "false"),
        ("flush-messages", "loose", "flush.messages", "1", "topic", "not set"),
    }


def follow(sandbox: Sandbox, folder: Path) -> None:
    """Runs every command once, and asks again until nothing is left."""
    done: set[str] = set()
    deadline = time.monotonic() + BOUND_SECONDS
    code, rows = recommend(sandbox)
    while rows and time.monotonic() < deadline:
        for command in {row["command"] for row in rows if row["command"]} - done:
            run(sandbox, command, folder)
            done.add(command)
        time.sleep(1)
        code, rows = recommend(sandbox)
    assert (code, rows) == (0, [])
    assert len(done) == len(planted())
    for topic in ("single", "pairs"):
        for partition in (0, 1):
            sandbox.wait_for_isr(topic, partition, {1, 2, 3})
