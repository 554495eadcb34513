"""Counterexamples of the models, played as faults: what they lose, and in which release that ends.

Each has the length of the shortest that TLC finds. The releases at which a loss ends are those in which the ticket or
KIP was released.
"""

from __future__ import annotations

import pytest

from kreplica.engine.checkers.outcome import Outcome
from kreplica.engine.explorer.model import Model, Taken
from kreplica.engine.explorer.models.one_partition.models import model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds
from kreplica.engine.plans.file import PlanFile, plan_file_from_json, plan_file_to_json
from kreplica.scenarios.counterexamples.one_partition import FLAWED, replay_of_one_partition
from kreplica.scenarios.library.truncation.counterexample import SCENARIO
from kreplica.scenarios.playing import play_file

Choices = list[tuple[str, tuple[int, ...]]]

USUAL = Bounds(3, 2, 2, 2)

HEARS_LATE: Choices = [
    ("elect-leader", (0,)),
    ("remove-from-isr", (1,)),
    ("become-leader", (1,)),
    ("write", (0,)),
    ("become-follower", (2, 0)),
    ("fetch", (2,)),
    ("raise-high-watermark", (0,)),
    ("become-follower", (2, 1)),
]
"""Truncation to the high watermark: broker 3 hears of the second leader epoch when m1 is committed."""

FOLLOWS_OLD_LEADER: Choices = [
    ("elect-leader", (0,)),
    ("elect-leader", (1,)),
    ("elect-leader", (0,)),
    ("become-leader", (2,)),
    ("shrink-isr", (0, 1)),
    ("write", (0,)),
    ("become-follower", (2, 0)),
    ("fetch", (2,)),
    ("raise-high-watermark", (0,)),
    ("become-follower", (2, 1)),
]
"""KIP-101 and KIP-279 without fencing: broker 3 hears late that broker 2 led in between, and cuts by its log."""

DIVERGES: Choices = [
    ("elect-leader", (0,)),
    ("elect-leader", (1,)),
    ("elect-leader", (0,)),
    ("become-leader", (0,)),
    ("become-leader", (1,)),
    ("write", (0,)),
    ("become-leader", (2,)),
    ("write", (0,)),
    ("write", (1,)),
    ("become-follower", (1, 2)),
]
"""Fenced, but with the truncation of KIP-101: broker 1 has records of epochs 0 and 2, broker 2 one of epoch 1."""

CUTS_BEFORE_LEADER: Choices = [
    ("elect-leader", (0,)),
    ("elect-leader", (1,)),
    ("elect-leader", (0,)),
    ("become-leader", (0,)),
    ("write", (0,)),
    ("become-follower", (2, 0)),
    ("fetch", (2,)),
    ("become-follower", (2, 2)),
    ("become-follower", (0, 1)),
    ("become-leader", (2,)),
    ("shrink-isr", (0, 1)),
    ("write", (0,)),
    ("raise-high-watermark", (0,)),
]
"""Truncation unfenced: broker 3 compares its log with broker 1's before that is the leader of the epoch."""

JOINS_TOO_EARLY: Choices = [
    ("elect-leader", (0,)),
    ("remove-from-isr", (1,)),
    ("elect-leader", (2,)),
    ("become-leader", (1,)),
    ("write", (0,)),
    ("become-follower", (2, 1)),
    ("fetch", (2,)),
    ("raise-high-watermark", (0,)),
    ("become-leader", (2,)),
    ("become-follower", (1, 2)),
    ("expand-isr", (2, 1)),
]
"""A new leader with an old high watermark takes in broker 2, which lacks m1."""

COUNTED_UNFENCED: Choices = [
    ("elect-leader", (0,)),
    ("elect-leader", (1,)),
    ("elect-leader", (0,)),
    ("become-leader", (0,)),
    ("become-leader", (1,)),
    ("write", (0,)),
    ("become-follower", (2, 0)),
    ("fetch", (2,)),
    ("become-leader", (2,)),
    ("shrink-isr", (0, 1)),
    ("raise-high-watermark", (0,)),
    ("become-follower", (2, 1)),
]
"""High watermark unfenced: broker 1 counts broker 3, which still follows it in an earlier epoch."""

COUNTED_BEFORE_CUT: Choices = [
    ("elect-leader", (0,)),
    ("elect-leader", (1,)),
    ("become-leader", (0,)),
    ("become-leader", (1,)),
    ("write", (0,)),
    ("write", (1,)),
    ("become-follower", (0, 1)),
    ("raise-high-watermark", (1,)),
]
"""Truncation on fetch: broker 2 counts the fetch by which broker 1 learns that it has to cut its log."""


def taken(model: Model, choices: Choices) -> list[Taken]:
    """The steps of these choices, each of which can be taken."""
    actions = {action.name: action for action in model.actions}
    state, steps = model.initial, []
    for name, chosen in choices:
        state = model.layout.copy(state)
        assert actions[name].take(state, *chosen), (name, chosen)
        steps.append(Taken(actions[name], chosen, state))
    return steps


