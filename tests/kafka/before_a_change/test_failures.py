"""whatif fail and roll told right: failures are played, then brought about, and Kafka's own listings are compared."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from answers.in_process import answered
from confluent_kafka import Producer
from real_clusters.views import paused
from real_clusters.znodes import writer
from waiting import until

from kreplica.engine.rules.controller.controller_election import controller_epoch
from kreplica.sandbox import Listener, Mode, Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

SETTLE_SECONDS, TOLD_SECONDS = 60.0, 15.0
FAST_FAULTS = {"replica.lag.time.max.ms": "6000", "broker.session.timeout.ms": "6000"}
# An offline directory is noticed when the next checkpoint is written.
CHECKPOINTS = {"replica.high.watermark.checkpoint.interval.ms": "1000"}
THROTTLED = "follower.replication.throttled"
TOPICS = {
    "orders": ([[1, 2, 3], [2, 3, 1], [3, 1, 2]], "2", "false"),
    "strict": ([[2, 1, 3], [3, 2, 1]], "3", "false"),
    "pairs": ([[3, 1], [1, 2], [2, 3]], "2", "false"),
    "loose-pairs": ([[3, 1], [1, 2], [2, 3]], "1", "false"),
    "unclean-pairs": ([[1, 3], [2, 1]], "1", "true"),
    "single": ([[1], [2], [3]], "1", "false"),
}
"""Replicas of each partition, min.insync.replicas, unclean.leader.election.enable."""

LINE = re.compile(
    r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)\s+Replicas: \S+\s+Isr: ?(\S*)"
    r"(?:\s+Elr: ?(\S*)\s+LastKnownElr: ?(\S*))?"
)
State = tuple[int | None, frozenset[int], frozenset[int]]
Partitions = set[tuple[str, int]]


def kreplica(sandbox: Sandbox, *arguments: str) -> tuple[int, dict[str, Any]]:
    return answered(*arguments, "--bootstrap-server", sandbox.live_bootstrap_servers())


def ids(text: str) -> frozenset[int]:
    return frozenset(int(one) for one in text.split(",") if one.isdigit())


def states(sandbox: Sandbox) -> dict[tuple[str, int], State]:
    """Leader, ISR and ELR by Kafka's own tool."""
    found = LINE.findall(sandbox.tool("topics", "--describe"))
    return {
        (topic, int(number)): (int(leader) if leader.isdigit() else None, ids(isr), ids(elr))
        for topic, number, leader, isr, elr, _ in found
    }


def listed(sandbox: Sandbox, option: str) -> Partitions:
    listing = sandbox.tool("topics", "--describe", option)
    return {(topic, int(partition)) for topic, partition in re.findall(r"Topic: (\S+)\s+Partition: (\d+)", listing)}


def foretold(document: dict[str, Any], before: dict[tuple[str, int], State]) -> dict[tuple[str, int], State]:
    """Every partition as it shall be: those that are not listed stay as they are."""
    rows = {
        (row["topic"], row["partition"]): (
            row["leader_after"],
            frozenset(row["isr_after"]),
            frozenset(row["elr_after"] or ()),
        )
        for row in document["partitions"]
    }
    return before | rows


def crash(sandbox: Sandbox, broker: int) -> dict[str, Any]:
    """Plays the crash of a broker, kills it, and compares what became of every partition."""
    return played_and_done(sandbox, ("--broker", str(broker)), lambda: sandbox.kill(broker))


def await_told(sandbox: Sandbox, expected: dict[tuple[str, int], State]) -> None:
    """Waits a while for brokers to tell leaders and ISRs as expected; Kafka's own tool judges then."""
    wanted = {partition: (leader, isr) for partition, (leader, isr, _) in expected.items()}
    deadline = time.monotonic() + TOLD_SECONDS
    while time.monotonic() < deadline and not any(told(view) == wanted for view in sandbox.views()):
        time.sleep(0.5)


def told(view: Any) -> dict[tuple[str, int], tuple[int | None, frozenset[int]]]:
    """Leader and ISR of each partition in the metadata of a broker."""
    return {
        (name, number): (one.leader if one.leader >= 0 else None, frozenset(one.isrs))
        for name, topic in (view.topics.items() if view else ())
        for number, one in topic.partitions.items()
    }


