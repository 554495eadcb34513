"""Greedy planner: drops what has to go, frees the smallest of what brokers hold too much of, and fills those with room.

Each step works on all partitions at once; brokers that they leave outside their ranges are brought there one replica
at a time (``handing_on.py``). Where every partition has one replica in each rack the result has the fewest
moves, and of those the fewest bytes; elsewhere it is a good start, and the exact planner or a bound says how good.
"""

from __future__ import annotations

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.constraints import UNLIMITED, Constraints, Counts, per_rack
from kreplica.planner.reassignment.numbers.handing_on import within_ranges
from kreplica.planner.reassignment.numbers.placement import Choice, in_old_places, place, quotas
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Matrix, Problem

_SLICES = 16
"""Parts in which rows are decided, so that later ones see what earlier ones did to the loads."""


def plan_greedily(problem: Problem, constraints: Constraints) -> Assignment:
    """A target that meets the constraints, as far as single steps find one; deterministic by the request's seed."""
    rng = np.random.default_rng(problem.request.seed)
    kept = _dropped(problem, constraints)
    wanted = _racks_of_new(problem, constraints, kept)
    if constraints.sharing.any():
        kept, wanted = _between_racks(problem, constraints, kept, wanted)
        kept, wanted = _within_racks(problem, constraints, kept, wanted)
    choice = Choice(kept, wanted)
    assignment, failed = place(problem, choice, quotas(problem, constraints, choice, rng), rng)
    found = _completed(problem, constraints, assignment, failed)
    return within_ranges(problem, constraints, found) if constraints.sharing.any() else found


def _loads(problem: Problem, kept: Mask) -> Integers:
    return np.bincount(problem.replicas[kept], minlength=len(problem.brokers)).astype(np.int64)


