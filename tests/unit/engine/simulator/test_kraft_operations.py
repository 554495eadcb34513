"""Reassignments by a KRaft controller of partitions that lost replicas."""

from __future__ import annotations

from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.setup import SECOND, TopicSetup, cluster
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Trace
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
