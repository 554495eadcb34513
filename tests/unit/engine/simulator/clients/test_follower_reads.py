"""A consumer that is sent to a follower: how soon it is told, and what it makes of a follower that does not answer."""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import At, Crash, Cut, Plan, Start, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ConsumerSetup, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Event, Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named
from kreplica.model.internal_topics import OFFSETS_TOPIC

LATE = 6 * SECOND


def play(version: str, plan: Plan = (), wait_ms: int = 500) -> list[Event]:
    """Broker 1 in rack r1 leads, broker 2 in rack r2 follows; a consumer in r2 comes after one record of three."""
    follower = {"client.rack": "r2", "group.id": "g", "auto.offset.reset": "latest", "fetch.max.wait.ms": wait_ms}
    setup = cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        TopicSetup(OFFSETS_TOPIC, ((3, 1, 2),)),
        clients=(
            ProducerSetup("producer", sends("t-0", "m0", "m1", "m2", start=100 * MILLISECOND, every=45 * SECOND)),
            ConsumerSetup("a", ("t",), LATE, 0, follower),
        ),
        racks=("r1", "r2", "r3"),
        settings={"replica.selector.class": "RackAwareReplicaSelector"},
        duration=130 * SECOND,
    )
    trace = Trace()
    simulate(setup, plan, version_named(version), 1, trace)
    return trace.events


def sent_to_follower(events: list[Event]) -> list[int]:
    return [event.time for event in events if event.kind == Kind.READS_FROM]


def read(events: list[Event]) -> list[tuple[int, str]]:
    return [(event.time, fields_of(event)["value"]) for event in events if event.kind == Kind.CONSUMED]


@pytest.mark.parametrize(("version", "wait_ms", "waits"), [("3.1", 500, 1), ("3.1", 2_000, 1), ("3.2", 2_000, 0)])
def test_who_is_sent_to_a_follower_waits_for_it_as_for_records_before_3_2(
    version: str, wait_ms: int, waits: int
) -> None:
    """KAFKA-13767: the answer had no offset that DelayedFetch could see records at, and nothing else wakes it."""
    events = play(version, wait_ms=wait_ms)
    begins = next(event.time for event in events if event.kind == Kind.POSITION_SET and event.node == "a")
    waited = sent_to_follower(events)[0] - begins
    assert waits * wait_ms * MILLISECOND <= waited < (waits * wait_ms + 20) * MILLISECOND


@pytest.mark.parametrize(("version", "asked"), [("3.3.1", 1), ("3.3.2", 3)])
def test_a_follower_that_does_not_answer_is_asked_on_until_3_3_2(version: str, asked: int) -> None:
    """KAFKA-14379: then the leader is asked again once a request has run out, after 30 s; before, after 5 minutes."""
    plan = (Step(At(40 * SECOND), Cut("a", "broker-2", 80 * SECOND)),)
    assert len(sent_to_follower(play(version, plan))) == asked


@pytest.mark.parametrize("version", ["3.3.1", "3.3.2"])
def test_a_follower_that_is_gone_is_not_asked_any_more(version: str) -> None:
    """Cluster.nodeIfOnline: what is offline by the metadata is forgotten in every version, the leader serves."""
    events = play(version, (Step(At(40 * SECOND), Crash("broker-2")),))
    assert sent_to_follower(events)[-1] < 60 * SECOND, "its session lasts 18 s"
    assert [value for time, value in read(events) if time > 60 * SECOND] == ["m2"]


def test_a_follower_that_comes_back_is_found_by_new_metadata() -> None:
    """KAFKA-14379: the leader names a broker that the consumer's metadata do not have yet; it asks for them."""
    events = play("3.3.2", (Step(At(20 * SECOND), Crash("broker-2")), Step(At(70 * SECOND), Start("broker-2"))))
    back = [time for time in sent_to_follower(events) if time > 70 * SECOND]
    assert 1 < len(back) < 10
    assert [value for time, value in read(events) if time > 70 * SECOND] == ["m2"]
