"""Differences of leaders and controllers from one version of Kafka to the next, as they are played.

Expected is what Kafka's source of each version says, named in each test.
"""

from __future__ import annotations

from itertools import groupby
from math import ceil

import pytest

from kreplica.engine.fault_plan import (
    At,
    CancelReassignment,
    Crash,
    Cut,
    ElectPreferred,
    ElectUnclean,
    ExpireSession,
    Pause,
    Plan,
    Reassign,
    Slow,
    Start,
    Step,
    Stop,
)
from kreplica.engine.settings import Value
from kreplica.engine.setup import SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.engine.simulator import simulate
from kreplica.engine.simulator.broker.reads import Want
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named

EVERY_SECOND = tuple(range(1, 21))


def play(
    plan: Plan,
    version: str,
    sent: tuple[float, ...] = EVERY_SECOND,
    seconds: int = 60,
    brokers: int = 3,
    **settings: Value,
) -> list[dict[str, object]]:
    """The events of a run in which a producer sends to t-0, replicas 1, 2, 3, at those seconds, with acks=all."""
    sends = tuple(Send(int(at * SECOND), f"m{number}", "t-0") for number, at in enumerate(sent))
    setup = cluster(
        brokers,
        TopicSetup("t", ((1, 2, 3), (2, 3, 1))),
        clients=(ProducerSetup("producer", sends, {"acks": -1}),),
        duration=seconds * SECOND,
    ).with_settings({name.replace("_", "."): value for name, value in settings.items()})
    trace = Trace()
    simulate(setup, plan, version_named(version), 1, trace)
    return [{"at": e.time / SECOND, "kind": e.kind, "node": e.node, **fields_of(e)} for e in trace.events]


def of(events: list[dict[str, object]], kind: str, **wanted: object) -> list[dict[str, object]]:
    return [event for event in events if event["kind"] == kind and wanted.items() <= event.items()]


def at(second: float, action: object) -> Step:
    return Step(At(int(second * SECOND)), action)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["0.11", "2.5", "3.9"])
def test_who_waits_goes_on_waiting_when_its_leader_is_elected_again(version: str) -> None:
    """Partition.makeLeader fails no produce request: a follower's death raises the epoch of the same leader."""
    events = play((at(3.2, Crash("broker-3")),), version, replica_lag_time_max_ms=30_000, enable_idempotence=False)
    assert [event["leader_epoch"] for event in of(events, Kind.BECAME_LEADER, node="broker-1", partition="t-0")][1:]
    appended = of(events, Kind.APPENDED, node="broker-1", partition="t-0")
    assert len(of(events, Kind.ACKNOWLEDGED)) == 20
    assert max(event["end_offset"] for event in appended) == 20  # type: ignore[type-var]  # none is sent twice


def test_who_is_far_behind_does_not_hold_back_a_new_leaders_high_watermark() -> None:
    """Replica.resetReplicaState: who is not in the ISR has never caught up, and its first fetch does not say it had.

    Broker 3 lacks everything and takes 6 s for each fetch; m1 is committed while it still lacks m0.
    """
    plan = (
        at(0.5, Cut("broker-3", "broker-1", 60 * SECOND)),
        at(50, Crash("broker-1")),
        at(50, Slow("broker-3", "broker-2", 3 * SECOND, 60 * SECOND)),
    )
    events = play(plan, "4.1", sent=(1, 65), seconds=90, replica_lag_time_max_ms=10_000)
    (state,) = of(events, Kind.BECAME_LEADER, node="broker-2", partition="t-0")
    assert state["isr"] == (2,)
    fetched = [e["end_offset"] for e in of(events, Kind.FOLLOWER_POSITION, node="broker-2", follower=3) if e["at"] < 65]  # type: ignore[operator]
    assert fetched[-1] == 0
    (told,) = of(events, Kind.ACKNOWLEDGED, value="m1")
    assert told["at"] < 66  # type: ignore[operator]


