"""Groups as they are played: who reads what, what is committed, and what survives the loss of a coordinator."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.fault_plan import At, Crash, Cut, Pause, Plan, Slow, Start, Step, StopPolling, When
from kreplica.engine.settings import Value
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    Application,
    Commit,
    ConsumerSetup,
    ProducerSetup,
    TopicSetup,
    cluster,
    sends,
)
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Event, Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError
from kreplica.model.internal_topics import OFFSETS_TOPIC

VALUES = [f"m{number}" for number in range(10)]


def member(
    name: str, application: Application | None = None, start: int = 0, stop: int = 0, **others: Value
) -> ConsumerSetup:
    named = {"group.id": "g", "auto.offset.reset": "earliest"}
    named |= {name.replace("_", "."): value for name, value in others.items()}
    return ConsumerSetup(name, ("t",), start, stop, named, application or Application(processing=MILLISECOND))


def play(
    *members: ConsumerSetup,
    plan: Plan = (),
    version: str = "4.1",
    partitions: int = 2,
    duration: int = 40,
    settings: dict[str, Value] | None = None,
) -> list[Event]:
    replicas = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
    topic = TopicSetup("t", tuple(replicas[number % 3] for number in range(partitions)))
    writers = (ProducerSetup("producer", sends("t-0", *VALUES, start=100 * MILLISECOND, every=SECOND)),)
    setup = cluster(
        3,
        topic,
        TopicSetup(OFFSETS_TOPIC, ((3, 1, 2),)),
        clients=(*writers, *members),
        settings=settings or {},
        duration=duration * SECOND,
    )
    trace = Trace()
    simulate(setup, plan, version_named(version), 1, trace)
    return trace.events


def of(events: list[Event], kind: str, **wanted: object) -> list[dict[str, Any]]:
    found = [{"node": e.node, "time": e.time, **fields_of(e)} for e in events if e.kind == kind]
    return [one for one in found if wanted.items() <= one.items()]


def done(events: list[Event]) -> Counter[str]:
    return Counter(one["value"] for one in of(events, Kind.PROCESSED, result="done"))


def test_a_first_rebalance_waits_three_seconds_and_a_member_reads_from_its_committed_offset() -> None:
    events = play(member("a"), member("b", start=5 * SECOND, stop=12 * SECOND))
    states = [(one["state"], one["generation"]) for one in of(events, Kind.GROUP_CHANGED)]
    assert states[:3] == [("PreparingRebalance", 0), ("CompletingRebalance", 1), ("Stable", 1)]
    first = of(events, Kind.GROUP_CHANGED, state="CompletingRebalance")[0]
    assert 3 * SECOND <= first["time"] < 3 * SECOND + 100 * MILLISECOND  # group.initial.rebalance.delay.ms
    assigned = {(one["node"], one["generation"]): one["partitions"] for one in of(events, Kind.ASSIGNED)}
    assert assigned == {("a", 1): ("t-0", "t-1"), ("a", 2): ("t-0",), ("b", 2): ("t-1",), ("a", 3): ("t-0", "t-1")}
    assert done(events) == Counter(VALUES)


def test_the_group_and_its_offsets_outlive_their_coordinator() -> None:
    """The new leader of the partition reads the group from the log: the generation stays, nobody rejoins."""
    crash = Step(At(8 * SECOND), Crash("broker-3"))
    events = play(member("a"), plan=(crash,))
    lost = of(events, Kind.CRASHED)[0]["time"]
    assert done(events) == Counter(VALUES)
    assert {one["generation"] for one in of(events, Kind.ASSIGNED)} == {1}
    after = [one for one in of(events, Kind.OFFSET_COMMITTED, partition="t-0") if one["time"] > lost]
    assert after
    assert {one["node"] for one in after} == {"broker-1"}
    assert after[-1]["offset"] == len(VALUES)


def test_a_member_that_crashes_is_out_after_its_session_and_its_work_is_done_again() -> None:
    a = member("a", Application(processing=MILLISECOND, commit=Commit.NEVER), enable_auto_commit=False)
    crash = Step(When(Kind.PROCESSED, "a", {"value": "m4"}), Crash("a"))
    events = play(a, member("b", start=SECOND), plan=(crash,), duration=80)
    lost = of(events, Kind.CRASHED)[0]["time"]
    out = of(events, Kind.GROUP_CHANGED, state="PreparingRebalance")[-1]
    assert "not heard of" in out["why"]
    assert 42 * SECOND <= out["time"] - lost <= 48 * SECOND  # session.timeout.ms, from its last heartbeat or commit
    assert done(events) == Counter({value: 2 if value in VALUES[:5] else 1 for value in VALUES})


def test_a_paused_member_is_a_zombie_when_it_goes_on() -> None:
    a = member("a", enable_auto_commit=False)
    pause = Step(When(Kind.CONSUMED, "a", {"value": "m8"}), Pause("a", 60 * SECOND))
    events = play(a, member("b", start=SECOND), plan=(pause,), duration=100)
    refused = of(events, Kind.COMMIT_REFUSED)
    assert [one["error"] for one in refused] == ["UNKNOWN_MEMBER_ID"]
    assert refused[0]["rule"] == "offset_commit.commit_to_classic_group"
    assert of(events, Kind.COMMIT_FAILED, node="a")
    assert done(events)["m8"] == 2, "by the zombie and by its successor"
    assert set(of(events, Kind.ASSIGNED, node="a")[-1]["partitions"]) < {"t-0", "t-1"}, "it has joined again"


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_a_member_that_does_not_poll_keeps_its_partitions_until_it_does(protocol: str) -> None:
    """It is told of the other member, which waits; its heartbeats go on."""
    members = [member(name, start=start * SECOND, **speaking(protocol)) for name, start in (("a", 0), ("b", 12))]
    events = play(*members, plan=(Step(At(10 * SECOND), StopPolling("a", 15 * SECOND)),), duration=45)
    (both, *_), one = (of(events, Kind.ASSIGNED, node=name) for name in ("a", "b"))
    assert both["partitions"] == ("t-0", "t-1")
    given = [each for each in one if each["partitions"]]
    assert 25 * SECOND <= given[0]["time"] < 32 * SECOND, "until a has polled, and b has heard of it"
    assert not of(events, Kind.GROUP_CHANGED, members=("b.1",)), "a is a member all the time"
    assert done(events) == Counter(VALUES)


def test_a_member_that_does_not_poll_for_max_poll_interval_ms_leaves() -> None:
    a = member("a", group_protocol="consumer", max_poll_interval_ms=12_000)
    events = play(a, plan=(Step(At(10 * SECOND), StopPolling("a", 20 * SECOND)),), duration=45)
    left = of(events, Kind.GROUP_CHANGED, members=())
    assert 22 * SECOND <= left[0]["time"] <= 27 * SECOND + SECOND, "looked at with each heartbeat"
    assert of(events, Kind.ASSIGNED, node="a")[-1]["time"] >= 30 * SECOND
    assert set(done(events)) == set(VALUES)


def test_a_member_that_is_fenced_joins_again_without_a_poll() -> None:
    """AbstractMembershipManager.transitionToFenced; it takes over its assignment in a poll."""
    plan = (Step(At(5 * SECOND), StopPolling("a", 70 * SECOND)), Step(At(6 * SECOND), Pause("a", 54 * SECOND)))
    events = play(member("a", group_protocol="consumer"), plan=plan, duration=85)
    joined = [one["time"] for one in of(events, Kind.GROUP_CHANGED, why="a.1 joins")]
    assert len(joined) == 2
    assert 60 * SECOND <= joined[1] < 66 * SECOND
    assigned = [one["time"] for one in of(events, Kind.ASSIGNED, node="a")]
    assert len(assigned) == 2
    assert 75 * SECOND <= assigned[1] < 76 * SECOND


def test_a_heartbeat_that_is_overdue_is_sent_as_soon_as_the_one_before_is_answered() -> None:
    """HeartbeatRequestState.canSendRequest: the interval of 5 s is over, and one is under way."""
    slow = Step(At(4 * SECOND), Slow("a", "broker-3", 7 * SECOND, 3 * SECOND, one_way=True))
    events = play(member("a", group_protocol="consumer"), plan=(slow,), duration=20)
    sent = [one["sent"] for one in of(events, Kind.MESSAGE, node="broker-3", name="ConsumerGroupHeartbeat")]
    late = next(time for time in sent if time >= 4 * SECOND)
    assert sent[sent.index(late) + 1] == late + 7 * SECOND + MILLISECOND, "both ways take 0.5 ms"


def test_the_interval_between_heartbeats_begins_with_the_first_answer_which_tells_it() -> None:
    """HeartbeatRequestState.updateHeartbeatIntervalMs: the first heartbeat took longer, and none is overdue."""
    asked = When(Kind.MESSAGE, fields={"source": "a", "name": "FindCoordinator"})
    plan = (
        Step(asked, Slow("a", "broker-3", 7 * SECOND, 2 * MILLISECOND, one_way=True)),
        Step(asked, StopPolling("a", 20 * SECOND)),
    )
    events = play(member("a", group_protocol="consumer"), plan=plan, duration=20)
    first, second = [one["sent"] for one in of(events, Kind.MESSAGE, node="broker-3", name="ConsumerGroupHeartbeat")][
        :2
    ]
    assert second > first + 7 * SECOND + SECOND


def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance() -> None:
    a = member("a", group_instance_id="one")
    plan = (Step(At(10 * SECOND), Crash("a")), Step(At(13 * SECOND), Start("a")))
    events = play(a, member("b", group_instance_id="two"), plan=plan)
    assert {one["generation"] for one in of(events, Kind.ASSIGNED)} == {1}
    assert len({one["partitions"] for one in of(events, Kind.ASSIGNED, node="a")}) == 1
    assert set(done(events)) == set(VALUES)


def test_max_poll_interval_is_the_applications() -> None:
    """The heartbeats go on, but the application does not come back to poll: the client itself leaves."""
    slow = Application(processing=MILLISECOND, stalls={"m3": 20 * SECOND})
    events = play(
        member("a", slow, max_poll_interval_ms=10_000, enable_auto_commit=False), member("b", start=SECOND), duration=60
    )
    left = [one for one in of(events, Kind.GROUP_CHANGED) if "leaves" in one["why"]]
    assert len(left) == 1
    assert of(events, Kind.COMMIT_FAILED, node="a")[0]["error"] == "CommitFailedException"
    assert done(events)["m3"] == 2


def speaking(protocol: str) -> dict[str, Value]:
    """``consumer`` is KIP-848's protocol, everything else a strategy of the classic one."""
    return {"group_protocol": protocol} if protocol == "consumer" else {"partition_assignment_strategy": protocol}


