"""Constraints: replicas that stay, brokers that receive, and how many replicas racks and brokers hold afterwards.

A partition's replicas are spread over racks as evenly as its brokers allow where racks are a reason to move;
otherwise no rack ends with more or fewer of it than it has or than an even spread would give it. The replicas of a
broker that is dead or excluded stay where they are: it may come back, and is not emptied by accident. The last member
of an ISR stays, or that of an ELR where nobody is in sync, unless the partition has only one replica.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem
from kreplica.planner.reassignment.request import Measure, ReasonKind

Counts = npt.NDArray[np.int16]
"""Replicas of each partition in each rack."""

_MOST_RACKS = 10
"""Racks of which every set is looked at when loads are shared."""

UNLIMITED = 1 << 40
"""Upper bound of a broker that may hold any number of replicas."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """Conditions that a target meets.

    Args:
        receivers: Brokers that may be given replicas.
        keepable: Replicas of the problem's matrix that may stay.
        fixed: Those of them that have to stay.
        factor: Replicas of each partition afterwards.
        least: Fewest replicas of each partition in each rack.
        most: Most replicas of each partition in each rack.
        lower: Fewest replicas on each broker.
        upper: Most replicas on each broker.
        stuck: Rows that cannot be changed as wanted, and stay as they are.
        sharing: Brokers that are made equal, none where balance is no reason to move.
        totals: Replicas on sets of brokers together, where the spread over racks gives each set its own level.
    """

    receivers: Mask
    keepable: Mask
    fixed: Mask
    factor: npt.NDArray[np.int32]
    least: Counts
    most: Counts
    lower: Integers
    upper: Integers
    stuck: Indices
    sharing: Mask
    totals: tuple[Total, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Total:
    """Replicas on some brokers together.

    Args:
        brokers: Their positions; sets of one problem have no broker in common.
        replicas: The number.
    """

    brokers: Indices
    replicas: int


def per_rack(problem: Problem, entries: Mask, replicas: Matrix | None = None) -> Counts:
    """Number of marked entries of each partition in each rack.

    Args:
        problem: Gives the racks.
        entries: Marks entries of the matrix.
        replicas: The matrix, that of the problem unless it is given.
    """
    matrix = problem.replicas if replicas is None else replicas
    racks = len(problem.rack_names)
    found = np.zeros((len(matrix), racks), dtype=np.int16)
    rack = problem.racks[matrix]
    for column in range(matrix.shape[1]):
        rows = np.flatnonzero(entries[:, column])
        found[rows, rack[rows, column]] += 1
    return found


def even_spread(factor: npt.NDArray[np.int32], room: Counts) -> tuple[Counts, Counts]:
    """Fewest and most replicas in each rack when they are spread as evenly as the room in each rack allows.

    Args:
        factor: Replicas of each partition, at most the sum of its row of ``room``.
        room: Most replicas that each rack can hold of each partition.
    """
    least = np.zeros_like(room)
    for level in range(1, int(factor.max(initial=0)) + 1):
        filled = np.minimum(room, level)
        fits = filled.sum(axis=1) <= factor
        least[fits] = filled[fits]
    left = factor > least.sum(axis=1)
    level = least.max(axis=1, initial=0)
    most = np.where(left[:, None], np.minimum(room, level[:, None] + 1), least).astype(np.int16)
    return least, most


def make_constraints(problem: Problem) -> Constraints:
    """Returns the constraints that the request puts on a target, those of brokers for count included."""
    request = problem.request
    there = problem.replicas != NOBODY
    at = np.maximum(problem.replicas, 0)
    receivers = problem.destination
    if request.reasons and all(reason.kind is ReasonKind.ADD for reason in request.reasons):
        receivers = receivers & np.isin(problem.brokers, request.brokers_of(ReasonKind.ADD))
    keepable = there & ~problem.leaving[at]
    closed: Mask = (~problem.alive | problem.excluded) & ~problem.leaving
    shrinks = np.greater(there.sum(axis=1), problem.factor)
    pinned, unsafe = _pins(problem, keepable)
    fixed = (keepable & closed[at] & ~shrinks.reshape(-1, 1)) | pinned
    room = _room(problem, keepable, receivers)
    stuck = unsafe | np.less(room.sum(axis=1), problem.factor)
    keepable = np.where(stuck.reshape(-1, 1), there, keepable)
    fixed = np.where(stuck.reshape(-1, 1), there, fixed)
    factor = np.where(stuck, there.sum(axis=1), problem.factor).astype(np.int32)
    room = np.where(stuck.reshape(-1, 1), per_rack(problem, there), room).astype(np.int16)
    least, most = even_spread(factor, room)
    if not request.has(ReasonKind.RACK_AWARE):
        kept = per_rack(problem, keepable)
        loose = ~shrinks.reshape(-1, 1)
        least, most = np.where(loose, np.minimum(least, kept), least), np.where(loose, np.maximum(most, kept), most)
    held_fast = per_rack(problem, fixed)
    most = np.maximum(most, held_fast)
    # A rack that holds more than its share by force leaves less to the others.
    least = _least_beside(least, held_fast)
    free = Constraints(
        receivers=receivers,
        keepable=keepable,
        fixed=fixed,
        factor=factor,
        least=least,
        most=most,
        lower=np.zeros(len(problem.brokers), dtype=np.int64),
        upper=np.full(len(problem.brokers), UNLIMITED),
        stuck=np.flatnonzero(stuck),
        sharing=np.zeros(len(problem.brokers), dtype=np.bool_),
    )
    if request.balances(Measure.COUNT) or request.has(ReasonKind.ADD):
        return _with_bounds(problem, free, ~closed & ~problem.leaving)
    return free


def _pins(problem: Problem, keepable: Mask) -> tuple[Mask, Mask]:
    """Replicas that are the last member of their ISR, and partitions whose last member could not stay.

    Of a partition with an empty ISR the ELR counts. A partition of one replica may move all the same: Kafka removes the
    old one only when the new one is in sync.
    """
    in_sync = _in_sync(problem)
    alone = _several(problem) & np.equal(in_sync.sum(axis=1), 1)
    pinned = in_sync & alone.reshape(-1, 1)
    return pinned & keepable, (pinned & ~keepable).any(axis=1)


def _several(problem: Problem) -> Mask:
    """Partitions of more than one replica."""
    several: Mask = np.greater(np.count_nonzero(problem.replicas != NOBODY, axis=1), 1)
    return several


def _in_sync(problem: Problem) -> Mask:
    """Members of the ISR; of the ELR where nobody is in sync."""
    return problem.in_sync | (problem.eligible & ~problem.in_sync.any(axis=1, keepdims=True))


def _least_beside(least: Counts, held_fast: Counts) -> Counts:
    rows = np.flatnonzero(np.any(held_fast > least, axis=1))
    found = least.astype(np.int16)
    found[rows] = held_fast[rows]
    return found


def _room(problem: Problem, keepable: Mask, receivers: Mask) -> Counts:
    """Most replicas that each rack can hold of each partition: its receivers, and what may stay on other brokers."""
    racks = len(problem.rack_names)
    able = np.bincount(problem.racks[receivers], minlength=racks)
    others = keepable & ~receivers[np.maximum(problem.replicas, 0)]
    room: Counts = np.minimum(able + per_rack(problem, others), np.iinfo(np.int16).max).astype(np.int16)
    return room


def rack_levels(problem: Problem, constraints: Constraints, sharing: Mask) -> dict[int, Fraction]:
    """Replicas for each broker of each rack, as equal over all brokers as the spread over racks allows.

    The numbers of replicas that sets of racks can hold at most are submodular, so the most equal shares are found by
    taking the set of racks that gets least for its brokers first (Fujishige's decomposition).

    Args:
        problem: Brokers and racks.
        constraints: The spread of each partition; bounds of brokers do not count.
        sharing: Brokers among which the replicas are shared.
    """
    fixed = per_rack(problem, constraints.fixed & ~sharing[np.maximum(problem.replicas, 0)])
    need = constraints.factor - fixed.sum(axis=1)
    kinds = np.column_stack([need, np.maximum(constraints.least - fixed, 0), constraints.most - fixed]).astype(np.int64)
    kinds, number = _distinct(kinds)
    racks = len(problem.rack_names)
    need, least, most = kinds[:, 0], kinds[:, 1 : racks + 1], kinds[:, racks + 1 :]
    brokers = np.bincount(problem.racks[sharing], minlength=racks)
    left = sorted(np.flatnonzero(brokers).tolist(), key=lambda rack: (-brokers[rack], rack))
    done: list[int] = []

    def share_of(chosen: list[int]) -> int:
        others = [rack for rack in range(racks) if rack not in chosen]
        return int(np.minimum(most[:, chosen].sum(axis=1), need - least[:, others].sum(axis=1)) @ number)

    levels: dict[int, Fraction] = {}
    while left:
        before = share_of(done) if done else 0
        ratios = [
            (Fraction(share_of(done + some) - before, int(brokers[some].sum())), -len(some), some)
            for some in _sets_of(left)
        ]
        level, _, taken = min(ratios)
        levels |= dict.fromkeys(taken, level)
        done, left = done + taken, [rack for rack in left if rack not in taken]
    return levels


def _sets_of(racks: list[int]) -> Iterable[list[int]]:
    """Sets of racks that can be the one that gets least: all of them, of many racks the largest so many."""
    if len(racks) > _MOST_RACKS:
        return (racks[:number] for number in range(1, len(racks) + 1))
    sizes = range(1, len(racks) + 1)
    return (list(some) for number in sizes for some in combinations(racks, number))


def _distinct(rows: Integers) -> tuple[Integers, Integers]:
    """Distinct rows and how often each is there, by hashes: sorting whole rows takes ten times as long."""
    factors = np.random.default_rng(0).integers(1, 1 << 62, rows.shape[1], dtype=np.int64) | 1
    with np.errstate(over="ignore"):
        _, first, number = np.unique(rows @ factors, return_index=True, return_counts=True)
    return rows[first], number


def _with_bounds(problem: Problem, free: Constraints, sharing: Mask) -> Constraints:
    """Adds the bounds of brokers: the whole numbers around their rack's level, for those that may receive.

    A broker that only gives is not filled up: it ends between what it holds and the level.
    """
    levels = rack_levels(problem, free, sharing)
    low = np.array([_floor(levels.get(rack, Fraction(0))) for rack in problem.racks.tolist()], dtype=np.int64)
    high = np.array([_ceil(levels.get(rack, Fraction(0))) for rack in problem.racks.tolist()], dtype=np.int64)
    load = np.bincount(problem.replicas[free.keepable], minlength=len(problem.brokers))
    kept = np.bincount(problem.replicas[free.fixed], minlength=len(problem.brokers))
    receiving = sharing & free.receivers
    if (problem.destination & ~free.receivers).any():
        high = np.maximum(high, load)  # brokers that are added do not give
    giving = sharing & ~free.receivers
    lower = np.where(receiving, low, np.where(giving, np.minimum(load, low), kept))
    upper = np.where(receiving, np.maximum(high, kept), load)
    found = replace(free, lower=lower.astype(np.int64), upper=upper.astype(np.int64), sharing=sharing)
    return found if giving.any() else replace(found, totals=_totals(problem, levels, sharing))


def _totals(problem: Problem, levels: dict[int, Fraction], sharing: Mask) -> tuple[Total, ...]:
    """Sets of brokers of one level; where there is one level for all, their total says nothing."""
    if len(set(levels.values())) < 2:
        return ()
    found = []
    for level in sorted(set(levels.values())):
        racks = [rack for rack, own in levels.items() if own == level]
        brokers = np.flatnonzero(sharing & np.isin(problem.racks, racks))
        found.append(Total(brokers, int(level * len(brokers))))
    return tuple(found)


def _floor(level: Fraction) -> int:
    return level.numerator // level.denominator


def _ceil(level: Fraction) -> int:
    return -(-level.numerator // level.denominator)
