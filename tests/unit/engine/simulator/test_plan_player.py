"""Plans of faults: checked, and done at their time or event."""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import (
    AlterTopic,
    At,
    BreakConnection,
    Crash,
    DirectoryFailure,
    ElectPreferred,
    Lossy,
    Pause,
    PowerLoss,
    RackLoss,
    Reassign,
    RefuseRequest,
    Slow,
    Start,
    Step,
    StopPolling,
    When,
)
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Event, Kind, Trace
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError


def play(*plan: Step) -> list[Event]:
    producer = ProducerSetup("producer", sends("t-0", "m1", "m2", "m3", start=SECOND, every=SECOND), {"linger.ms": 0})
    setup = cluster(2, TopicSetup("t", ((1, 2),)), clients=(producer,), racks=("r1", "r2"), duration=20 * SECOND)
    trace = Trace()
    simulate(setup, plan, version_named("4.1"), 0, trace)
    return trace.events


def crashed(events: list[Event]) -> list[tuple[int, str]]:
    return [(event.time, event.node) for event in events if event.kind == Kind.CRASHED]


def test_a_step_waits_for_the_event_that_it_names() -> None:
    events = play(Step(When(Kind.APPENDED, "broker-2", {"end_offset": 2}, after=7), Crash("broker-1")))
    seen = next(e.time for e in events if e.kind == Kind.APPENDED and e.node == "broker-2" and e.values[2] == 2)
    assert crashed(events) == [(seen + 7, "broker-1")]


def test_the_count_says_which_of_them_and_a_step_is_done_once() -> None:
    events = play(Step(When(Kind.SENT, count=2), Crash("leader of t-0")))
    assert crashed(events) == [(2 * SECOND, "broker-1")]


def test_a_rack_is_whoever_stands_in_it() -> None:
    events = play(Step(At(5 * SECOND), RackLoss("r2")), Step(At(6 * SECOND), Start("broker-2")))
    assert crashed(events) == [(5 * SECOND, "broker-2")]
    assert [e.time for e in events if e.kind == Kind.STARTED and e.node == "broker-2"] == [0, 6 * SECOND]


@pytest.mark.parametrize(("least", "acknowledged"), [("1", ["m1", "m2", "m3"]), ("2", [])])
def test_a_topics_setting_holds_from_the_step_on(least: str, acknowledged: list[str]) -> None:
    gone, altered = Step(At(1), Crash("broker-2")), Step(At(2), AlterTopic("t", "min.insync.replicas", least))
    events = play(gone, altered)
    assert [event.values[1] for event in events if event.kind == Kind.ACKNOWLEDGED] == acknowledged


def at_the_leader(events: list[Event]) -> list[tuple[str, int]]:
    """Records that the first leader appended, each with the time."""
    found = [event for event in events if event.kind == Kind.APPENDED and event.values[-1] == "leader"]
    return [(record.value, event.time) for event in found for record in event.values[3]]


def retried(events: list[Event]) -> list[tuple[int, object]]:
    return [(event.time, event.values[2]) for event in events if event.kind == Kind.RETRIED]


UNDER_WAY = Step(At(SECOND - 1), Slow("producer", "broker-1", 200_000, 10, one_way=True))
BROKEN = SECOND + 100_000


@pytest.mark.parametrize("delay", [0, 700_000])
def test_what_is_under_way_on_a_connection_that_breaks_arrives_and_is_sent_again_at_once(delay: int) -> None:
    """The producer is idempotent, so that the leader knows whichever comes second: m1 is there once."""
    events = play(UNDER_WAY, Step(At(BROKEN), BreakConnection("producer", "broker-1", delay)))
    assert retried(events) == [(BROKEN, "NETWORK_EXCEPTION")]
    assert [value for value, _ in at_the_leader(events)] == ["m1", "m2", "m3"]
    again = BROKEN + 100_000 + 3 * 500
    arrives = SECOND + 200_500 + delay
    assert at_the_leader(events)[0][1] == min(again, arrives)
    duplicates = [event.time for event in events if event.kind == Kind.DUPLICATE]
    assert duplicates == [max(again, arrives)]


def test_the_connection_to_another_broker_goes_on() -> None:
    events = play(UNDER_WAY, Step(At(BROKEN), BreakConnection("producer", "broker-2", 700_000)))
    assert retried(events) == []
    assert at_the_leader(events)[0] == ("m1", SECOND + 200_500)


