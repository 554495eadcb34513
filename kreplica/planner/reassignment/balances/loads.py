"""Balance of bytes, or of any weight of partitions: every broker near the mean, with the fewest bytes moved.

Evict and best fit: a broker above the range gives up replicas whose weights just cover what it has too much, a broker
below it receives replicas that just cover what it lacks. No plan can move less than the cheapest cover of every excess,
nor less than that of every lack: the covering bound, which is computed from the assignment alone.

Where every partition has one replica in each rack, no replica changes its rack: each rack is balanced by itself.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.board import Board, Layout, Room, closed_groups, count_limits, loads_of
from kreplica.planner.reassignment.problem import NOBODY, Matrix, held


@dataclass(frozen=True, slots=True, eq=False)
class LoadRange:
    """Range in which the load of each broker shall be.

    Args:
        low: Least load of each broker.
        high: Greatest load of each broker.
        group: For each broker the number of the brokers with which it shares load; -1 for a broker whose load counts
            nowhere, since it keeps what it has.
    """

    low: Integers
    high: Integers
    group: Integers


@dataclass(frozen=True, slots=True, eq=False)
class LoadPlan:
    """An assignment whose loads are in range, as far as one was found.

    Args:
        replicas: The assignment; a replica that moved stands in the column of the one it replaces.
        moved: Bytes that are copied.
        bound: No assignment in range copies fewer bytes.
        outside: Brokers that are left out of range.
    """

    replicas: Matrix
    moved: int
    bound: int
    outside: Indices

    @property
    def gap(self) -> float:
        """Bytes above the bound, as a share of it."""
        return (self.moved - self.bound) / self.bound if self.bound else 0.0


def load_range(layout: Layout, weights: Integers, sharing: Mask, tolerance: float) -> LoadRange:
    """The mean of each group of brokers, give or take a share of it.

    Args:
        layout: The assignment.
        weights: Load of one replica of each partition.
        sharing: Brokers over which the mean is taken.
        tolerance: Share of the mean by which loads may differ from it.
    """
    group = np.where(sharing, closed_groups(layout), -1)
    load = layout.loads(weights)
    low, high = np.zeros_like(load), np.zeros_like(load)
    for one in np.unique(group[sharing]).tolist():
        members = group == one
        mean = float(load[members].sum()) / int(members.sum())
        low[members] = int(np.ceil(mean * (1 - tolerance)))
        high[members] = int(np.floor(mean * (1 + tolerance)))
    return LoadRange(low, high, group)


def load_bound(layout: Layout, weights: Integers, wanted: LoadRange) -> int:
    """Bytes that every assignment in range has to copy: those of the cheapest fractional covers.

    Each broker above its range gives up enough of its own replicas; each below it receives enough of all partitions.
    A copy may serve one of each, so the greater of both sums counts in each group.
    """
    load = layout.loads(weights)
    entries = _Entries(layout, weights)
    by_price = _by_price(weights, layout.sizes)
    bound = 0
    for one in np.unique(wanted.group[wanted.group >= 0]).tolist():
        members = np.flatnonzero(wanted.group == one)
        excess, lack = load - wanted.high, wanted.low - load
        given = sum(
            _cover(entries.of(broker), layout.sizes, weights, int(excess[broker])) for broker in members.tolist()
        )
        lacks = lack[members][lack[members] > 0].tolist()
        bound += max(given, sum(_cover(by_price, layout.sizes, weights, each) for each in lacks))
    return bound


def _by_price(weights: Integers, sizes: Integers, rows: Indices | None = None) -> Indices:
    """Rows of a weight above 0 by bytes for each unit of weight, the heaviest first among equals."""
    rows = np.arange(len(weights)) if rows is None else rows
    rows = rows[weights[rows] > 0]
    return rows[np.lexsort((-weights[rows], sizes[rows] / weights[rows]))]


def _cover(rows: Indices, sizes: Integers, weights: Integers, need: int) -> int:
    """Least bytes of fractions of these rows, sorted by price, that weigh as much as is needed."""
    if need <= 0 or not len(rows):
        return 0
    reached = np.cumsum(weights[rows])
    last = int(np.searchsorted(reached, need))
    if last == len(rows):
        return int(sizes[rows].sum())
    rest = need - (int(reached[last - 1]) if last else 0)
    size, weight = int(sizes[rows[last]]), int(weights[rows[last]])
    return int(sizes[rows[:last]].sum()) + -(-rest * size // weight)


class _Entries:
    """Replicas of each broker that may move, by price."""

    def __init__(self, layout: Layout, weights: Integers) -> None:
        rows, columns = np.nonzero(layout.movable & (layout.replicas != NOBODY))
        kept = weights[rows] > 0
        rows, columns = rows[kept], columns[kept]
        broker = layout.replicas[rows, columns]
        order = np.lexsort((-weights[rows], layout.sizes[rows] / weights[rows], broker))
        self.rows, self.columns = rows[order], columns[order]
        bounds = np.arange(layout.brokers + 1)
        self._bounds = np.searchsorted(broker[order], bounds).tolist()

    def of(self, broker: int) -> Indices:
        """Rows of the partitions of one broker."""
        return self.rows[self._bounds[broker] : self._bounds[broker + 1]]

    def columns_of(self, broker: int) -> Indices:
        """Columns of the same."""
        return self.columns[self._bounds[broker] : self._bounds[broker + 1]]


def closest_cover(weights: Integers, need: int, most: int) -> Indices:
    """Places of a few weights whose sum is at least ``need`` and hardly more; empty where there is no such set.

    The first that fit are taken in the order given; the rest is covered by one more, or by exchanging one for another.

    Args:
        weights: Weights above 0, the preferred ones first.
        need: Sum to be reached, above 0.
        most: Most of them that may be taken.
    """
    taken: list[int] = []
    rest = need
    for place, weight in enumerate(weights.tolist()):
        if weight <= rest and len(taken) < most:
            taken.append(place)
            rest -= weight
            if not rest:
                return np.array(taken)
    left = np.setdiff1d(np.arange(len(weights)), taken)
    left = left[np.argsort(weights[left], kind="stable")]
    out = np.array([*taken, -1]) if len(taken) < most else np.array(taken, dtype=np.int64)
    if not len(left) or not len(out):
        return np.empty(0, dtype=np.intp)
    without = np.where(out >= 0, weights[out], 0)
    found = np.searchsorted(weights[left], rest + without)
    over = np.where(found < len(left), weights[left[np.minimum(found, len(left) - 1)]] - rest - without, np.inf)
    best = int(over.argmin())
    if over[best] == np.inf:
        return np.empty(0, dtype=np.intp)
    kept = [place for place in taken if place != out[best]]
    return np.array([*kept, left[found[best]]])


def balance_load(
    layout: Layout, weights: Integers, wanted: LoadRange, *, count_tolerance: float = 0.1, room: Room | None = None
) -> LoadPlan:
    """Brings the load of every broker into its range, with few bytes.

    Args:
        layout: The assignment.
        weights: Load of one replica of each partition: its bytes, or anything else.
        wanted: The range of each broker.
        count_tolerance: Share of the mean number of replicas by which a broker may end above it or below; one that is
            beyond that already gets no worse.
        room: Free space of log directories; None where it does not matter.
    """
    bound = load_bound(layout, weights, wanted)
    best = None
    for way in _WAYS:
        found = _planned(layout, weights, wanted, count_tolerance, copy.deepcopy(room), way, bound)
        rank = _worse(layout, weights, wanted, found), len(found.outside), found.moved
        if best is None or rank < best[0]:
            best = rank, way, found
        if best[0][0] == 0 and (way is _WAYS[-2] or (not len(found.outside) and found.gap <= _NEAR)):
            break
    assert best is not None, "one was tried"
    _, way, found = best
    return found if room is None else _planned(layout, weights, wanted, count_tolerance, room, way, bound)


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to balance.

    Args:
        finer: Parts of the largest room of which the heaviest evicted replica may fill one: light ones fit better,
            heavy ones are fewer.
        makes_place: Whether brokers that lack load, and may hold no more replicas, give light ones first.
    """

    finer: int
    makes_place: bool = True


