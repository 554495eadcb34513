"""Exchange graph of a target: least cost of handing one replica's load from one broker to another.

    nodes   brokers, then a hub for each rack, then the slack of each set of brokers that hold some number together,
            and at the end that of all others: load that brokers may lose or gain within their bounds
    arcs    broker -> hub     a replica that stayed moves to some broker of the rack, its cost is added
            hub -> broker     some new replica of the rack goes to that broker, at no cost,
                              or one that moved stays where it is after all, its cost is saved
            broker -> broker  another replica of the same partition stays in its place

A target is optimal where no circle of the graph has a negative length. Distances in it then are the prices that prove
it (certificate.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.constraints import UNLIMITED, Constraints, per_rack
from kreplica.planner.reassignment.problem import NOBODY, Matrix, Problem, held

_NO_ARC = 1 << 61

_MOST_DIRECT = 20_000_000
"""Partitions times brokers up to which new replicas are told apart where a rack holds several of a partition."""


def prices(
    problem: Problem, constraints: Constraints, target: Matrix, costs: Integers, most_rounds: int | None = None
) -> Integers:
    """Prices of brokers: they prove a target optimal if it is, otherwise they give some bound.

    Args:
        problem: The cluster.
        constraints: Conditions that the target meets.
        target: Where the replicas shall be.
        costs: Cost of each replica that a partition is given.
        most_rounds: Most arcs of a shortest path, for a target that is not optimal.
    """
    lengths = _lengths(problem, constraints, target, costs)
    distance = np.zeros(len(lengths), dtype=np.int64)
    for _ in range(len(lengths) + 1 if most_rounds is None else most_rounds):  # Bellman and Ford
        shorter = np.minimum(distance, (distance[:, None] + lengths).min(axis=0))
        if (shorter == distance).all():
            break
        distance = shorter
    found: Integers = distance[-1] - distance[: len(problem.brokers)]
    # A broker that may hold any number has no price above 0, or the bound is worth nothing.
    found[constraints.upper >= UNLIMITED] = np.minimum(found[constraints.upper >= UNLIMITED], 0)
    return found


def _lengths(problem: Problem, constraints: Constraints, target: Matrix, costs: Integers) -> Integers:
    brokers, racks = len(problem.brokers), len(problem.rack_names)
    slack = np.full(brokers, brokers + racks + len(constraints.totals))
    for number, total in enumerate(constraints.totals):
        slack[total.brokers] = brokers + racks + number
    nodes = brokers + racks + len(constraints.totals) + 1
    lengths = np.full((nodes, nodes), _NO_ARC, dtype=np.int64)
    stays = held(problem.replicas, target)
    new = (target != NOBODY) & ~held(target, problem.replicas)
    arcs = _Shifts(problem, constraints, target, costs)
    direct = np.any(constraints.most > 1, axis=1)
    direct &= bool(int(direct.sum()) * brokers <= _MOST_DIRECT)
    for tails, heads, cost in arcs.all(stays & ~constraints.fixed, constraints.keepable & ~stays, new, direct):
        np.minimum.at(lengths, (tails, heads), cost)
    receivers = np.flatnonzero(constraints.receivers)
    lengths[brokers + problem.racks[receivers], receivers] = np.minimum(
        lengths[brokers + problem.racks[receivers], receivers], 0
    )
    given = np.unique(target[new & ~direct[:, None]])
    lengths[given, brokers + problem.racks[given]] = np.minimum(lengths[given, brokers + problem.racks[given]], 0)
    loads = np.bincount(target[target != NOBODY], minlength=brokers)
    lower, upper = np.flatnonzero(loads > constraints.lower), np.flatnonzero(loads < constraints.upper)
    lengths[slack[lower], lower] = 0
    lengths[upper, slack[upper]] = 0
    return lengths


class _Shifts:
    """Ways in which single partitions can hand a replica on, as arrays of tails, heads and costs."""

    def __init__(self, problem: Problem, constraints: Constraints, target: Matrix, costs: Integers) -> None:
        self.replicas, self.target, self.costs = problem.replicas, target, costs
        self.receivers, self.broker_rack = constraints.receivers, problem.racks
        self.brokers, self.racks = len(problem.brokers), len(problem.rack_names)
        self.rack = problem.racks[problem.replicas]
        in_rack = per_rack(problem, target != NOBODY, target)
        self.can_leave = in_rack > constraints.least
        self.can_enter = in_rack < constraints.most

    def all(self, stays: Mask, out: Mask, new: Mask, direct: Mask) -> Iterator[tuple[Indices, Indices, Integers]]:
        """All ways.

        Args:
            stays: Replicas that stay and may move.
            out: Replicas that leave and might stay.
            new: Entries of the target that are new.
            direct: Rows whose new replicas are told apart by broker.
        """
        for column in range(stays.shape[1]):
            for kept, some in ((True, stays[:, column]), (False, new[:, column])):
                matrix = self.replicas if kept else self.target
                for apart in (True, False):
                    rows = np.flatnonzero(some & (direct == apart))
                    broker = matrix[rows, column].astype(np.intp)
                    rack = self.broker_rack[broker].astype(np.intp)
                    costs = self.costs[rows] * kept
                    if apart:
                        yield from self._to_brokers(rows, broker, rack, costs)
                        yield from self._back(rows, broker, rack, out, costs)
                    else:
                        tails = broker if kept else self.brokers + rack
                        yield from self._to_hubs(rows, tails, rack, costs, kept=kept)
                        yield from self._back(rows, tails, rack, out, costs)

    def _to_hubs(
        self, rows: Indices, tails: Indices, rack: Indices, costs: Integers, *, kept: bool
    ) -> Iterator[tuple[Indices, Indices, Integers]]:
        """To any broker of a rack that may take the replica."""
        for other in range(self.racks):
            open_ = self.can_leave[rows, rack] & self.can_enter[rows, other] & (rack != other)
            some = np.flatnonzero(open_ | ((rack == other) & kept))
            yield tails[some], np.full(len(some), self.brokers + other), costs[some]

    def _to_brokers(
        self, rows: Indices, tails: Indices, rack: Indices, costs: Integers
    ) -> Iterator[tuple[Indices, Indices, Integers]]:
        """To each broker that may take the replica and has none of the partition."""
        if not len(rows):
            return
        open_ = (self.can_leave[rows, rack][:, None] & self.can_enter[rows])[:, self.broker_rack]
        open_ |= rack[:, None] == self.broker_rack[None, :]
        open_ &= self.receivers
        for matrix in (self.replicas, self.target):
            for column in range(matrix.shape[1]):
                there = np.flatnonzero(matrix[rows, column] != NOBODY)
                open_[there, matrix[rows[there], column]] = False
        number, heads = np.nonzero(open_)
        yield tails[number], heads, costs[number]

    def _back(
        self, rows: Indices, tails: Indices, rack: Indices, out: Mask, costs: Integers
    ) -> Iterator[tuple[Indices, Indices, Integers]]:
        """To a broker whose replica would leave and stays after all: its cost is saved."""
        for column in range(out.shape[1]):
            there = np.maximum(self.rack[rows, column], 0)
            shifts = self.can_leave[rows, rack] & self.can_enter[rows, there]
            some = np.flatnonzero(out[rows, column] & ((there == rack) | shifts))
            yield tails[some], self.replicas[rows[some], column].astype(np.intp), costs[some] - self.costs[rows[some]]