def played_and_done(sandbox: Sandbox, what: Sequence[str], bring_about: Callable[[], object]) -> dict[str, Any]:
    """Plays a failure, brings it about, and compares what became of every partition."""
    before, down = states(sandbox), listed(sandbox, "--unavailable-partitions")
    _, document = kreplica(sandbox, "whatif", "fail", *what)
    expected = foretold(document, before)
    gone = {(row["topic"], row["partition"]) for row in document["partitions"] if row["effect"] == "unavailable"} | down
    bring_about()
    deadline = time.monotonic() + SETTLE_SECONDS
    await_told(sandbox, expected)
    found = states(sandbox)
    while found != expected and time.monotonic() < deadline:
        time.sleep(1)
        found = states(sandbox)
    assert found == expected
    assert listed(sandbox, "--unavailable-partitions") == gone
    return document


def controller_now(sandbox: Sandbox) -> int:
    """The active controller; what would be if it went is looked at by others."""
    _, document = kreplica(sandbox, "whatif", "fail", "--controller")
    assert document["summary"]["brokers"] == [document["summary"]["controller"]]
    return int(document["summary"]["controller"])


def a_controller_that_is_no_broker(sandbox: Sandbox) -> None:
    """It goes for good: another takes over, no partition changes, and what fails later fails under that one."""
    before = states(sandbox)
    code, document = kreplica(sandbox, "whatif", "fail", "--controller")
    active = document["summary"]["controller"]
    assert active in sandbox.controller_ids
    assert (code, document["partitions"], document["summary"]["quorum"]["up_after"]) == (0, [], 2)
    sandbox.kill(active)
    until(lambda: controller_now(sandbox) != active, "another controller to take over", SETTLE_SECONDS)
    assert states(sandbox) == before


def a_disk(sandbox: Sandbox) -> None:
    """The second log directory of broker 2 goes: its first one, with the metadata log, and the broker live on."""
    _, described = kreplica(sandbox, "disks", "--broker", "2")
    path = max(row["path"] for row in described["log_dirs"])
    directory = Path(path)
    away = directory.with_name(f"{directory.name}-away")

    def fail() -> None:
        directory.rename(away)
        directory.write_text("")  # whoever writes there now fails, root as well

    document = played_and_done(sandbox, ("--disk", f"2:{path}"), fail)
    held = {(topic, int(number)) for topic, _, number in (one.name.rpartition("-") for one in away.glob("*-[0-9]*"))}
    assert {(row["topic"], row["partition"]) for row in document["partitions"]} == held
    sandbox.shut_down(2)
    directory.unlink()
    away.rename(directory)
    bring_back(sandbox, 2)


def bring_back(sandbox: Sandbox, *brokers: int) -> None:
    for broker in brokers:
        sandbox.start_broker(broker, wait=False)
    sandbox.wait_for_brokers(sandbox.broker_ids)
    sandbox.wait_for_healthy()


def create_topics(sandbox: Sandbox) -> None:
    for topic, (assignment, min_isr, unclean) in TOPICS.items():
        configs = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
        sandbox.create_topic(topic, assignment=assignment, configs=configs)


def effects(document: dict[str, Any], name: str) -> Partitions:
    return {(row["topic"], row["partition"]) for row in document["partitions"] if row["effect"] == name}


def two_crashes(sandbox: Sandbox, *, elr: bool) -> None:
    """Broker 1, then broker 3: what the second takes along rests on what the first left behind."""
    first = crash(sandbox, 1)
    assert any(row["elr_after"] for row in first["partitions"]) == elr
    assert effects(first, "unavailable") == {("single", 0)}
    assert effects(first, "under_min_isr") >= {("strict", 0), ("strict", 1), ("pairs", 0), ("pairs", 1)}
    second = crash(sandbox, 3)
    assert effects(second, "unavailable") >= {("single", 2), ("loose-pairs", 0), ("unclean-pairs", 0)}
    assert effects(second, "under_min_isr") >= {("orders", 0), ("orders", 1), ("orders", 2)}
    bring_back(sandbox, 3, 1)


