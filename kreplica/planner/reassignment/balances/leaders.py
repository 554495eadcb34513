"""Preferred leaders spread evenly by reordering replicas: the best balance there is, with the fewest changes.

No data moves: the leader of a partition can only be one of its replicas. Which brokers can be equal is decided by who
holds what, so the best balance is that of the smallest sum of squares of the brokers' leaders. It has the smallest
maximum, the largest minimum, and the smallest of any measure that prefers equality (optimal semi-matching: Harvey,
Ladner, Lovasz, Tamir, 2006). Of all assignments of that balance the one with the fewest changes is wanted.

Both are found by paths along which leaders are handed on: broker a gives one of its partitions to b, b one of its own
to c. Paths from brokers that lead too many to brokers that lead too few are taken in the order of what they cost
(successive shortest paths), many of one length at a time.

Both are proven by one number for each broker, which anybody can check:

    levels m   no sum of squares is below   sum over partitions of min (2 m + 1)  -  sum over brokers of m (m + 1)
    prices w   no fewer changes than        sum over partitions of min (change + w)  -  sum over brokers of w x

reach that balance. Each min is over the replicas that may lead, for the prices only over those of the lowest level; x
is m + 1 where w is above 0, otherwise m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.problem import NOBODY, Matrix

_FAR = np.iinfo(np.int64).max // 4
_STEP = 1 << 32
"""Cost of a change in lengths of paths; each broker on a path adds 1, so that of equal costs the shortest is taken."""
_HUB = -1
"""Slot of an arc to or from the hub."""


@dataclass(frozen=True, slots=True, eq=False)
class LeaderPlan:
    """Preferred leaders of the best balance.

    Args:
        leaders: For each partition the position of its leader's broker; NOBODY where no replica may lead.
        levels: For each broker a number that proves the balance; it leads as many partitions or one more.
        prices: For each broker a number that proves that no fewer changes reach this balance.
    """

    leaders: Integers
    levels: Integers
    prices: Integers


@dataclass(frozen=True, slots=True)
class LeaderBounds:
    """Lower bounds that levels and prices prove.

    Args:
        squares: Of the sum of squares of the brokers' leaders.
        changes: Of the changes of preferred leaders, among assignments whose squares are at that bound.
    """

    squares: int
    changes: int


def balance_leaders(replicas: Matrix, brokers: int, preferred: Integers, may_lead: Mask) -> LeaderPlan:
    """Leaders of the best balance, with the fewest changes.

    Args:
        replicas: Positions of brokers, partitions x replication factor; NOBODY fills rows on the right.
        brokers: Number of brokers.
        preferred: For each partition the broker that is its preferred leader now; NOBODY for none.
        may_lead: Which of ``replicas`` may lead. A partition that shall keep its leader has that one alone.
    """
    slots = _slots_of(replicas, preferred, may_lead)
    plan = LeaderPlan(*(np.full(size, fill) for size, fill in ((len(replicas), NOBODY), (brokers, 0), (brokers, 0))))
    holding = np.unique(slots.broker)
    pieces = [_Piece(slots, holding, brokers, 0, len(replicas))] if len(holding) else []
    while pieces:
        piece = pieces.pop()
        if piece.balance():
            piece.store(plan)
        else:
            pieces += piece.split()
    return plan


def leader_bounds(
    replicas: Matrix, preferred: Integers, may_lead: Mask, levels: Integers, prices: Integers
) -> LeaderBounds:
    """Lower bounds that any levels and prices prove; whoever chose them, no assignment is under them.

    Args:
        replicas, preferred, may_lead: The problem, as of ``balance_leaders``.
        levels: For each broker any integer.
        prices: For each broker any integer.
    """
    rows = (may_lead & (replicas != NOBODY)).any(axis=1)
    held, free = replicas[rows], (may_lead & (replicas != NOBODY))[rows]
    level = np.where(free, levels[held], _FAR)
    lowest = level.min(axis=1, keepdims=True, initial=_FAR)
    squares = int((2 * lowest + 1).sum()) - int((levels * (levels + 1)).sum())
    priced = np.where(level == lowest, prices[held] + (held != preferred[rows, None]), _FAR)
    changes = int(priced.min(axis=1, initial=_FAR).sum()) - int((prices * (levels + (prices > 0))).sum())
    return LeaderBounds(squares, changes)


def with_leaders(replicas: Matrix, leaders: Integers) -> Matrix:
    """The replicas with each leader in front, the others in the order they had."""
    places = np.arange(replicas.shape[1])
    first = (replicas == leaders[:, None]) & (leaders[:, None] != NOBODY)
    order = np.argsort(np.where(first, -1, places), axis=1, kind="stable")
    return np.take_along_axis(replicas, order, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Slots:
    """Replicas that may lead, in order of partitions: ``cost`` is 1 where leading is a change."""

    partition: Integers
    broker: Integers
    cost: Integers

    def kept(self, which: Mask) -> _Slots:
        return _Slots(self.partition[which], self.broker[which], self.cost[which])


def _slots_of(replicas: Matrix, preferred: Integers, may_lead: Mask) -> _Slots:
    partition, place = np.nonzero(may_lead & (replicas != NOBODY))
    broker = replicas[partition, place].astype(np.int64)
    return _Slots(partition, broker, (broker != preferred[partition]).astype(np.int64))


class _Piece:
    """Brokers that share partitions among themselves alone, each of which is to lead ``low`` or ``low + 1`` of them.

    The hub stands for the freedom between the two: a broker that leads ``low`` may take one more and hands it to the
    hub, one that leads ``low + 1`` may give one on the hub's behalf.
    """

    def __init__(self, slots: _Slots, members: Integers, brokers: int, lowest: int, highest: int) -> None:
        self.slots, self.members, self.hub = slots, members, brokers
        starts = np.flatnonzero(np.diff(slots.partition, prepend=-1))
        self.rows = slots.partition[starts]
        self.row_of_slot = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(slots.partition)))
        self.lowest, self.highest = lowest, highest
        self.low = min(max(len(starts) // len(members), lowest), highest)
        self.chosen = self._begin(starts)
        self.load = np.bincount(slots.broker[self.chosen], minlength=brokers).astype(np.int64)

    def _begin(self, starts: Integers) -> Integers:
        """Everybody keeps its leader; where it cannot stay the first replica that may lead follows."""
        cheapest = np.lexsort((self.slots.cost, self.row_of_slot))
        return cheapest[starts]

    def balance(self) -> bool:
        """Brings every broker to ``low`` or ``low + 1`` with the fewest changes; false if that cannot be."""
        while self._violations():
            excess, deficit = self._excess(), self._deficit()
            net = int(excess.sum() - deficit.sum())
            if not self._hand_on(excess, deficit, takes=max(net, 0), gives=max(-net, 0)):
                return False
        return True

    def _excess(self) -> Integers:
        return np.maximum(self.load[self.members] - self.low - 1, 0)

    def _deficit(self) -> Integers:
        return np.maximum(self.low - self.load[self.members], 0)

    def _violations(self) -> int:
        return int(self._excess().sum() + self._deficit().sum())

    def _hand_on(self, excess: Integers, deficit: Integers, takes: int, gives: int) -> bool:
        """Takes all cheapest paths of one length from ``excess`` and the hub to ``deficit`` and the hub."""
        sources = np.append(self.members[excess > 0], [self.hub] if gives else []).astype(np.int64)
        sinks = np.append(self.members[deficit > 0], [self.hub] if takes else []).astype(np.int64)
        if not len(sources) or not len(sinks):
            return False
        arcs = _Arcs(self)
        distance = arcs.distances(sources)
        nearest = int(distance[sinks].min())
        if nearest == _FAR:
            return False
        supply, demand = dict.fromkeys(sources.tolist(), gives), dict.fromkeys(sinks.tolist(), takes)
        supply.update(zip(self.members[excess > 0].tolist(), excess[excess > 0].tolist(), strict=True))
        demand.update(zip(self.members[deficit > 0].tolist(), deficit[deficit > 0].tolist(), strict=True))
        near = {sink: demand[sink] for sink in sinks.tolist() if distance[sink] == nearest}
        _Layers(self, arcs.tight(distance)).fill(supply, near)
        return True

    def split(self) -> list[_Piece]:
        """Brokers that cannot come down, those that cannot come up, and the rest, each a piece of its own.

        Those that cannot come down lead partitions that only they hold; those that cannot come up hold no partition
        that others lead. No assignment of the best balance has a leader where another piece of a lower level could.
        """
        none = np.zeros(len(self.members), np.int64)
        while self._excess().any() and self._hand_on(self._excess(), none, takes=len(self.rows), gives=0):
            pass
        while self._deficit().any() and self._hand_on(none, self._deficit(), takes=0, gives=len(self.rows)):
            pass
        arcs = _Arcs(self, with_hub=False)
        above = arcs.distances(self.members[self._excess() > 0]) < _FAR
        below = arcs.reversed().distances(self.members[self._deficit() > 0]) < _FAR
        assert not (above & below).any(), "nobody is too high and too low"
        kinds = (
            (above, self.low + 1, self.highest),
            (below, self.lowest, self.low - 1),
            (~above & ~below, self.low, self.low),
        )
        return [self._part(inside, lowest, highest) for inside, lowest, highest in kinds if inside[self.members].any()]

    def _part(self, inside: Mask, lowest: int, highest: int) -> _Piece:
        led = inside[self.slots.broker[self.chosen]][self.row_of_slot]
        slots = self.slots.kept(led & inside[self.slots.broker])
        return _Piece(slots, self.members[inside[self.members]], self.hub, lowest, highest)

    def store(self, plan: LeaderPlan) -> None:
        """Writes leaders, levels and prices into the plan."""
        plan.leaders[self.rows] = self.slots.broker[self.chosen]
        plan.levels[self.members] = self.low
        distance = _Arcs(self).distances(np.append(self.members, self.hub)) // _STEP
        plan.prices[self.members] = distance[self.hub] - distance[self.members]


class _Arcs:
    """Steps of paths: a partition that ``begin`` leads and ``end`` may lead, or one of the hub (slot _HUB)."""

    def __init__(self, piece: _Piece, *, with_hub: bool = True) -> None:
        slots, chosen = piece.slots, piece.chosen
        leader = slots.broker[chosen][piece.row_of_slot]
        change = slots.cost - slots.cost[chosen][piece.row_of_slot]
        others = np.flatnonzero(slots.broker != leader)
        self.size = piece.hub + 1
        self.begin, self.end, self.slot = leader[others], slots.broker[others], others
        self.cost = change[others] * _STEP + 1
        if with_hub:
            load = np.clip(piece.load[piece.members], piece.low, piece.low + 1)
            takes, gives = piece.members[load == piece.low], piece.members[load > piece.low]
            self._add(takes, np.full(len(takes), piece.hub))
            self._add(np.full(len(gives), piece.hub), gives)

    def _add(self, begin: Integers, end: Integers) -> None:
        self.begin, self.end = np.concatenate([self.begin, begin]), np.concatenate([self.end, end])
        self.slot = np.concatenate([self.slot, np.full(len(begin), _HUB)])
        self.cost = np.concatenate([self.cost, np.ones(len(begin), np.int64)])

    def reversed(self) -> _Arcs:
        """The same arcs the other way; their distances tell who reaches a broker."""
        self.begin, self.end = self.end, self.begin
        return self

    def distances(self, sources: Integers) -> Integers:
        """Length of the shortest path from any source (Bellman-Ford); there is no cycle of negative cost."""
        begin, end, cost = self._cheapest()
        distance = np.full(self.size, _FAR)
        distance[sources] = 0
        for _ in range(self.size + 1):
            before = distance.copy()
            np.minimum.at(distance, end, np.where(before[begin] < _FAR, before[begin] + cost, _FAR))
            if np.array_equal(before, distance):
                return distance
        raise AssertionError("a cycle of negative cost")

    def _cheapest(self) -> tuple[Integers, Integers, Integers]:
        """One arc for each pair of brokers."""
        pair = self.begin * self.size + self.end
        order = np.lexsort((self.cost, pair))
        first = order[np.diff(pair[order], prepend=-1) != 0]
        return self.begin[first], self.end[first], self.cost[first]

    def tight(self, distance: Integers) -> _Arcs:
        """Arcs on shortest paths, sorted by where they begin.

        An arc can take a change back: a path may pass brokers that are further away than where it ends.
        """
        kept = np.flatnonzero((distance[self.begin] < _FAR) & (distance[self.begin] + self.cost == distance[self.end]))
        kept = kept[np.argsort(self.begin[kept], kind="stable")]
        self.begin, self.end, self.slot, self.cost = (one[kept] for one in (self.begin, self.end, self.slot, self.cost))
        return self


class _Layers:
    """Shortest paths of one length, walked until none is left (blocking flow); each arc is looked at once."""

    def __init__(self, piece: _Piece, arcs: _Arcs) -> None:
        self.piece = piece
        self.end, self.slot = arcs.end.tolist(), arcs.slot.tolist()
        nodes = np.arange(arcs.size)
        self.next = np.searchsorted(arcs.begin, nodes, side="left").tolist()
        self.stop = np.searchsorted(arcs.begin, nodes, side="right").tolist()
        rows = np.where(arcs.slot >= 0, piece.row_of_slot[arcs.slot], -1)
        self.row = rows.tolist()
        self.moved: set[int] = set()
        self.used: set[int] = set()

    def fill(self, supply: dict[int, int], demand: dict[int, int]) -> None:
        """Walks paths from sources to sinks while both have any left."""
        for source in sorted(supply):
            while supply[source] > 0:
                path = self._path(source, demand)
                if path is None:
                    break
                supply[source] -= 1
                demand[self.end[path[-1]]] -= 1
                self._apply(path)

    def _path(self, source: int, demand: dict[int, int]) -> list[int] | None:
        path: list[int] = []
        at = source
        while not path or demand.get(at, 0) <= 0:
            arc = self.next[at]
            if arc < self.stop[at]:
                if self._open(arc):
                    path.append(arc)
                    at = self.end[arc]
                else:
                    self.next[at] += 1
            elif path:
                path.pop()
                at = self.end[path[-1]] if path else source
                self.next[at] += 1
            else:
                return None
        return path

    def _open(self, arc: int) -> bool:
        """False once the partition has been handed on, or the hub has been given to or taken from by that broker."""
        return self.row[arc] not in self.moved if self.slot[arc] >= 0 else arc not in self.used

    def _apply(self, path: list[int]) -> None:
        piece = self.piece
        for arc in path:
            slot, row = self.slot[arc], self.row[arc]
            if slot < 0:
                self.used.add(arc)
                continue
            self.moved.add(row)
            piece.load[piece.slots.broker[piece.chosen[row]]] -= 1
            piece.chosen[row] = slot
            piece.load[piece.slots.broker[slot]] += 1