_WAYS = (*(_Way(finer) for finer in (1, 4, 16, 64)), _Way(1, makes_place=False))
"""Ways in the order in which they are tried; the last one, which never leaves a broker worse, where all others do."""
_NEAR = 0.001
"""Share of the bound by which a plan may be above it before one with lighter replicas is tried."""


def _worse(layout: Layout, weights: Integers, wanted: LoadRange, plan: LoadPlan) -> int:
    """Number of brokers that are further from their range than before."""
    sharing = wanted.group >= 0
    before, after = layout.loads(weights), loads_of(plan.replicas, weights, layout.brokers)
    beyond = [np.maximum(load - wanted.high, 0) + np.maximum(wanted.low - load, 0) for load in (before, after)]
    return int(np.count_nonzero((beyond[1] > beyond[0]) & sharing))


def _planned(
    layout: Layout,
    weights: Integers,
    wanted: LoadRange,
    count_tolerance: float,
    room: Room | None,
    way: _Way,
    bound: int,
) -> LoadPlan:
    sharing = wanted.group >= 0
    balance = _Balance(layout, weights, wanted, count_tolerance, room)
    for one in np.unique(wanted.group[sharing]).tolist():
        balance.balance(np.flatnonzero(wanted.group == one), way)
    out = sharing & ((balance.load > wanted.high) | (balance.load < wanted.low))
    replicas = balance.board.replicas
    added = (replicas != NOBODY) & ~held(replicas, layout.replicas)
    moved = int((added.sum(axis=1) * layout.sizes).sum())
    return LoadPlan(replicas, moved, bound, np.flatnonzero(out))


