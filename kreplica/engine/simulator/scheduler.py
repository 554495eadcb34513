"""The clock and the queue of a run: one thread, whole microseconds, ties in the order in which they were made."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Scheduler:
    """Calls functions at their time. ``now`` is the virtual time, ``done`` how many calls there have been."""

    __slots__ = ("_queue", "_sequence", "done", "now")

    def __init__(self) -> None:
        self.now = 0
        self.done = 0
        self._sequence = 0
        self._queue: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []

    def at(self, time: int, function: Callable[..., object], *arguments: Any) -> None:
        """Has ``function(*arguments)`` called at ``time``, or now if that is past."""
        self._sequence += 1
        heappush(self._queue, (time if time > self.now else self.now, self._sequence, function, arguments))

    def run(self, until: int) -> None:
        """Calls everything that is due before or at ``until``; the clock stands there afterwards."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            self.now, _, function, arguments = heappop(queue)
            self.done += 1
            function(*arguments)
        self.now = until
