"""Dual bound: what prices of replicas prove, computed for the planner; ``verification.py`` adds it up by itself.

Each partition is placed as cheaply as its constraints allow at these prices, whatever the others do. See
``certificate.py`` for why nothing costs less.
"""

from __future__ import annotations

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.certificates.certificate import Quantity
from kreplica.planner.reassignment.constraints import Constraints, per_rack
from kreplica.planner.reassignment.problem import NOBODY, Problem

_ROWS = 50_000
"""Partitions that are priced at once: bounds the memory."""

NEVER = 1 << 61
"""Cost of what is not allowed."""
FORCED = 1 << 59
"""Discount of what has to be taken, so that it comes first; added again afterwards."""


def move_costs(problem: Problem, quantity: Quantity, move_cost: int) -> Integers:
    """Cost of each replica that a partition is given."""
    sizes = problem.sizes if quantity is Quantity.BYTES else np.zeros(len(problem), dtype=np.int64)
    return sizes + move_cost


def dual_bound(
    problem: Problem, constraints: Constraints, prices: Integers, costs: Integers, weights: Integers | None = None
) -> int:
    """Least total cost of added replicas that these prices prove.

    Args:
        problem: The cluster.
        constraints: Conditions that every plan meets; ranges of brokers are those of the load that is priced.
        prices: Price of a unit of load on each broker, any whole numbers.
        costs: Cost of each replica that a partition is given.
        weights: Load of one replica of each partition; 1 unless it is given.
    """
    loads = np.ones(len(problem), dtype=np.int64) if weights is None else weights
    paid = _most_paid(constraints, prices)
    rows = np.arange(len(problem))
    parts = (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
    return sum(_exact_sum(_cheapest(problem, constraints, prices, costs, loads, part)) for part in parts) - paid


def _most_paid(constraints: Constraints, prices: Integers) -> int:
    """Most that brokers can be paid within their bounds and totals."""
    exact, lower, upper = prices.astype(object), constraints.lower, constraints.upper
    paid = int(exact @ lower.astype(object))
    alone = np.ones(len(prices), dtype=np.bool_)
    for total in constraints.totals:
        alone[total.brokers] = False
        left = total.replicas - int(lower[total.brokers].sum())
        for broker in total.brokers[np.argsort(-prices[total.brokers], kind="stable")].tolist():
            number = min(left, int(upper[broker] - lower[broker]))
            paid += number * int(prices[broker])
            left -= number
    free = alone & (prices > 0)
    return paid + int(exact[free] @ (upper - lower)[free].astype(object))


def _exact_sum(values: Integers) -> int:
    """Sum that does not overflow."""
    return (int((values >> 31).sum()) << 31) + int((values & ((1 << 31) - 1)).sum())


def _cheapest(
    problem: Problem, constraints: Constraints, prices: Integers, costs: Integers, weights: Integers, rows: Indices
) -> Integers:
    """Cost of the cheapest placement of each partition alone."""
    matrix, keepable, fixed = problem.replicas[rows], constraints.keepable[rows], constraints.fixed[rows]
    stay = np.where(keepable, prices[matrix] * weights[rows, None], NEVER) - np.where(fixed, FORCED, 0)
    rack_of = np.where(matrix == NOBODY, -1, problem.racks[matrix])
    in_rack = per_rack(problem, fixed, matrix)
    must = np.maximum(constraints.least[rows], in_rack).astype(np.int64)
    total: Integers = in_rack.sum(axis=1) * np.int64(FORCED)
    several = int(constraints.most.max(initial=0)) > 1
    optional = []
    for rack in range(len(problem.rack_names)):
        options = [np.where(rack_of == rack, stay, NEVER)]
        here = np.flatnonzero(constraints.receivers & (problem.racks == rack))
        here = here[np.argsort(prices[here], kind="stable")][: int(constraints.most.max()) + matrix.shape[1]]
        for broker in (here if several else here[:1]).tolist():
            new = costs[rows] + prices[broker] * weights[rows]
            options.append(_unless(new, (matrix == broker).any(axis=1) & several)[:, None])
        ranked = np.sort(np.concatenate(options, axis=1), axis=1)
        order = np.arange(ranked.shape[1])
        total += np.where(order < must[:, [rack]], ranked, 0).sum(axis=1)
        open_ = (order >= must[:, [rack]]) & (order < constraints.most[rows][:, [rack]])
        width = int(constraints.most[:, rack].max(initial=0))
        optional.append(np.where(open_, ranked, NEVER)[:, :width])
    rest = constraints.factor[rows] - must.sum(axis=1)
    most = int(rest.max(initial=0))
    if most:
        pool = np.sort(np.concatenate(optional, axis=1), axis=1)[:, :most]
        total = total + np.where(np.arange(pool.shape[1]) < rest[:, None], pool, 0).sum(axis=1)
    return total


def _unless(costs: Integers, barred: Mask) -> Integers:
    found: Integers = np.where(barred, NEVER, costs)
    return found