@pytest.mark.timeout(900)
def test_crashes_of_kraft_with_and_without_elr_and_what_an_unclean_leader_lacks(sandbox_factory: Any) -> None:
    """One cluster for all of it: controllers that are no brokers, so that two of three brokers may be down."""
    sandbox = sandbox_factory(
        name="failures", mode=Mode.KRAFT, controllers=3, log_dirs=2, broker_settings=FAST_FAULTS | CHECKPOINTS
    )
    create_topics(sandbox)
    a_controller_that_is_no_broker(sandbox)
    two_crashes(sandbox, elr=True)
    a_disk(sandbox)
    sandbox.tool("features", "downgrade", "--feature", "eligible.leader.replicas.version=0")
    two_crashes(sandbox, elr=False)
    unclean_leader(sandbox)


@pytest.mark.timeout(600)
def test_crashes_of_zookeeper_mode(zookeeper_cluster: Sandbox) -> None:
    create_topics(zookeeper_cluster)
    two_crashes(zookeeper_cluster, elr=False)


@pytest.mark.timeout(600)
def test_the_controller_of_zookeeper_mode_goes_with_its_broker_and_without_it(zookeeper_cluster: Sandbox) -> None:
    """Another broker takes over, one epoch higher, and does what the old one would have done."""
    create_topics(zookeeper_cluster)
    active, epoch = zookeeper_controller(zookeeper_cluster)
    document = played_and_done(zookeeper_cluster, ["--controller"], lambda: zookeeper_cluster.kill(active))
    assert document["summary"]["brokers"] == [active]
    assert len(effects(document, "new_leader")) > 0
    assert effects(document, "unavailable") == {("single", active - 1)}
    successor, raised = zookeeper_controller(zookeeper_cluster)
    assert raised == controller_epoch(epoch, epoch, epoch, taken=False)
    assert successor != active
    assert {state["controller_epoch"] for state in written_states(zookeeper_cluster, document)} == {raised}
    bring_back(zookeeper_cluster, active)

    before = states(zookeeper_cluster)
    with writer(zookeeper_cluster.zookeeper_connect) as client:
        client.delete("/controller")
    until(lambda: zookeeper_controller(zookeeper_cluster)[1] > raised, "a controller of a new epoch")
    assert zookeeper_controller(zookeeper_cluster)[1] == controller_epoch(raised, raised, raised, taken=False)
    assert states(zookeeper_cluster) == before


def zookeeper_controller(sandbox: Sandbox) -> tuple[int, int]:
    """The controller and its epoch, as ZooKeeper has them; -1 while there is none."""
    with writer(sandbox.zookeeper_connect) as client:
        epoch = int(client.get("/controller_epoch")[0])
        holder = json.loads(client.get("/controller")[0])["brokerid"] if client.exists("/controller") else -1
    return holder, epoch if holder >= 0 else -1