@pytest.mark.parametrize("protocol", ["range", "roundrobin", "sticky", "cooperative-sticky", "consumer"])
def test_every_partition_has_one_reader(protocol: str) -> None:
    members = [member(name, start=place * 4 * SECOND, **speaking(protocol)) for place, name in enumerate("abc")]
    events = play(*members, partitions=3)
    last = {one["node"]: one["partitions"] for one in of(events, Kind.ASSIGNED)}
    assert sorted(one for has in last.values() for one in has) == ["t-0", "t-1", "t-2"]
    assert sorted(map(len, last.values())) == [1, 1, 1]
    assert done(events) == Counter(VALUES)


@pytest.mark.parametrize("protocol", ["cooperative-sticky", "consumer"])
def test_in_a_cooperative_rebalance_nobody_stops(protocol: str) -> None:
    events = play(member("a", **speaking(protocol)), member("b", start=4 * SECOND, **speaking(protocol)))
    sets = [one for one in of(events, Kind.POSITION_SET, node="a") if one["partition"] == "t-0"]
    assert len(sets) == 1, "who keeps a partition keeps its position"


@pytest.mark.one_python
@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "consumer"])
def test_whenever_the_second_member_comes_every_partition_has_a_reader(protocol: str) -> None:
    """It may come while the assignment of the generation before is being written, and must not get that one."""
    no_delay: dict[str, Value] = {"group.initial.rebalance.delay.ms": 0}
    slow = (Step(At(0), Slow("broker-3", "broker-1", 5 * MILLISECOND, 25 * SECOND)),)  # the coordinator's followers
    for step in range(16):
        late = member("b", start=18 * MILLISECOND + step * 250, **speaking(protocol))
        events = play(member("a", **speaking(protocol)), late, plan=slow, duration=25, settings=no_delay)
        last = {one["node"]: one["partitions"] for one in of(events, Kind.ASSIGNED)}
        assert sorted(one for has in last.values() for one in has) == ["t-0", "t-1"], step


