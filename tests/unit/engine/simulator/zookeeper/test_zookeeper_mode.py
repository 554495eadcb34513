"""A cluster in ZooKeeper mode as it is played: what the controller decides, and when.

Expected are Kafka's own rules and intervals: sessions of 6 and 18 s, elections by assignment order, propagation of
ISRs after 5 s, balancing after 5 s and every 300 s.
"""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import (
    At,
    CancelReassignment,
    Crash,
    Cut,
    DirectoryFailure,
    DiskLoss,
    ElectPreferred,
    ElectUnclean,
    ExpireSession,
    Pause,
    Plan,
    Reassign,
    Start,
    Step,
    Stop,
    When,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.settings import Value
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.simulator import simulate
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.world import build
from kreplica.engine.simulator.zookeeper.operations import zookeeper_controller
from kreplica.engine.simulator.zookeeper.service import CONTROLLER, CONTROLLER_EPOCH, Operation, state_path
from kreplica.engine.simulator.zookeeper.states import Change
from kreplica.engine.trace import Event, Kind, Trace, TraceHash, fields_of
from kreplica.engine.versions.supported import VERSIONS, ControllerKind, version_named

ZOOKEEPER = [version.name for version in VERSIONS if version.controller is ControllerKind.ZOOKEEPER]


def play(plan: Plan, version: str, seconds: int = 60, brokers: int = 3, **settings: Value) -> list[Event]:
    values = [f"m{number}" for number in range(20)]
    setup = cluster(
        brokers,
        TopicSetup("t", ((1, 2, 3), (2, 3, 1))),
        clients=(ProducerSetup("producer", sends("t-0", *values, start=SECOND, every=SECOND), {"acks": -1}),),
        duration=seconds * SECOND,
    ).with_settings({name.replace("_", "."): value for name, value in settings.items()})
    trace, digest = Trace(), TraceHash()
    trace.subscribe(digest)
    simulate(setup, plan, version_named(version), 1, trace)
    return trace.events


def at(second: float, action: object) -> Step:
    return Step(At(int(second * SECOND)), action)  # type: ignore[arg-type]


def of(events: list[Event], kind: str, **wanted: object) -> list[dict[str, object]]:
    found = [e for e in events if e.kind == kind and wanted.items() <= fields_of(e).items()]
    return [{"at": e.time / SECOND, "node": e.node, **fields_of(e)} for e in found]


def decisions(events: list[Event], **wanted: object) -> list[dict[str, object]]:
    """What controllers decided; an ISR that a leader wrote itself is left out."""
    changed = of(events, Kind.PARTITION_CHANGED, **wanted)
    return [change for change in changed if change["rule"] != "zookeeper_isr.conditional_write"]


def states(events: list[Event], partition: str = "t-0") -> list[tuple[object, ...]]:
    """Leader, leader epoch and ISR of each decision."""
    return [(e["leader"], e["leader_epoch"], e["isr"]) for e in decisions(events, partition=partition)]


@pytest.mark.parametrize("version", ZOOKEEPER)
def test_one_broker_is_the_controller_and_everybody_is_in_sync(version: str) -> None:
    events = play((), version)
    assert [(e["node"], e["epoch"]) for e in of(events, Kind.CONTROLLER_ELECTED)] == [("broker-1", 1)]
    assert len(of(events, Kind.ACKNOWLEDGED)) == 20
    assert not of(events, Kind.PARTITION_CHANGED)
    assert not of(events, Kind.ISR_ASKED)


@pytest.mark.parametrize("version", ZOOKEEPER)
def test_a_leader_that_crashes_is_followed_by_the_next_in_sync(version: str) -> None:
    events = play((at(5, Crash("broker-2")), at(40, Start("broker-2"))), version)
    session = 18 if version in ("2.5", "2.7", "3.0", "3.7", "3.9") else 6
    (expired,) = of(events, Kind.SESSION_EXPIRED)
    assert session * 2 / 3 - 0.1 <= float(str(expired["at"])) - 5 <= session + 0.1
    assert states(events, "t-1")[0] == (3, 1, (3, 1))
    assert states(events)[0] == (1, 1, (1, 3))
    back = of(events, Kind.ISR_ASKED, partition="t-1")
    assert back
    assert [set(ask["isr"]) for ask in back] == [{1, 2, 3}]  # type: ignore[call-overload]


def test_a_controller_that_crashes_is_followed_by_another_with_a_higher_epoch() -> None:
    events = play((at(5, Crash("broker-1")),), "0.11")
    elected = of(events, Kind.CONTROLLER_ELECTED)
    assert [e["epoch"] for e in elected] == [1, 2]
    assert elected[1]["node"] != "broker-1"
    assert states(events) == [(2, 1, (2, 3))]


@pytest.mark.parametrize(("version", "changes"), [("2.1", 0), ("2.2.2", 0), ("2.3", 1), ("2.5", 1)])
def test_a_new_controller_takes_dead_followers_out_of_isrs(version: str, changes: int) -> None:
    """Since 2.3: broker-1 follows in t-1; before, its leader finds out after replica.lag.time.max.ms."""
    events = play((at(5, Crash("broker-1")),), version, seconds=25)
    assert len(of(events, Kind.PARTITION_CHANGED, partition="t-1")) == changes


@pytest.mark.parametrize("version", ["1.1", "2.5", "3.9"])
def test_a_controller_that_stood_still_is_deposed(version: str) -> None:
    events = play((at(5, Pause("broker-1", 30 * SECOND)),), version, seconds=90)
    assert [e["node"] for e in of(events, Kind.CONTROLLER_ELECTED)][1:] != ["broker-1"]
    assert [e["epoch"] for e in of(events, Kind.CONTROLLER_RESIGNED)] == [1]
    changed = [(e["node"], float(str(e["at"]))) for e in of(events, Kind.PARTITION_CHANGED)]
    assert changed
    assert not [when for node, when in changed if node == "broker-1" and when > 35]
    led = of(events, Kind.RESIGNED, partition="t-0")
    assert next(e["node"] for e in led) == "broker-1"


def test_a_session_that_expires_moves_the_leaders_of_a_live_broker() -> None:
    events = play((at(5, ExpireSession("broker-2")),), "2.5", auto_leader_rebalance_enable=False)
    assert states(events, "t-1") == [(3, 1, (3, 1))]
    assert [(e["broker"], round(float(str(e["at"])))) for e in of(events, Kind.BROKER_UNFENCED)][-1][0] == 2


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.10", [(3, (3,))]), ("0.11", [(1, (1,))])],
)
def test_unclean_elections_were_the_default_before_0_11(
    version: str, expected: list[tuple[int, tuple[int, ...]]]
) -> None:
    plan = (
        at(5, Crash("broker-2")),
        at(15, Crash("broker-3")),
        at(25, Crash("broker-1")),
        at(35, Start("broker-3")),
        at(45, Start("broker-1")),
    )
    after = decisions(play(plan, version), partition="t-0", leader_epoch=3)
    assert [(state["leader"], state["isr"]) for state in after] == expected