def written_states(sandbox: Sandbox, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The znodes of the partitions that a failure changed."""
    places = [(row["topic"], row["partition"]) for row in document["partitions"]]
    with writer(sandbox.zookeeper_connect) as client:
        return [
            json.loads(client.get(f"/brokers/topics/{topic}/partitions/{number}/state")[0]) for topic, number in places
        ]


def unclean_leader(sandbox: Sandbox) -> None:
    """Broker 2 is alive and behind: it is asked how far it has come, and elected uncleanly when broker 1 goes."""
    configs = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true", f"{THROTTLED}.replicas": "*"}
    sandbox.create_topic("behind", assignment=[[1, 2]], configs=configs)
    sandbox.tool(
        "configs", "--alter", "--entity-type", "brokers", "--entity-name", "2", "--add-config", f"{THROTTLED}.rate=1000"
    )
    with paused(sandbox, 2):
        sandbox.wait_for_isr("behind", 0, [1])
        producer = Producer(
            {"bootstrap.servers": sandbox.bootstrap_servers_of(Listener.PLAINTEXT, [1]), "acks": "1", "linger.ms": 0}
        )
        for _ in range(300):
            producer.produce("behind", b"x" * 20_000, partition=0)
            producer.flush(30)
    sandbox.wait_for_brokers(sandbox.broker_ids)
    code, document = kreplica(sandbox, "whatif", "fail", "--broker", "1", "--topic", "behind")
    (row,) = document["partitions"]
    (candidate,) = row["candidates"]
    assert (code, row["effect"], row["leader_after"], row["isr_after"]) == (1, "unclean_leader", 2, [2])
    assert (candidate["broker"], candidate["elected"], candidate["lost_to"]) == (2, True, 300)
    assert candidate["lost_from"] == candidate["end_offset"] < 300
    sandbox.kill(1)
    sandbox.wait_for_isr("behind", 0, [2])
    listing = sandbox.tool("get-offsets", "--topic", "behind")
    (end,) = re.findall(r"behind:0:(\d+)", listing)
    assert candidate["lost_from"] <= int(end) < 300, "it may have come a little further meanwhile"


@pytest.mark.timeout(600)
def test_with_the_majority_gone_nobody_is_elected_and_acks_all_waits(kraft_cluster: Sandbox) -> None:
    """First the active controller goes, a broker as well: its partitions move, and another controller moves them."""
    active = controller_now(kraft_cluster)
    gone, left = sorted(set(kraft_cluster.broker_ids) - {active})
    assignment = [[active, gone, left], [gone, left, active], [left, gone, active]]
    kraft_cluster.create_topic("orders", assignment=assignment, configs={"min.insync.replicas": "1"})
    moved = played_and_done(kraft_cluster, ["--controller"], lambda: kraft_cluster.kill(active))
    assert moved["summary"]["brokers"] == [active]
    assert ("orders", 0) in effects(moved, "new_leader")
    before = states(kraft_cluster)
    code, document = kreplica(kraft_cluster, "whatif", "fail", "--broker", str(gone), "--topic", "orders")
    assert (code, document["summary"]["quorum"]["up_after"]) == (1, 1)
    assert effects(document, "unavailable") == {("orders", 0), ("orders", 1)}
    assert effects(document, "isr_frozen") == {("orders", 2)}
    kraft_cluster.kill(gone)
    outcomes: list[str] = []
    limits = {"request.timeout.ms": 3000, "delivery.timeout.ms": 12_000, "acks": "all"}
    producer = Producer({"bootstrap.servers": kraft_cluster.live_bootstrap_servers(), **limits})
    producer.produce("orders", b"x", partition=2, on_delivery=lambda error, _: outcomes.append(error.name()))
    producer.flush(60)
    assert outcomes[0] in ("_MSG_TIMED_OUT", "REQUEST_TIMED_OUT")
    unchanged = {key: state[:2] for key, state in foretold(document, before).items() if key[0] == "orders"}
    # Kafka's tool would ask the controller, which is not there, for reassignments, and wait a minute for it
    metadata = kraft_cluster.metadata(left)
    assert metadata is not None
    partitions = metadata.topics["orders"].partitions
    found = {("orders", number): (one.leader, frozenset(one.isrs)) for number, one in partitions.items()}
    assert found == {key: (-1 if leader is None else leader, isr) for key, (leader, isr) in unchanged.items()}


@pytest.mark.timeout(600)
def test_a_rolling_restart_by_the_plan(kraft_cluster: Sandbox, tmp_path: Path) -> None:
    """Three combined nodes one after another; no partition is ever under min ISR or without a leader."""
    kraft_cluster.create_topic("orders", assignment=TOPICS["orders"][0], configs={"min.insync.replicas": "2"})
    plan = str(tmp_path / "roll.json")
    only = ["--accept-topic", "__.*"]
    code, document = kreplica(kraft_cluster, "roll", "plan", "--out", plan, *only)
    assert (code, document["summary"]["proven"], sorted(map(len, document["summary"]["waves"]))) == (0, True, [1, 1, 1])
    assert document["summary"]["waves"][-1] == [document["summary"]["controller"]]
    restarted: list[int] = []
    deadline = time.monotonic() + 400
    while True:
        code, document = kreplica(kraft_cluster, "roll", "next", plan, "--settle", "1s")
        assert time.monotonic() < deadline, document
        if document["summary"]["verdict"] == "finished":
            break
        if document["summary"]["verdict"] != "next":
            continue
        assert code == 0
        (node,) = document["summary"]["restart"]
        assert node not in restarted
        restarted.append(node)
        kraft_cluster.shut_down(node)
        kraft_cluster.wait_for_brokers(gone=[node])
        trouble = listed(kraft_cluster, "--under-min-isr-partitions")
        assert {place for place in trouble if not place[0].startswith("__")} == set()
        code, document = kreplica(kraft_cluster, "roll", "next", plan, "--settle", "0")
        assert (code, document["summary"]["verdict"]) == (1, "wait")
        kraft_cluster.start_broker(node, wait=False)
        kraft_cluster.wait_for_brokers(kraft_cluster.broker_ids)
    assert sorted(restarted) == [1, 2, 3]