def test_a_partition_is_given_up_before_another_member_gets_it() -> None:
    """KIP-848: the new member waits, in the group's epoch, until the old one has said that it no longer owns t-1."""
    events = play(member("a", group_protocol="consumer"), member("b", start=5 * SECOND, group_protocol="consumer"))
    given_up = next(one for one in of(events, Kind.ASSIGNED, node="a") if one["partitions"] == ("t-0",))
    taken = of(events, Kind.ASSIGNED, node="b")[0]
    assert taken["partitions"] == ("t-1",)
    assert taken["time"] > given_up["time"]
    committed = [one for one in of(events, Kind.OFFSET_COMMITTED, partition="t-1") if one["time"] < given_up["time"]]
    assert committed, "what was processed is committed before"
    states = [one["state"] for one in of(events, Kind.GROUP_CHANGED)]
    assert states[-1] == "Stable"
    assert "Reconciling" in states


def test_the_coordinator_of_kip_848_is_replaced_and_epochs_go_on() -> None:
    events = play(member("a", group_protocol="consumer"), plan=(Step(At(8 * SECOND), Crash("broker-3")),))
    assert done(events) == Counter(VALUES)
    assert {one["generation"] for one in of(events, Kind.ASSIGNED)} == {1}
    after = of(events, Kind.OFFSET_COMMITTED, partition="t-0", node="broker-1")
    assert after[-1]["offset"] == len(VALUES)


