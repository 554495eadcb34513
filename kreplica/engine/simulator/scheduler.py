"""The clock and the queue of a run: one thread, whole microseconds, calls of equal time in the order of their creation.

Random numbers by name: each stream is a generator of its own, so that leaving out one fault changes no other stream.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

Pending = tuple[Callable[..., object], tuple[Any, ...]]
"""A call that is still to be made: a function and its arguments."""


class Scheduler:
    """Calls functions at their time. ``now`` is the virtual time, ``done`` the number of calls so far."""

    __slots__ = ("_made", "_queue", "now")

    def __init__(self) -> None:
        self.now = 0
        self._made = 0
        self._queue: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []

    @property
    def done(self) -> int:
        """Number of calls so far."""
        return self._made - len(self._queue)

    def at(self, time: int, function: Callable[..., object], *arguments: Any) -> None:
        """Calls ``function(*arguments)`` at ``time``, or now if that is past."""
        self._made = made = self._made + 1
        heappush(self._queue, (time if time > self.now else self.now, made, function, arguments))

    def pending(self) -> list[Pending]:
        """The calls that are still to be made, in their order."""
        return [(function, arguments) for _, _, function, arguments in sorted(self._queue, key=lambda one: one[:2])]

    def run(self, until: int) -> None:
        """Makes all calls due before or at ``until``, and sets the clock to it."""
        queue = self._queue
        heappush(queue, (until, _LAST, _stop, ()))
        try:
            while True:
                self.now, _, function, arguments = heappop(queue)
                function(*arguments)
        except _RunOverError:
            self.now = until


class _RunOverError(Exception):
    """The end of a run: it is in the queue after everything else of its time."""


_LAST = 2**63


def _stop() -> None:
    raise _RunOverError


class RandomStreams:
    """Generators that depend on the run's seed and their name alone."""

    __slots__ = ("_seed", "_streams")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, Random] = {}

    def stream(self, name: str) -> Random:
        """The generator of that name; the same object each time."""
        if name not in self._streams:
            digest = hashlib.sha256(f"{self._seed}/{name}".encode()).digest()
            self._streams[name] = Random(int.from_bytes(digest[:8], "big"))
        return self._streams[name]
