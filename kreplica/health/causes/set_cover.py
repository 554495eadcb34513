"""The smallest set of causes that explains everything.

Each thing to explain has a set of causes that could; a cover is a set of causes with at least one from each (a hitting
set). Things that share no cause are independent, so each connected group is solved by itself: exactly, with every
smallest cover found, or, where that would take too many steps, greedily, with a bound from below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MOST_STEPS = 20_000
"""Branches looked at in one group before the search gives up and takes the greedy cover."""

MOST_TIES = 16
"""Smallest covers of one group that are kept."""


@dataclass(frozen=True, slots=True)
class Cover:
    """The smallest covers of one connected group of things to explain.

    Args:
        choices: Smallest covers, each a set of causes; several where they tie, one where it was found greedily.
        at_least: How many causes any cover needs.
        every_tie: Whether ``choices`` holds all of the smallest covers.
    """

    choices: tuple[frozenset[int], ...]
    at_least: int
    every_tie: bool

    @property
    def minimal(self) -> bool:
        """True if no smaller cover exists."""
        return len(self.choices[0]) == self.at_least


def smallest_covers(things: Iterable[frozenset[int]]) -> list[Cover]:
    """The smallest covers of each group, in the order of its smallest cause.

    Args:
        things: For each thing to explain the causes that could, none of them empty.
    """
    needed = _essential(things)
    return [_solve(group) for group in _groups(needed)]


def _essential(things: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Drops repeated things, and those that are explained whenever another one is."""
    kept: list[frozenset[int]] = []
    by_cause: dict[int, list[frozenset[int]]] = {}
    for thing in sorted(set(things), key=lambda thing: (len(thing), sorted(thing))):
        assert thing, "a thing that nothing could explain is not part of a cover"
        if not any(other <= thing for cause in thing for other in by_cause.get(cause, ())):
            kept.append(thing)
            by_cause.setdefault(min(thing), []).append(thing)
    return kept


def _groups(things: Sequence[frozenset[int]]) -> list[list[frozenset[int]]]:
    parent: dict[int, int] = {}

    def root(cause: int) -> int:
        while parent.setdefault(cause, cause) != cause:
            parent[cause] = cause = parent[parent[cause]]
        return cause

    for thing in things:
        first, *others = sorted(thing)
        for other in others:
            low, high = sorted((root(first), root(other)))
            parent[high] = low
    found: dict[int, list[frozenset[int]]] = {}
    for thing in things:
        found.setdefault(root(min(thing)), []).append(thing)
    return [found[cause] for cause in sorted(found)]


def _solve(things: list[frozenset[int]]) -> Cover:
    greedy, bound = _greedy(things), _bound(things)
    steps = [0]
    for size in range(bound, len(greedy) + 1):
        choices: set[frozenset[int]] = set()
        try:
            for cover in _covers_of(things, size, steps):
                choices.add(cover)
                if len(choices) > MOST_TIES:
                    break
        except _TooManyStepsError:
            if choices:
                return Cover(_ordered(choices)[:MOST_TIES], size, every_tie=False)
            return Cover((greedy,), size, every_tie=False)
        if choices:
            return Cover(_ordered(choices)[:MOST_TIES], size, every_tie=len(choices) <= MOST_TIES)
    raise AssertionError("the greedy cover is one")


class _TooManyStepsError(Exception):
    pass


def _covers_of(things: Sequence[frozenset[int]], size: int, steps: list[int]) -> Iterator[frozenset[int]]:
    """Covers of at most ``size`` causes: each contains some cause of the first thing left."""
    stack: list[tuple[frozenset[int], Sequence[frozenset[int]]]] = [(frozenset(), things)]
    while stack:
        steps[0] += 1
        if steps[0] > MOST_STEPS:
            raise _TooManyStepsError
        chosen, left = stack.pop()
        if not left:
            yield chosen
        elif len(chosen) + _bound(left) <= size:
            first = min(left, key=len)
            stack += [
                (chosen | {cause}, [thing for thing in left if cause not in thing]) for cause in sorted(first)[::-1]
            ]


def _greedy(things: Sequence[frozenset[int]]) -> frozenset[int]:
    """Returns a cover by taking, each time, the cause that explains most of the things left."""
    chosen: set[int] = set()
    left = list(things)
    while left:
        counts: dict[int, int] = {}
        for thing in left:
            for cause in thing:
                counts[cause] = counts.get(cause, 0) + 1
        best = min(counts, key=lambda cause: (-counts[cause], cause))
        chosen.add(best)
        left = [thing for thing in left if best not in thing]
    return frozenset(chosen)


def _bound(things: Sequence[frozenset[int]]) -> int:
    """Lower bound of the size of a cover: things that share no cause need one each."""
    taken: set[int] = set()
    count = 0
    for thing in things:
        if taken.isdisjoint(thing):
            taken |= thing
            count += 1
    return count


def _ordered(choices: Iterable[frozenset[int]]) -> tuple[frozenset[int], ...]:
    return tuple(sorted(choices, key=sorted))
