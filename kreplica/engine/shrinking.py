"""A plan that fails, made small: delta debugging over its steps, then shorter faults, then round times.

Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (2002), for the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from kreplica.engine.faults import At, Plan, Step, When
from kreplica.engine.settings import MICROSECONDS

MOST_RUNS = 400
"""How often a plan is played at most while it is made smaller."""

Fails = Callable[[Plan], bool]


def shrink(plan: Plan, fails: Fails, most_runs: int = MOST_RUNS) -> Plan:
    """A smaller plan that fails still.

    Args:
        plan: One that fails.
        fails: Plays a plan: does the same thing go wrong? Must give the same answer for the same plan.
        most_runs: After so many plays the smallest one so far is given.
    """
    budget = _Budget(fails, most_runs)
    while True:
        smaller = _simplify(_fewer_steps(plan, budget), budget)
        if smaller == plan or budget.left <= 0:
            return smaller
        plan = smaller


class _Budget:
    """Counts the plays; without any left, nothing fails any more."""

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


def _fewer_steps(plan: Plan, budget: _Budget) -> Plan:
    """The steps without which it does not fail: parts are left out, ever smaller ones."""
    parts = 2
    while len(plan) >= 1:
        size = -(-len(plan) // parts)
        begins = range(0, len(plan), size)
        candidates = (plan[:begin] + plan[begin + size :] for begin in begins)
        smaller = next((candidate for candidate in candidates if budget.fails(candidate)), None)
        if smaller is not None:
            plan, parts = smaller, max(parts - 1, 2)
        elif size <= 1:
            break
        else:
            parts = min(parts * 2, len(plan))
    return plan


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
    """Simpler forms of a step, the simplest first: shorter, nothing one-way, earlier events, round times."""
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
