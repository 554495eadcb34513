"""The models of one partition have the states and the shortest counterexamples that TLC counted of the published ones.

hachikuji/kafka-specification in TLC 2.15, one worker, no symmetry, no view, deadlocks not checked: distinct states, the
depth of the search, and states of the shortest counterexample, the initial one included. The two invariants that the
specification does not have, hw-prefix and epoch-prefix, were added to it.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from suite.second_python import first_on_each

from kreplica.engine.explorer.explored import Explored, Progress, retraced
from kreplica.engine.explorer.layout import Key, OutOfRangeError
from kreplica.engine.explorer.model import Model, successors
from kreplica.engine.explorer.models.one_partition.models import model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds
from kreplica.engine.explorer.plain_search import search

SMALL, MORE_EPOCHS, THREE = Bounds(2, 2, 2, 1), Bounds(2, 2, 2, 2), Bounds(3, 2, 2, 2)

COUNTED = {
    "truncate-to-hw": {SMALL: (1_251, 16), MORE_EPOCHS: (10_131, 20)},
    "kip-101": {SMALL: (1_177, 15), MORE_EPOCHS: (9_045, 18)},
    "kip-279": {SMALL: (1_177, 15), MORE_EPOCHS: (9_027, 18)},
    "kip-320-first-try": {SMALL: (1_165, 15), MORE_EPOCHS: (8_429, 18)},
    "kip-320": {SMALL: (957, 15), MORE_EPOCHS: (5_973, 18)},
}
SHORTEST = {"truncate-to-hw": {"strong-isr": 9, "weak-isr": 9}, "kip-320-first-try": {"epoch-prefix": 8}}
PLENTY = 2**30


@cache
def explore(name: str, bounds: Bounds, *invariants: str, memory: int = PLENTY) -> Explored:
    model = model_of(name, bounds)
    return search(model, [one for one in model.invariants if one.name in invariants], memory)


@pytest.mark.parametrize(
    ("name", "bounds"), first_on_each((name, bounds) for name in COUNTED for bounds in COUNTED[name])
)
def test_every_state_is_found_once(name: str, bounds: Bounds) -> None:
    model = model_of(name, bounds)
    never = type(model.invariants[0])("never", lambda _: True, "nothing breaks it, so the search goes to the end")
    found = search(model, [never], PLENTY)
    assert (found.distinct, found.depth) == COUNTED[name][bounds]
    assert found.complete
    assert not found.broken


@pytest.mark.parametrize("name", first_on_each(SHORTEST, first=1))
def test_the_first_counterexample_is_the_shortest(name: str) -> None:
    found = explore(name, THREE, *SHORTEST[name])
    assert {invariant: len(states) for invariant, states in found.broken.items()} == SHORTEST[name]
    assert not found.complete
    assert not found.out_of_memory


@pytest.mark.parametrize("bounds", [SMALL, MORE_EPOCHS])
def test_kip_320_holds(bounds: Bounds) -> None:
    found = explore("kip-320", bounds, "strong-isr", "weak-isr", "hw-prefix", "epoch-prefix")
    assert found.complete
    assert not found.broken


def test_a_follower_that_truncates_on_fetch_differs_only_until_it_has_fetched() -> None:
    """By hand: two leaders write a record each, and the first one hears of the second."""
    model = model_of("kip-320-3.9", SMALL)
    found = explore("kip-320-3.9", SMALL, "strong-isr", "weak-isr", "hw-prefix", "epoch-prefix")
    assert found.complete
    assert set(found.broken) == {"epoch-prefix"}
    steps = retraced(model, found.broken["epoch-prefix"])
    assert sorted(step.action.name for step in steps) == [
        "become-follower",
        *["become-leader"] * 2,
        *["elect-leader"] * 2,
        *["write"] * 2,
    ]
    state, (follower,) = steps[-1].state, steps[-1].chosen[:1]
    actions = {action.name: action for action in model.actions}
    assert not actions["fetch"].take(state, follower)
    assert not actions["raise-high-watermark"].take(state, 1 - follower)
    assert actions["truncate"].take(state, follower)
    assert actions["fetch"].take(state, follower)
    assert actions["raise-high-watermark"].take(state, 1 - follower)
    assert all(one.holds(state) for one in model.invariants)


def test_the_actions_of_a_counterexample_are_those_of_the_published_one() -> None:
    model = model_of("truncate-to-hw", THREE)
    way = explore("truncate-to-hw", THREE, "strong-isr", "weak-isr").broken["strong-isr"]
    steps = retraced(model, way)
    assert sorted(step.action.name for step in steps) == [
        "become-follower",
        "become-follower",
        "become-leader",
        "elect-leader",
        "fetch",
        "raise-high-watermark",
        "remove-from-isr",
        "write",
    ]
    assert steps[0].action.words(steps[0].chosen) == "the controller elects broker 1"
    holds = {one.name: one.holds for one in model.invariants}["strong-isr"]
    assert [holds(state) for state in way] == [True] * (len(way) - 1) + [False]


def test_a_search_that_may_not_use_more_memory_says_what_it_found() -> None:
    found = explore("kip-320", SMALL, "strong-isr", memory=100_000)
    assert found.out_of_memory
    assert not found.complete
    assert 0 < found.distinct < COUNTED["kip-320"][SMALL][0]
    assert 0 < found.depth < COUNTED["kip-320"][SMALL][1]


def test_progress_is_told() -> None:
    told: list[Progress] = []
    model = model_of("truncate-to-hw", MORE_EPOCHS)
    search(model, model.invariants[:1], PLENTY, told.append)
    assert not told
    never = type(model.invariants[0])("never", lambda _: True, "")
    search(model, [never], PLENTY, told.append)
    assert len(told) == 1
    assert told[0].distinct - told[0].waiting == 10_000
    assert told[0].distinct <= COUNTED["truncate-to-hw"][MORE_EPOCHS][0]
    assert told[0].depth < COUNTED["truncate-to-hw"][MORE_EPOCHS][1]


def test_a_number_out_of_its_range_is_an_error() -> None:
    model = model_of("kip-320", SMALL)
    state = model.layout.copy(model.initial)
    state.high_watermark[1] = 3
    with pytest.raises(OutOfRangeError, match=r"high_watermark is \[0, 3\], not 2 of 0 to 2"):
        model.layout.key(state)


def every_key(model: Model) -> list[Key]:
    """The keys of all states, found by nothing but the model's actions."""
    keys = [model.layout.key(model.initial)]
    for key in keys:
        after = {model.layout.key(taken.state) for taken in successors(model, model.layout.state(key))}
        keys.extend(sorted(after.difference(keys)))
    return keys


@pytest.mark.parametrize("name", ["kip-101", "kip-320-first-try", "kip-320"])
def test_an_action_that_cannot_be_taken_leaves_the_state(name: str) -> None:
    model = model_of(name, SMALL)
    keys = every_key(model)
    assert len(keys) == COUNTED[name][SMALL][0]
    for key, action in product(keys, model.actions):
        for chosen in product(*map(range, action.choices)):
            state = model.layout.state(key)
            assert action.take(state, *chosen) or model.layout.key(state) == key
