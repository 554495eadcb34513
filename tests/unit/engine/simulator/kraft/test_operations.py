"""Reassignments by a KRaft controller of partitions that lost replicas; a leader that is told what it knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kreplica.engine.fault_plan import At, DiskLoss, Start, Step
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.setup import SECOND, PartitionStart, TopicSetup, cluster
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Event, Kind, Trace
from kreplica.engine.versions.supported import version_named


def after_reassigning(target: tuple[int, ...], **lost: int) -> PartitionState:
    """What the controller of three brokers that all run makes of topic t, replicas 1, 2 and 3."""
    setup = cluster(3, TopicSetup("t", ((1, 2, 3),)), duration=5 * SECOND)
    simulation = build(setup, version_named("4.1"), 1, Trace())
    play_plan(simulation, ())
    controller = simulation.controller_operations()
    assert isinstance(controller, KraftController)
    partitions = controller.partitions
    partitions["t-0"] = partitions["t-0"]._replace(**lost)
    controller.reassign("t-0", target)
    return partitions["t-0"]


def test_who_led_last_is_not_forgotten() -> None:
    """PartitionChangeBuilder.canElectLastKnownLeader: nobody is in sync, nobody eligible."""
    state = after_reassigning((3, 2), leader=NO_LEADER, isr=0, elr=0, last_known_elr=0b010)
    assert state.leader_id == 2
    assert state.ids(state.isr) == (2,)
    assert state.last_known_elr == 0


def test_an_eligible_replica_that_is_elected_is_the_whole_isr() -> None:
    """PartitionChangeBuilder.tryElection."""
    state = after_reassigning((3, 1), leader=NO_LEADER, isr=0, elr=0b100, last_known_elr=0b001)
    assert state.leader_id == 3
    assert state.ids(state.isr) == (3,)
    assert state.elr == state.last_known_elr == 0


def test_eligible_replicas_are_void_once_enough_are_in_sync() -> None:
    """PartitionChangeBuilder.maybePopulateTargetElr."""
    state = after_reassigning((3, 2, 1), elr=0b100, isr=0b011)
    assert state.elr == 0


def controller_of(version: str, replicas: tuple[int, ...], min_isr: int = 1) -> tuple[KraftController, Trace]:
    """The controller of four brokers of which the last is down, and topic t."""
    setup = cluster(4, TopicSetup("t", (replicas,), {"min.insync.replicas": min_isr}), duration=5 * SECOND)
    simulation = build(replace(setup, down=("broker-4",)), version_named(version), 1, trace := Trace())
    play_plan(simulation, ())
    simulation.scheduler.run(2 * SECOND)
    controller = simulation.controller_operations()
    assert isinstance(controller, KraftController)
    return controller, trace


@pytest.mark.parametrize(
    ("version", "ends"),
    [("3.3-kraft", False), ("3.7-kraft", False), ("3.8-kraft", True), ("4.2", True), ("4.3", False)],
)
def test_a_move_asked_back_in_flight_never_ends_where_all_that_is_added_is_waited_for(version: str, ends: bool) -> None:
    """ReplicationControlManager.changePartitionReassignment keeps what the first move was adding: 4.3.1 was seen so."""
    controller, _ = controller_of(version, (1, 2, 3))
    controller.reassign("t-0", (4, 2, 3))
    controller.reassign("t-0", (1, 2, 3))
    state = controller.partitions["t-0"]
    stuck = (1, 2, 3, 4), (4,), (4,)
    assert (state.replicas, state.adding, state.removing) == (((1, 2, 3), (), ()) if ends else stuck)
    assert state.ids(state.isr) == (1, 2, 3)
    controller.cancel_reassignment("t-0")
    state = controller.partitions["t-0"]
    assert (state.replicas, state.adding, state.removing) == ((1, 2, 3), (), ())


def test_a_single_replica_that_moves_under_min_isr_stays_in_the_elr() -> None:
    """ReplicationControlManager.getTopicEffectiveMinIsr: two, as long as the topic's first partition has two."""
    controller, trace = controller_of("4.3", (1,), min_isr=2)
    controller.reassign("t-0", (2,))
    moving = controller.partitions["t-0"]
    controller._altered(moving, moving.everybody, "both are in sync")
    state = controller.partitions["t-0"]
    assert (state.replicas, state.ids(state.isr), state.former) == ((2,), (2,), (1,))
    changes = [event.values for event in trace.events if event.kind == Kind.PARTITION_CHANGED]
    assert changes[-1][4] == (), "it cannot lead"
    assert changes[-1][6] == "the reassignment is complete; its ELR still names 1, without a replica there"
    controller.broker_leaves(1, "it was not shut down cleanly", unclean_shutdown=True)
    assert controller.partitions["t-0"].former == ()


def test_a_run_may_begin_with_an_elr_that_names_no_replica() -> None:
    start = PartitionStart(NO_LEADER, (), (4, 2))
    state = PartitionState.at_start("t-0", (1, 2), start)
    assert (state.former, state.elr, state.ids(state.elr)) == ((4,), 0b110, (2,))


def test_whoever_lost_its_replica_keeps_the_last_leader_from_being_elected() -> None:
    """PartitionChangeBuilder.canElectLastKnownLeader wants an empty ELR: brokers 1 and 3 are back, nobody leads."""
    controller, _ = controller_of("4.3", (1, 3), min_isr=2)
    partitions = controller.partitions
    left = partitions["t-0"]._replace(leader=NO_LEADER, isr=0, elr=0b100, last_known_elr=0b01, former=(2,))
    controller.write_partition(left, "", "")
    controller.broker_is_back(1)
    assert partitions["t-0"].leader == NO_LEADER
    controller.broker_leaves(2, "it was not shut down cleanly", unclean_shutdown=True)
    assert partitions["t-0"].leader_id == 1