@pytest.mark.parametrize(("version", "leaders"), [("0.8.1", [3]), ("0.8.2", [1])])
def test_unclean_elections_could_not_be_switched_off_before_0_8_2(version: str, leaders: list[int]) -> None:
    """OfflinePartitionLeaderSelector, KAFKA-1028."""
    plan = (
        at(5, Crash("broker-2")),
        at(15, Crash("broker-3")),
        at(25, Crash("broker-1")),
        at(35, Start("broker-3")),
        at(45, Start("broker-1")),
    )
    events = play(plan, version, unclean_leader_election_enable=False)
    assert [state["leader"] for state in decisions(events, partition="t-0", leader_epoch=3)] == leaders


def test_controlled_shutdown_moves_leaders_before_the_broker_is_gone() -> None:
    events = play((at(5, Stop("broker-1")),), "2.5", seconds=20)
    (stopped,) = of(events, Kind.STOPPED)
    moved = of(events, Kind.PARTITION_CHANGED)
    assert states(events) == [(2, 1, (2, 3))]
    assert states(events, "t-1") == [(2, 1, (2, 3))]
    assert all(float(str(e["at"])) <= float(str(stopped["at"])) for e in moved)
    assert not of(events, Kind.SESSION_EXPIRED)


@pytest.mark.parametrize("version", ["0.9", "2.5", "3.9"])
def test_a_follower_that_is_stopped_keeps_its_log(version: str) -> None:
    """StopReplica of a controlled shutdown deletes no partition (KafkaController.doControlledShutdown)."""
    events = play((at(10.5, Stop("broker-3")), at(15, Start("broker-3"))), version)
    own = [e for e in of(events, Kind.APPENDED, partition="t-0") if e["node"] == "broker-3"]
    spans = [(int(str(e["base_offset"])), int(str(e["end_offset"]))) for e in own]
    assert (spans[0][0], spans[-1][1]) == (0, 20)
    again = 1 if version == "0.9" else 0  # what its high watermark did not cover it cuts
    assert all(begin >= end - again for (begin, _), (_, end) in zip(spans[1:], spans[:-1], strict=True))


