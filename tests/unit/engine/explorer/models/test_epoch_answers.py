"""Answers under way of which another leader epoch has begun: 2.1.0 stops for them, releases around it do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from kreplica.engine.explorer.explored import Explored
from kreplica.engine.explorer.model import Model, Taken, successors
from kreplica.engine.explorer.models.epoch_answers import models
from kreplica.engine.explorer.models.epoch_answers.models import AnswersBounds, model_of
from kreplica.engine.explorer.models.epoch_answers.trace import events_of, told
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import answer_counts, stops_fetching
from kreplica.engine.trace import Event, Kind
from kreplica.scenarios.counterexamples.replays import replay_of_answers, replays_of

PLENTY = 2**30
TWO = AnswersBounds(2, 2)
BEFORE, FLAWED, MENDED = "epoch-answers-2.0.1", "epoch-answers-2.1", "epoch-answers-2.1.1"

KAFKA_7786 = (
    *(("begin-epoch", 0), ("hear", 0), ("hear", 1), ("ask", 1)),
    *(("begin-epoch", 0), ("hear", 0), ("hear", 1), ("answer", 1), ("take-answer", 1)),
)
"""The ticket's story: asked in epoch 1, refused by a leader in epoch 2, taken for an answer in epoch 2."""


def explored(name: str, bounds: AnswersBounds = TWO) -> Explored:
    model = model_of(name, bounds)
    return search(model, model.invariants, PLENTY, goals=model.goals)


def taken(model: Model, choices: tuple[tuple[str, int], ...] = KAFKA_7786) -> list[Taken]:
    state, steps = model.initial, list[Taken]()
    for choice in choices:
        steps.append(next(one for one in successors(model, state) if (one.action.name, one.chosen[0]) == choice))
        state = steps[-1].state
    return steps


@pytest.mark.parametrize("bounds", [TWO, AnswersBounds(2, 4), AnswersBounds(3, 2)])
def test_2_1_stops_for_a_stale_answer_and_the_releases_around_it_do_not(bounds: AnswersBounds) -> None:
    """The invariant in the nine steps of the ticket; the goal is lost with the seventh, before the answer."""
    broken = explored(FLAWED, bounds).broken
    assert {name: len(way) - 1 for name, way in broken.items()} == {
        "stopped-is-behind": len(KAFKA_7786),
        "followers-fetch": len(KAFKA_7786) - 2,
    }
    for name in (BEFORE, MENDED):
        found = explored(name, bounds)
        assert (found.complete, dict(found.broken)) == (True, {})


# -- an enumeration of its own: a follower as (epoch, work, what is under way, its epoch, refused)

Place = tuple[int, int, tuple[int, str, str, int, str]]


def following(place: Place, drops: bool, last: int) -> Iterator[Place]:
    """Every place that can come next: latest epoch, the leader's, and its one follower; for 2.1.0 and 2.1.1 alone."""
    begun, leader, (epoch, work, way, asked, answer) = place
    if begun < last:
        yield begun + 1, leader, (epoch, work, way, asked, answer)
    if leader < begun:
        yield begun, leader + 1, (epoch, work, way, asked, answer)
    if epoch < begun:
        yield begun, leader, (epoch + 1, "cuts", way, asked, answer)
    if way == "" and work != "stopped":
        yield begun, leader, (epoch, work, "to leader, cuts" if work == "cuts" else "to leader, fetches", epoch, "")
    if way.startswith("to leader"):
        said = "fenced" if asked < leader else "unknown" if asked > leader else "fine"
        yield begun, leader, (epoch, work, way.replace("to leader", "back"), asked, said)
    if way.startswith("back"):
        stale = asked != epoch
        ignored = stale and (drops or way.endswith("fetches"))
        after = {"fenced": "stopped", "unknown": work, "fine": "fetches"}[answer]
        yield begun, leader, (epoch, work if ignored else after, "", -1, "")


