"""The clock, processes and links of the simulated world: order, loss, death and standstill."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.setup import TopicSetup, cluster
from kreplica.engine.simulator.environment import DISCONNECTED, TIMED_OUT
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.scheduler import RandomStreams, Scheduler
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.trace import Kind, Trace
from kreplica.engine.versions.supported import LATEST

LATENCY = 500
TIMEOUT = 10_000


class World:
    """Two processes that are up, and what the caller heard: (time, answer or reason)."""

    def __init__(self, jitter: int = 0) -> None:
        setup = cluster(1, TopicSetup("t", ((1,),)), settings={"latency.us": LATENCY, "jitter.us": jitter})
        self.trace = Trace()
        self.simulation = Simulation(setup, LATEST, 7, self.trace)
        self.one, self.other = Node(self.simulation.cluster, "one"), Node(self.simulation.cluster, "other")
        self.one.start()
        self.other.start()
        self.heard: list[tuple[int, Any]] = []
        self.handled: list[int] = []

    @property
    def now(self) -> int:
        return self.simulation.scheduler.now

    def ask(self, number: int, answers: bool = True) -> None:
        def handle(value: int, reply: Any) -> None:
            self.handled.append(value)
            if answers:
                reply(value)

        self.simulation.network.call(
            self.one,
            self.other,
            "Ask",
            handle,
            (number,),
            lambda value: self.heard.append((self.now, value)),
            lambda reason: self.heard.append((self.now, reason)),
            TIMEOUT,
        )

    def run(self, until: int = 10**9) -> list[tuple[int, Any]]:
        self.simulation.scheduler.run(until)
        return self.heard


@given(st.lists(st.integers(0, 20), max_size=30))
def test_calls_come_in_order_of_time_and_then_as_they_were_made(times: list[int]) -> None:
    scheduler, done = Scheduler(), []
    for place, time in enumerate(times):
        scheduler.at(time, done.append, (time, place))
    scheduler.run(10)
    assert done == sorted((time, place) for place, time in enumerate(times) if time <= 10)
    assert (scheduler.now, scheduler.done) == (10, len(done))
    scheduler.at(3, done.append, "late")  # what is past happens now
    scheduler.run(10)
    assert done[-1] == "late"


def test_streams_depend_on_seed_and_name_alone() -> None:
    """Taking one stream away, or drawing from another, reshuffles nothing."""
    both, alone = RandomStreams(1), RandomStreams(1)
    both.stream("network").random()
    assert [both.stream("disk").random() for _ in range(3)] == [alone.stream("disk").random() for _ in range(3)]
    assert RandomStreams(2).stream("disk").random() != RandomStreams(1).stream("disk").random()


def test_an_answer_comes_one_round_trip_later() -> None:
    world = World()
    world.ask(1)
    assert world.run() == [(2 * LATENCY, 1)]


@given(st.integers(1, 2_000))
def test_a_link_keeps_its_order_whatever_the_jitter(jitter: int) -> None:
    world = World(jitter)
    for number in range(20):
        world.ask(number)
    world.run()
    assert world.handled == list(range(20))
    assert [value for _, value in world.heard] == list(range(20))


def test_a_process_that_is_down_breaks_the_connection() -> None:
    world = World()
    world.other.kill()
    world.ask(1)
    assert world.run() == [(2 * LATENCY, DISCONNECTED)]


def test_whoever_waits_hears_at_once_that_the_other_died() -> None:
    world = World()
    world.ask(1, answers=False)
    world.simulation.scheduler.at(3_000, world.other.kill)
    assert world.run() == [(3_000 + LATENCY, DISCONNECTED)]


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_cut_link_is_silence_until_the_timeout(way: str) -> None:
    world = World()
    ends = (world.one, world.other) if way == "there" else (world.other, world.one)
    world.simulation.network.link(*ends).cuts += 1
    world.ask(1)
    assert world.run() == [(TIMEOUT, TIMED_OUT)]
    assert world.handled == ([] if way == "there" else [1])
    assert [event.kind for event in world.trace.events].count(Kind.DROPPED) == 1


def test_who_stands_still_answers_when_it_goes_on_and_the_caller_may_have_given_up() -> None:
    world = World()
    world.other.pause()
    world.ask(1)
    world.simulation.scheduler.at(TIMEOUT + 5_000, world.other.resume)
    assert world.run() == [(TIMEOUT, TIMED_OUT)]
    assert world.handled == [1]  # the request is carried out all the same: the caller cannot know
    world.other.pause()
    world.ask(2)
    begun = world.now
    world.simulation.scheduler.at(begun + 2_000, world.other.resume)
    assert world.run(begun + TIMEOUT)[-1] == (begun + 2_000 + LATENCY, 2)


def test_timers_die_with_their_process_and_wait_while_it_stands_still() -> None:
    world, fired = World(), []
    world.one.after(1_000, fired.append, "before its end")
    world.other.after(1_000, fired.append, "late")
    world.one.kill()
    world.one.start()
    world.other.pause()
    world.run(2_000)
    assert fired == []
    world.other.resume()
    world.run(3_000)
    assert fired == ["late"]


def test_answers_to_a_former_life_come_to_nothing() -> None:
    world = World()
    world.ask(1)
    world.simulation.scheduler.at(LATENCY + 1, world.one.kill)
    world.simulation.scheduler.at(LATENCY + 2, world.one.start)
    assert world.run() == []
    assert world.handled == [1]