def test_who_shuts_down_is_not_asked_into_the_isr() -> None:
    """Partition.isReplicaIsrEligible of KRaft, since 3.3: broker 2 fetches on until broker 3, which pauses, knows.

    The controller lets a broker go once every active one has read of its leaders' moves.
    """
    plan = (at(3, Pause("broker-3", 4 * SECOND)), at(3.1, Stop("broker-2")))
    events = play(plan, "4.1", sent=tuple(3 + number / 10 for number in range(40)), seconds=15)
    (leaves,) = of(events, Kind.PARTITION_CHANGED, partition="t-0", isr=(1, 3))
    (stopped,) = of(events, Kind.STOPPED, node="broker-2")
    positions = of(events, Kind.FOLLOWER_POSITION, node="broker-1", follower=2)
    assert any(leaves["at"] < event["at"] < stopped["at"] for event in positions)  # type: ignore[operator]
    assert not of(events, Kind.ISR_REFUSED)


@pytest.mark.parametrize(("version", "leaders"), [("3.8-kraft", [1, -1, 1]), ("3.9-kraft", [1, -1, 2])])
def test_kraft_looks_at_the_unclean_setting_since_3_9(version: str, leaders: list[int]) -> None:
    """ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic was constantly false before (KAFKA-12670)."""
    plan = (
        at(2, Crash("broker-2")),
        at(2, Crash("broker-3")),
        at(15, Crash("broker-1")),
        at(30, Start("broker-2")),
        at(50, Start("broker-1")),
    )
    events = play(plan, version, unclean_leader_election_enable=True)
    changed = of(events, Kind.PARTITION_CHANGED, partition="t-0")
    assert [leader for leader, _ in groupby(event["leader"] for event in changed)] == leaders


def test_before_3_9_kraft_elects_uncleanly_only_where_an_operator_asks() -> None:
    plan = (
        at(2, Crash("broker-2")),
        at(2, Crash("broker-3")),
        at(15, Crash("broker-1")),
        at(30, Start("broker-2")),
        at(40, ElectUnclean("t-0")),
    )
    events = play(plan, "3.8-kraft", unclean_leader_election_enable=False)
    assert of(events, Kind.PARTITION_CHANGED, partition="t-0")[-1]["leader"] == 2


@pytest.mark.parametrize(
    ("version", "ends"),
    [("3.7-kraft", True), ("3.8-kraft", False), ("3.9", False), ("4.1", False), ("4.3", True)],
)
def test_a_move_ends_without_its_whole_target_in_kraft_before_3_8_and_since_4_3(version: str, ends: bool) -> None:
    """PartitionReassignmentReplicas.maybeCompleteReassignment, KAFKA-15665, KAFKA-19975: broker 2, wanted, is dead."""
    plan = (at(2, Crash("broker-2")), at(30, Reassign("t-0", (1, 2, 4))))
    events = play(plan, version, brokers=4)
    left = of(events, Kind.PARTITION_CHANGED, partition="t-0")[-1]
    assert (left["isr"] == (1, 4)) is ends


@pytest.mark.parametrize(
    ("target", "ends"),
    [((2,), (2, 1, (2,))), ((1, 3), (1, 1, (1, 3))), ((2, 1, 3), (1, 0, (2, 1, 3))), ((1, 2, 3), None)],
)
def test_a_move_whose_target_is_in_sync_is_one_record(target: tuple[int, ...], ends: object) -> None:
    """PartitionChangeBuilder completes it as it begins: so did a real 4.3.1. A move to where all is changes nothing."""
    events = play((at(5, Reassign("t-0", target)),), "4.3", seconds=20)
    changes = of(events, Kind.PARTITION_CHANGED, partition="t-0")
    found = [(e["leader"], e["leader_epoch"], e["isr"], e["partition_epoch"]) for e in changes if e["at"] > 4]  # type: ignore[operator]
    assert found == ([] if ends is None else [(*ends, 1)])  # type: ignore[misc]


