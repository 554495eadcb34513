"""Random failures of brokers: where and when they strike, and that every broker comes back."""

from __future__ import annotations

from random import Random

import pytest

from kreplica.engine.fault_plan import AnyAction, At, Crash, Cut, Pause, Start, Step, Stop
from kreplica.engine.fuzzing.broker_failures import LONGEST, Moment, broker_failures
from kreplica.engine.setup import SECOND

MOMENTS = (Moment(10 * SECOND, 12 * SECOND, (1, 2)), Moment(60 * SECOND, 61 * SECOND, (3,)))
PLANS = [broker_failures(MOMENTS, (1, 2, 3, 4), 1, Random(seed)) for seed in range(400)]


def test_the_same_chance_gives_the_same_failures() -> None:
    assert PLANS[7] == broker_failures(MOMENTS, (1, 2, 3, 4), 1, Random(7))
    assert len(set(PLANS)) > 390


@pytest.mark.parametrize("failures", [1, 3])
def test_every_broker_is_back_in_time(failures: int) -> None:
    last = 61 * SECOND + SECOND + LONGEST
    for seed in range(200):
        down: dict[str, int] = {}
        for step in broker_failures(MOMENTS, (1, 2, 3, 4), failures, Random(seed)):
            assert isinstance(step.when, At)
            time, action = step.when.time, step.do
            if isinstance(action, Pause | Cut):
                assert time + action.duration <= last
            elif isinstance(action, Start):
                assert time <= last
                down.pop(action.node, None)
            else:
                assert isinstance(action, Crash | Stop)
                down[action.node] = time
        assert not down, "what is ended last is started after that"


def test_a_broker_that_stops_cleanly_is_started_once_it_can_have_stopped() -> None:
    """A start while it still hands its leaderships over starts nothing, and it would stay away."""
    stopping = [plan for plan in PLANS if isinstance(plan[0].do, Stop)]
    for plan in stopping:
        begin, *starts = map(_time, plan)
        assert min(starts) >= begin + 10 * SECOND
        assert max(starts) == begin + LONGEST
    assert len(stopping) > len(PLANS) // 8


def _time(step: Step) -> int:
    assert isinstance(step.when, At)
    return step.when.time


def _node(action: AnyAction) -> str:
    assert isinstance(action, Crash | Stop | Pause | Cut)
    return action.source if isinstance(action, Cut) else action.node


def test_they_strike_around_a_moment_and_mostly_its_own_brokers() -> None:
    struck = [
        (plan[0].when.time, plan[0].do.node if hasattr(plan[0].do, "node") else plan[0].do.source) for plan in PLANS
    ]
    near = [9 * SECOND <= time <= 13 * SECOND or 59 * SECOND <= time <= 62 * SECOND for time, _ in struck]
    assert all(near)
    soon = sum(time - moment.begin in range(SECOND // 10) for time, _ in struck for moment in MOMENTS)
    assert soon > len(PLANS) // 4, "when a copy has just begun, failures do most"
    own = [node in (("broker-3",) if time > 30 * SECOND else ("broker-1", "broker-2")) for time, node in struck]
    assert sum(own) > len(PLANS) * 6 // 10
    assert {node for _, node in struck} == {f"broker-{number}" for number in (1, 2, 3, 4)}


def test_all_kinds_come_short_and_longer_than_any_session() -> None:
    lengths = [step.do.duration for plan in PLANS for step in plan if isinstance(step.do, Pause | Cut)]
    assert min(lengths) < SECOND // 100
    assert sum(length > 18 * SECOND for length in lengths) > len(lengths) // 4
    assert {type(plan[0].do) for plan in PLANS} == {Crash, Stop, Pause, Cut}