def test_a_fenced_member_of_kip_848_joins_anew() -> None:
    a = member("a", enable_auto_commit=False, group_protocol="consumer")
    pause = Step(When(Kind.CONSUMED, "a", {"value": "m8"}), Pause("a", 60 * SECOND))
    events = play(a, member("b", start=SECOND, group_protocol="consumer"), plan=(pause,), duration=100)
    refused = of(events, Kind.COMMIT_REFUSED)
    assert refused[-1]["error"] == "UNKNOWN_MEMBER_ID"
    assert refused[-1]["rule"] == "offset_commit.commit_to_consumer_group"
    assert {one["rule"] for one in of(events, Kind.GROUP_CHANGED)} == {"group_epochs.consumer_group_state"}
    # a commit that its own reconciliation overtook came with the epoch of before
    assert {one["error"] for one in refused[:-1]} <= {"STALE_MEMBER_EPOCH"}
    assert done(events)["m8"] == 2
    last = {one["node"]: one["partitions"] for one in of(events, Kind.ASSIGNED)}
    assert sorted(one for has in last.values() for one in has) == ["t-0", "t-1"]


@pytest.mark.parametrize(
    ("version", "interval", "seconds"), [("4.2", None, 9.6), ("4.3", None, 14.6), ("4.3", 0, 9.6), ("4.3", 50, 9.6)]
)
def test_members_that_come_within_the_assignment_interval_wait_for_the_heartbeat_after_it(
    version: str, interval: int | None, seconds: float
) -> None:
    """KIP-1263, with heartbeats every 5 s: b is assigned to at 4.5 s, c comes 100 ms later.

    At once, a gives up c's partition at 5 s, and c has it with its next heartbeat. Else the first heartbeat that is a
    second later than b's is b's own at 9.5 s; a hears of it at 10 s, so that c has its partition a heartbeat later.
    """
    names = {"a": 0, "b": 4_500, "c": 4_600}
    members = [member(name, start=at * MILLISECOND, group_protocol="consumer") for name, at in names.items()]
    settings: dict[str, Value] = {} if interval is None else {"group.consumer.assignment.interval.ms": interval}
    events = play(*members, version=version, partitions=3, settings=settings)
    has = next(one["time"] for one in of(events, Kind.ASSIGNED, node="c") if one["partitions"])
    assert has / SECOND == pytest.approx(seconds, abs=0.09)
    last = {one["node"]: one["partitions"] for one in of(events, Kind.ASSIGNED)}
    assert sorted(one for has in last.values() for one in has) == ["t-0", "t-1", "t-2"]