def plan_of(name: str, choices: Choices, invariant: str = "strong-isr", bounds: Bounds = USUAL) -> PlanFile:
    """The plan of a counterexample, as it is read from its file."""
    model = model_of(name, bounds)
    steps = taken(model, choices)
    (broken,) = (one for one in model.invariants if one.name == invariant)
    assert [broken.holds(step.state) for step in steps] == [True] * (len(steps) - 1) + [False]
    found = replay_of_one_partition(model, invariant, steps)
    assert found is not None
    assert found.run.missed == ()
    assert found.run.outcome.trace_hash == play_file(SCENARIO, found.file, FLAWED[name][0]).outcome.trace_hash
    assert found.mended.outcome.is_safe
    return plan_file_from_json(plan_file_to_json(found.file), "plan")


def outcomes(file: PlanFile, before: str, after: str) -> tuple[Outcome, Outcome]:
    """Outcomes of a plan in a release and in the one that mends it."""
    return play_file(SCENARIO, file, before).outcome, play_file(SCENARIO, file, after).outcome


@pytest.mark.parametrize(
    ("model", "choices", "before", "after", "lost"),
    [
        ("truncate-to-hw", HEARS_LATE, "0.8.1", "0.8.2", ("m1",)),  # KAFKA-1188
        ("kip-101", FOLLOWS_OLD_LEADER, "1.1", "2.1", ("m1",)),  # KIP-320
        ("kip-279", FOLLOWS_OLD_LEADER, "2.0.1", "2.1", ("m1",)),  # KIP-320
        ("kip-320-m1", CUTS_BEFORE_LEADER, "2.0.1", "2.1", ("m2",)),  # KIP-320
        ("kip-320-m2", JOINS_TOO_EARLY, "2.0", "2.0.1", ("m1",)),  # KAFKA-7128
        ("kip-320-m6", JOINS_TOO_EARLY, "2.0", "2.0.1", ("m1",)),  # KAFKA-7128
    ],
)
def test_an_acknowledged_record_is_lost_up_to_the_release_that_mends_it(
    model: str, choices: Choices, before: str, after: str, lost: tuple[str, ...]
) -> None:
    flawed, mended = outcomes(plan_of(model, choices), before, after)
    assert flawed.histories.lost == lost
    assert flawed.committed_lost == ("p-0",)
    assert mended.is_safe


def test_a_committed_record_is_lost_where_a_follower_of_an_earlier_epoch_counts() -> None:
    """Nobody is told of m1: its producer was refused when broker 1 heard of a leader epoch in between. KIP-320."""
    flawed, mended = outcomes(plan_of("kip-320-m3", COUNTED_UNFENCED), "2.0.1", "2.1")
    assert flawed.histories.lost == ()
    assert flawed.committed_lost == ("p-0",)
    assert mended.is_safe


def test_logs_diverge_up_to_kip_279() -> None:
    """KAFKA-6361: released with 2.0; what was left of it in 2.0.0 ended with 2.0.1 (KAFKA-7415)."""
    file = plan_of("kip-320-m7", DIVERGES, "epoch-prefix", Bounds(2, 3, 3, 2))
    flawed, still_flawed, mended = (play_file(SCENARIO, file, version).outcome for version in ("1.1", "2.0", "2.0.1"))
    assert flawed.diverged == still_flawed.diverged == ("p-0",)
    assert mended.is_safe
    assert file.leave_out.brokers == (3,)


def test_a_fetch_that_diverges_counts_in_2_8_0() -> None:
    """KAFKA-13141. Followers of 2.7 ask for the end of their epoch instead, before they fetch."""
    file = plan_of("kip-320-3.9-m1", COUNTED_BEFORE_CUT, bounds=Bounds(2, 2, 2, 2))
    flawed, mended = outcomes(file, "2.8.0", "2.8.1")
    assert {one.invariant for one in flawed.findings} == {"isr-member-lacks-committed-record"}
    assert mended.is_safe
    assert play_file(SCENARIO, file, "2.7").outcome.is_safe


def test_the_loss_needs_the_late_link() -> None:
    """Without what makes broker 3 hear late nothing is lost: the plan is not lossy by its crashes alone."""
    file = plan_of("truncate-to-hw", HEARS_LATE)
    prompt = [step for step in file.steps if getattr(step.do, "source", "") != "broker-4"]
    assert len(prompt) < len(file.steps)
    early = PlanFile(leave_out=file.leave_out, steps=tuple(prompt))
    assert play_file(SCENARIO, early, "0.8.1").outcome.is_safe


def test_what_no_release_is_like_has_no_plan() -> None:
    """The first try at KIP-320 was never released; the cluster of the plans has three replicas."""
    model = model_of("kip-320-first-try", USUAL)
    assert replay_of_one_partition(model, "strong-isr", taken(model, HEARS_LATE[:2])) is None
    larger = model_of("truncate-to-hw", Bounds(4, 2, 2, 2))
    assert replay_of_one_partition(larger, "strong-isr", taken(larger, HEARS_LATE[:2])) is None


def test_a_counterexample_that_begins_with_another_leader_has_no_plan() -> None:
    """Runs begin with broker 1 as the leader of the first epoch."""
    model = model_of("truncate-to-hw", USUAL)
    steps = taken(model, [("elect-leader", (1,)), *HEARS_LATE[1:2]])
    assert replay_of_one_partition(model, "strong-isr", steps) is None