def test_leaders_are_brought_back_at_the_next_look() -> None:
    """Preferred leaders: the controller of epoch 2 looks 5 s after its election and then every 300 s."""
    plan = (at(5, Stop("broker-1")), at(15, Start("broker-1")))
    events = play(plan, "2.5", seconds=330)
    (back,) = of(events, Kind.PARTITION_CHANGED, why="leaders are brought back")
    assert (back["partition"], back["leader"]) == ("t-0", 1)
    assert 305 <= float(str(back["at"])) - 5 <= 306


@pytest.mark.parametrize(("version", "out", "rises"), [("0.10", 10, False), ("2.5", 30, False), ("3.9", 30, False)])
def test_an_isr_that_its_leader_shrinks_raises_no_leader_epoch(version: str, out: int, rises: bool) -> None:
    events = play((at(15, Cut("broker-3", "broker-1", 100 * SECOND)),), version, seconds=80)
    (asked,) = of(events, Kind.ISR_ASKED, partition="t-0")
    assert asked["isr"] == (1, 2)
    assert out <= float(str(asked["at"])) - 15 <= 1.5 * out
    written = [e for e in of(events, Kind.ZNODE_WRITTEN, path="/brokers/partitions/t-0") if float(str(e["at"])) > 1]
    assert [data[1:] for data in (e["data"] for e in written)] == [(1, 1 if rises else 0, (1, 2))]  # type: ignore[index]


@pytest.mark.parametrize(("version", "told"), [("0.8.2", 0), ("0.10", 1), ("2.5", 1), ("2.7", 0)])
def test_isr_changes_are_told_by_notifications(version: str, told: int) -> None:
    """From 0.9 to inter-broker protocol 2.6: 5 to 7.5 s after the change."""
    events = play((at(15, Cut("broker-3", "broker-1", 100 * SECOND)),), version, seconds=90)
    asked = of(events, Kind.ISR_ASKED, partition="t-0")[0]
    notes = [e for e in of(events, Kind.ZNODE_WRITTEN) if str(e["path"]).startswith("/isr_change_notification/")]
    assert [e["data"] for e in notes] == [("t-0",)] * told
    for note in notes:
        assert 5 <= float(str(note["at"])) - float(str(asked["at"])) <= 7.6
        assert of(events, Kind.ZNODE_DELETED, path=note["path"])


@pytest.mark.parametrize("version", ["1.1", "2.5", "3.9"])
def test_a_move_ends_with_the_target_alone(version: str) -> None:
    events = play((at(5, Reassign("t-0", (3, 4))),), version, brokers=4, seconds=40)
    decided = states(events)
    assert decided[0] == (1, 1, (3, 1, 2))  # everybody hears of the merged assignment in a new epoch
    ends = [(leader, epoch, set(isr)) for leader, epoch, isr in decided[-3:]]  # type: ignore[call-overload]
    # a write for each that goes, as by a real controller of 3.9.2
    assert ends == [(3, 2, {1, 2, 3, 4}), (3, 3, {2, 3, 4}), (3, 4, {3, 4})]
    assert float(str(of(events, Kind.PARTITION_CHANGED, partition="t-0")[-1]["at"])) < 5.1  # a watch, or AlterPartition
    assert len(of(events, Kind.ACKNOWLEDGED)) >= 19
    followers = [e for e in of(events, Kind.APPENDED, partition="t-0") if e["node"] == "broker-4"]
    assert followers


def test_a_move_goes_on_under_the_next_controller() -> None:
    plan = (
        at(5, Crash("broker-4")),
        at(10, Reassign("t-0", (3, 4))),
        at(20, Crash("broker-1")),
        at(40, Start("broker-4")),
    )
    events = play((*plan, at(40, Start("broker-4"))), "3.9", brokers=4, seconds=90)
    assert states(events)[-1][0] == 3
    assert set(states(events)[-1][2]) == {3, 4}  # type: ignore[call-overload]


