"""Certification: what a plan aims at, gathered while it is made, and the certificate of what it has become.

Later aims may undo what earlier ones reached: bytes are balanced after numbers. So nothing is certified before the end.
Every range is then widened to what the plan reaches, brokers outside what was wanted are named, and the best bound of
each quantity is taken, whichever aim proves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.balances.leaders import LeaderPlan, leader_bounds
from kreplica.planner.reassignment.balances.topic_shares import share_bound
from kreplica.planner.reassignment.certificates.certificate import (
    Bound,
    BoundKind,
    Certificate,
    LeaderProof,
    Load,
    LoadBounds,
    Missed,
    Quantity,
    TopicShares,
)
from kreplica.planner.reassignment.certificates.load_prices import ANY, priced_bound
from kreplica.planner.reassignment.certificates.relief_proof import DirectoryAim
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.numbers.certified import Planned, certify, conditions_of
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Matrix, Problem, bytes_moved, held, moves


@dataclass(frozen=True, slots=True, eq=False)
class LoadAim:
    """Range in which a load of brokers shall be.

    Args:
        load: The load.
        weights: That of one replica of each partition.
        low: Least of each broker, 0 for any.
        high: Greatest of each broker, ``ANY`` for any.
    """

    load: Load
    weights: Integers
    low: Integers
    high: Integers

    def both(self, other: LoadAim) -> LoadAim:
        """The range that meets both."""
        return replace(self, low=np.maximum(self.low, other.low), high=np.minimum(self.high, other.high))

    def reached(self, loads: Integers) -> LoadAim:
        """The same range, as wide as these loads need it."""
        return replace(self, low=np.minimum(self.low, loads), high=np.maximum(self.high, loads))


class Aims:
    """Aims of a plan while it is made."""

    def __init__(self, problem: Problem, constraints: Constraints) -> None:
        self.problem, self.constraints = problem, constraints
        self.counted: Planned | None = None
        self.loads: dict[Load, LoadAim] = {}
        self.groups: Integers | None = None
        self.leaders: tuple[LeaderPlan, Mask] | None = None
        self.reliefs: list[DirectoryAim] = []

    def level(self, aim: LoadAim) -> None:
        """A load of brokers is to be in a range."""
        self.loads[aim.load] = aim.both(self.loads[aim.load]) if aim.load in self.loads else aim

    def relieve(self, broker: int, need: int) -> None:
        """So many bytes are to leave a broker, 0 for any number."""
        sizes = self.problem.sizes
        low, high = np.zeros(len(self.problem.brokers), np.int64), np.full(len(self.problem.brokers), ANY)
        if need:
            high[broker] = max(0, int(_loads(self.problem.replicas, sizes, len(high))[broker]) - need)
        self.level(LoadAim(Load.BYTES, sizes, low, high))

    def certificate(self, whole: Assignment, made: Assignment) -> Certificate:
        """Certificate of the plan.

        Args:
            whole: What all aims but leaders have come to.
            made: What is left of it after limits, with leaders in order.
        """
        found = self._conditions(whole)
        bounds = {bound.quantity: bound for bound in found.bounds}
        for bound in (*self._load_bounds(whole), *self._share_bounds(whole)):
            best = bounds.get(bound.quantity)
            if best is None or bound.lower_bound > best.lower_bound:
                bounds[bound.quantity] = bound
        rest = self._rest(whole, made)
        if rest:
            bounds = {quantity: self._partly(bound, made) for quantity, bound in bounds.items()}
        leaders = None if self.leaders is None else self._leader_proof(self.leaders)
        return replace(
            found,
            bounds=(*bounds.values(), *self._leader_bounds(made)),
            loads=tuple(self._ranges(whole)),
            weights=self._weights(),
            shares=self._shares(whole),
            leaders=leaders,
            rest=rest,
            missed=(*found.missed, *self._missed(whole)),
        )

    def _conditions(self, whole: Assignment) -> Certificate:
        if self.counted is None:
            return conditions_of(self.problem, self.constraints, whole)
        if (self.counted.assignment.replicas == whole.replicas).all():
            return self.counted.certificate
        return certify(self.problem, self.counted.wanted, whole)

    def _ids(self, values: Integers, chosen: Mask) -> dict[int, int]:
        return dict(zip(self.problem.brokers[chosen].tolist(), values[chosen].tolist(), strict=True))

    def _reached(self, whole: Assignment) -> Iterator[tuple[LoadAim, Integers]]:
        for aim in self.loads.values():
            loads = _loads(whole.replicas, aim.weights, len(aim.low))
            yield aim.reached(loads), loads

    def _ranges(self, whole: Assignment) -> Iterator[LoadBounds]:
        for aim, _ in self._reached(whole):
            yield LoadBounds(aim.load, self._ids(aim.low, aim.low > 0), self._ids(aim.high, aim.high < ANY))

    def _missed(self, whole: Assignment) -> Iterator[Missed]:
        for aim, loads in self._reached(whole):
            wanted = self.loads[aim.load]
            for one in np.flatnonzero((aim.low < wanted.low) | (aim.high > wanted.high)).tolist():
                broker, reached = int(self.problem.brokers[one]), int(loads[one])
                yield Missed(aim.load, broker, reached, int(wanted.low[one]), int(wanted.high[one]))

    def _weights(self) -> tuple[tuple[str, int, int], ...]:
        aim = self.loads.get(Load.WEIGHTS)
        if aim is None:
            return ()
        rows = np.flatnonzero(aim.weights).tolist()
        return tuple((*self.problem.key(row), int(aim.weights[row])) for row in rows)

    def _load_bounds(self, whole: Assignment) -> Iterator[Bound]:
        """Bytes, by the range of each load."""
        value = bytes_moved(self.problem, whole)
        for aim, _ in self._reached(whole):
            found = priced_bound(self.problem, self.constraints, aim.weights, aim.low, aim.high)
            if found.proven <= 0:
                yield Bound(Quantity.BYTES, value, 0, BoundKind.NOTHING, 0, {})
            else:
                prices = self._ids(found.prices, found.prices != 0)
                yield Bound(
                    Quantity.BYTES, value, found.proven, BoundKind.PRICES, 0, prices, aim.load, scale=found.scale
                )

    def _share_bounds(self, whole: Assignment) -> Iterator[Bound]:
        if self.groups is not None:
            proven, _ = share_bound(self.problem, self.constraints, whole, self.groups)
            kind = BoundKind.SHARES if proven > 0 else BoundKind.NOTHING
            yield Bound(Quantity.MOVES, moves(self.problem, whole), max(0, proven), kind, 1, {})

    def _shares(self, whole: Assignment) -> TopicShares | None:
        if self.groups is None:
            return None
        _, beyond = share_bound(self.problem, self.constraints, whole, self.groups)
        groups = np.unique(self.groups[self.groups >= 0]).tolist()
        return TopicShares(tuple(tuple(self.problem.brokers[self.groups == one].tolist()) for one in groups), beyond)

    def _leader_proof(self, leaders: tuple[LeaderPlan, Mask]) -> LeaderProof:
        plan, free = leaders
        barred = tuple(self.problem.brokers[~free].tolist())
        return LeaderProof(barred, self._ids(plan.levels, plan.levels != 0), self._ids(plan.prices, plan.prices != 0))

    def _leader_bounds(self, made: Assignment) -> Iterator[Bound]:
        if self.leaders is None:
            return
        (plan, free), replicas = self.leaders, made.replicas
        may_lead = (replicas != NOBODY) & free[replicas]
        rows = may_lead.any(axis=1)
        first = replicas[rows, 0]
        preferred = self.problem.replicas[:, 0].astype(np.int64)
        squares = int((np.bincount(first).astype(np.int64) ** 2).sum())
        least = leader_bounds(replicas, preferred, may_lead, plan.levels, plan.prices)
        sound = bool(may_lead[rows, 0].all())
        changes = int(np.count_nonzero(first != preferred[rows]))
        yield _by_levels(Quantity.LEADER_SQUARES, squares, least.squares if sound else 0)
        proven = least.changes if sound and least.squares == squares else 0
        yield _by_levels(Quantity.LEADER_CHANGES, changes, proven)

    def _rest(self, whole: Assignment, made: Assignment) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
        """Changes that are not made, but for the order."""
        lacks = ((whole.replicas != NOBODY) & ~held(whole.replicas, made.replicas)).any(axis=1)
        lacks |= ((made.replicas != NOBODY) & ~held(made.replicas, whole.replicas)).any(axis=1)
        ids = self.problem.brokers
        rows = np.flatnonzero(lacks).tolist()
        return tuple(
            (*self.problem.key(row), tuple(ids[[one for one in whole.replicas[row].tolist() if one >= 0]].tolist()))
            for row in rows
        )

    def _partly(self, bound: Bound, made: Assignment) -> Bound:
        request, in_bytes = self.problem.request, bound.quantity is Quantity.BYTES
        planned = bytes_moved(self.problem, made) if in_bytes else moves(self.problem, made)
        return replace(bound, planned=planned, limit=request.max_bytes if in_bytes else request.max_moves)


def _by_levels(quantity: Quantity, value: int, proven: int) -> Bound:
    return Bound(quantity, value, max(0, proven), BoundKind.LEVELS if proven > 0 else BoundKind.NOTHING, 1, {})


def _loads(replicas: Matrix, weights: Integers, brokers: int) -> Integers:
    found = np.zeros(brokers + 1, np.int64)
    np.add.at(found, replicas, weights[:, None])  # nobody is the last one
    return found[:-1]
