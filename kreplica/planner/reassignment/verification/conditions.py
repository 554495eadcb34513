"""Conditions of single partitions, derived from the snapshot: replicas that may and that have to stay, and racks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.reassignment.verification.arrays import PlanArrays, held

_FAR = 1 << 61
"""Cost of what is not allowed."""
_CELLS = 4_000_000
"""Partitions times racks that are looked at together: bounds the memory."""


class Part:
    """Some partitions and their conditions: replicas that may and that have to stay, and how many a rack may hold."""

    def __init__(self, plan: PlanArrays, rows: slice) -> None:
        self.plan, self.rows, given = plan, rows, plan.given
        self.before, self.after, self.stuck = plan.before[rows], plan.after[rows], plan.stuck[rows, None]
        there = self.before >= 0
        number = there.sum(axis=1)
        self.factor = np.where(self.stuck[:, 0], number, given.replication_factor or number)
        grows, last = (self.factor >= number)[:, None], plan.last[rows]
        alone = (last.sum(axis=1) == 1) & (number > 1)
        self.keepable = there & (self.stuck | ~plan.emptied[self.before])
        self.fixed = self.keepable & (self.stuck | (plan.stays[self.before] & grows) | (last & alone[:, None]))
        kept, self.forced = self.by_rack(self.before, self.keepable), self.by_rack(self.before, self.fixed)
        room = self.by_rack(self.before, self.keepable & ~plan.receives[self.before])
        room += np.bincount(plan.racks[plan.receives], minlength=room.shape[1])
        least = np.zeros_like(room)
        for level in range(1, int(self.factor.max(initial=0)) + 1):
            filled = np.minimum(room, level)
            least = np.where(filled.sum(axis=1, keepdims=True) <= self.factor[:, None], filled, least)
        more = self.factor[:, None] > least.sum(axis=1, keepdims=True)
        most = np.where(more, np.minimum(room, least.max(axis=1, initial=0, keepdims=True) + 1), least)
        loose = grows & (not given.rack_aware)
        least, most = np.where(loose, np.minimum(least, kept), least), np.where(loose, np.maximum(most, kept), most)
        least = np.where((self.forced > least).any(axis=1, keepdims=True), self.forced, least)
        self.least, self.most = (
            np.where(self.stuck, kept, least),
            np.where(self.stuck, kept, np.maximum(most, self.forced)),
        )
        if given.named:  # nobody said what for: any number of replicas, on any racks
            self.fixed, self.factor = np.zeros_like(there), np.maximum((self.after >= 0).sum(axis=1), 1)
            self.least, self.most = np.zeros_like(least), np.full_like(most, self.after.shape[1])

    def by_rack(self, matrix: Integers, entries: Mask) -> Integers:
        """Number of marked entries of each partition in each rack."""
        racks = int(self.plan.racks.max(initial=0)) + 1
        cells = np.arange(len(matrix))[:, None] * racks + self.plan.racks[matrix]
        return np.bincount(cells[entries], minlength=len(matrix) * racks).reshape(-1, racks)

    def faults(self) -> Iterator[str]:
        """Sentences on what is illegal."""
        after, there = self.after, self.after >= 0
        ordered, number = np.sort(after, axis=1), self.by_rack(after, there)
        twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
        stays = held(after, np.where(self.keepable, self.before, -1))
        barred = there & ~stays & (held(after, self.before) | ~self.plan.receives[after])
        for wrong, text in (
            (twice | (there.sum(axis=1) != self.factor), "has a replica twice, too many or too few"),
            (barred.any(axis=1), "goes to or stays on a broker that may not have it"),
            ((self.fixed & ~held(self.before, after)).any(axis=1), "gives up a replica that has to stay"),
            (((number < self.least) | (number > self.most)).any(axis=1), "is spread over racks in another way"),
        ):
            for row in np.flatnonzero(wrong).tolist():
                shown = self.plan.ids[after[row][there[row]]].tolist()
                yield f"{self.plan.key[self.rows.start + row]} {text}: {shown}"

    def cheapest(self, prices: Integers, load: Integers, costs: Integers) -> Integers:
        """Least cost of placing each partition alone: what racks need first, then the cheapest of the rest."""
        load, costs, plan = load[self.rows, None], costs[self.rows, None], self.plan
        own, free = prices[self.before] * load, self.keepable & ~self.fixed
        total: Integers = np.where(self.fixed, own, 0).sum(axis=1)
        rest, pools = self.factor - self.fixed.sum(axis=1), []
        order, widest = np.argsort(prices, kind="stable"), int(self.most.max(initial=0))
        for rack in range(self.most.shape[1]):
            near = order[plan.receives[order] & (plan.racks[order] == rack)][: widest + plan.width if widest > 1 else 1]
            new = prices[near] * load + costs
            if widest > 1:
                new = np.where(held(np.broadcast_to(near, new.shape), self.before), _FAR, new)
            offers = np.sort(np.hstack([np.where(free & (plan.racks[self.before] == rack), own, _FAR), new]), axis=1)
            must = np.maximum(self.least[:, rack] - self.forced[:, rack], 0)[:, None]
            at, most = np.arange(offers.shape[1]), (self.most - self.forced)[:, [rack]]
            total += np.where(at < must, offers, 0).sum(axis=1)
            rest -= must[:, 0]
            pools.append(np.where((at >= must) & (at < most), offers, _FAR)[:, :widest])
        if rest.any():
            pool = np.sort(np.hstack(pools), axis=1)
            total += np.where(np.arange(pool.shape[1]) < rest[:, None], pool, 0).sum(axis=1)
        return total


def parts_of(plan: PlanArrays) -> list[Part]:
    """All partitions, some at a time."""
    step = max(1, _CELLS // (int(plan.racks.max(initial=0)) + 1))
    return [Part(plan, slice(start, start + step)) for start in range(0, len(plan.key), step)]