@pytest.mark.parametrize(("name", "drops"), [(FLAWED, False), (MENDED, True)])
@pytest.mark.parametrize("last", [1, 2, 3, 4])
def test_an_enumeration_of_its_own_finds_as_many_states(name: str, drops: bool, last: int) -> None:
    places: list[Place] = [(0, 0, (0, "fetches", "", -1, ""))]
    known = set(places)
    for place in places:
        new = [one for one in following(place, drops, last) if one not in known]
        places += dict.fromkeys(new)
        known.update(new)
    model = model_of(name, AnswersBounds(2, last))
    found = search(model, [], PLENTY, goals=model.goals)
    assert found.distinct == len(places)
    stopped = any(place[2][0] == place[0] and place[2][1] == "stopped" for place in places)
    assert stopped == (not drops and last > 1)


@pytest.mark.parametrize(
    ("rule", "other", "name"),
    [
        ("answer_counts", lambda *_: True, MENDED),
        ("stops_fetching", lambda error: error != ErrorCode.NONE, MENDED),
        ("makes_follower", lambda *_: False, MENDED),
    ],
)
def test_a_rule_that_is_another_breaks_what_is_promised(
    monkeypatch: pytest.MonkeyPatch, rule: str, other: Callable[..., bool], name: str
) -> None:
    monkeypatch.setattr(models, rule, other)
    assert explored(name).broken


def test_the_rules_are_those_of_the_ticket() -> None:
    for asked, follows in product(range(3), repeat=2):
        assert answer_counts(asked, follows, False)
        assert answer_counts(asked, follows, True) == (asked == follows)
    assert [error for error in ErrorCode if stops_fetching(error)] == [ErrorCode.FENCED_LEADER_EPOCH]


def moments(events: list[Event], shift: int) -> list[tuple[object, ...]]:
    """Who dies, hears, asks and is answered, brokers by the model's numbers."""
    found = list[tuple[object, ...]]()
    for event in events:
        role, _, number = event.node.partition("-")
        if role != "broker":
            continue
        broker = int(number) - shift
        if event.kind == Kind.CRASHED:
            found.append((event.kind, broker))
        elif event.kind in (Kind.BECAME_LEADER, Kind.BECAME_FOLLOWER) and event.values[0] in ("p-0", "t-0"):
            found.append((event.kind, broker, event.values[1]))
        elif event.kind == Kind.MESSAGE and event.values[2].startswith("OffsetForLeaderEpoch"):
            found.append((event.values[2], broker, int(event.values[0].partition("-")[2]) - shift))
    return found


def test_the_run_of_a_counterexample_is_the_model_s_own() -> None:
    model = model_of(FLAWED, TWO)
    steps = taken(model)
    assert [model.invariants[0].holds(step.state) for step in steps] == [True] * 8 + [False]
    found = replay_of_answers(model, steps)
    assert found is not None
    assert found.run.missed == ()
    assert [str(each.invariant) for each in found.run.outcome.findings] == ["isr-does-not-settle-after-faults"]
    assert found.mended.outcome.is_safe
    ran, wanted = moments(list(found.run.events), 1), moments(events_of(model.initial, steps), 0)
    begins = ran.index(wanted[0])
    # brokers that are to die hear of the epoch before, and ask, too
    others = (3, 4)
    assert [one for one in ran[begins:] if one[0] == Kind.CRASHED or not set(one[1:]) & {*others}] == wanted


def test_what_the_scenario_has_no_brokers_for_has_no_plan() -> None:
    three = model_of(FLAWED, AnswersBounds(3, 2))
    assert replays_of(three, {"stopped-is-behind": taken(three)}) == {}


def test_steps_are_told_with_their_leader_epochs() -> None:
    model = model_of(FLAWED, TWO)
    before, words = model.initial, []
    for step in taken(model):
        words.append(told(before, step))
        before = step.state
    assert words[0] == "another broker dies, and leader epoch 1 of the same leader begins"
    assert words[3] == "broker 2 asks its leader where its last epoch ends, in leader epoch 1"
    assert words[7] == "the request of broker 2 arrives, and is answered: FENCED_LEADER_EPOCH"
    assert words[8] == "the answer arrives at broker 2; it stops fetching"
