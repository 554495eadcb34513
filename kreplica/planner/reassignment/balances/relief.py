"""Relief of a volume that is too full: replicas of few bytes leave it, just as many as have to.

Of a broker as a whole replicas go to other brokers; of one directory they go to another directory of the same broker
where that has room, which keeps every assignment as it is, and otherwise to other brokers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.errors import UsageError
from kreplica.model.tables.columns import Indices, Mask
from kreplica.planner.reassignment.balances.covers import least_cover
from kreplica.planner.reassignment.balances.loads import closest_cover
from kreplica.planner.reassignment.board import Board, Layout
from kreplica.planner.reassignment.directories.room import DirectoryRoom, LogDirectories
from kreplica.planner.reassignment.problem import Matrix


@dataclass(frozen=True, slots=True)
class DirectoryMove:
    """A replica that changes its log directory on one broker.

    Args:
        row: Row of the partition.
        broker: Position of the broker.
        source: Index of the directory it leaves.
        destination: Index of the directory it goes to.
    """

    row: int
    broker: int
    source: int
    destination: int


@dataclass(frozen=True, slots=True, eq=False)
class Relief:
    """Replicas that leave a volume.

    Args:
        replicas: The assignment.
        directory_moves: Replicas that only change their directory.
        moved: Bytes that are copied.
        bound: Bytes that have to leave.
        least: Bytes that no set of replicas goes below which holds these.
        left: Bytes by which the volume is still too full: what cannot be moved.
    """

    replicas: Matrix
    directory_moves: tuple[DirectoryMove, ...]
    moved: int
    bound: int
    left: int
    least: int = 0


def relieve(
    layout: Layout,
    directories: LogDirectories,
    room: DirectoryRoom,
    broker: int,
    to_used: float,
    *,
    path: str | None = None,
    within: Mask | None = None,
) -> Relief:
    """Brings what a broker, or one directory of it, uses down to a share of its capacity.

    Args:
        layout: The assignment; replicas may only go to its receivers.
        directories: Directories and who stands in them.
        room: Room under the cap, from which copies take their part.
        broker: Position of the broker.
        to_used: Share of the capacity that may be in use afterwards.
        path: The directory; None for all of the broker together.
        within: Replicas that may change their directory, also where they may not leave the broker, as the last one in
            sync; None for those that may leave.

    Raises:
        UsageError: The broker has no such directory online, or its capacity is not known.
    """
    relieved = directories.find(broker, path)
    if not relieved or not directories.known[relieved].all():
        what = f"log directory {path}" if path else "a log directory"
        raise UsageError(f"{what} of known capacity is needed to relieve the broker", "none is reported to be online")
    total = int(directories.total[relieved].sum())
    used = int(directories.used[relieved].sum()) - _gone(layout, directories, relieved, broker)
    need = max(0, used - int(total * to_used))
    work = _Work(layout, directories, room, broker, relieved, layout.movable if within is None else within)
    least = max(need, work.least(need))
    left = need
    while left > 0 and work.take_out(left):
        left = need - work.moved
    return Relief(work.board.replicas, tuple(work.directory_moves), work.moved, need, max(0, left), least)


def _gone(layout: Layout, directories: LogDirectories, relieved: list[int], broker: int) -> int:
    """Bytes of the replicas that an earlier stage has taken out already."""
    rows, _ = np.nonzero(np.isin(directories.of_replica, relieved))
    left = ~(layout.replicas[rows] == broker).any(axis=1)
    return int(layout.sizes[rows[left]].sum())


class _Work:
    """Candidates, and where they went."""

    def __init__(
        self,
        layout: Layout,
        directories: LogDirectories,
        room: DirectoryRoom,
        broker: int,
        relieved: list[int],
        within: Mask,
    ) -> None:
        self.layout, self.room, self.broker = layout, room, broker
        self.directories = directories
        self.board = Board(layout, room=room)
        self.neighbours = [one for one in directories.find(broker) if one not in relieved]
        free = within | layout.movable if self.neighbours else layout.movable
        here = free & (layout.replicas == broker) & np.isin(directories.of_replica, relieved)
        self.rows, self.columns = np.nonzero(here & (layout.sizes > 0)[:, None])
        self.open = np.ones(len(self.rows), dtype=np.bool_)
        self.directory_moves: list[DirectoryMove] = []
        self.moved = 0

    def least(self, need: int) -> int:
        """Bytes that no set of candidates goes below which holds what is needed."""
        return least_cover(self.layout.sizes[self.rows], need).bound

    def take_out(self, need: int) -> bool:
        """Moves replicas that just cover the need; false if no candidate is left."""
        places = np.flatnonzero(self.open)
        places = places[np.argsort(-self.layout.sizes[self.rows[places]], kind="stable")]
        chosen = self._cheapest(places, need)
        for place in chosen.tolist():
            self.open[place] = False
            self._move(int(self.rows[place]), int(self.columns[place]))
        return bool(len(chosen))

    def _cheapest(self, places: Indices, need: int) -> Indices:
        sizes = self.layout.sizes[self.rows[places]]
        exact = least_cover(sizes, need).places
        chosen = closest_cover(sizes, need, len(places)) if exact is None else exact
        return places[chosen] if len(chosen) else places

    def _move(self, row: int, column: int) -> None:
        size = int(self.layout.sizes[row])
        best = max(self.neighbours, key=lambda one: int(self.room.left[one]), default=None)
        if best is not None and self.room.left[best] >= size:
            source = int(self.directories.of_replica[row, column])
            self.room.reserve(best, size)
            self.directory_moves.append(DirectoryMove(row, self.broker, source, best))
            self.moved += size
            return
        allowed = self.board.allowed(row, column)
        if allowed.any() and self.layout.movable[row, column]:
            self.board.move(row, column, int(np.where(allowed, self.room.most, -1).argmax()))
            self.moved += size
