"""From a snapshot and a request to the replicas that partitions shall have, with what was left out and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.words import counted, named
from kreplica.planner.reassignment.certificate import Certificate
from kreplica.planner.reassignment.certified import plan
from kreplica.planner.reassignment.constraints import Constraints, make_constraints
from kreplica.planner.reassignment.feasibility import ObstacleKind, obstacles
from kreplica.planner.reassignment.goals.catalogue import vetoes
from kreplica.planner.reassignment.leaders import balance_leaders, with_leaders
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Problem, added, changed, make_problem, targets
from kreplica.planner.reassignment.request import Measure, ReasonKind, Request

PartitionKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PlannedReassignment:
    """Replicas that partitions shall have.

    Args:
        problem: The cluster and the request.
        assignment: Where replicas shall be.
        stuck: Partitions for which nothing legal was found: they stay as they are.
        capped: Partitions that stay as they are because of a limit of the request, each with the limit.
        certificate: Value and bounds of the moves; None where a limit cut them, or where replicas do not move.
        remarks: Facts that are not known, and what cannot be had with what is aimed at instead.
    """

    problem: Problem
    assignment: Assignment
    stuck: tuple[PartitionKey, ...]
    capped: dict[PartitionKey, str]
    certificate: Certificate | None
    remarks: tuple[str, ...]

    @property
    def targets(self) -> dict[PartitionKey, tuple[int, ...]]:
        """Replicas of each partition that changes."""
        return targets(self.problem, self.assignment)


def plan_reassignment(snapshot: ClusterSnapshot, request: Request) -> PlannedReassignment:
    """Plans replicas for the reasons of a request, then leaders where they are a reason.

    Args:
        snapshot: The cluster.
        request: Reasons, scope and limits.

    Raises:
        UsageError: A broker or a topic that is named does not exist, nobody may receive a replica that is needed, or a
            replication factor cannot be had.
        MissingExtraError: A proof is wanted and OR-tools is not installed.
    """
    problem = make_problem(snapshot, request)
    _require_destinations(problem)
    constraints = make_constraints(problem)
    moving = any(reason.kind is not ReasonKind.BALANCE or reason.measure is Measure.COUNT for reason in request.reasons)
    found = obstacles(problem, constraints) if moving else []
    if found and found[0].refused:
        raise UsageError(found[0].message, "", "ask for another replication factor")
    planned = plan(problem, prove=request.prove) if moving else None
    assignment = problem.current if planned is None else planned.assignment
    if request.balances(Measure.LEADERS):
        assignment = allowed(problem, constraints, assignment, _with_balanced_leaders(problem, assignment))
    stuck = tuple(problem.key(place) for place in constraints.stuck.tolist())
    assignment, capped = _capped(problem, assignment)
    certificate = None if planned is None or capped else planned.certificate
    aims = [f"{one.message}; aimed at: {one.instead}" for one in found if one.kind is not ObstacleKind.STUCK]
    return PlannedReassignment(problem, assignment, stuck, capped, certificate, (*problem.remarks, *aims))


def allowed(problem: Problem, constraints: Constraints, before: Assignment, after: Assignment) -> Assignment:
    """Takes over what a later stage made of an assignment, but for partitions whose change a hard goal vetoes."""
    replicas = after.replicas.copy()
    for rows in vetoes(problem, constraints, before.replicas, after.replicas).values():
        replicas[rows] = before.replicas[rows]
    return Assignment(replicas)


def _require_destinations(problem: Problem) -> None:
    if problem.destination.any():
        return
    closed = problem.brokers[~problem.alive].tolist()
    raise UsageError(
        "no broker may receive a replica",
        f"{named('broker', closed, 5)} not alive" if closed else f"{counted(len(problem.brokers), 'broker')} known",
        "leave out --to or --exclude-broker, or drain fewer",
    )


def _with_balanced_leaders(problem: Problem, assignment: Assignment) -> Assignment:
    """The same replicas in the order that spreads preferred leaders evenly with the fewest changes."""
    replicas = assignment.replicas
    may_lead = (replicas != NOBODY) & problem.alive[replicas] & ~problem.excluded[replicas]
    preferred = replicas[:, 0].astype(np.int64)
    found = balance_leaders(replicas, len(problem.brokers), preferred, may_lead)
    return Assignment(with_leaders(replicas, found.leaders))


def _capped(problem: Problem, assignment: Assignment) -> tuple[Assignment, dict[PartitionKey, str]]:
    """The changes that the limits of the request leave room for: at or under min ISR first, then the smallest."""
    request = problem.request
    places = changed(problem, assignment)
    new = added(problem, assignment)[places].sum(axis=1).astype(np.int64)
    copied = new * problem.sizes[places]
    led = (problem.replicas[places, :1] != assignment.replicas[places, :1]).sum(axis=1)
    in_sync = problem.in_sync[places].sum(axis=1)
    order = np.lexsort((places, copied, in_sync > problem.min_isr[places]))
    kept = np.ones(len(places), dtype=np.bool_)
    limits = (
        ("--max-moves", request.max_moves, new),
        ("--max-bytes", request.max_bytes, copied),
        ("--max-leader-changes", request.max_leader_changes, led),
    )
    reasons: dict[PartitionKey, str] = {}
    for name, limit, costs in limits:
        if limit is None:
            continue
        left = limit
        for one in order[kept[order]].tolist():
            cost = int(costs[one])
            if cost <= left:
                left -= cost
            else:
                kept[one] = False
                reasons[problem.key(int(places[one]))] = f"above {name} {limit}"
    replicas = assignment.replicas.copy()
    replicas[places[~kept]] = problem.replicas[places[~kept]]
    return Assignment(replicas), reasons
