"""Covers: sets of replicas that hold as many bytes as have to leave, with hardly more. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Indices, Integers

MOST_SUMS = 50_000
"""Different sums up to which the least cover is found exactly: some 15 replicas of unlike sizes, more of like ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """The least cover, as far as it is known.

    Args:
        bound: Bytes that no cover goes below.
        places: Places of the sizes of one that has just as many; None where it is not known, or where there is none.
    """

    bound: int
    places: Indices | None = None


def least_cover(sizes: Integers, need: int) -> Cover:
    """Finds the set of sizes with the smallest sum that is not below a need.

    Sums that are below it are kept, each with the size that made it from a smaller one; of those above the least. Where
    they get too many, the bound is what is needed, or the smallest sizes together, as many as it takes of the largest.

    Args:
        sizes: Sizes above 0.
        need: Sum to be reached.
    """
    if need <= 0:
        return Cover(0, np.empty(0, np.intp))
    if int(sizes.sum()) < need:
        return Cover(need)
    order = np.argsort(-sizes, kind="stable")
    made: dict[int, tuple[int, int]] = {0: (0, -1)}
    best: tuple[int, int, int] | None = None
    for place in order.tolist():
        size = int(sizes[place])
        for before in list(made):
            found = before + size
            if found >= need:
                best = min(best or (found, before, place), (found, before, place))
            elif found not in made:
                made[found] = before, place
        if best is not None and best[0] == need:
            break
        if len(made) > MOST_SUMS:
            return Cover(max(need, _smallest(sizes[order], need)))
    assert best is not None, "all of them together are enough"
    return Cover(best[0], _traced(made, best[1], best[2]))


def _traced(made: dict[int, tuple[int, int]], before: int, last: int) -> Indices:
    """Places of the sizes that make a sum and one more."""
    places = [last]
    while before:
        before, place = made[before]
        places.append(place)
    return np.array(places, dtype=np.intp)


def _smallest(descending: Integers, need: int) -> int:
    """Sum of the smallest sizes, as many as it takes of the largest to hold what is needed."""
    number = 1 + int(np.searchsorted(np.cumsum(descending), need))
    return int(descending[-number:].sum())