@pytest.mark.parametrize(("unclean", "isr"), [(False, (4,)), (True, (1,))])
def test_kraft_takes_no_move_back_for_those_who_are_not_in_sync(unclean: bool, isr: tuple[int, ...]) -> None:
    """PartitionReassignmentRevert: only with unclean elections does the first of the old replicas stand for all."""
    moved = (at(5, Crash("broker-5")), at(16, Reassign("t-0", (4, 5))))
    crashes = tuple(at(20 + broker, Crash(f"broker-{broker}")) for broker in (1, 2, 3))
    plan = (*moved, *crashes, at(45, CancelReassignment("t-0")))
    events = play(plan, "3.9-kraft", brokers=5, unclean_leader_election_enable=unclean)
    assert bool(of(events, Kind.MOVE_REFUSED, partition="t-0", rule="reassignment.kraft_cancelled")) is not unclean
    last = of(events, Kind.PARTITION_CHANGED, partition="t-0")[-1]
    assert (last["isr"], last["leader"]) == (isr, -1 if unclean else 4)


@pytest.mark.parametrize(("version", "out"), [("0.8.2", 1), ("0.9", 1), ("2.0", 1), ("2.1", 0), ("4.1", 0)])
def test_a_dead_follower_of_an_idle_partition_stays_in_the_isr_since_2_1(version: str, out: int) -> None:
    """Partition.getOutOfSyncReplicas: time alone up to 2.0, since then not who has everything (KAFKA-7152)."""
    plan = (at(5, Cut("broker-3", "broker-1", 60 * SECOND)),)
    events = play(plan, version, sent=(1.0,), replica_lag_time_max_ms=10_000)
    assert len(of(events, Kind.ISR_ASKED, partition="t-0", isr=(1, 2))) == out


@pytest.mark.parametrize(("version", "waits"), [("0.9", False), ("0.10", True), ("3.9", True)])
def test_who_has_caught_up_outside_the_isr_is_waited_for_since_0_10_2(version: str, waits: bool) -> None:
    """KAFKA-4485: while a leader alone in the ISR is written to, a follower a little behind could never join before."""
    written = tuple(9 + number / 100 for number in range(600))
    plan = (
        at(0.5, Crash("broker-2")),
        at(0.5, Crash("broker-3")),
        at(8, Slow("broker-3", "broker-1", 10_000, 60 * SECOND)),
        at(10, Start("broker-3")),
    )
    events = play(plan, version, sent=written, seconds=15, zookeeper_session_timeout_ms=6_000)
    assert of(events, Kind.PARTITION_CHANGED, partition="t-0", isr=(1,))
    assert bool(of(events, Kind.ISR_ASKED, partition="t-0", isr=(1, 3))) is waits


@pytest.mark.parametrize(("version", "epochs"), [("0.11", [0]), ("2.0", [0]), ("2.0.1", [0, 1]), ("4.1", [0, 1])])
def test_a_leader_notes_its_epoch_before_it_writes_since_2_0_1(version: str, epochs: list[int]) -> None:
    """Partition.makeLeader, maybeAssignEpochStartOffset: KAFKA-7415. Nothing is written in epoch 1."""
    producer = ProducerSetup("producer", (Send(SECOND, "m0", "t-0"),), {"acks": -1})
    setup = cluster(2, TopicSetup("t", ((1, 2),)), clients=(producer,), duration=40 * SECOND)
    simulation = build(setup, version_named(version), 1, Trace())
    play_plan(simulation, (at(5, Stop("broker-1")),))
    assert simulation.brokers[2].replicas["t-0"].log.epochs == epochs


