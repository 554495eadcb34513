"""Certified plans: constraints, a greedy target or an exact one, and the certificate of how good it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.certificates.certificate import Bound, BoundKind, Certificate, Load, Missed, Quantity
from kreplica.planner.reassignment.certificates.dual_bound import dual_bound, move_costs
from kreplica.planner.reassignment.constraints import UNLIMITED, Constraints, make_constraints
from kreplica.planner.reassignment.numbers.exchange import prices
from kreplica.planner.reassignment.numbers.flow import plan_exactly
from kreplica.planner.reassignment.numbers.greedy import plan_greedily
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Problem, added, bytes_moved, moves
from kreplica.planner.reassignment.request import ReasonKind

_ROUNDS = 12
"""Arcs of the paths whose lengths give the prices of a target that is not known to be optimal."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A target, what it was held to, and how good it is.

    Args:
        assignment: Where the replicas shall be.
        constraints: Conditions that it meets.
        wanted: Conditions that it was to meet: its brokers may miss their ranges.
        certificate: Its value and bounds.
    """

    assignment: Assignment
    constraints: Constraints
    wanted: Constraints
    certificate: Certificate


def plan(problem: Problem, *, prove: bool = False) -> Planned:
    """The target with the fewest moves, then the fewest bytes, as far as it is found.

    Args:
        problem: The cluster and the request.
        prove: Solve it exactly, which needs the extra ``plan``; otherwise greedily, and the bound may leave a gap.

    Raises:
        MissingExtraError: A proof is wanted and OR-tools is not installed.
    """
    wanted = make_constraints(problem)
    assignment = plan_greedily(problem, wanted)
    constraints = wanted if wanted.sharing.any() else _no_fuller_than(problem, wanted, assignment)
    if prove and len(problem):
        exact = plan_exactly(problem, constraints, move_costs(problem, Quantity.BYTES, _move_cost(problem)))
        assignment = assignment if exact is None else exact
    reached = _reached(problem, constraints, assignment)
    return Planned(assignment, reached, constraints, certify(problem, constraints, assignment))


def _move_cost(problem: Problem) -> int:
    """Cost of a move beside its bytes: more than any bytes that one move more could save."""
    return 8 * int(problem.sizes.max(initial=0)) + 1


def _loads(problem: Problem, assignment: Assignment) -> Integers:
    placed = assignment.replicas[assignment.replicas != NOBODY]
    return np.bincount(placed, minlength=len(problem.brokers)).astype(np.int64)


def _no_fuller_than(problem: Problem, constraints: Constraints, assignment: Assignment) -> Constraints:
    """Bounds where balance is not asked for: no broker of a rack is filled above the fullest that was filled."""
    loads = _loads(problem, assignment)
    kept = np.bincount(problem.replicas[constraints.keepable], minlength=len(loads))
    filled = np.zeros(len(loads), dtype=np.bool_)
    filled[assignment.replicas[added(problem, assignment)]] = True
    peak = np.zeros(len(problem.rack_names), dtype=np.int64)
    np.maximum.at(peak, problem.racks[filled], loads[filled])
    return replace(constraints, upper=np.maximum(kept, peak[problem.racks]).astype(np.int64))


def _reached(problem: Problem, constraints: Constraints, assignment: Assignment) -> Constraints:
    """Ranges that a target meets, wider where the wanted ones cannot be had, and sets that hold what they shall."""
    loads = _loads(problem, assignment)
    totals = tuple(one for one in constraints.totals if int(loads[one.brokers].sum()) == one.replicas)
    lower, upper = np.minimum(constraints.lower, loads), np.maximum(constraints.upper, loads)
    return replace(constraints, lower=lower, upper=upper, totals=totals)


def certify(problem: Problem, wanted: Constraints, assignment: Assignment) -> Certificate:
    """Value and bounds of a target.

    Args:
        problem: The cluster and the request.
        wanted: Conditions that the target was to meet; ranges of brokers are widened to what it reaches.
        assignment: The target.
    """
    reached = _reached(problem, wanted, assignment)
    number = _bound(problem, reached, assignment, Quantity.MOVES, 1)
    size = _bound(problem, reached, assignment, Quantity.BYTES, _move_cost(problem))
    return replace(conditions_of(problem, wanted, assignment), bounds=(number, size))


def conditions_of(problem: Problem, wanted: Constraints, assignment: Assignment) -> Certificate:
    """Conditions that a target meets, without any bound, and what it misses of what was wanted.

    Args:
        problem: The cluster and the request.
        wanted: Conditions that the target was to meet.
        assignment: The target.
    """
    ids, constraints = problem.brokers, _reached(problem, wanted, assignment)
    closed = (~problem.alive | problem.excluded) & ~problem.leaving
    limited = constraints.upper < UNLIMITED
    return Certificate(
        topics=tuple(problem.topic_names[code] for code in np.unique(problem.topics)),
        replication_factor=problem.request.replication_factor,
        rack_aware=problem.request.has(ReasonKind.RACK_AWARE),
        receivers=tuple(ids[constraints.receivers].tolist()),
        emptied=tuple(ids[problem.leaving].tolist()),
        staying=tuple(ids[closed].tolist()),
        lower=_by_id(ids, constraints.lower, constraints.lower > 0),
        upper=_by_id(ids, constraints.upper, limited),
        totals=tuple((tuple(ids[total.brokers].tolist()), total.replicas) for total in constraints.totals),
        stuck=tuple(problem.key(row) for row in constraints.stuck.tolist()),
        bounds=(),
        missed=_missed(problem, wanted, assignment),
    )


def _missed(problem: Problem, wanted: Constraints, assignment: Assignment) -> tuple[Missed, ...]:
    """Brokers outside the range of numbers that was asked for; without a balance nobody asked for one."""
    if not wanted.sharing.any():
        return ()
    loads = _loads(problem, assignment)
    outside = np.flatnonzero((loads < wanted.lower) | (loads > wanted.upper)).tolist()
    return tuple(
        Missed(Load.COUNT, int(problem.brokers[one]), int(loads[one]), int(wanted.lower[one]), int(wanted.upper[one]))
        for one in outside
    )


def _by_id(ids: Integers, values: Integers, chosen: Mask) -> dict[int, int]:
    return dict(zip(ids[chosen].tolist(), values[chosen].tolist(), strict=True))


def _bound(
    problem: Problem, constraints: Constraints, assignment: Assignment, quantity: Quantity, move_cost: int
) -> Bound:
    """The bound by prices, or from nothing where they prove less."""
    moved = moves(problem, assignment)
    value = moved if quantity is Quantity.MOVES else bytes_moved(problem, assignment)
    if value == 0:
        return Bound(quantity, 0, 0, BoundKind.NOTHING, move_cost, {})
    costs = move_costs(problem, quantity, move_cost)
    found = prices(problem, constraints, assignment.replicas, costs, None)
    proven = dual_bound(problem, constraints, found, costs)
    if quantity is Quantity.BYTES:
        proven -= move_cost * moved
    if proven <= 0:
        return Bound(quantity, value, 0, BoundKind.NOTHING, move_cost, {})
    return Bound(quantity, value, proven, BoundKind.PRICES, move_cost, _by_id(problem.brokers, found, found != 0))