def with_new_disk(version: str, seed: int, after: int = 12) -> list[tuple[object, ...]]:
    """Changes of a partition whose only replica is on broker 1, which loses its disk and is back, seconds later."""
    setup = cluster(2, TopicSetup("t", ((1,),)), duration=25 * SECOND)
    simulation = build(setup, version_named(version), seed, trace := Trace())
    back = Step(At((2 + after) * SECOND), Start("broker-1"))
    play_plan(simulation, (Step(At(2 * SECOND), DiskLoss("broker-1")), back))
    simulation.scheduler.run(25 * SECOND)
    return [event.values for event in trace.events if event.kind == Kind.PARTITION_CHANGED]


ASSIGNED, LEFT = "broker-1 says which directory its replica is in", "it has not registered the directory of its replica"


def test_before_3_7_no_broker_says_where_its_replicas_are() -> None:
    """KIP-858."""
    changes = with_new_disk("3.6-kraft", 1)
    assert ASSIGNED not in [one[6] for one in changes]
    assert changes[-1][1] == 1, "it leads again"


@pytest.mark.parametrize("version", ["3.7-kraft", "4.3"])
def test_a_broker_with_a_new_disk_is_unfenced_before_it_says_so_or_after(version: str) -> None:
    """org.apache.kafka.server.AssignmentsManager, KIP-858: it leads where its directory is known as it is unfenced."""
    leaders = set()
    for seed in range(1, 9):
        changes = with_new_disk(version, seed)
        (told,) = [number for number, one in enumerate(changes) if one[6] == ASSIGNED]
        assert changes[told][5] == changes[told - 1][5] + 1, "the partition is looked at"
        assert changes[told][1] == NO_LEADER, "by this it does not lead"
        leaders.add(changes[-1][1])
    assert leaders == {1, NO_LEADER}


@pytest.mark.parametrize("version", ["3.7-kraft", "4.3"])
def test_one_that_is_back_within_its_session_says_so_in_the_name_of_its_former_life(version: str) -> None:
    """handleAssignReplicasToDirs, offline-dir-assignment: it leaves the ISR, and leads when it is registered anew."""
    changes = with_new_disk(version, 1, after=1)
    whys = [str(one[6]) for one in changes]
    assert ASSIGNED in whys
    left = whys.index(f"broker-1 leaves: {LEFT}")
    assert whys[left - 1] == ASSIGNED
    assert [changes[left][1], changes[-1][1]] == [NO_LEADER, 1]


@pytest.mark.parametrize("forgets", [True, False], ids=["Kafka", "mended"])
def test_a_leader_that_is_told_what_it_knows_forgets_the_isr_that_it_waits_for(forgets: bool) -> None:
    """Partition.makeLeader and updateAssignmentAndIsr, at an equal partition epoch: the state is committed again."""
    setup = cluster(3, TopicSetup("t", ((1, 2, 3),), starts={0: PartitionStart(1, (1, 2))}), duration=5 * SECOND)
    version = replace(version_named("4.0"), known_state_ends_pending=forgets)
    simulation = build(replace(setup, down=("broker-3",)), version, 1, trace := Trace())
    play_plan(simulation, ())
    simulation.scheduler.run(2 * SECOND)
    leader = simulation.brokers[1]
    replica = leader.replicas["t-0"]
    leadership = replica.leadership
    assert leadership is not None
    leadership.pending = 0b111
    assert leadership.maximal() == 0b111
    leader.apply(replica.state)
    assert leadership.maximal() == (0b011 if forgets else 0b111)
    forgotten = [event for event in trace.events if event.kind == Kind.ISR_FORGOTTEN]
    expected = Event(2 * SECOND, Kind.ISR_FORGOTTEN, "broker-1", ("t-0", (1, 2, 3), (1, 2)))
    assert forgotten == ([expected] if forgets else [])
    leader.apply(replica.state._replace(isr=0b111, partition_epoch=replica.state.partition_epoch + 1))
    assert leadership.maximal() == leadership.isr == 0b111


@pytest.mark.parametrize("again", [False, True])
def test_a_leader_may_ask_for_another_isr_once_its_first_request_is_answered(again: bool) -> None:
    """Partition.submitAlterPartition, DefaultAlterPartitionManager.submit: the answer to the first is ignored then.

    The leader has learnt of another state meanwhile. It asks again at its next look (maybeShrinkIsr).
    """
    setup = cluster(3, TopicSetup("t", ((1, 2, 3),), starts={0: PartitionStart(1, (1, 2))}), duration=5 * SECOND)
    simulation = build(replace(setup, down=("broker-3",)), version_named("4.0"), 1, trace := Trace())
    play_plan(simulation, ())
    leader = simulation.brokers[1]
    leadership = leader.replicas["t-0"].leadership
    assert leadership is not None

    def ask(isr: int) -> None:
        leadership.pending = isr
        leader.ask_isr("t-0")

    ask(0b111)  # the controller refuses it: broker-3 is fenced
    leadership.committed(leader.replicas["t-0"].state)
    if again:
        ask(0b001)
        assert leadership.maximal() == 0b011
    simulation.scheduler.run(6 * SECOND)
    refused = [event.values[1:3] for event in trace.events if event.kind == Kind.ISR_REFUSED]
    assert refused == ([((1,), "OPERATION_NOT_ATTEMPTED")] if again else [])
    ask(0b001)
    simulation.scheduler.run(7 * SECOND)
    changed = [event.values[3] for event in trace.events if event.kind == Kind.PARTITION_CHANGED]
    assert changed[-2:] == [(1,), (1, 2)]  # broker-2, which fetches, joins again
