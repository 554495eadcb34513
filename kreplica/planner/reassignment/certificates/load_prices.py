"""Prices of loads: how few bytes bring every broker into its range, proven by a price for each unit of its load.

What a broker has above its range leaves it, in parts of the replicas whose bytes are cheapest for each unit: the price
of the last part is that of the broker. What brokers lack comes to them, and the price is one for all. Of both, and of
the better one in each rack where racks keep their replicas, the highest bound is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.board import loads_of
from kreplica.planner.reassignment.certificates.dual_bound import dual_bound
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import Problem

ANY = 1 << 60
"""Upper end of a range without one."""
_MOST = 1 << 54
"""Greatest price times load, so that sums of them do not overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class PricedBound:
    """A bound and its proof.

    Args:
        proven: Bytes that are copied at least.
        prices: Price of a unit of load on each broker.
        scale: Units of price that make one byte.
    """

    proven: int
    prices: Integers
    scale: int


def priced_bound(
    problem: Problem, constraints: Constraints, weights: Integers, low: Integers, high: Integers
) -> PricedBound:
    """The highest bound that is found.

    Args:
        problem: The cluster.
        constraints: Conditions of single partitions; their ranges of brokers do not count.
        weights: Load of one replica of each partition.
        low: Least load of each broker.
        high: Greatest load of each broker, ``ANY`` for any.
    """
    loads = loads_of(problem.replicas, weights, len(problem.brokers))
    excess, lack = np.maximum(loads - high, 0), np.maximum(low - loads, 0)
    ranged = replace(constraints, lower=low, upper=high, totals=())
    rates = _rates(problem, constraints, weights, excess, lack)
    scale = _scale(problem, weights, rates)
    best = PricedBound(0, np.zeros(len(loads), np.int64), 1)
    if not scale:
        return best
    scaled = [np.rint(rate * scale).astype(np.int64) for rate in rates]
    for prices in _combined(problem, constraints, scaled, excess, lack):
        total = dual_bound(problem, ranged, prices, problem.sizes * scale, weights)
        proven = -(-total // scale)
        best = PricedBound(proven, prices, scale) if proven > best.proven else best
    return best


def _rates(
    problem: Problem, constraints: Constraints, weights: Integers, excess: Integers, lack: Integers
) -> list[np.ndarray]:
    """Bytes for a unit of load: of each broker that has too much, and of those that have too little."""
    rows, columns = np.nonzero(constraints.keepable & ~constraints.fixed & (weights > 0)[:, None])
    rate = problem.sizes[rows] / weights[rows]
    order = np.argsort(rate, kind="stable")
    rows, rate, broker = rows[order], rate[order], problem.replicas[rows, columns][order]
    up, down = np.zeros(len(excess)), np.zeros(len(excess))
    for one in np.flatnonzero(excess).tolist():
        own = broker == one
        up[one] = _last(rate[own], weights[rows[own]], int(excess[one]))
    down[lack > 0] = -_last(rate, weights[rows], int(lack.sum()))
    return [up, down]


def _last(rate: np.ndarray, weights: Integers, need: int) -> float:
    """Rate of the last of the cheapest replicas that weigh as much as is needed."""
    if not len(rate):
        return 0.0
    return float(rate[min(int(np.searchsorted(np.cumsum(weights), need)), len(rate) - 1)])


def _scale(problem: Problem, weights: Integers, rates: list[np.ndarray]) -> int:
    """Units of price in a byte: 1 where prices are whole, otherwise as many as 64 bits can bear; 0 for none."""
    wanted = 1 if all((rate == np.rint(rate)).all() for rate in rates) else 1 << 20
    heaviest = max(float(np.abs(rate).max(initial=0)) for rate in rates) * float(weights.max(initial=0))
    largest = max(heaviest, float(problem.sizes.max(initial=0)), 1.0)
    return min(wanted, int(_MOST / largest / problem.width))


def _combined(
    problem: Problem, constraints: Constraints, scaled: list[Integers], excess: Integers, lack: Integers
) -> Iterator[Integers]:
    up, down = scaled
    closed = bool((constraints.least == constraints.most).all())
    if excess.any():
        yield up
    if lack.any():
        yield down
    if closed and excess.any() and lack.any():
        racks = len(problem.rack_names)
        given, taken = (
            np.bincount(problem.racks, np.abs(price) * each.astype(float), racks)
            for price, each in ((up, excess), (down, lack))
        )
        higher: Mask = given >= taken
        yield np.where(higher[problem.racks], up, down)
