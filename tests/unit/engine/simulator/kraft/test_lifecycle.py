"""Messages of a broker to a KRaft controller, and their times: BrokerLifecycleManager's waits, seen in whole runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from kreplica.engine.fault_plan import Action, At, Crash, Cut, Slow, Step, Stop
from kreplica.engine.setup import MILLISECOND, SECOND, TopicSetup, cluster
from kreplica.engine.simulator.kraft.brokers import KraftBrokers
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Kind, Trace
from kreplica.engine.versions.supported import version_named

Heartbeats = list[tuple[float, int, bool]]
"""Seconds at which the controller took one, from which broker, whether that one wants to shut down."""


@pytest.fixture
def heartbeats(monkeypatch: pytest.MonkeyPatch) -> Heartbeats:
    heard: Heartbeats = []
    take: Callable[..., None] = KraftBrokers.heartbeat

    def noted(self: KraftBrokers, broker: int, epoch: int, offset: int, fence: bool, stop: bool, reply: Any) -> None:
        heard.append((self.controller.cluster.clock.now / SECOND, broker, stop))
        take(self, broker, epoch, offset, fence, stop, reply)

    monkeypatch.setattr(KraftBrokers, "heartbeat", noted)
    return heard


def play(*plan: tuple[float, Action], replicas: tuple[int, ...] = (2, 1, 3), seconds: int = 40) -> Trace:
    setup = cluster(3, TopicSetup("t", (replicas,)), duration=seconds * SECOND)
    trace = Trace()
    simulation = build(setup, version_named("4.1"), 1, trace)
    play_plan(simulation, tuple(Step(At(int(second * SECOND)), action) for second, action in plan))
    return trace


def stopped(trace: Trace, broker: str = "broker-2") -> float:
    (time,) = [one.time / SECOND for one in trace.events if one.kind == Kind.STOPPED and one.node == broker]
    return time


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


def test_a_broker_that_runs_is_heard_of_every_two_seconds(heartbeats: Heartbeats) -> None:
    """broker.heartbeat.interval.ms, from one answer to the next heartbeat."""
    play()
    times = [time for time, broker, _ in heartbeats if broker == 1]
    assert times[0] < 0.5, "the first one follows the registration at once"
    assert all(2 <= gap < 2.2 for gap in gaps(times)[1:])


def test_a_leader_that_shuts_down_asks_at_once_again_soon_and_then_every_two_seconds(heartbeats: Heartbeats) -> None:
    """Others say only by their heartbeats that they know of the new leaders: it is let go by its third one."""
    end = stopped(play((10.5, Stop("broker-2"))))
    times = [time for time, broker, stops in heartbeats if broker == 2 and stops]
    assert len(times) == 3
    assert times[0] - 10.5 < 0.1
    assert 0.05 <= gaps(times)[0] < 0.25
    assert 2 <= gaps(times)[1] < 2.2
    assert 12.5 < end < 13


def test_who_leads_nothing_is_let_go_at_once(heartbeats: Heartbeats) -> None:
    end = stopped(play((10.5, Stop("broker-2")), replicas=(1, 2, 3)))
    assert end < 10.7
    assert sum(stops for _, _, stops in heartbeats) == 1


def test_who_cannot_ask_a_controller_goes_after_five_minutes() -> None:
    """BrokerServer.shutdown."""
    gone = tuple((10.0, Crash(f"controller-{number}")) for number in (3001, 3002, 3003))
    trace = play(*gone, (10.5, Stop("broker-2")), seconds=400)
    assert stopped(trace) == pytest.approx(310.5)


def test_a_wish_that_meets_an_answer_under_way_is_told_right_after_it(heartbeats: Heartbeats) -> None:
    """That answer counts as the first one after the wish: what follows it is told to wait for the whole interval."""
    slow_answers = (5.0, Slow("controller-3001", "broker-2", 300 * MILLISECOND, 60 * SECOND, one_way=True))
    play(slow_answers)
    taken = next(time for time, broker, _ in heartbeats if broker == 2 and time > 10)
    heartbeats.clear()
    play(slow_answers, (taken + 0.1, Stop("broker-2")))
    first, second = [time for time, broker, stops in heartbeats if broker == 2 and stops][:2]
    assert 0.3 <= first - taken < 0.31, "not 50 ms after it"
    assert second - first > 2


def test_brokers_whose_controller_is_deposed_are_told_so_and_keep_their_sessions() -> None:
    """QuorumController.renounce: heartbeats that wait for a commit are answered (ControllerPurgatory.failAll)."""
    cuts = [(10.0, Cut("controller-3001", f"controller-{other}", 60 * SECOND)) for other in (3002, 3003)]
    trace = play(*cuts, seconds=60)
    first, second = (one.node for one in trace.events if one.kind == Kind.CONTROLLER_ELECTED)
    assert (first, second in ("controller-3002", "controller-3003")) == ("controller-3001", True)
    assert [one for one in trace.events if one.kind == Kind.BROKER_FENCED] == []
