"""Feasibility: what a request cannot have on this cluster, said before planning, and what is aimed at instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from kreplica.model.wording.words import counted, listed
from kreplica.planner.reassignment.constraints import Constraints, rack_levels
from kreplica.planner.reassignment.problem import NOBODY, Problem
from kreplica.planner.reassignment.request import ReasonKind


class ObstacleKind(StrEnum):
    """Kinds of wishes that a cluster cannot fulfil."""

    TOO_FEW_BROKERS = "too-few-brokers"
    BELOW_MIN_ISR = "below-min-isr"
    FEWER_RACKS = "fewer-racks"
    UNEQUAL_RACKS = "unequal-racks"
    ABOVE_THE_CAP = "above-the-cap"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One wish that cannot be fulfilled.

    Args:
        kind: What stands in the way.
        refused: True if nothing can be planned at all because of it.
        message: The fact, with numbers.
        instead: What is aimed at instead; empty where nothing is.
    """

    kind: ObstacleKind
    refused: bool
    message: str
    instead: str = ""


def obstacles(problem: Problem, constraints: Constraints) -> list[Obstacle]:
    """Wishes of the request that cannot be fulfilled, those that refuse it first."""
    found = [*_replication_factor(problem), *_racks(problem, constraints), *_levels(problem, constraints)]
    found += [*_caps(problem), *_stuck(problem, constraints)]
    return sorted(found, key=lambda one: not one.refused)


def _replication_factor(problem: Problem) -> list[Obstacle]:
    wanted = problem.request.replication_factor
    if wanted is None:
        return []
    found = []
    able = int(np.count_nonzero(problem.destination))
    if wanted > able:
        text = f"replication factor {wanted} is more than the {counted(able, 'broker')} that may receive"
        found.append(Obstacle(ObstacleKind.TOO_FEW_BROKERS, True, text))
    above = np.flatnonzero(problem.min_isr > wanted)
    if len(above):
        text = f"replication factor {wanted} is below min.insync.replicas of {counted(len(above), 'partition')}"
        found.append(Obstacle(ObstacleKind.BELOW_MIN_ISR, True, f"{text}, {_some(problem, above)}"))
    return found


def _racks(problem: Problem, constraints: Constraints) -> list[Obstacle]:
    """Partitions with more replicas than there are racks to spread them over."""
    usable = np.unique(problem.racks[constraints.receivers])
    more = np.flatnonzero(constraints.factor > len(usable))
    if not problem.request.has(ReasonKind.RACK_AWARE) or not len(more):
        return []
    text = f"{counted(len(more), 'partition')} with more replicas than the {counted(len(usable), 'rack')}"
    instead = "as equal a number in each rack as can be"
    return [Obstacle(ObstacleKind.FEWER_RACKS, False, f"{text}: {_some(problem, more)}", instead)]


def _levels(problem: Problem, constraints: Constraints) -> list[Obstacle]:
    """Racks whose brokers cannot be made equal to those of other racks."""
    if not constraints.sharing.any():
        return []
    levels = rack_levels(problem, constraints, constraints.sharing)
    if len(set(levels.values())) < 2:
        return []
    shares = [f"{_spelled(level)} in {problem.rack_names[rack] or 'no rack'}" for rack, level in sorted(levels.items())]
    text = f"brokers of unequal racks cannot hold the same number of replicas: {listed(shares, 6)} for each broker"
    return [Obstacle(ObstacleKind.UNEQUAL_RACKS, False, text, "equal within each rack")]


def _spelled(level: Fraction) -> str:
    return str(level) if level.denominator == 1 else f"{float(level):.1f}"


def _caps(problem: Problem) -> list[Obstacle]:
    """Partitions that have to move and are above the limit of bytes alone."""
    limit = problem.request.max_bytes
    if limit is None:
        return []
    leaving = problem.leaving[problem.replicas] & (problem.replicas != NOBODY)
    above = np.flatnonzero(leaving.any(axis=1) & (problem.sizes > limit))
    if not len(above):
        return []
    text = f"{counted(len(above), 'partition')} above --max-bytes {limit} alone: {_some(problem, above)}"
    return [Obstacle(ObstacleKind.ABOVE_THE_CAP, False, text, "they stay where they are")]


def _stuck(problem: Problem, constraints: Constraints) -> list[Obstacle]:
    if not len(constraints.stuck):
        return []
    text = (
        f"{counted(len(constraints.stuck), 'partition')} whose last replica in sync would go, or without a broker left"
    )
    return [
        Obstacle(ObstacleKind.STUCK, False, f"{text}: {_some(problem, constraints.stuck)}", "they stay as they are")
    ]


def _some(problem: Problem, rows: np.ndarray) -> str:
    names = [f"{topic}-{number}" for topic, number in map(problem.key, rows[:4].tolist())]
    return listed(names + [""] * (len(rows) - len(names)), 3)