def test_older_versions_have_no_kip_848() -> None:
    with pytest.raises(UsageError, match=r"3\.9-kraft has no such protocol"):
        play(member("a", group_protocol="consumer"), version="3.9-kraft")


def owners_never_overlap(events: list[Event]) -> bool:
    """Whether no two members ever had one partition at a time; a process that is gone has none."""
    held: dict[str, tuple[str, ...]] = {}
    for event in events:
        if event.kind == Kind.CRASHED:
            held.pop(event.node, None)
        elif event.kind == Kind.ASSIGNED:
            held[event.node] = event.values[2]
            every = [partition for has in held.values() for partition in has]
            if len(every) != len(set(every)):
                return False
    return True


@st.composite
def faults(draw: st.DrawFn) -> tuple[Step, ...]:
    """Something that is over by 40 s."""
    node = draw(st.sampled_from(["a", "b", "broker-1", "broker-3"]))
    time = draw(st.integers(0, 20_000)) * MILLISECOND
    length = draw(st.integers(1, 20)) * SECOND
    match draw(st.sampled_from(["crash", "pause", "cut"])):
        case "crash":
            return Step(At(time), Crash(node)), Step(At(time + length), Start(node))
        case "pause":
            return (Step(At(time), Pause(node, length)),)
        case _:
            other = draw(st.sampled_from([one for one in ("broker-1", "broker-2", "broker-3") if one != node]))
            return (Step(At(time), Cut(node, other, length)),)


@examples(0.2)
@given(st.data())
def test_whatever_fails_nothing_is_passed_over(data: st.DataObject) -> None:
    """Committed after processing, whatever dies and comes back: every record is processed, at least once."""
    plan = tuple(step for _ in range(data.draw(st.integers(1, 3))) for step in data.draw(faults()))
    protocol = data.draw(st.sampled_from(["range", "cooperative-sticky", "consumer"]))
    named: dict[str, Value] = {
        "enable_auto_commit": data.draw(st.booleans()),
        "session_timeout_ms": 6_000,
        "max_poll_interval_ms": 40_000,  # a JoinGroup that was swallowed is given up 5 s after that: in time
        **speaking(protocol),
    }
    events = play(member("a", **named), member("b", start=SECOND, **named), plan=plan, duration=120)
    acknowledged = {one["value"] for one in of(events, Kind.ACKNOWLEDGED)}
    assert len(acknowledged) > 0
    assert acknowledged <= set(done(events)), (plan, acknowledged - set(done(events)))
    zombies = any(isinstance(step.do, Pause | Cut) for step in plan)
    if protocol == "consumer":
        assert zombies or owners_never_overlap(events)
        return
    for generation in {one["generation"] for one in of(events, Kind.ASSIGNED)}:
        has = {one["node"]: one["partitions"] for one in of(events, Kind.ASSIGNED, generation=generation)}
        held = [partition for partitions in has.values() for partition in partitions]
        assert len(held) == len(set(held)), "two members read one partition in one generation"


def test_records_of_offsets_and_groups_read_as_what_they_say() -> None:
    events = play(member("a"), duration=12) + play(member("a", group_protocol="consumer"), duration=12)
    written = {
        str(record.value)
        for event in events
        if event.kind == Kind.APPENDED and event.values[0].startswith(OFFSETS_TOPIC)
        for record in event.values[3]
    }
    assert {"g generation 1, members: 1", "g epoch 1, members: 1"} <= written
    assert "g t-1 0" in written


def test_only_who_assigns_looks_for_new_partitions() -> None:
    """ConsumerCoordinator.onJoinComplete: the leader alone compares its metadata with what it assigned."""
    follower = replace(member("b", start=SECOND), sees={"t-1": 20 * SECOND})
    events = play(member("a"), follower, duration=30)
    assert len(of(events, Kind.ASSIGNED)) == 2
    leader = replace(member("a"), sees={"t-1": 20 * SECOND})
    events = play(leader, member("b", start=SECOND), duration=30)
    assert [one["generation"] for one in of(events, Kind.ASSIGNED, node="b")] == [1, 2]