def _ideal(constraints: Constraints) -> Integers:
    """Load up to which a broker has room: its upper bound, or its share where it has none."""
    share = -(-int(constraints.factor.sum()) // max(1, int(constraints.receivers.sum())))
    return np.where(constraints.upper < UNLIMITED, constraints.upper, share)


def _dropped(problem: Problem, constraints: Constraints) -> Mask:
    """Replicas that stay when racks hold too many or the partition has too many, from the fullest brokers first."""
    kept = constraints.keepable.copy()
    in_rack = per_rack(problem, kept)
    spare = _ideal(constraints)
    surplus = (in_rack > constraints.most).any(axis=1) | (kept.sum(axis=1) > constraints.factor)
    for part in _sliced(np.flatnonzero(surplus)):
        rows = part
        fullness = _loads(problem, kept) - spare
        while len(rows):
            entry = _to_drop(problem, constraints, kept, in_rack, rows, fullness)
            kept[rows, entry] = False
            in_rack[rows, problem.racks[problem.replicas[rows, entry]]] -= 1
            over = (in_rack[rows] > constraints.most[rows]).any(axis=1)
            rows = rows[over | (kept[rows].sum(axis=1) > constraints.factor[rows])]
    return kept


def _to_drop(
    problem: Problem, constraints: Constraints, kept: Mask, in_rack: Counts, rows: Indices, fullness: Integers
) -> Indices:
    """Column of the entry that each row gives up: of a rack with too many, out of sync first."""
    matrix = np.maximum(problem.replicas[rows], 0)
    rack = problem.racks[matrix]
    number = np.take_along_axis(in_rack[rows], rack, axis=1)
    over = number > np.take_along_axis(constraints.most[rows], rack, axis=1)
    above = number > np.take_along_axis(constraints.least[rows], rack, axis=1)
    free = kept[rows] & ~constraints.fixed[rows]
    score = fullness[matrix] + np.where(over, 1 << 44, 0) + np.where(above, 1 << 43, 0)
    score += np.where(problem.in_sync[rows], 0, 1 << 42)
    found: Indices = np.argmax(np.where(free, score, -(1 << 50)), axis=1)
    return found


def _sliced(rows: Indices) -> list[Indices]:
    return [rows[start::_SLICES] for start in range(min(_SLICES, len(rows)))]


def _racks_of_new(problem: Problem, constraints: Constraints, kept: Mask) -> Counts:
    """Racks of the replicas that are missing: those below their least first, then those with the most room."""
    in_rack = per_rack(problem, kept)
    wanted: Counts = np.maximum(constraints.least - in_rack, 0).astype(np.int16)
    need = constraints.factor - kept.sum(axis=1) - wanted.sum(axis=1)
    room = np.bincount(problem.racks, np.where(constraints.receivers, _ideal(constraints), 0) - _loads(problem, kept))
    size = np.maximum(np.bincount(problem.racks[constraints.receivers], minlength=len(room)), 0.5)
    for part in _sliced(np.flatnonzero(need > 0)):
        rows = part
        score = (room - wanted.sum(axis=0)) / size
        while len(rows):
            open_ = in_rack[rows] + wanted[rows] < constraints.most[rows]
            rack = np.argmax(np.where(open_, score, -np.inf), axis=1)
            wanted[rows, rack] += 1
            need[rows] -= 1
            rows = rows[need[rows] > 0]
    return wanted


def _between_racks(problem: Problem, constraints: Constraints, kept: Mask, wanted: Counts) -> tuple[Mask, Counts]:
    """Moves units out of racks that hold more than their brokers may, into racks that have room or too few."""
    racks = len(problem.rack_names)
    lower = np.bincount(problem.racks, constraints.lower, minlength=racks).astype(np.int64)
    upper = np.bincount(problem.racks, constraints.upper, minlength=racks).astype(np.int64)
    for _ in range(racks):
        before = wanted.sum(axis=0, dtype=np.int64) + per_rack(problem, kept).sum(axis=0, dtype=np.int64)
        total = before.copy()
        for source in np.argsort(lower - total, kind="stable").tolist():
            for sink in np.argsort(total - upper, kind="stable").tolist():
                most = min(int(total[source] - lower[source]), int(upper[sink] - total[sink]))
                units = min(most, max(int(total[source] - upper[source]), int(lower[sink] - total[sink])))
                if units > 0 and source != sink:
                    done = _shift(problem, constraints, kept, wanted, source, sink, units)
                    total[source] -= done
                    total[sink] += done
        if (before == total).all():
            break
    return kept, wanted


def _shift(
    problem: Problem, constraints: Constraints, kept: Mask, wanted: Counts, source: int, sink: int, units: int
) -> int:
    """Moves up to so many units from one rack to another: new ones first, then the smallest of the fullest brokers."""
    in_rack = per_rack(problem, kept) + wanted
    able = (in_rack[:, source] > constraints.least[:, source]) & (in_rack[:, sink] < constraints.most[:, sink])
    fresh = np.flatnonzero(able & (wanted[:, source] > 0))[:units]
    wanted[fresh, source] -= 1
    wanted[fresh, sink] += 1
    left = units - len(fresh)
    able[fresh] = False
    if left <= 0:
        return units
    free = kept & ~constraints.fixed & able[:, None] & (problem.racks[np.maximum(problem.replicas, 0)] == source)
    rows, columns = np.nonzero(free)
    broker = problem.replicas[rows, columns]
    excess = _loads(problem, kept) - constraints.upper
    rank = _ranks(broker, problem.sizes[rows], rows)
    order = np.lexsort((rows, problem.sizes[rows], rank >= excess[broker]))
    chosen = order[np.sort(np.unique(rows[order], return_index=True)[1])][:left]
    kept[rows[chosen], columns[chosen]] = False
    wanted[rows[chosen], sink] += 1
    return len(fresh) + len(chosen)


def _ranks(groups: Matrix, sizes: Integers, ties: Indices) -> Integers:
    """Rank of each element within its group, by size."""
    order = np.lexsort((ties, sizes, groups))
    begins = np.searchsorted(groups[order], groups[order], side="left")
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - begins
    return ranks


def _within_racks(problem: Problem, constraints: Constraints, kept: Mask, wanted: Counts) -> tuple[Mask, Counts]:
    """Frees the smallest replicas of brokers that hold too many, so that each broker ends within its bounds."""
    free = kept & ~constraints.fixed
    rows, columns = np.nonzero(free)
    broker = problem.replicas[rows, columns]
    rank = _ranks(broker, problem.sizes[rows], rows)
    begins = np.full(len(problem.brokers) + 1, len(rows), dtype=np.int64)
    order = np.lexsort((rank, broker))
    begins[:-1] = np.searchsorted(broker[order], np.arange(len(problem.brokers)))
    loads = _loads(problem, kept)
    leaving = np.minimum(np.maximum(loads - constraints.upper, 0), np.bincount(broker, minlength=len(loads)))
    for rack in range(len(problem.rack_names)):
        here = np.flatnonzero(problem.racks == rack)
        left = loads[here] - leaving[here]
        units = int(wanted[:, rack].sum()) + int(leaving[here].sum())
        missing = int(np.maximum(constraints.lower[here] - left, 0).sum()) - units
        if missing > 0:
            leaving[here] += _more(problem, constraints, here, leaving, (loads, order, begins, rows), missing)
    out = order[_first_of_each(begins, leaving)]
    kept = kept.copy()
    kept[rows[out], columns[out]] = False
    wanted = wanted.copy()
    np.add.at(wanted, (rows[out], problem.racks[broker[out]]), 1)
    return kept, wanted


def _first_of_each(begins: Integers, numbers: Integers) -> Indices:
    """Positions of the first so many elements of each run."""
    inside = np.arange(int(numbers.sum())) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    return np.repeat(begins[:-1], numbers) + inside


def _more(
    problem: Problem,
    constraints: Constraints,
    here: Indices,
    leaving: Integers,
    runs: tuple[Integers, Indices, Integers, Indices],
    missing: int,
) -> Integers:
    """Further replicas of each broker of a rack that leave: the smallest, while it stays above its lower bound."""
    loads, order, begins, rows = runs
    able = np.minimum(loads[here] - leaving[here] - constraints.lower[here], np.diff(begins)[here] - leaving[here])
    able = np.maximum(able, 0)
    starts = np.append(begins[here] + leaving[here], len(rows))
    places = _first_of_each(starts, able)
    owner = np.repeat(np.arange(len(here)), able)
    chosen = np.lexsort((rows[order[places]], problem.sizes[rows[order[places]]]))[:missing]
    return np.bincount(owner[chosen], minlength=len(here)).astype(np.int64)


def _completed(problem: Problem, constraints: Constraints, assignment: Assignment, failed: Indices) -> Assignment:
    """Gives rows that found no broker with room the emptiest one that is legal."""
    if not len(failed):
        return assignment
    found = assignment.replicas.copy()
    loads = np.bincount(found[found != NOBODY], minlength=len(problem.brokers)).astype(np.int64)
    for row in failed.tolist():
        while np.count_nonzero(found[row] != NOBODY) < constraints.factor[row]:
            placed = found[row][found[row] != NOBODY]
            number = np.bincount(problem.racks[placed], minlength=len(problem.rack_names))
            short = (number < constraints.least[row])[problem.racks]
            kept = np.isin(np.arange(len(loads)), problem.replicas[row][constraints.keepable[row]])
            open_ = (constraints.receivers | kept) & (number < constraints.most[row])[problem.racks]
            open_[placed] = False
            over = np.maximum(loads + 1 - constraints.upper, 0)
            rank = np.lexsort((np.arange(len(loads)), loads, over, ~kept, ~short, ~open_))
            assert open_[rank[0]], "the racks have room for it"
            found[row, len(placed)] = rank[0]
            loads[rank[0]] += 1
    return in_old_places(problem, found)
