"""An operator's night on a real cluster, KRaft and ZooKeeper mode: every listing is held against Kafka's own tool."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from answers.in_process import answered
from real_clusters.moves import connection_to, start_move
from real_clusters.views import partitions, quorum_leader, wait_for_leaders
from waiting import until

from kreplica.sandbox import Mode, ProcessState, Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LISTINGS = {
    "--under-replicated": "--under-replicated-partitions",
    "--under-min-isr": "--under-min-isr-partitions",
    "--at-min-isr": "--at-min-isr-partitions",
    "--unavailable": "--unavailable-partitions",
}
"""Filters of describe and the options of kafka-topics that mean the same."""

SETTLE_SECONDS = 60.0

Partitions = set[tuple[str, int]]


@pytest.fixture(params=["kraft_cluster", "zookeeper_cluster"])
def cluster(request: pytest.FixtureRequest) -> Sandbox:
    sandbox: Sandbox = request.getfixturevalue(request.param)
    sandbox.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]], configs={"min.insync.replicas": "2"})
    sandbox.create_topic("strict", assignment=[[2, 1, 3], [3, 2, 1]], configs={"min.insync.replicas": "3"})
    sandbox.create_topic("pairs", assignment=[[3, 1], [1, 2]], configs={"min.insync.replicas": "2"})
    sandbox.create_topic("single", assignment=[[3], [1]], configs={"min.insync.replicas": "1"})
    return sandbox


def kreplica(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kreplica", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def describe(sandbox: Sandbox, *options: str) -> tuple[int, dict[str, object]]:
    return answered("describe", "--bootstrap-server", sandbox.live_bootstrap_servers(), *options)


def ours(sandbox: Sandbox, option: str) -> tuple[int, Partitions]:
    code, document = describe(sandbox, option)
    rows = document["partitions"]
    assert isinstance(rows, list)
    return code, {(row["topic"], row["partition"]) for row in rows}


def kafkas(sandbox: Sandbox, option: str) -> Partitions:
    listing = sandbox.tool("topics", "--describe", option)
    return {(topic, int(partition)) for topic, partition in re.findall(r"Topic: (\S+)\s+Partition: (\d+)", listing)}


def assert_listings_agree(sandbox: Sandbox) -> dict[str, Partitions]:
    """The state may still be settling between two reads: both have to say the same within the time given."""
    agreed: dict[str, Partitions] = {}
    for option, kafkas_option in LISTINGS.items():
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            code, found = ours(sandbox, option)
            expected = kafkas(sandbox, kafkas_option)
            if found == expected or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        assert found == expected, option
        assert code == (1 if expected else 0), option
        agreed[option] = found
    return agreed


def test_healthy_then_killed_then_back_then_leaders_elected(cluster: Sandbox) -> None:
    healthy = assert_listings_agree(cluster)
    assert healthy["--under-replicated"] == set()
    assert ("single", 0) in healthy["--at-min-isr"]  # RF 1 with min ISR 1 is at min ISR by Kafka's definition

    cluster.kill(3)
    cluster.wait_for_brokers(gone=[3])
    cluster.wait_for_isr("orders", 0, {1, 2}, timeout=60)
    killed = assert_listings_agree(cluster)
    assert {("orders", 0), ("orders", 1), ("orders", 2), ("pairs", 0)} <= killed["--under-replicated"]
    assert ("single", 0) in killed["--unavailable"]
    assert ("pairs", 0) in killed["--under-min-isr"]

    cluster.start_broker(3)
    cluster.wait_for_healthy()
    _, document = describe(cluster, "--non-preferred")
    moved = {(row["topic"], row["partition"]) for row in document["partitions"]}  # type: ignore[attr-defined]
    assert ("orders", 2) in moved
    assert leaders(cluster)["orders", 2] != 3

    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    dry = kreplica("rebalance", "leaders", *servers, "-o", "json")
    assert dry.returncode == 0
    assert leaders(cluster)["orders", 2] != 3  # a dry run moves nothing
    planned = {(row["topic"], row["partition"]) for row in json.loads(dry.stdout)["elections"] if row["electable"]}
    assert planned == moved

    done = kreplica("rebalance", "leaders", *servers, "--execute", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["failed"] == 0
    for topic in ("orders", "strict", "pairs", "single"):
        wait_for_leaders(cluster, topic, [one.replicas[0] for one in partitions(cluster, topic)])
    assert_every_leader_is_preferred(cluster)
    again = kreplica("rebalance", "leaders", *servers, "--execute", "-o", "json")
    assert (again.returncode, json.loads(again.stdout)["elections"]) == (0, [])


def test_paused_past_the_lag_limit(cluster: Sandbox) -> None:
    cluster.pause(2)
    cluster.wait_for_isr("orders", 0, {1, 3}, timeout=90)
    assert cluster.process_state(2) is ProcessState.PAUSED
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:  # each leader puts the broker out of its ISRs in its own time
        expected = kafkas(cluster, "--under-replicated-partitions")
        code, document = describe(cluster, "--under-replicated", "--timeout", "8")
        found = {(row["topic"], row["partition"]) for row in document["partitions"]}  # type: ignore[attr-defined]
        if found == expected or time.monotonic() > deadline:
            break
    assert (code, found) == (1, expected)
    assert ("orders", 0) in found


def test_a_reassignment_that_cannot_finish(cluster: Sandbox) -> None:
    victim, other = (3, 2) if active_controller(cluster) != 3 else (2, 3)
    cluster.create_topic("moving", assignment=[[1, other]], configs={"min.insync.replicas": "1"})
    entry = connection_to(cluster, 1 if cluster.settings.mode is Mode.KRAFT else active_controller(cluster))
    cluster.pause(victim)  # ZooKeeper's controller refuses a dead broker; a paused one counts as alive for seconds
    start_move(entry, "moving", 0, [1, victim])
    cluster.kill(victim)
    cluster.wait_for_brokers(gone=[victim])
    cluster.wait_for_isr("orders", 0, {1, other}, timeout=60)

    listed = cluster.tool("reassign-partitions", "--list")
    moving = {(topic, int(number)) for topic, number in re.findall(r"^(\S+)-(\d+): replicas:", listed, re.MULTILINE)}
    assert ("moving", 0) in moving
    code, document = describe(cluster, "--reassigning")
    rows = {(row["topic"], row["partition"]): row for row in document["partitions"]}  # type: ignore[attr-defined]
    assert (code, set(rows)) == (1, moving)
    assert (rows["moving", 0]["adding"], rows["moving", 0]["removing"]) == ([victim], [other])
    agreed = assert_listings_agree(cluster)
    assert ("moving", 0) not in agreed["--under-replicated"]  # the adding replica does not count (KIP-352)


def active_controller(sandbox: Sandbox) -> int:
    if sandbox.settings.mode is Mode.KRAFT:
        return quorum_leader(sandbox)
    _, document = describe(sandbox)
    controller = document["clusters"][0]["controller"]  # type: ignore[index]
    assert isinstance(controller, int)
    return controller


@pytest.mark.spark
def test_three_snapshots_and_an_audit_report_the_change_over_time(kraft_cluster: Sandbox, tmp_path: Path) -> None:
    kraft_cluster.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    dumps = str(tmp_path / "dumps")
    snapshot(kraft_cluster, dumps)
    kraft_cluster.kill(3)
    kraft_cluster.wait_for_brokers(gone=[3])
    for partition in range(3):
        kraft_cluster.wait_for_isr("orders", partition, {1, 2}, timeout=60)
    expected = len(kafkas(kraft_cluster, "--under-replicated-partitions"))
    assert expected >= 3
    snapshot(kraft_cluster, dumps)
    kraft_cluster.start_broker(3)
    kraft_cluster.wait_for_healthy()
    snapshot(kraft_cluster, dumps)

    result = kreplica("audit", dumps, "-o", "json", timeout=240)
    assert result.returncode == 1, result.stderr
    document = json.loads(result.stdout)
    under_replicated = [entry["under_replicated"] for entry in over_time(document)]
    assert under_replicated == [0, expected, 0]
    found = [finding for finding in document["findings"] if finding["rule"] == "under-replicated"]
    assert len(found) == expected


def over_time(document: dict[str, object]) -> list[dict[str, int]]:
    """Counts of the one cluster in the order of time."""
    summary = document["summary"]
    assert isinstance(summary, dict)
    return sorted(summary["counts"], key=lambda counts: counts["taken_at"])


def snapshot(sandbox: Sandbox, folder: str) -> None:
    result = kreplica("snapshot", "--out", folder, "--bootstrap-server", sandbox.live_bootstrap_servers())
    assert result.returncode == 0, result.stderr


def leaders(sandbox: Sandbox) -> dict[tuple[str, int], int]:
    listing = sandbox.tool("topics", "--describe")
    found = re.findall(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\d+)", listing)
    return {(topic, int(partition)): int(leader) for topic, partition, leader in found}


def assert_every_leader_is_preferred(sandbox: Sandbox) -> None:
    def preferred() -> bool:  # to the broker that Kafka's tool asks, which may hear of it last
        listing = sandbox.tool("topics", "--describe")
        rows = re.findall(r"Partition: \d+\s+Leader: (\S+)\s+Replicas: (\d+)", listing)
        return bool(rows) and all(leader == first for leader, first in rows)

    until(preferred, "every leader to be the preferred one")
