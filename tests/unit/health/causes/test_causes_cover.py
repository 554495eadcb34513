"""The smallest set of causes against every set there is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.health.causes import set_cover
from kreplica.health.causes.set_cover import smallest_covers

Things = list[frozenset[int]]


def brute_force(things: Things) -> set[frozenset[int]]:
    """All smallest sets that hit every thing."""
    causes = sorted(frozenset().union(*things))
    for size in range(len(causes) + 1):
        found = {
            frozenset(chosen)
            for chosen in combinations(causes, size)
            if all(thing.intersection(chosen) for thing in things)
        }
        if found:
            return found
    raise AssertionError("all causes together explain everything")


def combined(things: Things) -> set[frozenset[int]]:
    """Every smallest cover of all groups together."""
    whole = {frozenset[int]()}
    for group in smallest_covers(things):
        whole = {one | choice for one in whole for choice in group.choices}
    return whole


things_to_explain = st.lists(st.frozensets(st.integers(0, 8), min_size=1, max_size=4), max_size=9)


@given(things_to_explain)
def test_the_covers_are_all_the_smallest_ones(things: Things) -> None:
    expected = brute_force(things) if things else {frozenset()}
    covers = smallest_covers(things)
    assert sum(one.at_least for one in covers) == len(next(iter(expected)))
    assert all(one.minimal for one in covers)
    if all(one.every_tie for one in covers):
        assert combined(things) == expected
    else:
        assert combined(things) < expected


@given(things_to_explain)
def test_a_greedy_cover_explains_everything_and_its_bound_holds(things: Things) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_cover, "MOST_STEPS", 0)
        covers = smallest_covers(things)
    chosen = frozenset().union(*(one.choices[0] for one in covers))
    assert all(thing & chosen for thing in things)
    if things:
        size = len(next(iter(brute_force(things))))
        assert sum(one.at_least for one in covers) <= size <= len(chosen)
    assert not any(one.every_tie for one in covers)


def test_a_tie_is_kept_and_independent_groups_are_solved_apart() -> None:
    first, second = smallest_covers([frozenset({1, 2}), frozenset({5}), frozenset({5, 6})])
    assert (first.choices, first.every_tie) == ((frozenset({1}), frozenset({2})), True)
    assert second.choices == (frozenset({5}),)


def test_one_cause_for_much_beats_many_for_one_each() -> None:
    things = [frozenset({0, number}) for number in range(1, 40)]
    (found,) = smallest_covers(things)
    assert found.choices == (frozenset({0}),)


def test_more_ties_than_are_kept_are_not_hidden() -> None:
    (found,) = smallest_covers([frozenset(range(100))])
    assert (len(found.choices), found.every_tie, found.minimal) == (set_cover.MOST_TIES, False, True)


@pytest.mark.parametrize("length", [2, 3, 8, 9, 40, 41])
def test_a_chain_needs_every_other_cause(length: int) -> None:
    """A path of n edges has a matching, and so a smallest vertex cover, of n/2 rounded up (Kőnig's theorem)."""
    chain = [frozenset({number, number + 1}) for number in range(length)]
    (exact,) = smallest_covers(chain)
    assert (exact.at_least, len(exact.choices[0]), exact.minimal) == ((length + 1) // 2,) * 2 + (True,)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_cover, "MOST_STEPS", 0)
        (greedy,) = smallest_covers(chain)
    assert greedy.at_least == (length + 1) // 2, "the bound from below is that of the matching"
    assert len(greedy.choices[0]) >= greedy.at_least
    assert greedy.minimal is (len(greedy.choices[0]) == greedy.at_least)


def test_a_greedy_cover_that_is_too_large_is_not_called_the_smallest() -> None:
    """The path 0-4-2-5-1: causes 4 and 5 explain all of it; the greedy way begins in its middle and takes three."""
    path = [frozenset({0, 4}), frozenset({4, 2}), frozenset({2, 5}), frozenset({5, 1})]
    assert brute_force(path) == {frozenset({4, 5})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_cover, "MOST_STEPS", 0)
        (found,) = smallest_covers(path)
    assert (len(found.choices[0]), found.at_least, found.minimal) == (3, 2, False)


def test_nothing_to_explain() -> None:
    assert smallest_covers([]) == []
