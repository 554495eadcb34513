"""Placement: new replicas, known by partition and rack only, are given to brokers that have room for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.constraints import Constraints, Counts
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Matrix, Problem, held

_ROUNDS = 30
"""Rounds of swaps at random before those that are left are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Replicas that stay, and the racks of those that are new.

    Args:
        kept: Entries of the problem's matrix that stay.
        wanted: New replicas of each partition in each rack that no broker is chosen for yet.
        chosen: New replicas whose broker is chosen, as a matrix; None for none.
    """

    kept: Mask
    wanted: Counts
    chosen: Matrix | None = None


def water_level(loads: Integers, upper: Integers, units: int) -> Integers:
    """Units for each broker such that the lowest loads are raised first; fewer in all where upper bounds end it.

    Args:
        loads: Load of each broker, in the order in which equals are served.
        upper: Most load of each broker.
        units: Number of units to give.
    """
    room = np.maximum(upper - loads, 0)
    units = min(units, int(room.sum()))
    low, high = int(loads.min(initial=0)), int(loads.max(initial=0)) + units + 1
    while high - low > 1:  # the greatest level that the units reach everywhere
        middle = (low + high) // 2
        if int(np.clip(middle - loads, 0, room).sum()) <= units:
            low = middle
        else:
            high = middle
    given = np.clip(low - loads, 0, room)
    left = units - int(given.sum())
    open_ = np.flatnonzero((loads + given <= low) & (given < room))[:left]
    given[open_] += 1
    return given.astype(np.int64)


def quotas(problem: Problem, constraints: Constraints, choice: Choice, rng: np.random.Generator) -> Integers:
    """Number of new replicas for each broker: lower bounds first, then the lowest, and by chance among equals."""
    loads = np.bincount(problem.replicas[choice.kept], minlength=len(problem.brokers)).astype(np.int64)
    wanted = choice.wanted.sum(axis=0, dtype=np.int64)
    given = np.zeros(len(loads), dtype=np.int64)
    for rack in range(len(problem.rack_names)):
        here = rng.permutation(np.flatnonzero(constraints.receivers & (problem.racks == rack)))
        if not len(here):
            continue
        first = water_level(loads[here], np.maximum(constraints.lower[here], loads[here]), int(wanted[rack]))
        rest = int(wanted[rack] - first.sum())
        second = water_level(loads[here] + first, constraints.upper[here], rest)
        beyond = rest - int(second.sum())
        third = water_level(loads[here] + first + second, loads[here] + wanted[rack], beyond)
        given[here] = first + second + third
    return given


def place(problem: Problem, choice: Choice, quota: Integers, rng: np.random.Generator) -> tuple[Assignment, Indices]:
    """Gives each new replica a broker of its rack.

    Args:
        problem: The cluster.
        choice: Replicas that stay and the racks of new ones.
        quota: New replicas of each broker; in each rack as many as are wanted there.
        rng: Breaks ties.

    Returns:
        The assignment, and the rows for which no broker was found without moving others: they have fewer replicas.
    """
    none = np.full(problem.replicas.shape, NOBODY, dtype=np.int32)
    fresh = none if choice.chosen is None else choice.chosen.copy()
    filled = np.count_nonzero(fresh != NOBODY, axis=1)
    failed = []
    for rack in range(len(problem.rack_names)):
        number = choice.wanted[:, rack]
        rows = np.repeat(np.arange(len(problem)), number)
        if not len(rows):
            continue
        turn = np.arange(len(rows)) - np.repeat(np.cumsum(number, dtype=np.int64) - number, number)
        slots = _slots(np.flatnonzero((problem.racks == rack) & (quota > 0)), quota, rng)
        if not len(slots):  # a rack without receivers: those that were to move there stay, or go elsewhere
            failed.append(rows)
            continue
        slots, bad = _swapped(problem.replicas, rows, slots, rng)
        good = np.ones(len(rows), dtype=np.bool_)
        good[bad] = False
        failed.append(rows[bad])
        fresh[rows[good], (filled[rows] + turn)[good]] = slots[good]
        filled += number
    return assembled(problem, choice.kept, fresh), np.unique(np.concatenate([np.empty(0, np.intp), *failed]))


def assembled(problem: Problem, kept: Mask, fresh: Matrix) -> Assignment:
    """The assignment of replicas that stay and new ones, which take the places of those that leave."""
    fresh = np.take_along_axis(fresh, np.argsort(fresh == NOBODY, axis=1, kind="stable"), axis=1)
    free = np.maximum(np.cumsum(~kept, axis=1) - 1, 0)
    found = np.where(kept, problem.replicas, np.take_along_axis(fresh, free, axis=1))
    order = np.argsort(found == NOBODY, axis=1, kind="stable")
    return Assignment(np.take_along_axis(found, order, axis=1).astype(np.int32))


def in_old_places(problem: Problem, target: Matrix) -> Assignment:
    """The target: replicas that stay in the order that they have, new ones in the places of those that leave."""
    fresh = np.where(held(target, problem.replicas), NOBODY, target)
    return assembled(problem, held(problem.replicas, target), fresh)


def _slots(brokers: Indices, quota: Integers, rng: np.random.Generator) -> Matrix:
    """Every broker as often as its quota, shuffled: neighbours would get the partitions of one topic."""
    slots = np.repeat(brokers, quota[brokers]).astype(np.int32)
    return rng.permutation(slots)


def _swapped(replicas: Matrix, rows: Indices, slots: Matrix, rng: np.random.Generator) -> tuple[Matrix, Indices]:
    """The slots such that no row gets a broker that it has or had, or one twice; and those where that failed."""
    slots = slots.copy()
    for _ in range(_ROUNDS):
        bad = _conflicts(replicas, rows, slots)
        if not len(bad):
            return slots, bad
        partner = rng.choice(len(rows), size=len(bad), replace=len(bad) > len(rows))
        first, second = bad, partner
        # Each place takes part in one swap at most.
        both = np.concatenate([first, second])
        _, places = np.unique(both, return_index=True)
        once = np.zeros(len(both), dtype=np.bool_)
        once[places] = True
        usable = once[: len(first)] & once[len(first) :]
        first, second = first[usable], second[usable]
        fits = ~(replicas[rows[first]] == slots[second][:, None]).any(axis=1)
        fits &= ~(replicas[rows[second]] == slots[first][:, None]).any(axis=1)
        first, second = first[fits], second[fits]
        slots[first], slots[second] = slots[second], slots[first]
    return _one_by_one(replicas, rows, slots)


def _conflicts(replicas: Matrix, rows: Indices, slots: Matrix) -> Indices:
    bad = (replicas[rows] == slots[:, None]).any(axis=1)
    # The units of one row stand side by side.
    for step in range(1, replicas.shape[1]):
        bad[step:] |= (rows[step:] == rows[:-step]) & (slots[step:] == slots[:-step])
    return np.flatnonzero(bad)


def _one_by_one(replicas: Matrix, rows: Indices, slots: Matrix) -> tuple[Matrix, Indices]:
    """Looks for a partner of each conflict that is left among all places."""
    failed = []
    for place in _conflicts(replicas, rows, slots).tolist():
        own = rows == rows[place]
        mine = np.concatenate(
            [replicas[rows[place]], np.delete(slots[own], np.searchsorted(np.flatnonzero(own), place))]
        )
        if slots[place] not in mine:
            continue
        fits = ~np.isin(slots, mine) & ~(replicas[rows] == slots[place]).any(axis=1) & ~own
        twice = np.isin(rows, rows[slots == slots[place]])  # rows that have this slot already
        found = np.flatnonzero(fits & ~twice)
        if len(found):
            other = found[0]
            slots[place], slots[other] = slots[other], slots[place]
        else:
            failed.append(place)
    return slots, np.array(failed, dtype=np.intp)
