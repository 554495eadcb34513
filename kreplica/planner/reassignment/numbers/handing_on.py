"""Handing on: brings brokers into their ranges that a target leaves outside, by chains of replicas that change places.

A broker with too many hands a replica to one that has enough, which hands one of another partition to the next, until
some broker has room. Chains are the augmenting paths of a flow, and the shortest is taken:

    broker -> broker   some partition has a replica on the one, and may have it on the other instead
    broker -> set      the brokers that hold some number together, and all others: one that may hold more takes it
    set -> broker      one that may hold less hands on instead

Where no chain is found the ranges cannot be met; a large cluster is searched only so far.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.constraints import Constraints, per_rack
from kreplica.planner.reassignment.numbers.placement import in_old_places
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Matrix, Problem, held, replica_counts

_MOST_LOOKED_AT = 300_000
"""Partitions that are looked at, each as often as a broker that has it is reached: half a second."""


def within_ranges(problem: Problem, constraints: Constraints, assignment: Assignment) -> Assignment:
    """The assignment, with as many brokers in their ranges as chains reach.

    Args:
        problem: The cluster.
        constraints: Conditions that each partition meets already; ranges and totals of brokers.
        assignment: The target.
    """
    if not _too_many(constraints, replica_counts(problem, assignment)).any():
        return assignment
    state = _State(problem, constraints, assignment.replicas)
    while chain := _shortest(state):
        for link in chain:
            state.hand_on(link)
    return in_old_places(problem, state.target)


def _set_of(constraints: Constraints) -> Integers:
    """Number of each broker's set; those that are in none are in the last one."""
    found = np.full(len(constraints.lower), len(constraints.totals))
    for number, total in enumerate(constraints.totals):
        found[total.brokers] = number
    return found


def _too_many(constraints: Constraints, loads: Integers) -> Integers:
    """Replicas that each broker, then each set of them, has beyond what it may hold; below 0 those that it lacks."""
    within = np.clip(loads, constraints.lower, constraints.upper)
    sets = np.zeros(len(constraints.totals) + 1, dtype=np.int64)
    np.add.at(sets, _set_of(constraints), within)
    sets -= [*(total.replicas for total in constraints.totals), 0]
    found = np.concatenate([loads - within, sets])
    found[-1] = -int(found[:-1].sum())
    return found


@dataclass(frozen=True, slots=True)
class _Link:
    """One replica that changes places.

    Args:
        row: Its partition.
        giver: The broker that has it.
        taker: The broker that gets it.
    """

    row: int
    giver: int
    taker: int


