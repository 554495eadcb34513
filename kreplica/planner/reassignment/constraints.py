"""Constraints: replicas that stay, brokers that receive, and how many replicas racks and brokers hold afterwards.

A partition's replicas are spread over racks as evenly as its brokers allow where racks are a reason to move; otherwise
no rack may hold more of it than it does, or than an even spread would give it. The replicas of a broker that is dead or
excluded stay where they are: it may come back, and is not emptied by accident. A partition keeps a replica of its ISR,
or of its ELR where nobody is in sync, unless it has only that one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from kreplica.model.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem, held
from kreplica.planner.reassignment.request import Measure, ReasonKind

Counts = npt.NDArray[np.int16]
"""Replicas of each partition in each rack."""

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
    """Replicas that are the only member of the ISR that could stay, and partitions of which none could stay.

    Of a partition with an empty ISR the ELR counts. A partition of one replica may move all the same: Kafka removes the
    old one only when the new one is in sync.
    """
    in_sync = _in_sync(problem)
    several = _several(problem)
    staying = in_sync & keepable
    number = staying.sum(axis=1)
    alone = several & np.equal(number, 1)
    return staying & alone.reshape(-1, 1), several & np.equal(number, 0) & in_sync.any(axis=1)


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


def keeping_in_sync(problem: Problem, constraints: Constraints, target: Matrix) -> Constraints | None:
    """Constraints by which partitions keep a replica in sync that a target takes away; None if there are none such.

    Of several in sync one may go, so that no single one is fixed beforehand; a plan seldom takes all of them.
    """
    in_sync = _in_sync(problem)
    staying = in_sync & constraints.keepable
    several = _several(problem)
    rows = np.flatnonzero(several & staying.any(axis=1) & ~(staying & held(problem.replicas, target)).any(axis=1))
    if not len(rows):
        return None
    fixed = constraints.fixed.copy()
    fixed[rows, np.argmax(staying[rows], axis=1)] = True
    held_fast = per_rack(problem, fixed)
    most = np.maximum(constraints.most, held_fast)
    return replace(constraints, fixed=fixed, most=most, least=_least_beside(constraints.least, held_fast))


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
    least, most = np.maximum(constraints.least - fixed, 0), constraints.most - fixed
    need = constraints.factor - fixed.sum(axis=1)
    brokers = np.bincount(problem.racks[sharing], minlength=len(problem.rack_names))
    left = sorted(np.flatnonzero(brokers).tolist(), key=lambda rack: (-brokers[rack], rack))
    done: list[int] = []

    def share_of(racks: list[int]) -> int:
        others = [rack for rack in range(len(brokers)) if rack not in racks]
        return int(np.minimum(most[:, racks].sum(axis=1), need - least[:, others].sum(axis=1)).sum())

    levels: dict[int, Fraction] = {}
    while left:
        before = share_of(done) if done else 0
        ratios = []
        for number in range(1, len(left) + 1):
            share = share_of(done + left[:number]) - before
            ratios.append((Fraction(share, int(brokers[left[:number]].sum())), -number))
        level, taken = min(ratios)
        levels |= dict.fromkeys(left[:-taken], level)
        done, left = done + left[:-taken], left[-taken:]
    return levels


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
    return replace(free, lower=lower.astype(np.int64), upper=upper.astype(np.int64), sharing=sharing)


def _floor(level: Fraction) -> int:
    return level.numerator // level.denominator


def _ceil(level: Fraction) -> int:
    return -(-level.numerator // level.denominator)
