"""With symmetry a search finds one state of each orbit: as many as all permutations leave, and as TLC counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import Explored, retraced
from kreplica.engine.explorer.layout import Key
from kreplica.engine.explorer.model import Invariant, Model, successors
from kreplica.engine.explorer.models.one_partition.models import model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds, PartitionState, symmetry
from kreplica.engine.explorer.plain_search import search
from kreplica.engine.explorer.symmetry import representative_of

PLENTY = 2**30
NEVER = Invariant("never", lambda _: True, "nothing breaks it, so the search goes to the end")
THREE = Bounds(3, 2, 2, 2)
COUNTED = {
    "truncate-to-hw": (332_037, 28),
    "kip-101": (269_488, 26),
    "kip-279": (270_050, 26),
    "kip-320-first-try": (240_028, 28),
    "kip-320": (123_311, 26),
}
"""TLC's counts of the published models with the replicas as a symmetry set: distinct states and depth."""


def symmetric(name: str, bounds: Bounds) -> Model:
    return replace(model_of(name, bounds), symmetry=symmetry(bounds))


def exchanged(state: PartitionState, order: tuple[int, ...]) -> PartitionState:
    """The state in which replica ``order[i]`` is replica ``i``, by what each number means."""
    count = len(order)
    log = len(state.records) // count

    def replica(number: int) -> int:
        return -1 if number == -1 else order.index(number)

    def members(number: int) -> int:
        return sum(2 ** order.index(member) for member in range(count) if number & 2**member)

    return PartitionState(
        records=[record for old in order for record in state.records[old * log : (old + 1) * log]],
        high_watermark=[state.high_watermark[old] for old in order],
        epoch=[state.epoch[old] for old in order],
        leader=[replica(state.leader[old]) for old in order],
        isr=[members(state.isr[old]) for old in order],
        written=state.written,
        begun=state.begun,
        true_leader=[replica(state.true_leader[0])],
        true_isr=[members(state.true_isr[0])],
        sent_leader=[replica(leader) for leader in state.sent_leader],
        sent_isr=[members(isr) for isr in state.sent_isr],
    )


def every_state(model: Model) -> dict[Key, PartitionState]:
    found = {model.layout.key(model.initial): model.initial}
    new = [model.initial]
    while new:
        for taken in successors(model, new.pop()):
            key = model.layout.key(taken.state)
            if key not in found:
                found[key] = taken.state
                new.append(taken.state)
    return found


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("kip-320", Bounds(3, 1, 1, 1)),
        ("truncate-to-hw", Bounds(3, 1, 1, 1)),
        ("kip-320-first-try", Bounds(2, 2, 2, 1)),
        ("kip-101", Bounds(2, 2, 2, 1)),
    ],
)
def test_one_state_stands_for_each_orbit_of_all_permutations(name: str, bounds: Bounds) -> None:
    model = model_of(name, bounds)
    orders = list(permutations(range(bounds.replicas)))
    representative = representative_of(model.layout, symmetry(bounds))
    orbits: dict[Key, set[Key]] = {}
    for state in every_state(model).values():
        least = min(model.layout.key(exchanged(state, order)) for order in orders)
        orbits.setdefault(least, set()).add(model.layout.key(representative(state)))
    assert all(len(standing) == 1 for standing in orbits.values())
    assert all(
        min(model.layout.key(exchanged(model.layout.state(*one), order)) for order in orders) == least
        for least, one in orbits.items()
    )
    found = search(symmetric(name, bounds), [NEVER], PLENTY)
    assert (found.distinct, found.complete) == (len(orbits), True)
    assert found.depth == search(model, [NEVER], PLENTY).depth


def lengths(found: Explored) -> dict[str, int]:
    return {name: len(states) for name, states in found.broken.items()}


@pytest.mark.one_python
def test_a_counterexample_is_as_short_and_its_steps_can_be_taken() -> None:
    """TLC's shortest counterexample of truncation to the high watermark has 9 states."""
    model = symmetric("truncate-to-hw", THREE)
    strong = model.invariants[0]
    found = search(model, [strong], PLENTY)
    assert lengths(found) == {"strong-isr": 9}
    before = model.initial
    for step in retraced(model, found.broken["strong-isr"]):
        assert strong.holds(before)
        after = model.layout.copy(before)
        assert step.action.take(after, *step.chosen)
        assert after == step.state
        before = step.state
    assert not strong.holds(before)


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTED)
def test_the_published_models_have_as_many_orbits_as_tlc_counts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    found = compiled_search.search(replace(symmetric(name, THREE), invariants=(NEVER,)), [NEVER], PLENTY)
    assert (found.distinct, found.depth, found.complete) == (*COUNTED[name], True)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [Bounds(2, 2, 2, 2), Bounds(4, 1, 1, 1)])
def test_the_compiled_search_finds_the_same_orbits(
    bounds: Bounds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KREPLICA_CACHE", str(tmp_path))
    model = symmetric("kip-101", bounds)
    plain = search(model, model.invariants, PLENTY)
    compiled = compiled_search.search(model, model.invariants, PLENTY)
    assert (compiled.distinct, compiled.depth, compiled.complete) == (plain.distinct, plain.depth, plain.complete)
    assert compiled.broken == plain.broken
