"""Causes of under-replication that come of what lives and is slow: each made on a real cluster and named by describe.

Four brokers in two racks and a controller of its own, so that a broker that is paused takes no controller with it. A
follower leaves the ISR after three seconds, a broker is fenced after five minutes: in between a paused broker is alive
to the controller and slow to everybody else. What a cause shows by is waited for before describe is asked: on a busy
machine other brokers fall behind for a moment, too.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from real_clusters.causes import TRIPLES, causes, describe, document, missing, two_racks
from real_clusters.moves import connection_to, start_move
from real_clusters.views import paused
from waiting import until

from kreplica.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(600)]

LAG_SECONDS = 3
BUSY = TRIPLES * 2
COLD = [[1, 3], [4, 3]]
SETTINGS = {
    "replica.lag.time.max.ms": f"{1000 * LAG_SECONDS}",
    "broker.session.timeout.ms": "300000",
    # A throttle holds little data only where a fetch takes little.
    "replica.fetch.max.bytes": "16384",
}


@pytest.fixture(scope="module")
def running(module_sandbox_factory: Callable[..., Sandbox]) -> Sandbox:
    sandbox = two_racks(module_sandbox_factory, "causes", SETTINGS)
    for topic, assignment in {"busy": BUSY, "cold": COLD}.items():
        sandbox.create_topic(topic, assignment=assignment, configs={"min.insync.replicas": "1"})
    return sandbox


@contextmanager
def load(sandbox: Sandbox, heavy: Collection[int] = ()) -> Iterator[None]:
    """Writes a little to every partition of busy all the time, and much to those of ``heavy``."""
    from confluent_kafka import Producer

    sizes = {number: 20_000 if number in heavy else 100 for number in range(len(BUSY))}
    settings = {"bootstrap.servers": sandbox.bootstrap_servers, "acks": "1", "linger.ms": 5}
    # What waits for a broker that stands still is either what it has to be flooded with, or nothing to wait for: it
    # must not fill the queue for all others.
    limit = {"queue.buffering.max.kbytes": 65536} if heavy else {"message.timeout.ms": 5000}
    producer, ended = Producer(settings | limit), threading.Event()

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

    # A batch is fetched whole: one of a megabyte would be through the throttle at once.
    settings = {"bootstrap.servers": sandbox.live_bootstrap_servers(), "acks": "1", "batch.size": 16384}
    producer = Producer(settings)
    for number in range(count):
        producer.produce(topic, value=b"x" * 1000, partition=number % 2)
        producer.poll(0)
    assert producer.flush(30) == 0


def out_of_isrs(sandbox: Sandbox, *asked: int) -> set[tuple[int, int]]:
    """Partitions of busy with the brokers that are not in their ISR, as any of those asked tells it; all that run."""
    views = [sandbox.metadata(broker) for broker in asked or sandbox.running_brokers()]
    assert None not in views
    return {
        (number, broker)
        for view in views
        if view
        for number, partition in view.topics["busy"].partitions.items()
        for broker in set(partition.replicas) - set(partition.isrs)
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


def measure(sandbox: Sandbox) -> dict[str, Any]:
    """What describe measures on cold, once every broker has answered in time."""
    found: dict[str, Any] = {}

    def answered() -> bool:
        found.update(document(sandbox, "--all", "--topic", "cold", "--measure", "3s"))
        return all(one["records_behind"] is not None for row in found["partitions"] for one in row["measured"])

    until(answered, "every broker to answer a measurement")
    return found


def test_a_slow_follower_then_a_throttle_left_behind_then_a_move_that_does_not_end(cluster: Sandbox) -> None:
    set_throttle(cluster, "--add-config")
    # Broker 3 has to know of it before it is paused: until it does, it catches up without a limit.
    asked = ("configs", "--describe", "--entity-type", "brokers", "--entity-name", "3")
    until(lambda: "throttled.rate=2000" in cluster.tool(*asked), "broker 3 to know of its throttle")
    followed = {(number, 3) for number, row in enumerate(BUSY) if 3 in row[1:]}
    with load(cluster), paused(cluster, 3):
        fill(cluster, "cold", 4000)
        until(
            lambda: out_of_isrs(cluster) == followed,
            lambda: f"only broker 3 to be out: {sorted(out_of_isrs(cluster) ^ followed)} differ",
            120,
        )
        slow = document(cluster, "--under-replicated", "--topic", "busy", "--timeout", "3")
    assert {place: kind for place, kind in causes(slow).items() if place[2] != 3} == {}
    assert {causes(slow)["busy", *place] for place in followed} == {"slow-follower"}
    (culprit,) = slow["summary"]["causes"]
    assert (culprit["kind"], culprit["brokers"], culprit["others"]) == ("slow-follower", [3], [1, 2, 4])

    until(lambda: not out_of_isrs(cluster), "broker 3 to catch up where it may")
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

    measured = measure(cluster)
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
    until(lambda: "records (" in describe(cluster, "--measure", "1s")[0], "the screen to tell records")

    set_throttle(cluster, "--delete-config")
    cluster.wait_for_healthy()
    assert describe(cluster)[0].startswith("HEALTHY")


def test_a_leader_that_answers_too_late(cluster: Sandbox) -> None:
    """As a long pause of garbage collection does it: when the leader goes on, all its followers are late."""
    led = {number for number, row in enumerate(BUSY) if row[0] == 4}

    def late() -> bool:
        """One follower alone, first out of the ISRs or last to come back, would be that follower's trouble."""
        out = [(number, follower) for number, follower in out_of_isrs(cluster, 1) if number in led]
        return len({number for number, _ in out}) > 0.5 * len(led) and len({follower for _, follower in out}) > 1

    def no_other() -> bool:
        return all(number in led or broker == 4 for number, broker in out_of_isrs(cluster))

    with load(cluster, led):
        for _ in range(20):
            with paused(cluster, 4):
                time.sleep(LAG_SECONDS + 1)
            within(1.5, late)
            # Its followers catch up in no time: it stands still again before they have.
            with paused(cluster, 4):
                if within(10, no_other) and late():
                    found = document(cluster, "--under-replicated", "--topic", "busy", "--timeout", "3")
                    break
            time.sleep(1)
        else:
            pytest.fail("broker 4 has lost no followers in 20 pauses")
    kinds = causes(found)
    waiting = {place for place in missing(found) if place[1] in led}
    assert len({place[1] for place in waiting}) > 0.5 * len(led)
    assert {kinds.get(place) for place in waiting} == {"slow-leader"}
    assert {(place[2], kind) for place, kind in kinds.items() if place[1] not in led} <= {(4, "slow-follower")}
    (culprit,) = found["summary"]["causes"]
    assert culprit["kind"] in ("slow-leader", "slow-broker")
    assert culprit["brokers"] == [4]


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether the condition comes to hold in this time."""
    ends = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < ends:
        pass
    return held