@pytest.mark.parametrize(
    ("version", "offset", "epoch", "known"),
    [
        ("0.8.2", 99, -1, -1),
        ("0.11", 99, -1, -1),
        ("2.3", 99, 0, -1),
        ("2.3", 5, 7, -1),  # another leader epoch is an error, too
        ("2.4", 99, 0, 5),
        ("2.4", 5, 7, 5),
        ("4.1", 99, 0, 5),
        ("2.3", 5, 0, 5),
    ],
)
def test_a_leader_up_to_2_3_forgets_the_position_of_a_follower_that_it_answers_with_an_error(
    version: str, offset: int, epoch: int, known: int
) -> None:
    """ReplicaManager.updateFollowerLogReadResults noted UnknownOffsetMetadata of what could not be read."""
    sends = tuple(Send(at * SECOND, f"m{at}", "t-0") for at in range(1, 6))
    setup = cluster(3, TopicSetup("t", ((1, 2, 3),)), clients=(ProducerSetup("producer", sends),), duration=9 * SECOND)
    simulation = build(setup, version_named(version), 1, Trace())
    play_plan(simulation, ())
    leader = simulation.brokers[1]
    leadership = leader.replicas["t-0"].leadership
    assert leadership is not None
    assert leadership.ends[1] == 5
    leader.reads.for_follower(2, leadership.broker_epochs[1], 10, (Want("t-0", offset, -1, epoch, 0),), lambda _: None)
    assert leadership.ends[1] == known
    assert leader.replicas["t-0"].high_watermark == 5


def test_in_zookeeper_mode_who_shuts_down_is_not_elected_even_uncleanly() -> None:
    """ControllerContext.isReplicaOnline leaves shutting down brokers out: broker 2 still leads t-1 alone."""
    plan = (at(2, Crash("broker-3")), at(40, Stop("broker-2")), at(40.5, Crash("broker-4")))
    setup = cluster(4, TopicSetup("t", ((4, 2), (2, 3))), duration=60 * SECOND).with_settings(
        {"unclean.leader.election.enable": True, "zookeeper.session.timeout.ms": 2_000}
    )
    trace = Trace()
    simulate(setup, plan, version_named("2.5"), 1, trace)
    events = [{"at": e.time / SECOND, "kind": e.kind, "node": e.node, **fields_of(e)} for e in trace.events]
    (stopped,) = of(events, Kind.STOPPED, node="broker-2")
    gone = [e for e in of(events, Kind.NO_LEADER, partition="t-0") if e["at"] < stopped["at"]]  # type: ignore[operator]
    assert gone, "broker 4 is seen to be gone while broker 2 waits"
    assert not of(events, Kind.BECAME_LEADER, node="broker-2", partition="t-0")


@pytest.mark.parametrize(("version", "waits"), [("2.3", True), ("2.4", False), ("2.5", False), ("2.6", True)])
def test_a_risen_high_watermark_is_told_at_once_in_2_4_and_2_5(version: str, waits: bool) -> None:
    """DelayedFetch.tryComplete of 2.5, case H (KIP-392), taken out by KAFKA-9952: else replica.fetch.wait.max.ms."""
    events = play((), version, sent=(5.0,), seconds=8)
    (leader,) = of(events, Kind.HIGH_WATERMARK, node="broker-1", partition="t-0", high_watermark=1)
    (follower,) = of(events, Kind.HIGH_WATERMARK, node="broker-2", partition="t-0", high_watermark=1)
    assert (follower["at"] - leader["at"] > 0.4) is waits  # type: ignore[operator]
    fetches = of(events, Kind.FOLLOWER_POSITION, node="broker-1", follower=2)
    assert len(fetches) < 5, "what has been told does not answer the next fetch"


@pytest.mark.parametrize(("version", "wait"), [("3.9-kraft", 0), ("4.0", 10.8), ("4.1", 10.0)])
def test_after_a_clean_stop_a_broker_waits_for_its_session_since_4_0(version: str, wait: float) -> None:
    """BrokerHeartbeatTracker.hasValidSession does not ask whether it is fenced: the session is 9 s (KAFKA-19130).

    It is let go at 23.1 s and back at 24, so that the session is over 8.1 s later. What is refused is tried again
    (BrokerLifecycleManager): in 4.0.0 after 0.1 s, 0.2 s, 0.4 s and so on up to 4.5 s, so 6.3 s after the first time,
    and 10.8 s; since 4.0.1 every 2 s, so 8 s after the first time, and 10 s.
    """
    events = play((at(21, Stop("broker-2")), at(24, Start("broker-2"))), version, sent=())
    (started,) = of(events, Kind.STARTED, node="broker-2")[1:]
    registered = of(events, Kind.BROKER_REGISTERED, broker=2)[-1]
    assert wait <= registered["at"] - started["at"] <= wait + 0.2  # type: ignore[operator]


