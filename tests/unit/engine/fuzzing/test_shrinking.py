"""Shrinking against failures whose smallest plan is known, and random plans against what they promise."""

from __future__ import annotations

from random import Random

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine import observe
from kreplica.engine.fault_plan import (
    At,
    Crash,
    Cut,
    Pause,
    Plan,
    Start,
    Step,
    When,
    in_order,
    plan_from_json,
    plan_to_json,
)
from kreplica.engine.fuzzing.plans import DEFAULT_PROFILE, FaultKind, Profile, random_plan
from kreplica.engine.fuzzing.setups import random_run
from kreplica.engine.fuzzing.shrinking import shrink
from kreplica.engine.setup import SECOND, TopicSetup, cluster
from kreplica.engine.versions.supported import LATEST, version_named

SETUP = cluster(3, TopicSetup("t", ((1, 2, 3),)))


def at(time: int, action: Crash | Start | Pause | Cut) -> Step:
    return Step(At(time=time), action)


def test_only_the_steps_that_matter_stay() -> None:
    plan = tuple(at(number * SECOND, Crash(f"broker-{number}")) for number in range(1, 20))
    needed = {"broker-4", "broker-17"}
    assert [step.do.node for step in shrink(plan, lambda p: needed <= {step.do.node for step in p})] == [  # type: ignore[union-attr]
        "broker-4",
        "broker-17",
    ]


def test_the_steps_of_a_smaller_plan_are_by_time() -> None:
    first, later = Step(When(kind="appended"), Crash("broker-1")), at(5 * SECOND, Crash("broker-2"))
    plan = (at(9 * SECOND, Crash("broker-3")), later, first)
    by_time = (first, later, at(9 * SECOND, Crash("broker-3")))
    assert shrink(plan, lambda candidate: [step.when for step in candidate] == [step.when for step in plan]) == by_time


@examples(0.08)
@given(st.integers(0, 2**32))
def test_a_plan_in_order_is_played_as_it_was(seed: int) -> None:
    setup, plan = random_run(seed, LATEST)
    chance = Random(seed)
    timed = [step for step in plan if isinstance(step.when, At)]
    chance.shuffle(timed)
    mixed = (*timed, *(step for step in plan if isinstance(step.when, When)))
    first, again = (observe(setup, one, LATEST, seed, keep=False)[0] for one in (mixed, in_order(mixed)))
    assert first.trace_hash == again.trace_hash


def test_faults_get_short_and_times_round() -> None:
    plan = (at(12_345_678, Pause("broker-1", 20 * SECOND)),)

    def fails(candidate: Plan) -> bool:
        return any(isinstance(step.do, Pause) and step.do.duration >= 3 * SECOND for step in candidate)

    (step,) = shrink(plan, fails)
    assert step.when == At(time=10 * SECOND)
    assert isinstance(step.do, Pause)
    assert 3 * SECOND <= step.do.duration < 6 * SECOND


def test_a_trigger_comes_as_early_as_can_be() -> None:
    plan = (Step(When(kind="appended", count=24, after=1000), Crash("broker-1")),)
    (step,) = shrink(plan, lambda candidate: len(candidate) == 1)
    assert step.when == When(kind="appended", count=1, after=0)


def test_plays_are_bounded() -> None:
    played = []
    plan = tuple(at(number, Crash(f"broker-{number}")) for number in range(64))
    shrink(plan, lambda candidate: played.append(candidate) is None and len(candidate) % 2 == 0, most_runs=10)
    assert len(played) <= 10


@given(st.integers(0, 2**32), st.sampled_from((LATEST, version_named("0.11"))))
def test_random_plans_heal_and_are_values(seed: int, version: object) -> None:
    plan = random_plan(SETUP, version, DEFAULT_PROFILE, Random(seed))  # type: ignore[arg-type]
    assert plan == random_plan(SETUP, version, DEFAULT_PROFILE, Random(seed))  # type: ignore[arg-type]
    assert plan_from_json(plan_to_json(plan), "plan.json") == plan
    quiet = SETUP.duration // 2
    for step in plan:
        if isinstance(step.when, At):
            length = getattr(step.do, "duration", 0)
            assert step.when.time + length <= SETUP.duration - quiet // 10
    down = {step.do.node for step in plan if isinstance(step.do, Crash) and not step.do.node.startswith("leader of")}
    assert down <= {step.do.node for step in plan if isinstance(step.do, Start)}


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_is_made(kind: FaultKind) -> None:
    plan = random_plan(SETUP, LATEST, Profile((kind,)), Random(1))
    assert plan
