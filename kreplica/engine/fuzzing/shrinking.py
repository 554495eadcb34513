"""A failing plan made small: delta debugging over its steps, then shorter faults, then round times.

Delta debugging finds the parts of an input that a failure needs.

Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from kreplica.engine.fault_plan import At, Plan, Step, When, in_order
from kreplica.engine.settings import MICROSECONDS

Item = TypeVar("Item")


def fewest(items: tuple[Item, ...], fails: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """Returns the items without which it does not fail: ever smaller parts are left out, in the end one by one.

    Args:
        items: All items; with them it fails.
        fails: Whether it fails with some of them, in their order.
    """
    parts = 2
    while items:
        size = -(-len(items) // parts)
        candidates = (items[:begin] + items[begin + size :] for begin in range(0, len(items), size))
        smaller = next((candidate for candidate in candidates if fails(candidate)), None)
        if smaller is not None:
            items, parts = smaller, max(parts - 1, 2)
        elif size <= 1:
            break
        else:
            parts = min(parts * 2, len(items))
    return items


MOST_RUNS = 400
"""Largest number of plays of a plan while it is made smaller."""

Fails = Callable[[Plan], bool]


def shrink(plan: Plan, fails: Fails, most_runs: int = MOST_RUNS) -> Plan:
    """Returns a smaller plan that still fails, its steps by time.

    Args:
        plan: A plan that fails.
        fails: Plays a plan and tells whether the same failure occurs. Must be deterministic.
        most_runs: Largest number of plays; after them the smallest plan so far is returned.
    """
    budget = _Budget(fails, most_runs)
    while True:
        smaller = _simplify(fewest(plan, budget.fails), budget)
        if smaller == plan or budget.left <= 0:
            return in_order(smaller)
        plan = smaller


class _Budget:
    """Counts the plays; once none is left, nothing fails any more."""

    __slots__ = ("_fails", "_known", "left")

    def __init__(self, fails: Fails, left: int) -> None:
        self._fails = fails
        self._known: dict[str, bool] = {}
        self.left = left

    def fails(self, plan: Plan) -> bool:
        told = repr(plan)
        known = self._known.get(told)
        if known is None:
            if self.left <= 0:
                return False
            self.left -= 1
            known = self._known[told] = self._fails(plan)
        return known


def _simplify(plan: Plan, budget: _Budget) -> Plan:
    for place in range(len(plan)):
        improved = True
        while improved:
            improved = False
            for step in _simpler(plan[place]):
                candidate = (*plan[:place], step, *plan[place + 1 :])
                if budget.fails(candidate):
                    plan, improved = candidate, True
                    break
    return plan


def _simpler(step: Step) -> Iterator[Step]:
    """Simpler forms of a step, the simplest first: shorter, no one-way links, earlier events, round times."""
    action, when = step.do, step.when
    duration = getattr(action, "duration", None)
    if duration is not None and duration > 2 * MICROSECONDS:
        shorter = duration // 2 // MICROSECONDS * MICROSECONDS
        yield Step(when, msgspec.structs.replace(action, duration=shorter))
    if isinstance(when, When):
        if when.count > 1:
            yield Step(msgspec.structs.replace(when, count=when.count // 2), action)
        if when.after:
            yield Step(msgspec.structs.replace(when, after=0), action)
    if isinstance(when, At):
        for unit in (10_000_000, 1_000_000, 100_000):
            rounded = when.time // unit * unit
            if rounded != when.time:
                yield Step(At(time=rounded), action)