def test_an_answer_is_lost_with_its_connection() -> None:
    arrived = Step(When(Kind.APPENDED, "broker-1", after=1), BreakConnection("*", "producer"))
    events = play(arrived)
    assert [error for _, error in retried(events)] == ["NETWORK_EXCEPTION"]
    assert [value for value, _ in at_the_leader(events)] == ["m1", "m2", "m3"]


def test_a_request_that_is_refused_is_not_handled_and_is_sent_again() -> None:
    refused = RefuseRequest("producer", "leader of t-0", "Produce", "NOT_LEADER_OR_FOLLOWER", 2)
    events = play(Step(At(SECOND), refused))
    assert [error for _, error in retried(events)] == ["NOT_LEADER_OR_FOLLOWER"] * 2
    assert [value for value, _ in at_the_leader(events)] == ["m1", "m2", "m3"]
    first = at_the_leader(events)[0][1]
    assert first > SECOND + 2 * 100_000


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (Step(When("exploded"), Crash("broker-1")), "exploded"),
        (Step(When(Kind.SENT, fields={"offset": 1}), Crash("broker-1")), "offset"),
        (Step(At(1), Crash("broker-9")), "broker-9"),
        (Step(At(1), PowerLoss(("producer",))), "producer"),
        (Step(At(40 * SECOND), PowerLoss(("producer",))), "producer is no broker"),
        (Step(At(40 * SECOND), Crash("")), "no node ''"),
        (Step(At(40 * SECOND), Crash("*")), "no node '*'"),
        (Step(At(1), Crash("leader of u-0")), "u-0"),
        (Step(At(1), ElectPreferred("u-0")), "u-0"),
        (Step(At(1), Reassign("t-0", (1, 9))), "1, 9"),
        (Step(At(1), Reassign("t-0", (1, 1))), "once"),
        (Step(At(1), Pause("broker-1", -1)), "duration for pause of -1; give 0 or more"),
        (Step(At(1), StopPolling("producer", 5)), "producer is no consumer of a group"),
        (Step(At(1), Lossy("broker-1", "broker-2", 101, 5)), "more than 100 percent"),
        (Step(At(1), BreakConnection("producer", "broker-3")), "broker-3"),
        (Step(At(1), BreakConnection("producer", "broker-1", -1)), "delay for break-connection of -1"),
        (Step(At(1), RefuseRequest("producer", "broker-1", "Produc", "X")), "did you mean Produce"),
        (
            Step(At(1), RefuseRequest("producer", "broker-1", "Produce", "NOT_ENOUGH")),
            "did you mean NOT_ENOUGH_REPLICAS",
        ),
        (Step(At(1), RefuseRequest("producer", "broker-1", "Produce", "NONE")), "'NONE', which is no error"),
        (Step(At(1), RefuseRequest("a", "broker-1", "Produce", "NOT_ENOUGH_REPLICAS")), "no node 'a'"),
        (
            Step(At(1), RefuseRequest("producer", "broker-1", "Produce", "NOT_ENOUGH_REPLICAS", 0)),
            "count of requests for refuse-request of 0",
        ),
        (Step(At(1), RackLoss("r3")), "'r3', which is no rack; one of r1, r2"),
        (Step(At(1), DirectoryFailure("broker-1", ("t-1",))), "'t-1', which is no partition"),
        (Step(At(1), AlterTopic("u", "min.insync.replicas", "2")), "'u', which is no topic; one of t"),
        (Step(At(1), AlterTopic("t", "min.insync.replica", "2")), "did you mean min.insync.replicas"),
        (Step(At(1), AlterTopic("t", "min.insync.replicas", "0")), "min.insync.replicas=0 cannot be set"),
        (Step(At(1), AlterTopic("t", "acks", "1")), "acks of a topic, which is none of its settings"),
        (Step(At(-1), Crash("broker-1")), "time for crash of -1; give 0 or more"),
        (Step(When(Kind.SENT, count=0), Crash("broker-1")), "count for crash of 0; give 1 or more"),
        (Step(When(Kind.SENT, after=-1), Crash("broker-1")), "delay after the event for crash of -1"),
    ],
)
def test_a_plan_for_another_world_is_refused(step: Step, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        play(step)
    assert told in str(caught.value)
