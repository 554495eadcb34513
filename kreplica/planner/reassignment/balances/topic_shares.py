"""Balance by topic: no broker holds more of one topic than its share, rounded up, nor less, rounded down.

What a broker holds beyond its share of a topic has to leave it, and what it lacks has to come; of both sums the greater
one bounds the moves of the topic. A topic's smallest replicas move, to the brokers that lack some of it, and of the
others to those with the fewest replicas of all.

Where every partition has one replica in each rack, the share is that of the brokers of the rack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.board import Board, Layout, Room, closed_groups, count_limits
from kreplica.planner.reassignment.constraints import Constraints
from kreplica.planner.reassignment.problem import NOBODY, Assignment, Matrix, Problem, held


@dataclass(frozen=True, slots=True, eq=False)
class TopicPlan:
    """An assignment in which brokers hold their share of each topic, as far as one was found.

    Args:
        replicas: The assignment; a replica that moved stands in the column of the one it replaces.
        moves: Replicas that are copied.
        bound: No assignment of such shares copies fewer.
        beyond: Replicas that some broker holds above its share of a topic, or lacks, afterwards.
    """

    replicas: Matrix
    moves: int
    bound: int
    beyond: int


def balance_topics(
    layout: Layout, topics: np.ndarray, sharing: Mask, *, count_tolerance: float = 0.1, room: Room | None = None
) -> TopicPlan:
    """Gives every broker its share of each topic.

    Args:
        layout: The assignment.
        topics: Number of each partition's topic.
        sharing: Brokers that shall hold a share.
        count_tolerance: Share of the mean number of replicas by which a broker may end above it; one that is above that
            already gets no more.
        room: Free space of log directories; None where it does not matter.
    """
    _, most = count_limits(layout, sharing, count_tolerance)
    board = Board(layout, most, room)
    group = np.where(sharing, closed_groups(layout), -1)
    bound = beyond = 0
    order = np.argsort(topics, kind="stable")
    starts = np.flatnonzero(np.diff(topics[order], prepend=-1))
    for rows in np.split(order, starts[1:]) if len(order) else []:
        for one in np.unique(group[sharing]).tolist():
            share = _Share(board, rows, group == one)
            bound += max(share.excess(), share.lack())
            share.balance()
            beyond += share.excess() + share.lack()
    added = (board.replicas != NOBODY) & ~held(board.replicas, layout.replicas)
    return TopicPlan(board.replicas, int(added.sum()), bound, beyond)


def share_bound(problem: Problem, constraints: Constraints, after: Assignment, groups: Integers) -> tuple[int, int]:
    """Moves from what is to any assignment with shares as good, and replicas that are beyond a share afterwards.

    Brokers that are to be emptied have a share of nothing. Where every rack keeps its number of replicas of each
    partition, leaving and coming ones are compared rack by rack.

    Args:
        problem: The cluster.
        constraints: Conditions of single partitions.
        after: The assignment whose shares count, those that it misses included.
        groups: For each broker the number of those with which it shares; -1 for a broker without a share.
    """
    closed = bool((constraints.least == constraints.most).all())
    cell = problem.racks if closed else np.zeros_like(problem.racks)
    bound = beyond = 0
    order = np.argsort(problem.topics, kind="stable")
    starts = np.flatnonzero(np.diff(problem.topics[order], prepend=-1))
    members = [groups == one for one in np.unique(groups[groups >= 0]).tolist()]
    for rows in np.split(order, starts[1:]) if len(order) else []:
        had, has = (_counts(one[rows], len(groups)) for one in (problem.replicas, after.replicas))
        least, most = np.zeros_like(had), np.where(problem.leaving, 0, had + has)
        for inside in members:
            total, number = int(has[inside].sum()), int(inside.sum())
            least[inside], most[inside] = total // number, -(-total // number)
        missed = np.maximum(has - most, 0) + np.maximum(least - has, 0)
        beyond += int(missed[groups >= 0].sum())
        leave = np.maximum(had - np.maximum(most, has), 0) + has - had
        come = np.maximum(np.minimum(least, has) - had, 0)
        both = [np.bincount(cell, each, len(problem.rack_names)) for each in (leave, come)]
        bound += int(np.maximum(*both).sum())
    return bound, beyond


def _counts(replicas: Matrix, brokers: int) -> Integers:
    return np.bincount(replicas[replicas != NOBODY], minlength=brokers).astype(np.int64)


class _Share:
    """One topic on the brokers of one group."""

    def __init__(self, board: Board, rows: Indices, inside: Mask) -> None:
        self.board, self.rows, self.inside = board, rows, inside
        placed = board.replicas[rows]
        brokers = len(inside)
        counts = np.bincount(placed[placed != NOBODY], minlength=brokers)
        self.counts = np.where(inside, counts, 0)
        self.low = int(self.counts.sum()) // int(inside.sum())
        self.high = -(-int(self.counts.sum()) // int(inside.sum()))

    def excess(self) -> int:
        """Replicas above the share."""
        return int(np.maximum(self.counts - self.high, 0).sum())

    def lack(self) -> int:
        """Replicas that are missing to the share."""
        return int(np.maximum(self.low - self.counts, 0)[self.inside].sum())

    def balance(self) -> None:
        """Moves what is above the share, then what is missing from brokers that hold more than the lower share."""
        if not self.excess() and not self.lack():
            return
        for broker in np.flatnonzero(self.counts > self.high).tolist():
            self._give(broker, down_to=self.high, up_to=self.high)
        for broker in np.flatnonzero((self.counts > self.low) & self.inside).tolist():
            if not self.lack():
                return
            self._give(broker, down_to=self.low, up_to=self.low)

    def _give(self, broker: int, down_to: int, up_to: int) -> None:
        """Takes the smallest replicas of a broker that find a place where the topic has fewer than ``up_to``."""
        rows, columns = np.nonzero(self._entries(broker))
        rows = self.rows[rows]
        for place in np.lexsort((rows, self.board.layout.sizes[rows])).tolist():
            if self.counts[broker] <= down_to or (up_to == self.low and not self.lack()):
                return
            row, column = int(rows[place]), int(columns[place])
            allowed = self.board.allowed(row, column) & self.inside & (self.counts < up_to)
            if allowed.any():
                self._move(row, column, broker, self._best(allowed))

    def _entries(self, broker: int) -> Mask:
        """Replicas of the topic on the broker that may leave it, and were there before."""
        layout = self.board.layout
        here: Mask = (self.board.replicas[self.rows] == broker) & (layout.replicas[self.rows] == broker)
        return here & layout.movable[self.rows]

    def _best(self, allowed: Mask) -> int:
        """The broker that lacks some of the topic, of equals the one with the fewest replicas of all."""
        wanting = allowed & (self.counts < self.low)
        among = wanting if wanting.any() else allowed
        return int(np.where(among, self.board.counts, np.iinfo(np.int64).max).argmin())

    def _move(self, row: int, column: int, giver: int, receiver: int) -> None:
        self.board.move(row, column, receiver)
        self.counts[giver] -= 1
        self.counts[receiver] += 1
