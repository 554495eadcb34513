"""The order in which moves begin: so many and so much in flight at each broker, refilled as moves finish. Pure.

    waiting moves, in order ──> MoveWindow ──> in flight ──> ended
                                   │  a move begins as soon as its source, its destinations and their disks have room
                                   └  one that has to wait stands in line at what it waits for, first come first served

Limits hold for each broker as the source of copies (the partition's leader sends them) and as their destination, and of
replicas that stay on their broker for each log directory that they leave or go to. A move that is above a limit by
itself goes alone. Disks are counted at their worst: a copy takes its whole size when it
begins, and what a move removes is free only once it is gone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

PartitionKey: TypeAlias = tuple[str, int]
MoveKey: TypeAlias = tuple[str, int] | tuple[str, int, int]
"""Topic and partition; and the broker, of a replica that only changes its log directory."""

Place: TypeAlias = tuple[int, str]
"""Broker and log directory; an empty path where the broker chooses the directory."""

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class MoveLimits:
    """Limits on what is in flight at the same time.

    Args:
        bytes_per_broker: Most bytes that one broker sends, and most that it receives; None for any number.
        moves_per_broker: Most moves in which one broker takes part, as source or destination.
        moves: Most moves in the cluster.
        bytes_per_directory: Most bytes of replicas on their way from or to one log directory of the same broker; None
            for any number.
        moves_per_directory: Most such replicas.
    """

    bytes_per_broker: int | None = 50 * GIB
    moves_per_broker: int = 10
    moves: int = 500
    bytes_per_directory: int | None = 50 * GIB
    moves_per_directory: int = 2

    def __post_init__(self) -> None:
        counts = (self.moves_per_broker, self.moves, self.moves_per_directory)
        sizes = (one for one in (self.bytes_per_broker, self.bytes_per_directory) if one is not None)
        if min(*counts, *sizes) < 1:
            raise ValueError("limits let nothing begin")


DEFAULT_LIMITS = MoveLimits()


@dataclass(frozen=True, slots=True)
class QueuedMove:
    """One move as the window counts it.

    Args:
        key: Topic and partition; of a replica that only changes its log directory also the broker.
        size: Bytes of one copy; 0 where it is not known.
        source: Broker that sends the copies: the leader's; None where nobody leads, nothing is copied, or the copy
            stays on its broker.
        places: Where each new copy goes.
        freed: Places whose copy is removed at the end.
    """

    key: MoveKey
    size: int
    source: int | None
    places: tuple[Place, ...]
    freed: tuple[Place, ...] = ()

    @property
    def brokers(self) -> tuple[int, ...]:
        """Brokers that take part: the source, then the destinations; none where nothing is copied."""
        if not self.places:
            return ()
        source = () if self.source is None else (self.source,)
        return tuple(dict.fromkeys((*source, *(broker for broker, _ in self.places))))

    @property
    def directories(self) -> tuple[Place, ...]:
        """Log directories between which a replica moves that stays on its broker."""
        return (*self.freed, *self.places) if len(self.key) == 3 else ()


Blocker: TypeAlias = tuple[Literal["new", "broker", "directory", "disk"], int, str]
"""Things that moves wait for: a broker, other moves of a log directory, or room there; those not looked at are new."""

_NEW: Blocker = ("new", 0, "")


class MoveWindow:
    """Moves that wait and moves that are in flight.

    Args:
        limits: Limits on what is in flight.
        room: Bytes that are free in each place; places that are not named have any number.
    """

    def __init__(self, limits: MoveLimits = DEFAULT_LIMITS, room: Mapping[Place, int] | None = None) -> None:
        self._limits = limits
        self._room = dict(room or {})
        self._moves: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        self._received: dict[int, int] = {}
        self._lines: dict[Blocker, list[tuple[int, QueuedMove]]] = {}
        self._roused: set[Blocker] = set()
        self._numbers = 0
        self._of_directory: dict[Place, list[int]] = {}
        """Bytes of each replica on its way from or to a directory of the same broker."""
        self.in_flight: dict[MoveKey, QueuedMove] = {}

    def add(self, move: QueuedMove) -> None:
        """Lets a move wait behind those that wait already."""
        self._stand_in_line(_NEW, (self._numbers, move))
        self._roused.add(_NEW)
        self._numbers += 1

    def begin(self, move: QueuedMove) -> None:
        """Counts a move that is in flight already, whatever the limits say."""
        assert move.key not in self.in_flight, "a partition moves once at a time"
        self.in_flight[move.key] = move
        for place in move.directories:
            self._of_directory.setdefault(place, []).append(move.size)
        for broker in move.brokers:
            self._moves[broker] = self._moves.get(broker, 0) + 1
        self._count_bytes(move, move.size)
        for place in move.places:
            if place in self._room:
                self._room[place] -= move.size

    def end(self, key: MoveKey, *, made: bool = True) -> None:
        """Takes a move out of those in flight; what it copied stays on the disks, what it removed is free.

        Args:
            key: Its key.
            made: Whether it was made; otherwise its copies are gone.
        """
        move = self.in_flight.pop(key)
        for broker in move.brokers:
            self._moves[broker] -= 1
            self._roused.add(("broker", broker, ""))
        for place in move.directories:
            self._of_directory[place].remove(move.size)
            self._roused.add(("directory", *place))
        self._count_bytes(move, -move.size)
        for place in move.freed if made else move.places:
            if place in self._room:
                self._room[place] += move.size
                self._roused.add(("disk", *place))

    def set_room(self, room: Mapping[Place, int]) -> None:
        """Replaces the bytes that are free in each place, less what is in flight, by what was read."""
        self._room = dict(room)
        self._roused.update(line for line in self._lines if line[0] == "disk")

    def next_moves(self) -> list[QueuedMove]:
        """Begins as many waiting moves as there is room for, in their order, and returns them."""
        lines = [line for line in self._roused if self._lines.get(line)]
        self._roused.clear()
        heads = [(self._lines[line][0][0], line) for line in lines]
        heapq.heapify(heads)
        begun: list[QueuedMove] = []
        passed: list[tuple[Blocker, tuple[int, QueuedMove]]] = []
        while heads and len(self.in_flight) < self._limits.moves:
            _, line = heapq.heappop(heads)
            waiting = heapq.heappop(self._lines[line])
            blocker = self._blocker(waiting[1])
            if blocker is None:
                self.begin(waiting[1])
                begun.append(waiting[1])
            elif blocker == line and line[0] == "disk":
                passed.append((line, waiting))  # a smaller one behind it may have room, and nothing else may free any
            else:
                self._stand_in_line(blocker, waiting)
            if (blocker != line or line[0] == "disk") and self._lines[line]:
                heapq.heappush(heads, (self._lines[line][0][0], line))
        for line, waiting in passed:
            self._stand_in_line(line, waiting)
        self._roused.update(line for _, line in heads)
        return begun

    def waiting(self) -> list[tuple[QueuedMove, str]]:
        """The moves that wait, in their order, each with what it waits for."""
        found = [(number, move) for line in self._lines.values() for number, move in line]
        return [(move, self._words(self._blocker(move))) for _, move in sorted(found, key=lambda one: one[0])]

    def drop(self, keys: Iterable[MoveKey]) -> None:
        """Takes moves out of those that wait."""
        gone = set(keys)
        for name, line in self._lines.items():
            kept = [one for one in line if one[1].key not in gone]
            if len(kept) != len(line):
                heapq.heapify(kept)
                self._lines[name] = kept

    def _stand_in_line(self, line: Blocker, waiting: tuple[int, QueuedMove]) -> None:
        heapq.heappush(self._lines.setdefault(line, []), waiting)

    def _blocker(self, move: QueuedMove) -> Blocker | None:
        """Thing that a move has to wait for, None where it may begin."""
        for broker in move.brokers:
            if self._moves.get(broker, 0) >= self._limits.moves_per_broker or self._is_full(broker, move):
                return "broker", broker, ""
        for place in move.directories:
            if self._is_busy(place, move.size):
                return ("directory", *place)
        for place in move.places:
            if self._room.get(place, move.size) < move.size:
                return ("disk", *place)
        return None

    def _is_busy(self, place: Place, size: int) -> bool:
        on_the_way, most = self._of_directory.get(place, []), self._limits.bytes_per_directory
        above = most is not None and bool(on_the_way) and sum(on_the_way) + size > most
        return above or len(on_the_way) >= self._limits.moves_per_directory

    def _is_full(self, broker: int, move: QueuedMove) -> bool:
        most = self._limits.bytes_per_broker
        if most is None:
            return False
        sent, received = self._sent.get(broker, 0), self._received.get(broker, 0)
        if broker == move.source and sent and sent + move.size * len(move.places) > most:
            return True
        arriving = move.size * sum(broker == place[0] for place in move.places)
        return bool(arriving and received and received + arriving > most)

    def _count_bytes(self, move: QueuedMove, size: int) -> None:
        if move.source is not None and move.places:
            self._sent[move.source] = self._sent.get(move.source, 0) + size * len(move.places)
        for broker, _ in move.places:
            self._received[broker] = self._received.get(broker, 0) + size

    def _words(self, blocker: Blocker | None) -> str:
        if blocker is None:
            return "its turn"
        kind, broker, path = blocker
        if kind == "broker":
            return f"other moves of broker {broker}"
        if kind == "directory":
            return f"other moves of log directory {path} of broker {broker}"
        return f"room on the disk of broker {broker}" + f" ({path})" * bool(path)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Moves in the order in which they begin.

    Args:
        moves: In that order.
        impossible: Moves that can never begin, each with why.
        rounds: How many moves had ended before each of ``moves`` began.
    """

    moves: tuple[QueuedMove, ...]
    impossible: tuple[tuple[QueuedMove, str], ...]
    rounds: tuple[int, ...]


def schedule(
    moves: Sequence[QueuedMove], limits: MoveLimits = DEFAULT_LIMITS, room: Mapping[Place, int] | None = None
) -> Schedule:
    """Orders moves as they begin if every copy takes as long as it is large; the same moves give the same order.

    A move that waits for room on a disk begins after those that free it; one for which nothing ever frees enough is
    impossible.

    Args:
        moves: In the order wanted.
        limits: Limits on what is in flight.
        room: Bytes that are free in each place.
    """
    window = MoveWindow(limits, room)
    for move in moves:
        window.add(move)
    order: list[QueuedMove] = []
    rounds: list[int] = []
    ends: list[tuple[int, int, MoveKey]] = []
    now = ended = 0
    while True:
        for move in window.next_moves():
            heapq.heappush(ends, (now + max(1, move.size if move.places else 0), len(order), move.key))
            order.append(move)
            rounds.append(ended)
        if not ends:
            break
        now, _, key = heapq.heappop(ends)
        window.end(key)
        ended += 1
    left = tuple((move, f"it waits for {why}, which nothing frees") for move, why in window.waiting())
    return Schedule(tuple(order), left, tuple(rounds))
