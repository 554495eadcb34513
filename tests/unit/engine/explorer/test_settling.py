"""Goals settle where brute force over the graph says so; those of the models do, and each step of healing is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from engine.small_models import Counters, counters

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import Explored, retraced
from kreplica.engine.explorer.families import family_of
from kreplica.engine.explorer.layout import Field, Key, Layout
from kreplica.engine.explorer.model import Action, Goal, Healing, Model, successors
from kreplica.engine.explorer.models.kraft.state import KraftBounds
from kreplica.engine.explorer.models.one_partition.state import Bounds
from kreplica.engine.explorer.models.settings.state import SettingsBounds
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.explorer.proof import ProofBounds, whatif_prove
from kreplica.engine.explorer.settling import afterwards, healing_of, settling
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL

PLENTY = 2**30
TWO = Bounds(2, 2, 2, 2)
KRAFT_LOSS = KraftBounds(2, 1, 1, 2, 0, 1, 0, 0, 8)
KRAFT_FENCE = KraftBounds(2, 1, 1, 2, 1, 0, 0, 0, 8)
SETTINGS = SettingsBounds(2, 1, ACKS_ALL, 2, False, 2, 1, 1)
GOALS = ("write-taken", "isr-settles", "metadata-settles")


class Place(NamedTuple):
    """One number."""

    at: list[int]


def graph(edges: Sequence[Sequence[int]], healing: Sequence[Sequence[int]], goals: set[int]) -> Model:
    """A graph of places; of each the next ones by any step, and by those that go on without faults."""

    def steps(table: Sequence[Sequence[int]]) -> Action:
        def take(state: Place, choice: int) -> bool:
            if choice >= len(table[state.at[0]]):
                return False
            state.at[0] = table[state.at[0]][choice]
            return True

        return Action("step", take, (len(table),), "step {0}", (0,))

    goal = Goal("there", lambda state: state.at[0] in goals, "is there")
    layout = Layout(Place, {"at": Field(len(edges))})
    healed = Healing((steps(healing),), lambda _: True, (goal,))
    return Model("graph", layout, Place([0]), (steps(edges),), (), healing=healed)


def closure(table: Sequence[Sequence[int]]) -> list[list[bool]]:
    """For each two places if one leads to the other: Warshall's algorithm."""
    places = range(len(table))
    leads = [[one == other or other in table[one] for other in places] for one in places]
    for by in places:
        for one in places:
            for other in places:
                leads[one][other] = leads[one][other] or (leads[one][by] and leads[by][other])
    return leads


def found_keys(model: Model) -> list[Key]:
    """All states, breadth first."""
    keys = [model.layout.key(model.initial)]
    for key in keys:
        for taken in successors(model, model.layout.state(key)):
            if model.layout.key(taken.state) not in keys:
                keys.append(model.layout.key(taken.state))
    return keys


def test_as_brute_force_says_in_small_graphs() -> None:
    """For a goal to come about and stay, each place that is reached has to reach one that reaches goals alone."""
    chance, seen = Random(17), {True: 0, False: 0}
    for _ in range(150):
        count = chance.randrange(2, 9)
        edges = [chance.sample(range(count), chance.randrange(1, 3)) for _ in range(count)]
        healing = [[each for each in ways if chance.random() < 0.7] for ways in edges]
        goals = set(chance.sample(range(count), chance.randrange(count)))
        model = graph(edges, healing, goals)
        keys = found_keys(model)
        settles = settling(model, keys, afterwards(model, keys), model.goals[0])
        leads = closure(healing)
        for (place,), settled in zip(keys, settles, strict=True):
            for_good = [all(each in goals for each in range(count) if leads[at][each]) for at in range(count)]
            assert settled == any(for_good[at] for at in range(count) if leads[place][at])
            seen[settled] += 1
        first = next((number for number, settled in enumerate(settles) if not settled), None)
        broken = search(model, [], PLENTY, goals=model.goals).broken
        assert (broken["there"][-1].at[0] if broken else None) == (None if first is None else keys[first][0])
    assert min(seen.values()) > 100


def healed_counters(*going_on: int) -> Model:
    model = counters(5)
    goals = (
        Goal("both", lambda state: state.left[0] == 5 and state.right[0] == 5, "both are up"),
        Goal("left-low", lambda state: state.left[0] < 5, "the left one is not up"),
    )
    actions = tuple(model.actions[each] for each in going_on)
    return replace(model, healing=Healing(actions, lambda state: state.right[0] > 0, goals))