@pytest.mark.parametrize(("version", "moves"), [("3.9-kraft", False), ("4.0", True)])
def test_who_registers_anew_before_it_is_fenced_leads_no_more_since_4_0(version: str, moves: bool) -> None:
    """ClusterControlManager.registerBroker: up to 3.9 nothing became of what its last life led (KAFKA-18106).

    With a session of 90 s the controller looks for silent brokers every 5 s. That of broker 2 is over after 110 s; what
    it tries 51.1 s after its start, for the tenth time, lies between two looks.
    """
    plan = (at(20.3, Crash("broker-2")), at(62, Start("broker-2")))
    events = play(plan, version, sent=(), seconds=120, broker_session_timeout_ms=90_000)
    assert not of(events, Kind.BROKER_FENCED)
    assert bool(of(events, Kind.BECAME_LEADER, node="broker-3", partition="t-1")) is moves


DEPOSED_AND_ELECTED_AGAIN = (
    at(5, Cut("broker-3", "broker-2", SECOND)),
    at(5.5, Cut("broker-1", "broker-4", 20 * SECOND)),
    at(5.5, ExpireSession("broker-2")),
    at(9, Cut("broker-4", "broker-2", 20 * SECOND, one_way=True)),
    at(9, ElectPreferred("t-0")),
    at(10, Crash("broker-1")),
)
"""Broker 2 leads, is deposed and leads again; broker 4 hears of both at once, from the next controller."""


def play_deposed(version: str, lost: int, written: int, **settings: Value) -> list[dict[str, object]]:
    """Broker 4 has ``lost`` records of broker 2 that broker 3 lacks, which writes ``written`` others in their place."""
    sent = (1.0, *(5.2 + number / 100 for number in range(lost)), *(7 + number / 100 for number in range(written)))
    sends = tuple(Send(int(second * SECOND), f"m{number}", "t-0") for number, second in enumerate((*sent, 40)))
    setup = cluster(
        4,
        TopicSetup("t", ((2, 3, 4),)),
        clients=(ProducerSetup("producer", sends, {"acks": 1, "retries": 20}),),
        duration=60 * SECOND,
    ).with_settings({name.replace("_", "."): value for name, value in settings.items()})
    trace = Trace()
    simulate(setup, DEPOSED_AND_ELECTED_AGAIN, version_named(version), 1, trace)
    return [{"at": e.time / SECOND, "kind": e.kind, "node": e.node, **fields_of(e)} for e in trace.events]


def log_of(events: list[dict[str, object]], broker: int) -> list[str]:
    """The values of t-0 on a broker, from what was appended and cut."""
    log: list[str] = []
    for event in events:
        if event["node"] == f"broker-{broker}" and event.get("partition") == "t-0":
            if event["kind"] == Kind.APPENDED:
                log += [record.value for record in event["records"]]  # type: ignore[attr-defined]
            elif event["kind"] == Kind.TRUNCATED:
                del log[event["end_offset"] :]  # type: ignore[misc]
    return log


@pytest.mark.parametrize(
    ("version", "diverges"),
    [("0.11", True), ("1.1", True), ("2.0", True), ("2.0.1", False), ("2.1", False), ("3.9", False)],
)
def test_logs_diverge_where_a_leader_was_deposed_and_elected_again_before_2_0_1(version: str, diverges: bool) -> None:
    """Partition.makeFollower compares the leader alone from 0.8.2 to 2.0.0 (KAFKA-7164)."""
    events = play_deposed(version, lost=1, written=3, enable_idempotence=False)
    assert [e["leader"] for e in of(events, Kind.PARTITION_CHANGED, partition="t-0", isr=(3, 4))] == [3]
    assert log_of(events, 2) == ["m0", "m2", "m3", "m4", "m5"]
    assert (log_of(events, 4) != log_of(events, 2)) is diverges
    assert (log_of(events, 4) == ["m0", "m1", "m3", "m4", "m5"]) is diverges