def test_a_move_is_told_again_when_a_broker_of_its_target_is_back() -> None:
    """KafkaController.onBrokerStartup: maybeResumeReassignments. So did a real 3.9.2."""
    plan = (at(5, Crash("broker-3")), at(30, Reassign("t-0", (3, 4))), at(40, Start("broker-3")))
    decided = states(play(plan, "3.9", brokers=4))
    joined = (1, 2, (4, 1, 2))
    assert decided[:4] == [(1, 1, (1, 2)), (1, 2, (1, 2)), joined, (1, 3, (4, 1, 2))]
    assert set(decided[-1][2]) == {3, 4}  # type: ignore[call-overload]


def test_a_move_that_is_taken_back_while_an_added_replica_leads_leaves_a_leader() -> None:
    """The added one leaves the ISR, and B3 of onPartitionReassignment elects another: nothing is left to move."""
    moved = (
        at(5, Crash("broker-3")),
        at(30, Reassign("t-0", (4, 3))),
        at(35, Stop("broker-1")),
        at(40, Stop("broker-2")),
    )
    back = (at(70, Start("broker-1")), at(70, Start("broker-2")), at(80, CancelReassignment("t-0")))
    *_, added, taken_out, elected = states(play((*moved, *back), "3.9", brokers=4, seconds=90))
    assert (added[0], taken_out[0], elected[0]) == (4, -1, 1)
    assert set(elected[2]) == {1, 2}  # type: ignore[call-overload]


def test_a_failed_log_directory_is_as_a_broker_that_is_gone() -> None:
    events = play((at(5, DirectoryFailure("broker-1", ("t-0",))),), "2.5", seconds=20)
    assert states(events) == [(2, 1, (2, 3))]
    assert states(events, "t-1") == []


def test_kraft_did_not_hear_of_a_failed_log_directory_before_3_7() -> None:
    """ReplicaManager.handleLogDirFailure: the broker lives on, and nobody replaces the leader that serves nothing."""
    plan = (at(5, DirectoryFailure("broker-1", ("t-0",))),)
    first = (1, 0, (1, 2, 3))
    assert states(play(plan, "3.7-kraft", seconds=20)) == [first, (2, 1, (2, 3))]
    unheard = play(plan, "3.6-kraft", seconds=20)
    assert states(unheard) == [first]
    assert not of(unheard, Kind.STOPPED)


def test_what_operators_ask_for() -> None:
    moved = play((at(5, Stop("broker-1")), at(15, Start("broker-1")), at(20, ElectPreferred("t-0"))), "2.5")
    assert [(e["leader"], round(float(str(e["at"])))) for e in decisions(moved, partition="t-0")] == [
        (2, 5),
        (1, 20),
    ]
    plan = (at(5, Crash("broker-2")), at(6, Crash("broker-3")), at(40, DiskLoss("broker-1")), at(70, Start("broker-3")))
    events = play((*plan, at(100, ElectUnclean("t-0"))), "2.5", seconds=120)
    assert states(events)[-1][::2] == (3, (3,))
    assert 100 <= float(str(of(events, Kind.PARTITION_CHANGED, partition="t-0")[-1]["at"])) < 101


def test_the_same_seed_gives_the_same_run() -> None:
    plan = (at(5, Crash("broker-1")), at(20, Start("broker-1")), at(25, Stop("broker-2")))
    assert play(plan, "1.1") == play(plan, "1.1")


@pytest.mark.parametrize("version", ["2.7", "4.1"])
def test_who_led_without_a_record_follows_again_quietly(version: str) -> None:
    """Its last leader epoch began at its end and goes although no record does (UnifiedLog.truncateTo)."""
    plan = (at(25, Stop("broker-1")), at(30, Start("broker-1")), at(40, ElectPreferred("t-0")))
    events = play(plan, version)
    assert states(events)[-1] == (1, 2, (1, 2, 3))
    fetches = [e for e in of(events, Kind.MESSAGE, name="Fetch") if float(str(e["at"])) > 41]
    assert len(fetches) < 500  # each waits half a second: four links, nineteen seconds


@pytest.mark.parametrize(("version", "refused"), [("0.10.0", True), ("0.10.1", False), ("2.3", False), ("2.4", True)])
def test_a_move_to_a_broker_that_is_gone_is_refused(version: str, refused: bool) -> None:
    """KafkaController asks for live brokers up to 0.10.0 and since 2.4 (KAFKA-4214, KIP-455)."""
    events = play((at(5, Crash("broker-4")), at(35, Reassign("t-0", (1, 4)))), version, brokers=4)
    assert [e["why"] for e in of(events, Kind.MOVE_REFUSED)] == ["not alive: 4"] * refused
    moved = [e for e in decisions(events, partition="t-0") if float(str(e["at"])) > 34]
    assert bool(moved) is not refused


