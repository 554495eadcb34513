"""A running world is saved and goes on again: every continuation is the run that was never interrupted."""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import Plan
from kreplica.engine.fuzzing.setups import random_run
from kreplica.engine.settings import Value
from kreplica.engine.setup import SECOND, ConsumerSetup, Setup, TopicSetup, cluster
from kreplica.engine.simulator.plan_player import PlanPlayer
from kreplica.engine.simulator.saved_world import SavedWorld
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Event, Trace, TraceHash
from kreplica.engine.versions.supported import Version, version_named
from kreplica.scenarios import scenario_named

SCENARIOS: list[tuple[str, str, dict[str, Value]]] = [
    ("isr-flap", "0.9", {}),
    ("election-by-watching", "2.5", {"leader.election": "watching"}),
    ("reassignment-crash", "2.5", {}),
    ("elr-overrun", "4.1", {}),
    ("zombie-transaction", "4.0", {}),
    ("exactly-once-processing", "2.5", {}),
    ("consumer-dup-on-rebalance", "4.1", {"group.protocol": "classic"}),
    ("consumer-dup-on-rebalance", "4.1", {"group.protocol": "consumer"}),
]
"""Both controllers and none, a move of replicas, transactions of both kinds, groups of both protocols."""


def armed(setup: Setup, plan: Plan, version: Version) -> Simulation:
    world = build(setup, version, 0, Trace())
    PlanPlayer(world, plan).arm()
    return world


def events_of(world: Simulation) -> list[Event]:
    """What has happened in a world when its time is over."""
    world.scheduler.run(world.setup.duration)
    return world.trace.events


def check(setup: Setup, plan: Plan, version: Version) -> None:
    whole = events_of(armed(setup, plan, version))
    world = armed(setup, plan, version)
    for tenth in (2, 6):
        world.scheduler.run(setup.duration * tenth // 10)
        so_far = len(world.trace.events)
        saved = SavedWorld(world)
        first = saved.restore()
        for node in first.nodes.values():
            node.kill()
        assert events_of(first) != whole
        assert len(world.trace.events) == so_far
        assert events_of(saved.restore()) == whole
        assert events_of(saved.restore()) == whole
    assert events_of(world) == whole


@pytest.mark.one_python
@pytest.mark.parametrize(("name", "version", "settings"), SCENARIOS, ids=str)
def test_two_continuations_of_a_scenario_are_the_same_run(name: str, version: str, settings: dict[str, Value]) -> None:
    scenario = scenario_named(name)
    check(scenario.setup.with_settings(settings), scenario.plan, version_named(version))


@pytest.mark.parametrize(
    "version", [*(pytest.param(name, marks=pytest.mark.one_python) for name in ("0.11", "2.7", "3.9-kraft")), "4.1"]
)
def test_two_continuations_of_a_random_run_are_the_same_run(version: str) -> None:
    known = version_named(version)
    check(*random_run(3, known), known)


def test_a_method_of_a_base_class_that_is_still_to_be_called_is_called() -> None:
    """A consumer that has left its group ends as any process does, one moment later."""
    topics = (TopicSetup("t", ((1,),)), TopicSetup("__consumer_offsets", ((1,),)))
    leaves = ConsumerSetup("consumer", ("t",), stop=5 * SECOND, settings={"group.id": "g", "enable.auto.commit": False})
    world = build(cluster(1, *topics, clients=(leaves,), duration=6 * SECOND), version_named("4.1"), 0, Trace())
    world.scheduler.run(leaves.stop)
    again = SavedWorld(world).restore()
    assert world.nodes["consumer"].up
    assert events_of(again) == events_of(world)
    assert not again.nodes["consumer"].up


def test_a_hash_of_the_trace_goes_on_in_each_continuation() -> None:
    scenario = scenario_named("isr-flap")
    world = armed(scenario.setup, scenario.plan, version_named("0.9"))
    world.scheduler.run(scenario.setup.duration // 2)
    hashed = TraceHash()
    world.trace.subscribe(hashed)
    world.hashed = hashed  # type: ignore[attr-defined]  # so that it is found in a continuation
    saved, before = SavedWorld(world), hashed.hexdigest()
    continued = [saved.restore(), saved.restore()]
    for one in continued:
        events_of(one)
    assert hashed.hexdigest() == before
    events_of(world)
    assert [one.hashed.hexdigest() for one in continued] == [hashed.hexdigest()] * 2  # type: ignore[attr-defined]
