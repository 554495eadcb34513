"""safe-to-stop told right: each broker is asked about, then really stopped, and Kafka's own listings are compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import Any

import pytest
from answers.in_process import answered
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic
from waiting import until

from kreplica.sandbox import Mode, Sandbox
from kreplica.sandbox.admin import admin_client

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SETTLE_SECONDS = 60.0
FAST_FAULTS = {"replica.lag.time.max.ms": "6000", "broker.session.timeout.ms": "6000"}
TOPICS = {
    "orders": ([[1, 2, 3], [2, 3, 1], [3, 1, 2]], "2", "false"),
    "strict": ([[2, 1, 3], [3, 2, 1]], "3", "false"),
    "pairs": ([[3, 1], [1, 2], [2, 3]], "2", "false"),
    "loose-pairs": ([[3, 1], [1, 2], [2, 3]], "1", "false"),
    "unclean-pairs": ([[1, 3], [2, 1]], "1", "true"),
    "single": ([[1], [2], [3]], "1", "false"),
}
"""Replicas of each partition, min.insync.replicas, unclean.leader.election.enable."""

Partitions = set[tuple[str, int]]


@pytest.fixture(params=["kraft", "zookeeper"])
def cluster(request: pytest.FixtureRequest) -> Sandbox:
    """Three brokers that are no controllers, so that two of them may be down."""
    if request.param == "zookeeper":
        sandbox: Sandbox = request.getfixturevalue("zookeeper_cluster")
    else:
        factory = request.getfixturevalue("sandbox_factory")
        sandbox = factory(name="stopping", mode=Mode.KRAFT, controllers=1, broker_settings=FAST_FAULTS)
    for topic, (assignment, min_isr, unclean) in TOPICS.items():
        configs = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
        sandbox.create_topic(topic, assignment=assignment, configs=configs)
    return sandbox


def kreplica(sandbox: Sandbox, *arguments: str) -> tuple[int, dict[str, Any]]:
    return answered(*arguments, "--bootstrap-server", sandbox.live_bootstrap_servers())


def asked(sandbox: Sandbox, *brokers: int, options: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    return kreplica(sandbox, "safe-to-stop", *map(str, brokers), "--settle", "0", *options)


def effects(document: dict[str, Any], *names: str) -> Partitions:
    return {(row["topic"], row["partition"]) for row in document["partitions"] if row["effect"] in names}


def listed(sandbox: Sandbox, option: str) -> Partitions:
    listing = sandbox.tool("topics", "--describe", option)
    return {(topic, int(partition)) for topic, partition in re.findall(r"Topic: (\S+)\s+Partition: (\d+)", listing)}


def states(sandbox: Sandbox) -> dict[tuple[str, int], tuple[str, set[str]]]:
    """Leader and ISR by Kafka's own tool."""
    listing = sandbox.tool("topics", "--describe")
    found = re.findall(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)\s+Replicas: \S+\s+Isr: ?(\S*)", listing)
    return {
        (topic, int(number)): (leader, {one for one in isr.split(",") if one.isdigit()})
        for topic, number, leader, isr in found
    }


def assert_it_came_so(sandbox: Sandbox, document: dict[str, Any], untouched: Partitions) -> None:
    """Kafka's listings, leaders and ISRs are what was foretold; ``untouched`` were in trouble before."""
    foretold = (
        effects(document, "unavailable"),
        effects(document, "under_min_isr", "unavailable"),
        {
            (row["topic"], row["partition"]): (
                "none" if row["leader_after"] is None else str(row["leader_after"]),
                {str(one) for one in row["isr_after"]},
            )
            for row in document["partitions"]
        },
    )
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        now = states(sandbox)
        found = (
            listed(sandbox, "--unavailable-partitions") - untouched,
            listed(sandbox, "--under-min-isr-partitions") - untouched,
            {key: now[key] for key in foretold[2]},
        )
        if found == foretold or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    assert found == foretold