@pytest.mark.parametrize(
    ("version", "again"),
    [("0.8.1", [0, 1]), ("0.8.2", [0]), ("0.10", [0]), ("2.0", [0]), ("2.0.1", [0]), ("2.1", [0, 1]), ("3.9", [0, 1])],
)
def test_the_same_leader_in_the_next_epoch_is_followed_on_from_0_8_2_to_2_0_1(version: str, again: list[int]) -> None:
    """Partition.makeFollower returns false: broker 3's death raises the epoch of leader 1, and nothing is cut."""
    events = play((at(3.2, Crash("broker-3")),), version, seconds=40)
    assert [e["leader_epoch"] for e in of(events, Kind.BECAME_LEADER, node="broker-1", partition="t-0")] == [0, 1]
    followed = of(events, Kind.BECAME_FOLLOWER, node="broker-2", partition="t-0")
    assert [event["leader_epoch"] for event in followed] == again
    assert log_of(events, 1) == log_of(events, 2) == [f"m{number}" for number in range(20)]


@pytest.mark.parametrize(
    ("version", "unclean", "ends"),
    [
        ("0.8.2", False, Kind.CRASHED),
        ("0.9", False, Kind.CRASHED),
        ("0.10.0.0", False, Kind.CRASHED),
        ("0.10", False, Kind.CRASHED),
        ("0.11", False, Kind.STOPPED),
        ("2.0", False, Kind.STOPPED),
        ("2.0", True, None),
        ("2.0.1", False, None),
        ("3.9", False, None),
    ],
)
def test_a_broker_with_more_than_its_leader_ends_from_0_8_2_to_2_0(version: str, unclean: bool, ends: str) -> None:
    """ReplicaFetcherThread.handleOffsetOutOfRange: fatal where unclean elections are off (KAFKA-1028, KAFKA-7414).

    System.exit stops it in order, and up to 0.10 waits for the fetcher that called it (KAFKA-4039): nothing is flushed.
    """
    events = play_deposed(version, lost=4, written=1, unclean_leader_election_enable=unclean, enable_idempotence=False)
    refused = of(events, Kind.TRUNCATION_REFUSED, node="broker-4", partition="t-0", end_offset=5, leader_end_offset=2)
    ended = [e["kind"] for e in events if e["node"] == "broker-4" and e["kind"] in (Kind.CRASHED, Kind.STOPPED)]
    assert (len(refused), ended) == ((1, [ends]) if ends else (0, []))
    if ends:
        assert log_of(events, 4) == ["m0", "m1", "m2", "m3", "m4"]
    elif unclean:
        assert log_of(events, 4) == ["m0", "m1", "m6"], "cut to the leader's end, as it is"
    else:
        assert log_of(events, 4) == log_of(events, 2) == ["m0", "m5", "m6"]


def play_diverging(version: str) -> list[dict[str, object]]:
    """Broker 1 comes back to leader 2 with three records that broker 2 never had, after one that all have."""
    plan = (
        at(2, Cut("broker-1", "broker-2", 20 * SECOND)),
        at(2, Cut("broker-1", "broker-3", 20 * SECOND)),
        at(4, Crash("broker-1")),
        at(40, Start("broker-1")),
    )
    sends = tuple(Send(int(second * SECOND), f"m{second}", "t-0") for second in (1, 3, 3.1, 3.2, 30, 31))
    setup = cluster(
        4,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(ProducerSetup("producer", sends, {"acks": 1, "enable.idempotence": False}),),
        duration=60 * SECOND,
    )
    trace = Trace()
    simulate(setup, plan, version_named(version), 1, trace)
    return [{"at": e.time / SECOND, "kind": e.kind, "node": e.node, **fields_of(e)} for e in trace.events]


