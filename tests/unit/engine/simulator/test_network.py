"""Connections that break: whose requests fail, and how much later what is under way arrives."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kreplica.engine.fault_plan import BreakConnection
from kreplica.engine.setup import MILLISECOND, SECOND, TopicSetup, cluster
from kreplica.engine.simulator.environment import DISCONNECTED
from kreplica.engine.simulator.plan_player import act
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import version_named


def running(version: str = "2.5") -> Simulation:
    """Two brokers that have run for a second."""
    simulation = build(cluster(2, TopicSetup("t", ((1, 2),))), version_named(version), 1, Trace())
    simulation.scheduler.run(SECOND)
    return simulation


def asks(simulation: Simulation, target: str, timeout: int = 30 * SECOND) -> tuple[list[int], list[str]]:
    """Has broker-1 ask a broker that does not answer: the times at which it is asked, and the failures."""
    arrived, failed = list[int](), list[str]()

    def handler(_reply: Callable[..., object]) -> None:
        arrived.append(simulation.scheduler.now)

    source, other = simulation.node("broker-1"), simulation.node(target)
    simulation.network.call(source, other, "Ask", handler, (), None, failed.append, timeout)
    return arrived, failed


def test_what_a_broker_asks_itself_goes_on_when_its_connection_to_another_breaks() -> None:
    simulation = running()
    itself, another = asks(simulation, "broker-1"), asks(simulation, "broker-2")
    simulation.scheduler.run(SECOND + 10 * MILLISECOND)
    act(simulation, BreakConnection("broker-1", "broker-2"))
    assert (itself, another) == (([SECOND], []), ([another[0][0]], [DISCONNECTED]))


def test_a_request_that_outlives_its_caller_is_held_once() -> None:
    """It waits for two things on the clock: its arrival, and the end of the caller's patience."""
    simulation = running()
    simulation.network.link(simulation.node("broker-1"), simulation.node("broker-2")).delay = 2 * SECOND
    arrived, failed = asks(simulation, "broker-2", timeout=SECOND)
    act(simulation, BreakConnection("broker-1", "broker-2", 3 * SECOND))
    simulation.scheduler.run(10 * SECOND)
    assert failed == [DISCONNECTED]
    assert [time // SECOND for time in arrived] == [1 + 2 + 3]


def test_each_connection_breaks_once_where_both_ends_are_every_node() -> None:
    simulation = running()
    arrived, failed = asks(simulation, "broker-2")
    act(simulation, BreakConnection("*", "*", 3 * SECOND))
    simulation.scheduler.run(10 * SECOND)
    assert failed == [DISCONNECTED]
    assert [time // SECOND for time in arrived] == [1 + 3]


@pytest.mark.parametrize("held", [False, True], ids=["on a slow link", "held back"])
def test_a_request_is_lost_with_the_process_that_it_was_sent_to(held: bool) -> None:
    """The target has started again by the time at which it would arrive: that process has another connection."""
    simulation = running("4.1")
    target = simulation.node("broker-2")
    simulation.network.link(simulation.node("broker-1"), target).delay = 0 if held else 3 * SECOND
    arrived, failed = asks(simulation, "broker-2")
    if held:
        act(simulation, BreakConnection("broker-1", "broker-2", 3 * SECOND))
    target.kill()
    target.start()
    simulation.scheduler.run(3 * SECOND)
    assert failed == ([DISCONNECTED] if held else [])
    simulation.scheduler.run(10 * SECOND)
    assert (arrived, failed) == ([], [DISCONNECTED])


def test_a_request_sent_while_its_target_was_down_reaches_the_next_process() -> None:
    """Whether a connection is refused is known once the request for it arrives."""
    simulation = running("4.1")
    target = simulation.node("broker-2")
    target.kill()
    arrived, failed = asks(simulation, "broker-2")
    target.start()
    simulation.scheduler.run(10 * SECOND)
    assert (len(arrived), failed) == (1, [])
