"""The life of a plan on real clusters: applied, killed in the middle, resumed, rolled back, refused where it drifted.

What is the case is told by kafka-topics. Leaders are put away from where they are preferred by another order of their
replicas: that takes a moment, where killing brokers takes half a minute.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from answers.in_process import printed
from real_clusters.views import leaders, wait_for_leaders, wait_for_replicas
from waiting import until

from kreplica.config.handle import ClusterHandle
from kreplica.control.elect import elect_preferred
from kreplica.control.reassign import reorder_replicas
from kreplica.execution.plan_file import read_plan, write_plan
from kreplica.sandbox import Mode, Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

FIRST = [[1, 2, 3], [2, 3, 1], [1, 3, 2], [2, 1, 3]]
ORDERS = [(3, 1, 2), (3, 2, 1), (2, 1, 3), (1, 2, 3)]
"""Partition by partition: made with the first, so that its first leads, and then given the other order."""

LINE = re.compile(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\d+)\tReplicas: (\S+)\tIsr: (\S+)")
PROGRAM = [sys.executable, "-m", "kreplica", "rebalance"]

Told = dict[int, tuple[int, tuple[int, ...], frozenset[int]]]


@pytest.fixture(params=["kraft_cluster", "zookeeper_cluster"])
def cluster(request: pytest.FixtureRequest) -> Sandbox:
    sandbox: Sandbox = request.getfixturevalue(request.param)
    sandbox.create_topic("orders", assignment=FIRST, configs={"min.insync.replicas": "2"})
    put_away(sandbox)
    return sandbox


def put_away(sandbox: Sandbox, orders: Sequence[tuple[int, ...]] = ORDERS) -> None:
    wanted = {("orders", number): order for number, order in enumerate(orders)}
    assert set(reorder_replicas(handle_of(sandbox), wanted).values()) == {""}
    wait_for_replicas(sandbox, "orders", orders)


def handle_of(sandbox: Sandbox) -> ClusterHandle:
    return ClusterHandle("test", sandbox.bootstrap_servers, timeout=30)


def told(sandbox: Sandbox) -> Told:
    """Leader, replicas and ISR of each partition, as kafka-topics tells them."""
    text = sandbox.tool("topics", "--describe", "--topic", "orders")
    return {
        int(number): (int(leader), tuple(map(int, replicas.split(","))), frozenset(map(int, isr.split(","))))
        for _, number, leader, replicas, isr in LINE.findall(text)
    }


def rebalance(sandbox: Sandbox, *arguments: str | Path) -> tuple[int, Any, str]:
    """Exit code, JSON answer (None if there is none) and stderr."""
    servers = ("--bootstrap-server", sandbox.bootstrap_servers)
    code, out, err = printed("rebalance", *map(str, arguments), *servers, "-o", "json")
    return code, json.loads(out) if out else None, err


def killed(sandbox: Sandbox, plan: Path, sign: str, *arguments: str, number: signal.Signals = signal.SIGKILL) -> int:
    """Starts a run and ends it by a signal as soon as its journal has a line with this sign; how it ended."""
    words = [*PROGRAM, *arguments, str(plan), "--bootstrap-server", sandbox.bootstrap_servers, "--execute"]
    journal = plan.with_name(f"{plan.name}.journal")
    before = journal.read_text().count(sign) if journal.exists() else 0
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def signed() -> bool:
        assert run.poll() is None, run.communicate()[1]
        return journal.exists() and journal.read_text().count(sign) > before

    until(signed, f"{sign} in the journal", pause=0.01)
    run.send_signal(number)
    _, told = run.communicate(timeout=60)
    assert "Traceback" not in told, told
    return run.returncode


def states(document: Any, field: str = "state") -> list[str]:
    return [row[field] for row in document["changes"]]


def test_a_plan_is_applied_killed_resumed_and_rolled_back(cluster: Sandbox, tmp_path: Path) -> None:
    plan, before = tmp_path / "plan.json", told(cluster)
    assert [leader for leader, _, _ in before.values()] == [1, 2, 1, 2]
    code, document, _ = rebalance(cluster, "leaders", "--topic", "orders", "--out", plan, "--batch", "2")
    assert (code, document["summary"]["steps"]) == (0, 2)

    killed(cluster, plan, '"finished"', "apply", "--pause", "5m")
    code, document, _ = rebalance(cluster, "status", plan)
    assert (code, document["summary"]["phase"], states(document)) == (1, "applying", ["done"] * 2 + ["pending"] * 2)
    elected = [row["partition"] for row in document["changes"] if row["state"] == "done"]
    assert [leader == replicas[0] for leader, replicas, _ in told(cluster).values()] == [
        number in elected for number in range(4)
    ]
    code, _, said = rebalance(cluster, "apply", plan, "--execute")
    assert (code, "go on by resume" in said) == (4, True)

    code, document, said = rebalance(cluster, "resume", plan, "--execute")
    assert (code, states(document)) == (0, ["done"] * 4), said
    assert all(leader == replicas[0] for leader, replicas, _ in told(cluster).values())

    code, _, said = rebalance(cluster, "rollback", plan, "--execute")
    assert (code, "--allow-reorder" in said) == (4, True)
    step = '"operation":"rollback","step"'
    ended = killed(cluster, plan, step, "rollback", "--allow-reorder", "--batch", "1", number=signal.SIGTERM)
    assert (ended, [order for _, order, _ in told(cluster).values()]) == (130, ORDERS), "restored before it ended"
    killed(cluster, plan, step, "resume", "--batch", "1")
    code, document, said = rebalance(cluster, "resume", plan, "--execute")
    assert (code, states(document, "rollback")) == (0, ["done"] * 4), said
    until(lambda: told(cluster) == before, "leaders, replica orders and ISRs to be as they were")


def test_a_plan_that_no_longer_fits_is_refused_by_name(kraft_cluster: Sandbox, tmp_path: Path) -> None:
    cluster = kraft_cluster
    cluster.create_topic("orders", assignment=FIRST)
    put_away(cluster)
    plan, other = tmp_path / "plan.json", tmp_path / "other.json"
    rebalance(cluster, "leaders", "--topic", "orders", "--out", plan)
    write_plan(replace(read_plan(plan)[0], cluster_id="another"), other)
    code, document, _ = rebalance(cluster, "apply", other, "--execute")
    assert code == 4
    assert document["error"]["what"] == "the plan belongs to another cluster"

    handle = handle_of(cluster)
    elect_preferred(handle, [("orders", 0)])  # harmless: somebody else has done it
    put_away(cluster, [ORDERS[0], (3, 2, 1), (1, 2, 3), (2, 1, 3)])
    elect_preferred(handle, [("orders", 1)])
    put_away(cluster, [ORDERS[0], (2, 3, 1), (1, 2, 3), (1, 2, 3)])
    elect_preferred(handle, [("orders", 1)])  # broker 2 leads again, in another epoch
    put_away(cluster, [ORDERS[0], ORDERS[1], (1, 2, 3), ORDERS[3]])
    before = told(cluster)
    code, document, _ = rebalance(cluster, "apply", plan, "--execute")
    assert code == 4
    found = {row["partition"]: (row["state"], row["reason"]) for row in document["changes"]}
    assert found[0] == ("pending", "it leads already")
    assert found[1][0] == "drifted"
    assert re.fullmatch(r"leader epoch changed from \d+ to \d+", found[1][1])
    assert found[2] == ("drifted", "replicas changed from 2,1,3 to 1,2,3")
    assert told(cluster) == before

    cluster.delete_topic("orders")
    cluster.create_topic("orders", assignment=[list(order) for order in ORDERS])
    code, document, _ = rebalance(cluster, "apply", plan)
    assert code == 4, "a dry run says so too"
    assert {row["state"] for row in document["changes"]} == {"drifted"}
    assert all(row["reason"].startswith("topic was deleted and created again") for row in document["changes"])


def test_where_only_zookeeper_is_reachable(zookeeper_cluster: Sandbox, tmp_path: Path) -> None:
    assert zookeeper_cluster.mode is Mode.ZOOKEEPER
    zookeeper_cluster.create_topic("orders", assignment=FIRST)
    put_away(zookeeper_cluster)
    plan, connection_options = tmp_path / "plan.json", ["--zookeeper", zookeeper_cluster.zookeeper_connect]

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        words = [*PROGRAM, *map(str, arguments), *connection_options]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)

    assert run("leaders", "--topic", "orders", "--out", plan).returncode in (0, 5)
    refused = run("apply", plan, "--execute")
    assert (refused.returncode, refused.stderr.count("\n")) == (4, 1), refused.stderr
    assert "--allow-zookeeper-write" in refused.stderr
    assert leaders(zookeeper_cluster, "orders") == [1, 2, 1, 2]
    done = run("apply", plan, "--execute", "--allow-zookeeper-write")
    assert done.returncode == 0, done.stdout + done.stderr
    wait_for_leaders(zookeeper_cluster, "orders", [replicas[0] for replicas in ORDERS])
    back = run("rollback", plan, "--execute", "--allow-reorder")
    assert (back.returncode, "made by the brokers" in back.stderr) == (4, True), back.stderr
    code, document, said = rebalance(zookeeper_cluster, "rollback", plan, "--execute", "--allow-reorder")
    assert (code, states(document, "rollback")) == (0, ["done"] * 4), said
    wait_for_leaders(zookeeper_cluster, "orders", [1, 2, 1, 2])