def brought_back(sandbox: Sandbox, broker: int) -> None:
    sandbox.start_broker(broker, wait=False)
    code, document = kreplica(sandbox, "wait", "--for", "in-sync", "--broker", str(broker), "--timeout", "3m")
    assert (code, document["summary"]["reached"], document["partitions"]) == (0, True, [])
    placed = {
        (topic, number)
        for topic, (assignment, _, _) in TOPICS.items()
        for number, replicas in enumerate(assignment)
        if broker in replicas
    }

    def all_in_sync() -> bool:  # the broker that Kafka's tool asks may hear of it last
        return placed <= {key for key, (_, isr) in states(sandbox).items() if str(broker) in isr}

    until(all_in_sync, f"broker {broker} to be in sync to Kafka's own tool")


@pytest.mark.timeout(900)
def test_each_broker_is_asked_about_then_stopped_then_waited_for(cluster: Sandbox) -> None:
    for broker in (1, 2, 3):
        code, document = asked(cluster, broker)
        assert (code, document["summary"]["verdict"]) == (1, "not_safe")
        assert effects(document, "unavailable") == {("single", broker - 1)}
        assert {("strict", 0), ("strict", 1)} <= effects(document, "under_min_isr")
        cluster.shut_down(broker)
        cluster.wait_for_brokers(gone=[broker])
        assert_it_came_so(cluster, document, set())
        if broker != 3:
            brought_back(cluster, broker)

    # Broker 3 is down: what it took with it does not count against another that is not concerned.
    down = listed(cluster, "--unavailable-partitions") | listed(cluster, "--under-min-isr-partitions")
    code, document = asked(cluster, 3)
    assert (code, document["summary"]["down_already"], document["partitions"]) == (0, [3], [])
    code, document = asked(cluster, 1, options=("--accept", "rf-one", "--accept-topic", "strict,pairs"))
    against = [row for row in document["partitions"] if row["accepted"] is None]
    assert code == 1
    assert {row["topic"] for row in against} == {"orders", "loose-pairs", "unclean-pairs"} | {
        row["topic"] for row in against if row["topic"].startswith("__")
    }
    assert {row["already"] for row in document["partitions"] if row["topic"] == "strict"} == {True}
    cluster.shut_down(1)
    cluster.wait_for_brokers(gone=[1])
    concerned = {(row["topic"], row["partition"]) for row in document["partitions"]}
    assert_it_came_so(cluster, document, down - concerned)
    servers = cluster.live_bootstrap_servers()
    words = ["2", "--accept", "rf-one", "--accept-topic", "strict,pairs", "--wait", "6m", "--settle", "1s"]
    command = [sys.executable, "-m", "kreplica", "safe-to-stop", *words, "--bootstrap-server", servers, "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
        brought_back(cluster, 1)
        assert waiting.poll() is None, "not while broker 3 is down"
        brought_back(cluster, 3)
        out, _ = waiting.communicate(timeout=400)
    summary = json.loads(out)["summary"]
    assert (waiting.returncode, summary["verdict"]) == (0, "safe")
    assert summary["reads_apart"] >= 1


def test_a_quorum_of_three_bears_one_loss(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("orders", assignment=[[1, 2, 3]], configs={"min.insync.replicas": "1"})
    code, document = asked(kraft_cluster, 1)
    assert (effects(document, "quorum_lost"), document["summary"]["quorum"]["up_after"]) == (set(), 2)
    kraft_cluster.kill(3)
    kraft_cluster.wait_for_brokers(gone=[3])
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:  # the quorum's leader may have to be elected first
        code, document = asked(kraft_cluster, 1, options=("--accept-topic", ".*"))
        if (document["summary"]["quorum"] or {}).get("down") == [3] or time.monotonic() > deadline:
            break
    (lost,) = [row for row in document["partitions"] if row["effect"] == "quorum_lost"]
    assert (code, lost["topic"], lost["already"], lost["accepted"]) == (1, None, False, None)
    kraft_cluster.kill(1)
    with pytest.raises(KafkaException):  # Kafka has no controller that could make a topic
        new_topic(kraft_cluster, "too-late")


def new_topic(sandbox: Sandbox, name: str) -> None:
    admin = admin_client(sandbox.live_bootstrap_servers())
    created = admin.create_topics([NewTopic(name, 1)], operation_timeout=5, request_timeout=5)
    created[name].result(timeout=30)
