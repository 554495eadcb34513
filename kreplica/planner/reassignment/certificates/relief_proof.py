"""Certificates of log directories that are relieved: what leaves them by a plan, and what has to at least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.planner.reassignment.balances.covers import least_cover
from kreplica.planner.reassignment.certificates.certificate import DirectoryRelief
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.directories.room import LogDirectories, log_directories
from kreplica.planner.reassignment.problem import Assignment, Problem


@dataclass(frozen=True, slots=True)
class DirectoryAim:
    """A log directory that is to be relieved.

    Args:
        broker: Position of the broker.
        path: The directory.
        to_used: Share of the capacity that may be in use afterwards.
    """

    broker: int
    path: str
    to_used: float


def directory_reliefs(
    problem: Problem,
    aims: Sequence[DirectoryAim],
    made: Assignment,
    within: Sequence[ChangedDirectory],
    chosen: Mapping[tuple[tuple[str, int], int], str],
) -> tuple[DirectoryRelief, ...]:
    """Certificates of reliefs.

    Args:
        problem: The cluster and the request.
        aims: What is to be relieved.
        made: Replicas by the plan.
        within: Replicas that change their directory and not their broker.
        chosen: Directory of each added replica, by partition and broker id, where one is chosen.
    """
    directories = log_directories(problem)
    return tuple(_relief(problem, directories, aim, made, within, chosen) for aim in aims)


def _relief(
    problem: Problem,
    directories: LogDirectories,
    aim: DirectoryAim,
    made: Assignment,
    within: Sequence[ChangedDirectory],
    chosen: Mapping[tuple[tuple[str, int], int], str],
) -> DirectoryRelief:
    (index,) = directories.find(aim.broker, aim.path)
    broker, target = int(problem.brokers[aim.broker]), int(directories.total[index] * aim.to_used)
    rows = np.flatnonzero((directories.of_replica == index).any(axis=1))
    changed = {one.key for one in within if one.broker == broker}
    goes = ~(made.replicas[rows] == aim.broker).any(axis=1)
    goes |= np.array([problem.key(row) in changed for row in rows.tolist()], dtype=np.bool_)
    sizes = problem.sizes[rows]
    value, before = int(sizes[goes].sum()), int(directories.used[index])
    places = {(one.key, broker) for one in within if (one.broker, one.destination) == (broker, aim.path)}
    places |= {place for place, path in chosen.items() if (place[1], path) == (broker, aim.path)}
    row_of = {problem.key(row): row for row in range(len(problem))} if places else {}
    used = before - value + sum(int(problem.sizes[row_of[key]]) for key, _ in places)
    bound = least_cover(sizes[sizes > 0], before - target).bound
    return DirectoryRelief(broker, aim.path, target, used, value, bound)