@pytest.mark.parametrize(("version", "refused"), [("0.10.0", True), ("2.4", False), ("3.9", False)])
def test_who_has_a_replica_already_may_be_gone_since_2_4(version: str, refused: bool) -> None:
    events = play((at(5, Crash("broker-3")), at(35, Reassign("t-0", (4, 3)))), version, brokers=4)
    assert bool(of(events, Kind.MOVE_REFUSED)) is refused


def test_a_move_is_taken_back_whoever_is_gone() -> None:
    """A cancellation is no new assignment: validateReplicas is not asked."""
    plan = (at(5, Crash("broker-4")), at(12, Reassign("t-0", (1, 4))), at(40, CancelReassignment("t-0")))
    events = play(plan, "3.9", brokers=4)
    assert not of(events, Kind.MOVE_REFUSED)
    assert states(events)[-1][2] == (1, 2, 3)


@pytest.mark.parametrize(("version", "refused"), [("2.3", True), ("2.4", False)])
@pytest.mark.parametrize("other", [CancelReassignment("t-0"), Reassign("t-0", (2, 3))])
def test_a_move_has_to_end_before_2_4(version: str, refused: bool, other: object) -> None:
    """KIP-455: until then whoever wanted another move, or none, had to wait."""
    plan = (at(5, Crash("broker-4")), at(8, Reassign("t-0", (1, 4))), at(40, other))  # its session is over at 11
    events = play(plan, version, brokers=4, seconds=50)
    assert [e["why"] for e in of(events, Kind.MOVE_REFUSED)] == ["its move has to end first"] * refused
    assert bool([one for one in decisions(events, partition="t-0") if float(str(one["at"])) > 39]) is not refused


def test_a_controller_goes_on_after_it_has_refused_something_and_after_nothing_was_to_be_done() -> None:
    """Events are worked on one after the other: one that never ends would hold up all others."""
    dead = (at(5, Crash("broker-4")), at(35, Reassign("t-0", (1, 4))), at(36, CancelReassignment("t-0")))
    events = play((*dead, at(40, Reassign("t-0", (3, 1)))), "3.9", brokers=4)
    assert len(of(events, Kind.MOVE_REFUSED)) == 1
    assert (states(events)[-1][0], set(states(events)[-1][2])) == (1, {1, 3})  # type: ignore[call-overload]


def test_a_broker_that_is_back_and_in_no_target_changes_no_move() -> None:
    """KafkaController.onBrokerStartup asks for targets that the new brokers are in."""
    plan = (
        at(5, Crash("broker-3")),
        at(30, Reassign("t-0", (4, 3))),
        at(40, Stop("broker-2")),
        at(60, Start("broker-2")),
    )
    decided = states(play(plan, "3.9", brokers=4, seconds=80))
    (stopped,) = [number for number, one in enumerate(decided) if one[2] == (4, 1)]
    assert decided[stopped + 1 :] == [(1, decided[stopped][1], (4, 1, 2))]


@pytest.mark.parametrize(
    ("gone", "when", "target"), [("broker-3", 5, (2, 3)), ("broker-4", 29, (1, 2, 3, 4))], ids=["fewer", "more"]
)
def test_a_move_that_only_adds_or_only_removes_is_taken_back(gone: str, when: int, target: tuple[int, ...]) -> None:
    """Whoever it waits for comes back later, and nothing is moved then."""
    plan = (
        at(when, Crash(gone)),
        at(30, Reassign("t-0", target)),
        at(50, CancelReassignment("t-0")),
        at(60, Start(gone)),
    )
    events = play(plan, "3.9", brokers=4, seconds=80)
    assert not of(events, Kind.MOVE_REFUSED)
    assert (states(events)[-1][0], set(states(events)[-1][2])) == (1, {1, 2, 3})  # type: ignore[call-overload]


