"""Board: an assignment that is being changed replica by replica, and where each replica may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kreplica.model.tables.columns import Indices, Integers, Mask
from kreplica.planner.reassignment.problem import NOBODY, Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Replicas, brokers and what may be touched.

    Args:
        replicas: Positions of brokers, partitions x columns; NOBODY fills rows on the right.
        racks: Index of each broker's rack.
        receivers: Brokers that may be given replicas.
        movable: Entries of ``replicas`` that may leave their broker.
        sizes: Bytes of one replica of each partition.
    """

    replicas: Matrix
    racks: np.ndarray
    receivers: Mask
    movable: Mask
    sizes: Integers

    @property
    def brokers(self) -> int:
        """Number of brokers."""
        return len(self.racks)

    def loads(self, weights: Integers) -> Integers:
        """Sum of the weights of the replicas on each broker."""
        return loads_of(self.replicas, weights, self.brokers)


def loads_of(replicas: Matrix, weights: Integers, brokers: int) -> Integers:
    """Sum of the weights of the replicas on each broker, exact in 64 bits.

    Args:
        replicas: Positions of brokers, NOBODY for none.
        weights: Of one replica of each partition.
        brokers: Number of brokers.
    """
    rows, columns = np.nonzero(replicas != NOBODY)
    found = np.zeros(brokers, dtype=np.int64)
    np.add.at(found, replicas[rows, columns], weights[rows])
    return found


def closed_groups(layout: Layout) -> Integers:
    """Groups of brokers between which nothing can move: racks, if each partition has one replica in every rack."""
    racks = layout.racks.astype(np.int64)
    there = layout.replicas != NOBODY
    ordered = np.sort(np.where(there, racks[layout.replicas], -1), axis=1)
    every = np.unique(racks)
    closed = ordered.shape[1] == len(every) and bool((ordered == every).all())
    return racks if closed else np.zeros_like(racks)


def count_limits(layout: Layout, sharing: Mask, tolerance: float) -> tuple[Integers, Integers]:
    """Fewest and most replicas of each broker: a share around the mean, or what it has where that is beyond already.

    Args:
        layout: The assignment.
        sharing: Brokers over which the mean is taken.
        tolerance: Share of the mean.
    """
    counts = layout.loads(np.ones(len(layout.replicas), dtype=np.int64))
    mean = float(counts[sharing].mean()) if sharing.any() else 0.0
    low, high = int(np.ceil(mean * (1 - tolerance))), int(np.floor(mean * (1 + tolerance)))
    return np.minimum(counts, low), np.maximum(counts, high)


class Room(Protocol):
    """Free space of brokers, of which every planned copy takes its part."""

    def fits(self, size: int) -> Mask:
        """Brokers that have a log directory with room for so many bytes."""

    def take(self, row: int, broker: int, size: int) -> None:
        """Plans a copy of a partition onto a broker."""


class Board:
    """A changing assignment. A replica keeps its column; no rack gets more of a partition than the one it leaves had.

    Args:
        layout: The assignment at first; it is not changed.
        most: Most replicas that each broker may hold; None for any number.
        room: Free space; None where it does not matter.
    """

    def __init__(self, layout: Layout, most: Integers | None = None, room: Room | None = None) -> None:
        self.layout, self.most, self.room = layout, most, room
        self.replicas = layout.replicas.copy()
        self.counts = np.bincount(self.replicas[self.replicas != NOBODY], minlength=layout.brokers)
        self._outside = [layout.racks != rack for rack in range(int(layout.racks.max(initial=0)) + 1)]
        self._rack = layout.racks.tolist()

    def allowed(self, row: int, column: int) -> Mask:
        """Brokers that the replica at that place may move to."""
        holders = self.replicas[row].tolist()
        found = self.layout.receivers.copy()
        racks = [self._rack[broker] for broker in holders if broker != NOBODY]
        own = self._rack[holders[column]]
        for rack in set(racks):
            if rack != own and racks.count(rack) >= racks.count(own):
                found &= self._outside[rack]
        found[[broker for broker in holders if broker != NOBODY]] = False
        if self.most is not None:
            found &= self.counts < self.most
        if self.room is not None:
            found &= self.room.fits(int(self.layout.sizes[row]))
        return found

    def may_receive(self, rows: Indices, columns: Indices, broker: int) -> Mask:
        """Replicas that one broker may receive, as far as brokers and racks decide it.

        Args:
            rows: Their partitions.
            columns: Their places.
            broker: The broker.
        """
        holders = self.replicas[rows]
        racks = np.where(holders == NOBODY, -1, self.layout.racks[holders])
        own, other = racks[np.arange(len(rows)), columns], int(self.layout.racks[broker])
        fits: Mask = (racks == other).sum(axis=1) < (racks == own[:, None]).sum(axis=1)
        found: Mask = (fits | (own == other)) & ~(holders == broker).any(axis=1) & self.layout.receivers[broker]
        return found

    def move(self, row: int, column: int, broker: int) -> None:
        """Puts the replica at that place onto another broker."""
        before = int(self.replicas[row, column])
        self.replicas[row, column] = broker
        self.counts[before] -= 1
        self.counts[broker] += 1
        if self.room is not None and broker not in self.layout.replicas[row]:
            self.room.take(row, broker, int(self.layout.sizes[row]))
