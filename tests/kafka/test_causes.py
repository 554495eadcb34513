"""Causes of under-replication, each produced on a real cluster and named by describe.

Four brokers in two racks and a controller of its own, so that a broker that is paused takes no controller with it. A
follower leaves the ISR after two seconds, a broker is fenced after 24: in between a paused broker is alive to the
controller and slow to everybody else.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from moves import connection_to, start_move
from waiting import until

from kreplica.sandbox import Mode, Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

BUSY = [list(replicas) for replicas in permutations((1, 2, 3, 4), 3)] * 2
COLD = [[1, 3], [4, 3]]
SETTINGS = {
    "replica.lag.time.max.ms": "2000",
    "broker.session.timeout.ms": "24000",
    # A throttle holds little data only where a fetch takes little.
    "replica.fetch.max.bytes": "16384",
    # An offline directory is noticed when the next checkpoint is written.
    "replica.high.watermark.checkpoint.interval.ms": "1000",
}


@pytest.fixture(scope="module")
def running(module_sandbox_factory: Callable[..., Sandbox]) -> Sandbox:
    sandbox = module_sandbox_factory(
        name="causes",
        mode=Mode.KRAFT,
        brokers=4,
        controllers=1,
        racks=("a", "b"),
        log_dirs=2,
        broker_settings=SETTINGS,
    )
    for topic, assignment in {"busy": BUSY, "cold": COLD}.items():
        sandbox.create_topic(topic, assignment=assignment, configs={"min.insync.replicas": "1"})
    return sandbox


@pytest.fixture
def cluster(running: Sandbox) -> Iterator[Sandbox]:
    running.wait_for_healthy()
    yield running
    running.wait_for_healthy()


@contextmanager
def load(sandbox: Sandbox, heavy: Collection[int] = ()) -> Iterator[None]:
    """Writes a little to every partition of busy all the time, and much to those of ``heavy``."""
    from confluent_kafka import Producer

    sizes = {number: 40_000 if number in heavy else 100 for number in range(len(BUSY))}
    limit = {"queue.buffering.max.kbytes": 65536}
    settings = {"bootstrap.servers": sandbox.bootstrap_servers, "acks": "1", "linger.ms": 5, **limit}
    producer, ended = Producer(settings), threading.Event()

    def write() -> None:
        while not ended.is_set():
            for number, size in sizes.items():
                try:
                    producer.produce("busy", b"x" * size, partition=number)
                except BufferError:
                    ended.wait(0.05)
            producer.poll(0)
            ended.wait(0.01)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        producer.purge()


def fill(sandbox: Sandbox, topic: str, count: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": sandbox.live_bootstrap_servers(), "acks": "1"})
    for number in range(count):
        producer.produce(topic, value=b"x" * 1000, partition=number % 2)
        producer.poll(0)
    assert producer.flush(30) == 0


def describe(sandbox: Sandbox, *options: str) -> tuple[str, str]:
    command = [sys.executable, "-m", "kreplica", "describe", "--bootstrap-server", sandbox.live_bootstrap_servers()]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=90, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 5), done.stderr
    return done.stdout, done.stderr


def document(sandbox: Sandbox, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(describe(sandbox, *options, "-o", "json")[0])
    return found


def causes(found: dict[str, Any]) -> dict[tuple[str, int, int], str]:
    """Kind of the cause of each missing replica that has one."""
    return {
        (row["topic"], row["partition"], cause["broker"]): cause["kind"]
        for row in found["partitions"]
        for cause in row["causes"]
    }


def missing(found: dict[str, Any]) -> set[tuple[str, int, int]]:
    return {(row["topic"], row["partition"], broker) for row in found["partitions"] for broker in row["missing"]}


def in_isr(sandbox: Sandbox, broker: int, topics: Mapping[str, list[list[int]]]) -> set[tuple[str, int]]:
    """Partitions of these topics that have the broker in their ISR, as broker 1 or 2 sees them."""
    metadata = sandbox.metadata()
    assert metadata is not None
    return {
        (topic, number)
        for topic in topics
        for number, partition in metadata.topics[topic].partitions.items()
        if broker in partition.isrs
    }


def set_throttle(sandbox: Sandbox, action: str) -> None:
    lists = "follower.replication.throttled.replicas"
    rate = "follower.replication.throttled.rate"
    value, limit = ("=[0:3,1:3,1:2]", "=2000") if action == "--add-config" else ("", "")
    sandbox.tool("configs", "--alter", "--entity-type", "topics", "--entity-name", "cold", action, f"{lists}{value}")
    for broker in ("2", "3"):
        sandbox.tool(
            "configs", "--alter", "--entity-type", "brokers", "--entity-name", broker, action, f"{rate}{limit}"
        )


def test_a_slow_follower_then_a_throttle_left_behind_then_a_move_that_does_not_end(cluster: Sandbox) -> None:
    set_throttle(cluster, "--add-config")
    # Broker 3 has to know of it before it is paused: until it does, it catches up without a limit.
    asked = ("configs", "--describe", "--entity-type", "brokers", "--entity-name", "3")
    until(lambda: "throttled.rate=2000" in cluster.tool(*asked), "broker 3 to know of its throttle")
    followed = {("busy", number) for number, row in enumerate(BUSY) if 3 in row[1:]}
    with load(cluster):
        cluster.pause(3)
        fill(cluster, "cold", 4000)
        until(lambda: not in_isr(cluster, 3, {"busy": BUSY}) & followed, "broker 3 to leave the ISRs")
        slow = document(cluster, "--under-replicated", "--topic", "busy", "--timeout", "3")
        cluster.resume(3)
    assert {place: kind for place, kind in causes(slow).items() if place[2] != 3} == {}
    assert {causes(slow)[*place, 3] for place in followed} == {"slow-follower"}
    (culprit,) = slow["summary"]["causes"]
    assert (culprit["kind"], culprit["brokers"], culprit["others"]) == ("slow-follower", [3], [1, 2, 4])

    until(lambda: in_isr(cluster, 3, {"busy": BUSY}) >= followed, "broker 3 to catch up where it may")
    start_move(connection_to(cluster, 1), "cold", 1, [4, 2])
    held = document(cluster, "--under-replicated")
    assert causes(held).get(("cold", 0, 3)) == "throttle"
    (culprit,) = held["summary"]["causes"]
    assert (culprit["kind"], culprit["brokers"]) == ("throttle", [3])
    assert culprit["evidence"]["topics"] == ["cold"]
    assert culprit["evidence"]["slowest_rate"] == culprit["evidence"]["fastest_rate"] == 2000
    screen, _ = describe(cluster)
    assert re.search(r"^cause +throttle.*2\.0 KiB/s on topic cold, brokers 3 out +explains 2", screen, re.MULTILINE), (
        screen
    )

    measured = document(cluster, "--all", "--topic", "cold", "--measure", "3s")
    assert causes(measured)["cold", 1, 2] == "reassignment"
    progress = {(row["partition"], one["broker"]): one for row in measured["partitions"] for one in row["measured"]}
    assert progress.keys() == {(0, 3), (1, 3), (1, 2)}
    # on a slow machine broker 3 may have all of a partition by now
    behind = [one for one in progress.values() if one["pace"] != "caught-up"]
    assert behind
    assert all(one["records_behind"] == 0 for one in progress.values() if one["pace"] == "caught-up")
    for one in behind:
        assert 0 < one["records_behind"] <= 2000, one
        assert one["bytes_behind"] > one["records_behind"] * 900
        assert one["pace"] in ("catching-up", "not-moving"), one
        if one["pace"] == "catching-up":
            assert one["seconds_to_catch_up"] == pytest.approx(
                one["records_behind"] / one["records_per_second"],
                rel=0.3,
                abs=0.1,  # both are told to one decimal
            )
    assert "records (" in describe(cluster, "--measure", "1s")[0]

    set_throttle(cluster, "--delete-config")
    cluster.wait_for_healthy()
    assert describe(cluster)[0].startswith("HEALTHY")


def test_a_leader_that_answers_too_late(cluster: Sandbox) -> None:
    """As a long pause of garbage collection does it: when the leader goes on, all its followers are late."""
    led = {number for number, row in enumerate(BUSY) if row[0] == 4}

    def late() -> bool:
        metadata = cluster.metadata(1)
        assert metadata is not None
        alone = [number for number in led if set(metadata.topics["busy"].partitions[number].isrs) == {4}]
        return len(alone) >= 0.5 * len(led)

    with load(cluster, sorted(led)[:6]):
        for _ in range(12):
            time.sleep(1)
            cluster.pause(4)
            time.sleep(3)
            cluster.resume(4)
            ends = time.monotonic() + 1.5
            while not late() and time.monotonic() < ends:
                pass
            if late():
                break
        cluster.pause(4)
        found = document(cluster, "--under-replicated", "--topic", "busy", "--timeout", "3")
        cluster.resume(4)
    kinds = causes(found)
    behind = {place for place in missing(found) if place[1] in led}
    assert len({place[1] for place in behind}) >= 0.5 * len(led)
    assert {kinds.get(place) for place in behind} == {"slow-leader"}
    assert {(place[2], kind) for place, kind in kinds.items() if place[1] not in led} <= {(4, "slow-follower")}
    (culprit,) = found["summary"]["causes"]
    assert culprit["kind"] in ("slow-leader", "slow-broker")
    assert culprit["brokers"] == [4]


def test_a_broker_killed_and_then_its_whole_rack_gone(cluster: Sandbox) -> None:
    killed_at = datetime.now(UTC)
    cluster.kill(3)
    cluster.wait_for_brokers(gone=[3])
    found = document(cluster, "--under-replicated")
    assert set(causes(found).values()) == {"broker-fenced"}
    assert causes(found).keys() == missing(found)
    (culprit,) = found["summary"]["causes"]
    assert (culprit["kind"], culprit["broker"], culprit["partitions"]) == ("broker-fenced", 3, len(found["partitions"]))
    heard = datetime.fromisoformat(culprit["since"])
    assert abs(heard - killed_at) < timedelta(seconds=10)

    cluster.shut_down(1)
    cluster.wait_for_brokers(gone=[1, 3])
    screen, _ = describe(cluster)
    assert re.search(r"^cause +rack a gone: brokers 1, 3 +explains \d+", screen, re.MULTILINE), screen
    assert not re.search(r"not known", screen)
    for broker in (1, 3):
        cluster.start_broker(broker, wait=False)


def test_a_log_directory_that_fails(cluster: Sandbox) -> None:
    directory = cluster.folder / "broker-1" / "data-2"
    held = {path.name for path in directory.iterdir() if path.is_dir()}
    assert held
    away = directory.with_name("data-2-away")
    directory.rename(away)
    directory.write_text("")  # whoever writes there now fails, root as well
    offline = {(topic, int(number), 1) for topic, _, number in (name.rpartition("-") for name in held)}
    found: dict[str, Any] = {}

    def named() -> bool:
        found.update(document(cluster, "--under-replicated"))
        return causes(found).keys() >= offline

    until(named, "the directory to be reported offline")
    assert {causes(found)[place] for place in offline} == {"log-directory-offline"}
    (culprit,) = found["summary"]["causes"]
    assert (culprit["kind"], culprit["broker"]) == ("log-directory-offline", 1)
    assert culprit["evidence"] == {"log_dirs": [str(directory)]}
    cluster.shut_down(1)
    directory.unlink()
    away.rename(directory)
    cluster.start_broker(1, wait=False)