def test_a_controller_goes_on_when_a_leader_has_written_a_partition_first() -> None:
    """Of the refused transaction only the check of the controller's epoch says that another is the controller.

    KafkaZkClient.retryRequestsUntilConnected: ControllerMovedException for BADVERSION of the check alone.
    """
    setup = cluster(3, TopicSetup("t", ((1, 2, 3), (2, 3, 1))), duration=4 * SECOND)
    simulation = build(setup, version_named("2.1"), 0, Trace())
    simulation.scheduler.run(2 * SECOND)
    controller = zookeeper_controller(simulation.brokers)
    assert controller is not None
    meanwhile = ["t-0"]
    changed: list[PartitionState] = []

    def decide(state: PartitionState) -> tuple[int, int]:
        if state.partition in meanwhile:
            meanwhile.remove(state.partition)
            simulation.zookeeper.znodes[state_path(state.partition)].version += 1
        return state.leader, state.isr

    controller.known.change(("t-0", "t-1"), Change(decide, "a test", "", changed.extend))
    simulation.scheduler.run(4 * SECOND)
    assert controller.active
    assert [(state.partition, state.partition_epoch) for state in changed] == [("t-1", 1), ("t-0", 2)]


@pytest.mark.parametrize("version", ["2.1", "3.5"])
def test_a_restarted_broker_hears_the_controller_only_once_it_has_registered(version: str) -> None:
    """Its znode is there while the session of its earlier run lasts; KafkaServer.startup registers before it serves."""
    plan = (at(10, Crash(node="broker-2")), at(10.1, Start(node="broker-2")), at(11, ExpireSession(node="broker-3")))
    events = play(plan, version)
    assert states(events, "t-1")[0] == (2, 1, (2, 1))
    registered = max(event.time for event in events if "/brokers/ids/2" in event.values)
    obeys = (Kind.BECAME_LEADER, Kind.BECAME_FOLLOWER)
    heard = [e.time for e in events if e.kind in obeys and e.node == "broker-2" and e.time > 10.1 * SECOND]
    assert heard
    assert min(heard) > registered > 11 * SECOND


@pytest.mark.parametrize("first", ["alter_partition", "controlled_shutdown"])
@pytest.mark.parametrize("deposed", [False, True])
def test_requests_to_a_controller_that_is_one_no_more(first: str, deposed: bool) -> None:
    """The one in hand fails. What waits is preempted when the session ends: a proposed ISR gets no answer.

    KafkaController.processAlterPartition, AlterPartitionReceived.preempt, ControlledShutdown.preempt. Who is deposed
    refuses what waits.
    """
    setup = cluster(3, TopicSetup("t", ((1, 2, 3), (2, 3, 1))), duration=90 * SECOND)
    simulation = build(setup, version_named("3.7"), 0, Trace())
    simulation.scheduler.run(2 * SECOND)
    controller = zookeeper_controller(simulation.brokers)
    assert controller is not None
    known, requests = controller.known, controller.requests
    answers: list[tuple[str, str]] = []

    def ask(name: str, told: str) -> None:
        def answered(error: ErrorCode, *_more: object) -> None:
            answers.append((told, error.name))

        if name == "alter_partition":
            requests.alter_partition(known.states["t-0"]._replace(isr=0b11), known.live[1], answered)
        else:
            requests.controlled_shutdown(1, answered)

    ask(first, "in hand")
    ask("alter_partition", "waits")
    ask("controlled_shutdown", "waits, too")
    if deposed:
        simulation.zookeeper.znodes[CONTROLLER_EPOCH].version += 1
    else:
        simulation.zookeeper.expire(controller.broker.name)
    simulation.scheduler.run(90 * SECOND)
    failed = "UNKNOWN_SERVER_ERROR" if first == "alter_partition" else "STALE_CONTROLLER_EPOCH"
    refused = [("waits", "NOT_CONTROLLER"), ("waits, too", "NOT_CONTROLLER")]
    left = refused if deposed else [("waits, too", "STALE_CONTROLLER_EPOCH")]
    assert sorted(answers) == sorted([("in hand", failed), *left])