def test_a_member_whose_coordinator_assigns_does_not_care_what_its_metadata_has() -> None:
    """KIP-848: the coordinator knows the partitions, nobody joins again for them."""
    late = replace(member("a", group_protocol="consumer"), sees={"t-1": 20 * SECOND})
    events = play(late, member("b", start=SECOND, group_protocol="consumer"), duration=70)
    assert of(events, Kind.GROUP_CHANGED)[-1]["generation"] == 2, "one epoch for each member"
    assert not of(events, Kind.COMMIT_FAILED)


def test_a_cooperative_member_that_was_thrown_out_gives_everything_up_before_it_joins_again() -> None:
    """ConsumerCoordinator.onJoinPrepare: without a generation its partitions are lost."""
    a, b = (member(name, partition_assignment_strategy="cooperative-sticky", max_poll_records=1) for name in "ab")
    plan = (Step(At(10 * SECOND), Pause("a", 60 * SECOND)),)
    events = play(a, replace(b, start=SECOND), plan=plan, duration=90)
    joins = next(one for one in of(events, Kind.GROUP_CHANGED) if one["time"] > 70 * SECOND)
    assert "joins" in joins["why"]
    again = [one for one in of(events, Kind.ASSIGNED, node="a") if one["time"] > joins["time"]]
    assert again[0]["partitions"] == (), "the other one has yet to give a partition up"
    assert [one["node"] for one in of(events, Kind.ASSIGNED) if one["time"] > joins["time"]].count("a") == 2


def test_a_static_member_that_does_not_come_back_is_out_once_it_should_have_synced() -> None:
    """GroupMetadataManager: the join phase leaves it in and begins its session anew; expirePendingSync removes it."""
    a = member("a", group_instance_id="one", max_poll_interval_ms=20_000)
    b = member("b", start=20 * SECOND, max_poll_interval_ms=20_000)
    events = play(a, b, plan=(Step(At(10 * SECOND), Pause("a", 200 * SECOND)),), duration=70)
    later = [one for one in of(events, Kind.GROUP_CHANGED) if one["time"] > 15 * SECOND]
    rebalances = [(round(one["time"] / SECOND), one["why"]) for one in later if one["state"] == "PreparingRebalance"]
    assert rebalances == [(20, "b.0.2 joins"), (60, "members did not sync")]
    assert [len(one["members"]) for one in later if one["state"] == "Stable"] == [2, 1]


@pytest.mark.parametrize(("version", "most"), [("2.1", 3), ("2.2", 2), ("4.1", 2)])
def test_who_dies_as_it_joins_leaves_no_member_behind_since_2_2(version: str, most: int) -> None:
    """KIP-394: before, the coordinator had taken it in, and gave partitions to nobody until its session was over."""
    asked = When(Kind.MESSAGE, "broker-3", {"source": "b", "name": "JoinGroup"})
    plan = (Step(asked, Crash("b")), Step(When(Kind.CRASHED, "b", after=SECOND), Start("b")))
    events = play(member("a"), member("b", start=6 * SECOND), plan=plan, version=version, duration=60)
    assert max(len(one["members"]) for one in of(events, Kind.GROUP_CHANGED)) == most
    assert {one["node"] for one in of(events, Kind.ASSIGNED)} == {"a", "b"}
    assert done(events) == Counter(VALUES)


def test_a_reset_by_duration_begins_with_the_first_record_that_is_not_older() -> None:
    """KIP-1106: records are a second apart, the member comes at 9 s and has its assignment at 12 s."""
    events = play(member("a", start=9 * SECOND, auto_offset_reset="by_duration:PT5S"))
    asked = of(events, Kind.ASSIGNED)[0]["time"]
    appended = of(events, Kind.APPENDED, partition="t-0", role="leader")
    written = {one["records"][0].value: one["time"] for one in appended}
    assert set(done(events)) == {value for value, time in written.items() if time >= asked - 5 * SECOND}
    assert 0 < len(done(events)) < len(VALUES)


def test_a_reset_by_duration_is_refused_before_4_0() -> None:
    with pytest.raises(UsageError, match=r"3\.9 has no such policy"):
        play(member("a", auto_offset_reset="by_duration:PT5S"), version="3.9")
