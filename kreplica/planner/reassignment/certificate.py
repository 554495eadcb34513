"""Certificate: a plan's value, a lower bound that no plan goes below, and the prices that prove it.

The bound is a Lagrangian one. Give every broker a price for holding a replica. Then no target that meets the
constraints costs less than the sum, over partitions, of the cheapest way to place each one alone at those prices, less
the most that the brokers' bounds let all of them be paid:

    cost >= sum of cheapest placements(price) - sum over brokers of max(price * lower, price * upper)

Where brokers hold a certain number together, they are paid for that many: those with the highest prices first.
That holds for any prices (weak duality), so whoever has the prices can check the bound without solving anything. Node
potentials of an optimal flow are prices for which it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from kreplica.model.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.constraints import Constraints, per_rack
from kreplica.planner.reassignment.problem import NOBODY, Problem

_ROWS = 50_000
"""Partitions that are priced at once: bounds the memory."""

NEVER = 1 << 61
"""Cost of what is not allowed."""
FORCED = 1 << 59
"""Discount of what has to be taken, so that it comes first; added again afterwards."""


class Quantity(StrEnum):
    """Quantities that a plan makes small."""

    MOVES = "moves"
    BYTES = "bytes"


class BoundKind(StrEnum):
    """Reasons why there is nothing below a bound."""

    NOTHING = "nothing"
    PRICES = "prices"


@dataclass(frozen=True, slots=True)
class Bound:
    """A quantity of the plan, and what no other plan goes below.

    Args:
        quantity: Replicas that are added, or bytes that are copied where no more replicas are added than here.
        value: That of the plan.
        lower_bound: Of every plan that meets the same constraints.
        kind: How it is shown: from nothing, every plan has 0 at least; or by prices.
        move_cost: Cost of one replica that is added, beside its bytes where the quantity is bytes.
        prices: Price of a replica on each broker, by id; brokers that are not named have price 0.
    """

    quantity: Quantity
    value: int
    lower_bound: int
    kind: BoundKind
    move_cost: int
    prices: dict[int, int]

    @property
    def gap(self) -> int:
        """Difference of value and bound; 0 where the plan is optimal."""
        return self.value - self.lower_bound


@dataclass(frozen=True, slots=True)
class Certificate:
    """Constraints of a plan, and bounds of each quantity in the order in which they count.

    Args:
        topics: Names of the topics in scope: of them every partition with a live leader that is not being reassigned
            could be changed.
        replication_factor: Replicas of each partition afterwards, None where their number stays.
        rack_aware: Whether replicas are spread over racks as evenly as brokers allow; otherwise no rack gets worse.
        receivers: Brokers that may be given replicas.
        emptied: Brokers that hold nothing afterwards.
        staying: Brokers that are dead or excluded: their replicas stay.
        lower: Fewest replicas on each broker by id, 0 for those that are not named.
        upper: Most replicas on each broker by id, any number for those that are not named.
        totals: Replicas that sets of brokers hold together.
        stuck: Topic and partition of those that stay as they are, because nothing legal was found for them.
        bounds: Moves, then bytes at that number of moves.
    """

    topics: tuple[str, ...]
    replication_factor: int | None
    rack_aware: bool
    receivers: tuple[int, ...]
    emptied: tuple[int, ...]
    staying: tuple[int, ...]
    lower: dict[int, int]
    upper: dict[int, int]
    totals: tuple[tuple[tuple[int, ...], int], ...]
    stuck: tuple[tuple[str, int], ...]
    bounds: tuple[Bound, ...]

    @property
    def optimal(self) -> bool:
        """True if no bound leaves a gap."""
        return all(bound.gap == 0 for bound in self.bounds)


def certificate_object(certificate: Certificate) -> dict[str, Any]:
    """The certificate as an object of JSON, with the gap of each bound."""
    found: dict[str, Any] = msgspec.to_builtins(certificate, str_keys=True)
    for bound, object_ in zip(certificate.bounds, found["bounds"], strict=True):
        object_["gap"] = bound.gap
    return {"optimal": certificate.optimal, **found}


def move_costs(problem: Problem, quantity: Quantity, move_cost: int) -> Integers:
    """Cost of each replica that a partition is given."""
    sizes = problem.sizes if quantity is Quantity.BYTES else np.zeros(len(problem), dtype=np.int64)
    return sizes + move_cost


def dual_bound(problem: Problem, constraints: Constraints, prices: Integers, costs: Integers) -> int:
    """Least total cost of added replicas that these prices prove.

    Args:
        problem: The cluster.
        constraints: Conditions that every plan meets.
        prices: Price of a replica on each broker, any whole numbers.
        costs: Cost of each replica that a partition is given.
    """
    paid = _most_paid(constraints, prices)
    rows = np.arange(len(problem))
    parts = (rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS))
    return sum(_exact_sum(_cheapest(problem, constraints, prices, costs, part)) for part in parts) - paid


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


def _cheapest(problem: Problem, constraints: Constraints, prices: Integers, costs: Integers, rows: Indices) -> Integers:
    """Cost of the cheapest placement of each partition alone."""
    matrix, keepable, fixed = problem.replicas[rows], constraints.keepable[rows], constraints.fixed[rows]
    stay = np.where(keepable, prices[matrix], NEVER) - np.where(fixed, FORCED, 0)
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
            new = costs[rows] + prices[broker]
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
