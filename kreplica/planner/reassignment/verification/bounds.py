"""Values of a plan and what its certificate proves, added up from prices, shares or levels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kreplica.model.tables.columns import Integers
from kreplica.planner.reassignment.certificates.certificate import (
    Bound,
    BoundKind,
    Certificate,
    LeaderProof,
    Load,
    Quantity,
)
from kreplica.planner.reassignment.verification.arrays import PlanArrays
from kreplica.planner.reassignment.verification.conditions import Part

_EXACT = 1 << 58
"""Sums of prices and costs from which on 64 bits might not hold them: nothing counts as proven there."""


def value_of(plan: PlanArrays, matrix: Integers, quantity: Quantity) -> int:
    """A quantity of the plan, in whole numbers of any size."""
    if quantity in (Quantity.LEADER_SQUARES, Quantity.LEADER_CHANGES):
        return led(plan, plan.given.leaders or LeaderProof((), {}, {}))[quantity][0]
    size = plan.load[Load.BYTES if quantity is Quantity.BYTES else Load.COUNT]
    return int(plan.copies(matrix).astype(object) @ size.astype(object))


def proven_by(plan: PlanArrays, parts: list[Part], bound: Bound, shares: int | None = None) -> int:
    """The most that a bound of this kind can say; moves by shares are not counted again where they are given."""
    if bound.kind is BoundKind.PRICES and bound.quantity in (Quantity.MOVES, Quantity.BYTES):
        return _by_prices(plan, parts, bound)
    if bound.kind is BoundKind.SHARES and bound.quantity is Quantity.MOVES:
        return by_shares(plan, parts)[0] if shares is None else shares
    if bound.kind is BoundKind.LEVELS and plan.given.leaders is not None:
        return led(plan, plan.given.leaders).get(bound.quantity, (0, 0))[1]
    return 0


def _by_prices(plan: PlanArrays, parts: list[Part], bound: Bound) -> int:
    """The sum of cheapest placements at these prices, less the most that ranges of brokers let them be paid."""
    in_bytes, load = bound.quantity is Quantity.BYTES, plan.load[bound.load]
    heaviest, largest = int(load.max(initial=1)), int(plan.load[Load.BYTES].max(initial=0))
    highest = heaviest * max((abs(price) for price in bound.prices.values()), default=0)
    cost = bound.move_cost + largest * in_bytes
    sound = bound.scale > 0 and (bound.move_cost >= 0 if in_bytes else bound.move_cost == 1)
    if not sound or (highest + bound.scale * cost) * plan.width > _EXACT or load.min(initial=0) < 0:
        return 0
    costs = (plan.load[Load.BYTES] * in_bytes + bound.move_cost) * bound.scale
    paid = _most_paid(plan.given, bound)
    if paid is None:
        return 0
    prices = np.array(plan.by_id(bound.prices), np.int64)
    total = sum(int(part.cheapest(prices, load, costs).astype(object).sum()) for part in parts) - paid
    moved = value_of(plan, plan.after, Quantity.MOVES)
    return -(-total // bound.scale) - bound.move_cost * moved * in_bytes


def _most_paid(given: Certificate, bound: Bound) -> int | None:
    """Most that brokers can be paid within their ranges, None for any amount."""
    ranges = [(one.lower, one.upper) for one in given.loads if one.load is bound.load]
    count = bound.load is Load.COUNT
    lower, upper = (given.lower, given.upper) if count else (ranges or [({}, {})])[0]
    prices, totals, paid = bound.prices, given.totals if count else (), 0
    alone = set(prices) - {broker for brokers, _ in totals for broker in brokers}
    if any(prices[broker] > 0 and broker not in upper for broker in alone):
        return None
    paid += sum(prices[one] * (upper[one] if prices[one] > 0 else lower.get(one, 0)) for one in alone)
    for brokers, number in totals:
        left = number - sum(lower.get(one, 0) for one in brokers)
        for one in sorted(brokers, key=lambda one: -prices.get(one, 0)):
            more = min(left, upper.get(one, number) - lower.get(one, 0))
            paid, left = paid + prices.get(one, 0) * (lower.get(one, 0) + more), left - more
    return paid


def by_shares(plan: PlanArrays, parts: list[Part]) -> tuple[int, int]:
    """Moves that shares of topics need at least, and replicas that the plan leaves beyond a share.

    What a broker holds above its share leaves it, what it lacks comes to it. Where each rack keeps its number of
    replicas of every partition, both are counted rack by rack.
    """
    closed = all((part.least == part.most).all() for part in parts)
    cell = plan.racks if closed else plan.racks * 0
    groups = [np.flatnonzero(plan.marked(group)) for group in plan.given.shares.groups] if plan.given.shares else []
    shared = np.isin(np.arange(len(plan.ids)), [one for group in groups for one in group])
    names = np.unique([topic for topic, _ in plan.key], return_inverse=True)[1] if plan.key else np.empty(0, np.intp)
    order = np.argsort(names, kind="stable")
    moves = beyond = 0
    for rows in np.split(order, np.flatnonzero(np.diff(names[order])) + 1):
        had, has = (plan.on_brokers(one[rows], np.ones(len(rows), np.int64)) for one in (plan.before, plan.after))
        low, high = np.zeros_like(had), np.where(plan.emptied, 0, _EXACT)
        for group in groups:
            low[group], high[group] = has[group].sum() // len(group), -(-has[group].sum() // len(group))
        beyond += int((np.maximum(has - high, 0) + np.maximum(low - has, 0))[shared].sum())
        above, lacking = np.maximum(had - np.maximum(has, high), 0), np.maximum(np.minimum(has, low) - had, 0)
        given, taken = (np.bincount(cell, each) for each in (above + has - had, lacking))
        moves += int(np.maximum(given, taken).sum())
    return moves, beyond


def led(plan: PlanArrays, proof: LeaderProof) -> Mapping[Quantity, tuple[int, int]]:
    """Squares of the numbers that brokers lead and changes of preferred leaders: each with what is proven of it."""
    may = (plan.planned >= 0) & ~plan.marked(proof.barred)[plan.planned]
    rows = np.flatnonzero(may.any(axis=1))
    planned, may, level, price = plan.planned[rows], may[rows], plan.by_id(proof.levels), plan.by_id(proof.prices)
    numbers = np.bincount(planned[:, 0], minlength=len(plan.ids)).tolist()
    squares, changes = sum(one * one for one in numbers), int((planned[:, 0] != plan.before[rows, 0]).sum())
    if not may[:, 0].all() or max(map(abs, (*level, *price)), default=0) > _EXACT // (1 + len(plan.key)):
        return {Quantity.LEADER_SQUARES: (squares, 0), Quantity.LEADER_CHANGES: (changes, 0)}
    levels = np.where(may, np.array(level)[planned], _EXACT)
    lowest = levels.min(axis=1, initial=_EXACT, keepdims=True)
    least = int((2 * lowest + 1).sum()) - sum(one * (one + 1) for one in level)
    priced = np.where(levels == lowest, np.array(price)[planned] + (planned != plan.before[rows, :1]), _EXACT)
    fewest = int(priced.min(axis=1, initial=_EXACT).sum())
    fewest -= sum(each * (one + (each > 0)) for one, each in zip(level, price, strict=True))
    return {Quantity.LEADER_SQUARES: (squares, least), Quantity.LEADER_CHANGES: (changes, fewest * (least == squares))}