class _Balance:
    """The assignment while it is balanced, group by group."""

    def __init__(
        self, layout: Layout, weights: Integers, wanted: LoadRange, count_tolerance: float, room: Room | None
    ) -> None:
        self.least, most = count_limits(layout, wanted.group >= 0, count_tolerance)
        self.layout, self.weights, self.wanted = layout, weights, wanted
        self.board = Board(layout, most, room)
        self.load = layout.loads(weights)
        self.entries = _Entries(layout, weights)
        self.journal: list[tuple[int, int, int]] = []

    def balance(self, members: Indices, way: _Way) -> None:
        """Evicts, fits, and mends what neither could."""
        receivers = members[self.layout.receivers[members]]
        low, high = self.wanted.low[members], self.wanted.high[members]
        lack = int(np.maximum(self.wanted.low[receivers] - self.load[receivers], 0).sum())
        excess = int(np.maximum(self.load[members] - high, 0).sum())
        down_to = high if excess >= lack else np.maximum(low, _drained_level(self.load[members], lack))
        evicted = self._evict(members, np.minimum(high, down_to), way.finer)
        total = int(self.weights[[row for row, _ in evicted]].sum()) if evicted else 0
        if way.makes_place:
            self._make_place(receivers, -(-total // max(1, len(evicted))))
        level = np.minimum(_filled_level(self.load[receivers], total), self.wanted.high[receivers])
        self._fit(evicted, receivers, np.maximum(level, self.wanted.low[receivers]))
        self._fill_up(members, receivers)
        self._bring_down(members)

    def _evict(self, members: Indices, down_to: Integers, finer: int) -> list[tuple[int, int]]:
        """Replicas, heaviest first, without which each broker is where it shall come down to."""
        room = int((self.wanted.high - self.load)[members].max(initial=0)) // finer
        found: list[tuple[int, int]] = []
        for broker, level in zip(members.tolist(), down_to.tolist(), strict=True):
            need = int(self.load[broker]) - level
            if need > 0:
                rows, columns = self.entries.of(broker), self.entries.columns_of(broker)
                small = self.weights[rows] <= room
                rows, columns = rows[small], columns[small]
                spare = int(self.board.counts[broker] - self.least[broker])
                chosen = closest_cover(self.weights[rows], need, spare)
                if self._lacks_more(broker, int(self.weights[rows[chosen]].sum())):
                    continue  # all are heavy
                found += zip(rows[chosen].tolist(), columns[chosen].tolist(), strict=True)
        return sorted(found, key=lambda entry: (-self.weights[entry[0]], entry))

    def _make_place(self, receivers: Indices, weight: int) -> None:
        """Lets brokers that lack load, but may hold hardly more replicas, give light ones for those that will come."""
        lack = self.wanted.low[receivers] - self.load[receivers]
        for broker, need in zip(receivers[lack > 0].tolist(), lack[lack > 0].tolist(), strict=True):
            self._offer_lightest(broker, -(-need // max(1, weight)))

    def _fit(self, entries: list[tuple[int, int]], receivers: Indices, level: Integers) -> None:
        """Puts each where most is missing up to the level."""
        goal = np.full(self.layout.brokers, np.iinfo(np.int64).min // 2)
        goal[receivers] = level
        for row, column in entries:
            weight = int(self.weights[row])
            allowed = self.board.allowed(row, column) & (self.load + weight <= self.wanted.high) & (goal >= 0)
            if allowed.any():
                self._move(row, column, int(np.where(allowed, goal - self.load, np.iinfo(np.int64).min).argmax()))

    def _move(self, row: int, column: int, broker: int) -> None:
        giver = int(self.board.replicas[row, column])
        self.journal.append((row, column, giver))
        self.load[giver] -= self.weights[row]
        self.load[broker] += self.weights[row]
        self.board.move(row, column, broker)

    def _fill_up(self, members: Indices, receivers: Indices) -> None:
        """Gives brokers that still lack something the replicas that cover it best, of brokers that can spare them."""
        lacking = receivers[self.load[receivers] < self.wanted.low[receivers]]
        if not len(lacking):
            return
        rows, columns = np.nonzero(self.layout.movable & np.isin(self.board.replicas, members))
        rows, columns = rows[self.weights[rows] > 0], columns[self.weights[rows] > 0]
        order = np.argsort(self.weights[rows], kind="stable")
        rows, columns = rows[order], columns[order]
        for broker in lacking[np.argsort(self.load[lacking], kind="stable")].tolist():
            while self.load[broker] < self.wanted.low[broker] and self._exchange(rows, columns, broker):
                pass

    def _exchange(self, rows: Indices, columns: Indices, broker: int) -> bool:
        """Gives a broker one replica, if need be for lighter ones of its own; false if it would gain nothing."""
        before, begin = int(self.load[broker]), len(self.journal)
        self._offer_lightest(broker, 1)
        self._give(rows, columns, broker)
        if self.load[broker] > before:
            return True
        for row, column, home in reversed(self.journal[begin:]):
            self._move(row, column, home)
        return False

    def _give(self, rows: Indices, columns: Indices, broker: int) -> None:
        """Gives it one: the lightest that covers the lack, or else the heaviest that does not."""
        start = int(np.searchsorted(self.weights[rows], self.wanted.low[broker] - self.load[broker]))
        for place in (*range(start, min(start + _TRIED, len(rows))), *range(start - 1, max(start - _TRIED, -1), -1)):
            row, column = int(rows[place]), int(columns[place])
            giver, weight = int(self.board.replicas[row, column]), int(self.weights[row])
            untouched = giver == self.layout.replicas[row, column]
            if untouched and self._can_spare(giver, broker, weight) and self.board.allowed(row, column)[broker]:
                self._move(row, column, broker)
                return

    def _offer_lightest(self, broker: int, places: int) -> None:
        """Makes places for heavier replicas where a broker may hold no more; the lack grows by next to nothing."""
        assert self.board.most is not None, "numbers of replicas are limited"
        rows, columns = self.entries.of(broker), self.entries.columns_of(broker)
        for place in np.argsort(self.weights[rows], kind="stable")[:_TRIED].tolist():
            held_now = self.board.counts[broker]
            if held_now + places <= self.board.most[broker] or held_now <= self.least[broker]:
                break
            row, column = int(rows[place]), int(columns[place])
            if self.board.replicas[row, column] == broker:
                self._offer(row, column)

    def _can_spare(self, giver: int, broker: int, weight: int) -> bool:
        above = self.load[giver] - weight >= self.wanted.low[giver] and self.board.counts[giver] > self.least[giver]
        return bool(above and self.load[broker] + weight <= self.wanted.high[broker])

    def _bring_down(self, members: Indices) -> None:
        """Takes from brokers that still have too much whatever finds a place, heaviest first."""
        for broker in members[self.load[members] > self.wanted.high[members]].tolist():
            rows, columns = self.entries.of(broker), self.entries.columns_of(broker)
            for place in np.argsort(-self.weights[rows], kind="stable").tolist():
                if self.load[broker] <= self.wanted.high[broker] or self.board.counts[broker] <= self.least[broker]:
                    break
                row, column = int(rows[place]), int(columns[place])
                still_there = self.board.replicas[row, column] == broker
                if still_there and not self._lacks_more(broker, int(self.weights[row])):
                    self._offer(row, column)

    def _lacks_more(self, broker: int, weight: int) -> bool:
        """True if without that weight a broker would have too little by more than it has too much with it."""
        return bool(self.wanted.low[broker] - self.load[broker] + weight > self.load[broker] - self.wanted.high[broker])

    def _offer(self, row: int, column: int) -> None:
        """Moves a replica to the broker that can bear most, if one can."""
        fits = self.load + self.weights[row] <= np.where(self.wanted.group >= 0, self.wanted.high, -1)
        allowed = self.board.allowed(row, column) & fits
        if allowed.any():
            self._move(row, column, int(np.where(allowed, self.wanted.high - self.load, -1).argmax()))


_TRIED = 2000
"""Replicas that are looked at to cover what one broker lacks."""


def _drained_level(loads: Integers, total: int) -> int:
    """Level above which the loads sum up to ``total``."""
    return -_filled_level(-loads, total)


def _filled_level(loads: Integers, total: int) -> int:
    """Level up to which the loads can be filled with ``total``."""
    ordered = np.sort(loads)
    if not len(ordered):
        return 0
    steps = np.arange(1, len(ordered) + 1)
    below = ordered * steps - np.cumsum(ordered)
    reached = int(np.searchsorted(below, total, side="right"))
    return int(ordered[:reached].sum() + total) // reached