@pytest.mark.parametrize("version", ["0.11", "2.1", "2.5", "3.9"])
@pytest.mark.parametrize(("lost", "when"), [("create", 0.0012), ("multi", 0.0032)])
def test_a_znode_is_known_as_its_own_when_the_answer_was_lost(lost: str, when: float, version: str) -> None:
    """A broker's registration, and /controller: CheckedEphemeral.getAfterNodeExists, checkControllerAndEpoch."""
    events = play((at(when, Cut("zookeeper", "broker-1", SECOND // 2, one_way=True)),), version, seconds=20)
    assert [e for e in of(events, Kind.DROPPED) if lost in e.values()]
    elected = [(e["node"], e["epoch"]) for e in of(events, Kind.CONTROLLER_ELECTED)]
    assert elected == [("broker-2" if lost == "create" else "broker-1", 1)]
    led = [float(str(e["at"])) for e in of(events, Kind.BECAME_LEADER, partition="t-0")]
    assert led
    assert led[0] < 8  # the request is sent again after a third of the session's timeout and another second


def test_a_broker_joins_once_when_the_session_ends_in_which_it_waits() -> None:
    """It waits for the znode of its earlier run to go; its next session registers by itself."""
    for tenths in range(20):  # some of them between two of its tries, when the answer to a ping tells it
        gone = at(10.2 + tenths / 10, ExpireSession("broker-2"))
        events = play((at(10, Crash("broker-2")), at(10.1, Start("broker-2")), gone), "2.1", seconds=20)
        sent = [e for e in of(events, Kind.MESSAGE, source="broker-2", name="getData") if "/controller" in str(e)]
        assert len([e for e in sent if float(str(e["at"])) > 10.1]) == 1, tenths


def test_a_leader_knows_its_own_write_when_the_controller_has_changed_meanwhile() -> None:
    """ReplicationUtils.checkLeaderAndIsrZkData compares what was sent, the controller epoch of that time with it."""
    asked = When(Kind.ISR_ASKED, "broker-2", {"partition": "t-1"})
    plan = (
        at(5, Pause("broker-3", 10 * SECOND)),
        Step(asked, Cut("zookeeper", "broker-2", SECOND, one_way=True)),
        Step(When(Kind.ISR_ASKED, "broker-2", {"partition": "t-1"}, after=SECOND // 10), ExpireSession("broker-1")),
    )
    events = play(plan, "2.1", seconds=30, replica_lag_time_max_ms=1000)
    assert [e for e in of(events, Kind.DROPPED) if "setData, getData" in e.values()]
    assert [e["epoch"] for e in of(events, Kind.CONTROLLER_ELECTED)] == [1, 2]
    assert len(of(events, Kind.ISR_ASKED, partition="t-1")) == 1
    assert of(events, Kind.ISR_REFUSED, partition="t-1") == []


@pytest.mark.parametrize("gone", [False, True])
def test_a_controller_that_hears_that_its_znode_is_gone_looks_before_it_resigns(gone: bool) -> None:
    """KafkaController.processReelect, maybeResign: the event may be of the znode of a controller before it."""
    setup = cluster(3, TopicSetup("t", ((1, 2, 3), (2, 3, 1))), duration=60 * SECOND)
    simulation = build(setup, version_named("2.5"), 0, trace := Trace())
    simulation.scheduler.run(2 * SECOND)
    controller = zookeeper_controller(simulation.brokers)
    assert controller is not None
    if gone:
        controller.client.request(((Operation("delete", CONTROLLER),),), lambda _results: None)
    else:
        controller.on_watch("deleted", CONTROLLER)
    simulation.scheduler.run(5 * SECOND)
    now = zookeeper_controller(simulation.brokers)
    assert now is not None
    assert (now.active, now.epoch) == (True, 2 if gone else 1)
    resigned = [(event.node, event.values[0]) for event in trace.events if event.kind == Kind.CONTROLLER_RESIGNED]
    assert resigned == ([(controller.broker.name, 1)] if gone else [])


@pytest.mark.parametrize(
    ("version", "restarted", "takes"),
    [("2.1", True, True), ("3.9", True, True), ("3.9", False, False), ("4.1", True, False)],
)
def test_a_new_process_takes_the_first_decision_that_it_is_told(version: str, restarted: bool, takes: bool) -> None:
    """Partition.leaderEpoch is -1 then, in ZooKeeper mode; a KRaft broker has its own copy of the metadata log."""
    setup = cluster(3, TopicSetup("t", ((1, 2, 3),)), duration=60 * SECOND)
    simulation = build(setup, version_named(version), 0, Trace())
    simulation.scheduler.run(2 * SECOND)
    broker = simulation.brokers[2]
    state = broker.replicas["t-0"].state
    broker.apply(state._replace(leader_epoch=7, partition_epoch=9))
    if restarted:
        broker.kill()
        broker.start()
    broker.apply(state._replace(leader_epoch=3, partition_epoch=4))
    assert broker.replicas["t-0"].state.leader_epoch == (3 if takes else 7)