class _State:
    """The target while chains change it. Nodes are brokers, then sets of brokers, at the end that of all others."""

    def __init__(self, problem: Problem, constraints: Constraints, target: Matrix) -> None:
        self.problem, self.constraints, self.target = problem, constraints, target.copy()
        self.brokers, self.looked_at = len(problem.brokers), 0
        self.in_rack = per_rack(problem, target != NOBODY, target)
        self.loads = replica_counts(problem, Assignment(target))
        self.set_of = _set_of(constraints)
        rows, columns = np.nonzero(target != NOBODY)
        broker = target[rows, columns]
        order = np.argsort(broker, kind="stable")
        self._rows = rows[order]
        self._begins = np.searchsorted(broker[order], np.arange(self.brokers + 1)).tolist()
        self._came: dict[int, list[int]] = {}

    def rows_of(self, broker: int) -> Indices:
        """Partitions that have a replica on the broker which need not stay there."""
        first = self._rows[self._begins[broker] : self._begins[broker + 1]]
        rows = np.union1d(first, np.array(self._came.get(broker, []), dtype=np.intp))
        rows = rows[(self.target[rows] == broker).any(axis=1)]
        fixed = self.constraints.fixed[rows] & (self.problem.replicas[rows] == broker)
        found: Indices = rows[~fixed.any(axis=1)]
        return found

    def takers(self, giver: int, open_: Mask) -> list[_Link]:
        """A replica of the giver for each broker that may take one: one that comes home, then the smallest.

        Args:
            giver: A broker.
            open_: Brokers that are asked.
        """
        rows, racks = self._cheapest_first(giver), self.problem.racks
        self.looked_at += len(rows)
        if not len(rows):
            return []
        bounds, rack = self.constraints, racks[giver]
        leaves = self.in_rack[rows, rack] > bounds.least[rows, rack]
        may = leaves[:, None] & (self.in_rack[rows] < bounds.most[rows])
        may[:, rack] = True
        found = self._home(rows, may, open_)
        fresh = open_ & bounds.receivers
        fresh[list(found)] = False
        for into in range(may.shape[1]):
            left = np.flatnonzero(fresh & (racks == into))
            for row in rows[may[:, into]].tolist():
                if not len(left):
                    break
                has_it = np.isin(left, self.target[row])
                found |= dict.fromkeys(left[~has_it].tolist(), row)
                left = left[has_it]
        return [_Link(row, giver, taker) for taker, row in sorted(found.items())]

    def _cheapest_first(self, giver: int) -> Indices:
        """Partitions of a broker, those that came to it first: they cost nothing more."""
        rows = self.rows_of(giver)
        stayed = (self.problem.replicas[rows] == giver).any(axis=1)
        return rows[np.lexsort((rows, self.problem.sizes[rows], stayed))]

    def _home(self, rows: Indices, may: Mask, open_: Mask) -> dict[int, int]:
        """Brokers that had a replica of one of these partitions and lost it, and the first such partition of each."""
        found: dict[int, int] = {}
        brokers = self.problem.replicas[rows]
        out = self.constraints.keepable[rows] & ~held(brokers, self.target[rows]) & open_[brokers]
        out &= np.take_along_axis(may, self.problem.racks[brokers], axis=1)
        for place, column in zip(*np.nonzero(out), strict=True):
            found.setdefault(int(brokers[place, column]), int(rows[place]))
        return found

    def hand_on(self, link: _Link) -> None:
        """Moves a replica."""
        column = int(np.argmax(self.target[link.row] == link.giver))
        self.target[link.row, column] = link.taker
        racks = self.problem.racks
        self.in_rack[link.row, racks[link.giver]] -= 1
        self.in_rack[link.row, racks[link.taker]] += 1
        self.loads[link.giver] -= 1
        self.loads[link.taker] += 1
        self._came.setdefault(link.taker, []).append(link.row)


def _shortest(state: _State) -> list[_Link]:
    """The shortest chain from a node with too many to one that lacks some, nothing where there is none."""
    left, low, high = _too_many(state.constraints, state.loads), state.constraints.lower, state.constraints.upper
    came: dict[int, tuple[int, _Link | None]] = {int(node): (-1, None) for node in np.flatnonzero(left > 0)}
    queue = deque(came)
    while queue and state.looked_at < _MOST_LOOKED_AT:
        node = queue.popleft()
        open_ = np.ones(state.brokers, dtype=np.bool_)
        open_[[one for one in came if one < state.brokers]] = False
        if node < state.brokers:
            steps: list[tuple[int, _Link | None]] = [(link.taker, link) for link in state.takers(node, open_)]
        else:
            members = open_ & (state.set_of == node - state.brokers) & (state.loads > low)
            steps = [(member, None) for member in np.flatnonzero(members).tolist()]
        for broker, link in steps:
            came[broker] = node, link
            own = state.brokers + int(state.set_of[broker])
            takes = state.loads[broker] < high[broker]
            if left[broker] < 0 or (takes and left[own] < 0):
                return _chain(came, broker)
            queue.append(broker)
            if takes and own not in came:
                came[own] = broker, None
                queue.append(own)
    return []


def _chain(came: dict[int, tuple[int, _Link | None]], node: int) -> list[_Link]:
    found = []
    while node >= 0:
        node, link = came[node]
        found += [link] if link is not None else []
    return found