@pytest.mark.parametrize(
    ("version", "noted"), [("2.7", 1), ("2.8", 4), ("2.8.1", 1), ("3.4", 1), ("3.4-kraft", 1), ("4.1", 1)]
)
def test_2_8_0_notes_the_position_of_a_follower_that_it_tells_to_cut(version: str, noted: int) -> None:
    """ReplicaManager.updateFollowerFetchState without KAFKA-13141: offset 4 is of a log that has to be cut to 1."""
    events = play_diverging(version)
    (cut,) = of(events, Kind.TRUNCATED, node="broker-1", partition="t-0")
    assert (cut["from_offset"], cut["end_offset"]) == (4, 1)
    positions = of(events, Kind.FOLLOWER_POSITION, node="broker-2", follower=1)
    assert positions[0]["end_offset"] == noted


@pytest.mark.parametrize(
    ("version", "before"),
    [
        ("2.7", []),
        ("2.8", [3, 1]),
        ("3.4", [3, 1]),
        ("3.4-kraft", [3, 1]),
        ("3.4.1", []),
        ("3.4.1-kraft", []),
        ("4.1", []),
    ],
)
def test_a_follower_takes_a_high_watermark_before_it_cuts_from_2_8_to_3_4(version: str, before: list[int]) -> None:
    """AbstractFetcherThread.processFetchRequest without KAFKA-14704: the leader's 3 holds for another log."""
    events = play_diverging(version)
    (cut,) = of(events, Kind.TRUNCATED, node="broker-1", partition="t-0")
    risen = of(events, Kind.HIGH_WATERMARK, node="broker-1", partition="t-0")
    assert [e["high_watermark"] for e in risen if 40 < e["at"] <= cut["at"]] == before  # type: ignore[operator]


@pytest.mark.parametrize(
    ("version", "every", "kept"), [("0.9", 10, 0), ("0.10.1", 10, 0), ("0.10", 5, 10), ("2.0", 5, 10)]
)
def test_a_new_leader_takes_the_isr_for_caught_up_since_0_10_2(version: str, every: int, kept: int) -> None:
    """Partition.makeLeader, KAFKA-4485: broker 3 never fetches from broker 2, which leads once broker 1 is gone.

    Before 0.10.2 its first look goes by when it first heard of broker 3, as it started; since then that has 10 s.
    """
    plan = (at(1, Cut("broker-3", "broker-2", 60 * SECOND)), at(30, Crash("broker-1")))
    events = play(plan, version, sent=(), replica_lag_time_max_ms=10_000, zookeeper_session_timeout_ms=6_000)
    (elected,) = of(events, Kind.BECAME_LEADER, node="broker-2", partition="t-0")
    (left,) = of(events, Kind.ISR_ASKED, node="broker-2", partition="t-0", isr=(2,))
    assert left["at"] == ceil((elected["at"] + kept) / every) * every  # type: ignore[operator]


@pytest.mark.parametrize(
    ("version", "gone", "stopped"),
    [("0.8.1", 3, 3), ("0.8.2", 2, 3), ("0.9", 2, 3), ("0.10.0", 2, 2), ("2.0", 2, 2)],
)
def test_who_is_listed_first_in_the_isr_led_once(version: str, gone: int, stopped: int) -> None:
    """OfflinePartitionLeaderSelector (KAFKA-1503), ControlledShutdownLeaderSelector (KAFKA-3670).

    Broker 2 leaves the ISR 1, 2, 3 and joins again, last.
    """
    away = at(2, Cut("broker-2", "broker-1", 25 * SECOND))
    for leaves, leader in ((Crash("broker-1"), gone), (Stop("broker-1"), stopped)):
        events = play((away, at(45, leaves)), version, replica_lag_time_max_ms=10_000, controlled_shutdown_enable=True)
        assert of(events, Kind.PARTITION_CHANGED, partition="t-0", isr=(1, 3))
        elected = [e for e in of(events, Kind.BECAME_LEADER, partition="t-0") if e["at"] > 45]  # type: ignore[operator]
        assert [event["node"] for event in elected] == [f"broker-{leader}"]
        assert elected[0]["isr"] == (2, 3)
