"""imbalance foretells what a controller does by itself: real ones that look every few seconds."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from answers.in_process import answered
from real_clusters.moves import connection_to, start_move
from real_clusters.views import partitions, wait_for_leaders, wait_for_replicas
from waiting import until

from kreplica.sandbox import Mode, Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

INTERVAL = 3
SETTINGS = {"auto.leader.rebalance.enable": "true", "leader.imbalance.check.interval.seconds": str(INTERVAL)}
PREFERRED_BY_2 = 18


def started(sandbox_factory: Any, mode: Mode) -> Sandbox:
    """Two brokers; partitions 18 and up are broker 1's until their replicas are put in another order."""
    sandbox: Sandbox = sandbox_factory(name=f"balance-{mode}", mode=mode, brokers=2, broker_settings=SETTINGS)
    sandbox.create_topic("balance", assignment=[*[[2, 1]] * PREFERRED_BY_2, *[[1, 2]] * 4])
    return sandbox


def ask(sandbox: Sandbox) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of broker 2, and the summary."""
    code, document = answered("imbalance", "--bootstrap-server", sandbox.bootstrap_servers, "--exit-zero")
    assert code == 0
    return document["brokers"][1], document["summary"]


def prefer_2(sandbox: Sandbox, partition: int) -> None:
    """Puts the replicas in another order and waits until both brokers know it; who leads stays."""
    controller = sandbox.mode is Mode.ZOOKEEPER and active_controller(sandbox)
    start_move(connection_to(sandbox, controller or 1), "balance", partition, [2, 1])
    wanted = [list(one.replicas) for one in partitions(sandbox, "balance")]
    wanted[partition] = [2, 1]
    wait_for_replicas(sandbox, "balance", wanted)


def active_controller(sandbox: Sandbox) -> int:
    metadata = sandbox.metadata()
    assert metadata is not None
    return int(metadata.controller_id)


def elsewhere(sandbox: Sandbox) -> set[int]:
    """Partitions whose first replica does not lead, by Kafka's own tool."""
    listing = sandbox.tool("topics", "--describe", "--topic", "balance")
    found = re.findall(r"Partition: (\d+)\s+Leader: (\d+)\s+Replicas: (\d+),", listing)
    assert len(found) == PREFERRED_BY_2 + 4
    return {int(number) for number, leader, first in found if leader != first}


def wait_until_all_are_back(sandbox: Sandbox) -> None:
    until(lambda: elsewhere(sandbox) == set(), "the controller to elect")
    wait_for_leaders(sandbox, "balance", [one.replicas[0] for one in partitions(sandbox, "balance")])


def test_a_zookeeper_controller_acts_strictly_above_the_percentage(sandbox_factory: Any) -> None:
    sandbox = started(sandbox_factory, Mode.ZOOKEEPER)
    for partition in (18, 19):
        prefer_2(sandbox, partition)
    broker, summary = ask(sandbox)
    assert (broker["preferred_partitions"], broker["non_preferred"], broker["ratio"]) == (20, 2, 0.1)
    assert (broker["electable"], broker["controller_would_act"]) == (2, False)
    assert broker["reason"] == "10.0% is not above 10%"
    assert summary["balancing"]["interval_seconds"] == INTERVAL
    assert summary["balancing"]["origins"]["leader.imbalance.check.interval.seconds"] == "broker-static"
    time.sleep(2.5 * INTERVAL)
    assert elsewhere(sandbox) == {18, 19}

    prefer_2(sandbox, 20)
    broker, _ = ask(sandbox)
    if broker["non_preferred"]:  # the controller may have been faster
        assert (broker["non_preferred"], broker["controller_would_act"]) == (3, True)
    wait_until_all_are_back(sandbox)
    assert ask(sandbox)[0]["reason"] == "leads all it is preferred for"


def test_a_kraft_controller_acts_whatever_the_ratio(sandbox_factory: Any) -> None:
    sandbox = started(sandbox_factory, Mode.KRAFT)
    prefer_2(sandbox, 18)
    broker, summary = ask(sandbox)
    if broker["non_preferred"]:  # the controller may have been faster
        assert (broker["ratio"], broker["controller_would_act"]) == (0.0526, True)
        assert broker["reason"] == f"elects 1 within {INTERVAL} s"
    assert summary["balancing"]["enabled"] is True
    wait_until_all_are_back(sandbox)