def test_counters_settle_as_counted_on_paper() -> None:
    """Both go up to 5; with the left one alone, 5 of 6 values of the right one never come to it."""

    def settled(model: Model, goal: int) -> int:
        keys = found_keys(model)
        return sum(settling(model, keys, afterwards(model, keys), model.goals[goal]))

    both, left = healed_counters(0, 1), healed_counters(0)
    assert [settled(both, 0), settled(left, 0)] == [36, 6]
    assert [settled(both, 1), settled(healed_counters(1), 1)] == [0, 30]
    first = search(left, [], PLENTY, goals=left.goals[:1]).broken["both"][-1]
    assert first == Counters([0], [1])  # of 0 and 0 nothing is asked


def explored(name: str, bounds: ProofBounds, without: str = "") -> Explored:
    """The goals of a model, if need be without one action of its healing."""
    model = family_of(name).model_of(name, bounds)
    healing = healing_of(model)
    left = tuple(each for each in healing.actions if each.name != without)
    assert (len(left) < len(healing.actions)) == bool(without)
    healed = replace(model, healing=replace(healing, actions=left))
    return search(healed, [], PLENTY, goals=healed.goals)


HOLD = [
    ("kip-320-last-kept", TWO),
    ("kip-320-2.1", TWO),
    ("kip-320-3.9", TWO),
    *((name, bounds) for name in ("kraft", "kip-966") for bounds in (KRAFT_LOSS, KRAFT_FENCE)),
    *((name, SETTINGS) for name in ("settings-3.9", "settings-4.1")),
]


@pytest.mark.one_python
@pytest.mark.parametrize(("name", "bounds"), HOLD)
def test_writes_isr_and_metadata_settle(name: str, bounds: ProofBounds) -> None:
    found = explored(name, bounds)
    assert found.complete
    assert not found.broken


NEEDED = {
    ("kip-320-last-kept", TWO): (
        "elect-leader",
        "become-leader",
        "become-follower",
        "fetch",
        "raise-high-watermark",
        "expand-isr",
    ),
    ("kip-966", KRAFT_LOSS): ("start", "registered", "hear", "ask-for-isr", "fetch", "serve-fetch", "take-records"),
    ("settings-4.1", SETTINGS): ("fetch", "hear", "expire", "start", "assign-directory", "unfence"),
}


@pytest.mark.one_python
@pytest.mark.parametrize(("model", "action"), [(model, each) for model, names in NEEDED.items() for each in names])
def test_without_a_step_of_healing_some_goal_never_comes_about(model: tuple[str, ProofBounds], action: str) -> None:
    assert explored(*model, without=action).broken


@pytest.mark.one_python
def test_the_published_controller_empties_the_isr_for_good() -> None:
    """Two steps by hand: nobody leads yet, and both members are removed; then nobody may be elected."""
    model = family_of("kip-320").model_of("kip-320", TWO)
    broken = explored("kip-320", TWO).broken
    assert set(broken) == set(GOALS)
    for way in broken.values():
        assert [step.action.name for step in retraced(model, way)] == ["remove-from-isr"] * 2
        assert way[-1].true_isr == [0]


def test_a_follower_that_cannot_cut_where_the_leader_ends_its_epoch_never_follows() -> None:
    """KIP-101 asks for the end of an epoch, which may lie behind the follower's own: the model has no such cut."""
    model = family_of("kip-320-m7").model_of("kip-320-m7", Bounds(2, 2, 2, 1))
    broken = explored("kip-320-m7", Bounds(2, 2, 2, 1)).broken
    assert set(broken) == {"isr-settles", "metadata-settles"}
    last = broken["metadata-settles"][-1]
    assert len(retraced(model, broken["metadata-settles"])) == 8
    assert max(last.epoch) == 1


def test_a_goal_that_is_not_searched_to_the_end_is_open() -> None:
    proof = whatif_prove("kip-320", Bounds(2, 2, 2, 2), ("isr-settles", "strong-isr"), memory=1 << 20)
    assert proof.holds is None
    assert [one["holds"] for one in proof.verdict["invariants"]] == [None, None]  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.timeout(900)  # compiles three searches
def test_the_compiled_search_settles_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    left = healed_counters(0)
    plain = search(left, left.invariants, PLENTY, goals=left.goals)
    assert compiled_search.search(left, left.invariants, PLENTY, goals=left.goals) == plain
    for name in ("kip-320-m7", "kip-320-last-kept"):
        model = family_of(name).model_of(name, Bounds(2, 2, 2, 1))
        plain = search(model, model.invariants[:1], PLENTY, goals=model.goals)
        assert compiled_search.search(model, model.invariants[:1], PLENTY, goals=model.goals) == plain
