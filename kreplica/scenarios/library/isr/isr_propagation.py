"""Propagation of an ISR change to the rest of the cluster."""

from collections.abc import Sequence
from typing import Any

from kreplica.engine.fault_plan import At, Cut, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import ZOOKEEPER_MODE, Between, Case, Scenario

_SMALLER = (2, 3)


def _told_ms(events: Sequence[Event]) -> float | None:
    """Milliseconds from the leader's request until a broker without a replica learns of the smaller ISR."""
    asked = next((e.time for e in events if e.kind == Kind.ISR_ASKED and fields_of(e)["isr"] == _SMALLER), None)
    messages = (e for e in events if asked is not None and e.time >= asked and e.kind == Kind.MESSAGE)
    told = next((e.time for e in messages if e.node == "broker-5" and _tells(**fields_of(e))), None)
    return None if told is None or asked is None else (told - asked) / 1_000


def _tells(name: str, detail: Any, **_others: Any) -> bool:
    """True if a message is about a partition."""
    if name == "UpdateMetadata":
        return len(detail[4]) > 0
    return name == "Fetch metadata answer" and any(entry.key[0] == "partition" for entry in detail[2])


SCENARIO = Scenario(
    name="isr-propagation",
    title="A smaller ISR: told to nobody, by a notification, or by the controller at once",
    why="""Before 2.7 the leader writes a changed ISR into ZooKeeper, and the controller does not know. From 0.9 on the
        leader collects such changes and writes them to /isr_change_notification: looked at every 2.5 s, told once no
        ISR has changed for 5 s or nothing was told for 60 s, so that a storm of changes does not flood the controller.
        The controller then tells every broker. Before 0.9 metadata showed the old ISR until something else made the
        controller speak. Since 2.7 the controller writes the ISR itself, and tells everybody at once; in KRaft every
        broker reads it in the metadata log.""",
    source="KAFKA-1367, KIP-497; kafka.server.ReplicaManager.maybePropagateIsrChanges",
    setup=cluster(
        5,
        TopicSetup("orders", ((2, 3, 4),)),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=30 * SECOND)),),
        settings={"acks": -1, "replica.lag.time.max.ms": 10_000, "request.timeout.ms": 60_000},
        duration=90 * SECOND,
    ),
    plan=(Step(At(time=10 * SECOND), Cut("broker-2", "broker-4", 100 * SECOND)),),
    probes={"told_ms": _told_ms},
    cases=(
        Case("0.8.1", {"told_ms": None, "isr_changes": 1}, controllers=ZOOKEEPER_MODE),
        Case("0.9", {"told_ms": Between(5_000, 7_600)}, controllers=ZOOKEEPER_MODE),
        Case("2.7", {"told_ms": Between(0, 10)}, controllers=ZOOKEEPER_MODE),
        Case("3.3-kraft", {"told_ms": Between(0, 500)}),
    ),
)
