"""Balances that stand: what a later balance makes of an assignment, as far as it leaves the earlier ones as they are.

A change of a later stage is taken where no broker ends farther outside the range of an earlier balance than it is; two
changes are taken together where each makes good what the other would break. What a later balance of loads cannot
reach by single moves any more it reaches by trades: a heavy replica for a light one, which leaves numbers as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kreplica.model.tables.columns import Indices, Integers
from kreplica.planner.reassignment.board import Board, Layout, Room
from kreplica.planner.reassignment.problem import NOBODY, Matrix

Step = tuple[int, int, int]
"""A replica that moves: its row, the broker that gives it and the one that gets it."""

_NEAREST = 24
"""Light replicas that are tried for a heavy one."""
_HEAVIEST = 100
"""Heavy replicas of a broker that are tried with one other broker."""
_PARTNERS = 32
"""Brokers that are tried with one that is outside its range."""
_TRADES = 32
"""Most trades for each broker of the cluster."""


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """A load of brokers and the range that it has to be in.

    Args:
        weights: Load of one replica of each partition.
        low, high: Range of each place: of each broker; or, where loads are told apart by ``kinds``, of each broker
            for the first kind, then for the second.
        kinds: Kind of each partition, such as its topic; None where all are one.
    """

    weights: Integers
    low: Integers
    high: Integers
    kinds: Integers | None = None

    def places(self, rows: Integers | int, brokers: Integers | int, width: int) -> Integers | int:
        """Places of replicas of these rows on these brokers."""
        return brokers if self.kinds is None else self.kinds[rows] * width + brokers

    def loads(self, replicas: Matrix, width: int) -> Integers:
        """Load of each place."""
        rows, columns = np.nonzero(replicas != NOBODY)
        found = np.zeros(len(self.low), dtype=np.int64)
        places = self.places(rows, replicas[rows, columns].astype(np.int64), width)
        np.add.at(found, places, self.weights[rows])
        return found

    def beyond(self, replicas: Matrix, width: int) -> Integers:
        """Distance of each place from its range."""
        load = self.loads(replicas, width)
        found: Integers = np.maximum(np.maximum(load - self.high, self.low - load), 0)
        return found


class _Standing:
    """A balance and the loads as they are at the moment."""

    def __init__(self, balance: Balance, replicas: Matrix, brokers: int) -> None:
        self.balance, self.width = balance, brokers
        self.load = balance.loads(replicas, brokers)

    def beyond(self, steps: Sequence[Step]) -> list[tuple[int, int]]:
        """Distance from the range of each place that the steps touch, before and after them."""
        change: dict[int, int] = {}
        for row, giver, receiver in steps:
            weight = int(self.balance.weights[row])
            for broker, sign in ((giver, -weight), (receiver, weight)):
                place = int(self.balance.places(row, broker, self.width))
                change[place] = change.get(place, 0) + sign
        return [(self._distance(place, 0), self._distance(place, more)) for place, more in change.items()]

    def _distance(self, place: int, more: int) -> int:
        load = int(self.load[place]) + more
        return max(load - int(self.balance.high[place]), int(self.balance.low[place]) - load, 0)

    def take(self, steps: Iterable[Step]) -> None:
        for row, giver, receiver in steps:
            weight = self.balance.weights[row]
            self.load[self.balance.places(row, giver, self.width)] -= weight
            self.load[self.balance.places(row, receiver, self.width)] += weight


class _Judge:
    """The earlier balances and the one that is being made."""

    def __init__(self, earlier: Sequence[Balance], own: Balance, replicas: Matrix, brokers: int) -> None:
        self.earlier = [_Standing(one, replicas, brokers) for one in earlier]
        self.own = _Standing(own, replicas, brokers)

    def agrees(self, steps: Sequence[Step]) -> bool:
        """True if no broker gets worse in an earlier balance, nor all of them together in the one being made."""
        for one in self.earlier:
            if any(after > before for before, after in one.beyond(steps)):
                return False
        touched = self.own.beyond(steps)
        return sum(after for _, after in touched) <= sum(before for before, _ in touched)

    def take(self, steps: Sequence[Step]) -> None:
        for one in (*self.earlier, self.own):
            one.take(steps)


def keep_balances(layout: Layout, after: Matrix, earlier: Sequence[Balance], own: Balance) -> Matrix:
    """The changes of a stage that leave the earlier balances as they are.

    Args:
        layout: The assignment before the stage.
        after: The assignment that the stage made of it.
        earlier: Balances that stand.
        own: The balance that the stage is about; it does not get worse by what is taken.
    """
    judge = _Judge(earlier, own, layout.replicas, layout.brokers)
    replicas = layout.replicas.copy()
    open_changes = {row: _steps(layout.replicas, after, row) for row in _changed(layout.replicas, after)}
    while open_changes:
        taken = _single(judge, open_changes) or _pair(judge, open_changes)
        if not taken:
            break
        for row in taken:
            replicas[row] = after[row]
            del open_changes[row]
    return replicas


def _changed(before: Matrix, after: Matrix) -> list[int]:
    found: list[int] = np.flatnonzero((before != after).any(axis=1)).tolist()
    return found


def _steps(before: Matrix, after: Matrix, row: int) -> list[Step]:
    """Replicas of one partition that move: those that leave, each with one that comes."""
    old, new = before[row].tolist(), after[row].tolist()
    leaving = [broker for broker in old if broker not in new]
    coming = [broker for broker in new if broker not in old]
    return [(row, giver, receiver) for giver, receiver in zip(leaving, coming, strict=True)]


def _single(judge: _Judge, changes: dict[int, list[Step]]) -> list[int]:
    taken = []
    for row, steps in changes.items():
        if judge.agrees(steps):
            judge.take(steps)
            taken.append(row)
    return taken


def _pair(judge: _Judge, changes: dict[int, list[Step]]) -> list[int]:
    """The first two changes that go together: what one broker gives another it gets back from it."""
    by_brokers: dict[tuple[int, int], list[int]] = {}
    for row, steps in changes.items():
        for _, giver, receiver in steps:
            by_brokers.setdefault((giver, receiver), []).append(row)
    taken: list[int] = []
    gone: set[int] = set()
    for (giver, receiver), rows in by_brokers.items():
        for row in rows:
            others = by_brokers.get((receiver, giver), ())
            for other in others:
                steps = [*changes[row], *changes[other]]
                if row != other and not {row, other} & gone and judge.agrees(steps):
                    judge.take(steps)
                    gone |= {row, other}
                    taken += (row, other)
    return taken


def trade(layout: Layout, earlier: Sequence[Balance], own: Balance, room: Room | None) -> Matrix:
    """Brings loads into their range by trades, as far as they go.

    Args:
        layout: The assignment.
        earlier: Balances that stand.
        own: The load to be brought into its range; one range for each broker.
        room: Free space of log directories; None where it does not matter.
    """
    return _Trading(layout, earlier, own, room).traded()


class _Trading:
    """An assignment in which replicas are traded."""

    def __init__(self, layout: Layout, earlier: Sequence[Balance], own: Balance, room: Room | None) -> None:
        self.layout, self.own = layout, own
        self.board = Board(layout, room=room)
        self.judge = _Judge(earlier, own, layout.replicas, layout.brokers)
        self.kinds = next((one.kinds for one in earlier if one.kinds is not None), None)
        self.left = _TRADES * layout.brokers
        rows, columns = np.nonzero(layout.movable & (layout.replicas != NOBODY))
        broker = layout.replicas[rows, columns]
        order = np.lexsort((-own.weights[rows], broker))
        self.entries = np.column_stack([rows, columns])[order]
        self.begins = np.searchsorted(broker[order], np.arange(layout.brokers + 1)).tolist()

    def traded(self) -> Matrix:
        while self.left > 0 and any(self._mend(broker) for broker in self._outside()):
            pass
        return self.board.replicas

    def _outside(self) -> list[int]:
        """Brokers outside their range, the farthest first."""
        load = self.judge.own.load
        beyond = np.maximum(load - self.own.high, 0) + np.maximum(self.own.low - load, 0)
        order = np.argsort(-beyond, kind="stable")
        found: list[int] = order[beyond[order] > 0].tolist()
        return found

    def _mend(self, broker: int) -> bool:
        """One trade of a broker with the others that can bear most; false if there is none."""
        load = self.judge.own.load
        above = bool(load[broker] > self.own.high[broker])
        order = np.argsort(load if above else -load, kind="stable")
        partners = order[order != broker][:_PARTNERS].tolist()
        pairs = ((broker, other) if above else (other, broker) for other in partners)
        return any(self._trade(heavy, light) for heavy, light in pairs)

    def _trade(self, heavy: int, light: int) -> bool:
        """A heavy replica of one broker for a lighter one of another, such that neither goes too far."""
        load, low, high = self.judge.own.load, self.own.low, self.own.high
        most = min(int(load[heavy] - low[heavy]), int(high[light] - load[light]))
        wanted = min(max(int(load[heavy] - high[heavy]), int(low[light] - load[light])), most)
        if wanted <= 0:
            return False
        given = self._entries(heavy)[:_HEAVIEST]
        given = given[self.board.may_receive(given[:, 0], given[:, 1], light)]
        if not len(given):
            return False
        got = self._entries(light)
        got = got[self.board.may_receive(got[:, 0], got[:, 1], heavy)]
        weights = self.own.weights
        for row, column in given.tolist():
            among = got if self.kinds is None else got[self.kinds[got[:, 0]] == self.kinds[row]]
            difference = weights[row] - weights[among[:, 0]]
            fitting = np.flatnonzero((difference > 0) & (difference <= most) & (among[:, 0] != row))
            near = fitting[np.argsort(np.abs(difference[fitting] - wanted), kind="stable")][:_NEAREST]
            for other, place in among[near].tolist():
                if self._take((row, column, heavy, light), (other, place, light, heavy)):
                    return True
        return False

    def _entries(self, broker: int) -> Indices:
        """Row and column of the replicas of a broker that may leave and are where they were, the heaviest first."""
        own = self.entries[self.begins[broker] : self.begins[broker + 1]]
        here: Indices = own[self.board.replicas[own[:, 0], own[:, 1]] == broker]
        return here

    def _take(self, *moves: tuple[int, int, int, int]) -> bool:
        steps = [(row, giver, receiver) for row, _, giver, receiver in moves]
        if not all(self.board.allowed(row, column)[receiver] for row, column, _, receiver in moves):
            return False
        if not self.judge.agrees(steps):
            return False
        for row, column, _, receiver in moves:
            self.board.move(row, column, receiver)
        self.judge.take(steps)
        self.left -= 1
        return True


def topic_balance(topics: npt.NDArray[np.int32], replicas: Matrix, groups: Integers) -> Balance:
    """The balance of topics: each broker's share of each, rounded down and up, within its group of brokers.

    Args:
        topics: Topic of each partition.
        replicas: The assignment.
        groups: Group of each broker, -1 for those without a share.
    """
    brokers = len(groups)
    number = int(topics.max(initial=-1)) + 1
    held = np.zeros(number * brokers, dtype=np.int64)
    rows, columns = np.nonzero(replicas != NOBODY)
    np.add.at(held, topics[rows].astype(np.int64) * brokers + replicas[rows, columns], 1)
    counts = held.reshape(number, brokers)
    low, high = np.zeros_like(counts), np.full_like(counts, np.iinfo(np.int64).max)
    for one in np.unique(groups[groups >= 0]).tolist():
        members = groups == one
        total = counts[:, members].sum(axis=1)
        low[:, members] = (total // members.sum())[:, None]
        high[:, members] = (-(-total // members.sum()))[:, None]
    return Balance(np.ones(len(topics), dtype=np.int64), low.ravel(), high.ravel(), topics.astype(np.int64))
