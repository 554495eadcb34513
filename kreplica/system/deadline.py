"""One deadline for a whole read, and the names of those that have not answered yet."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

LAST_LOOK = 1.5
"""Times the length of the look before that a look needs to end in time."""

SHORTEST_LOOK = 0.05
"""Seconds below which no look is begun any more."""

_awaited: Counter[str] = Counter()
_awaited_lock = threading.Lock()


@contextmanager
def waiting_for(name: str) -> Iterator[None]:
    """Records within the block who is asked, for displays of pending requests."""
    with _awaited_lock:
        _awaited[name] += 1
    try:
        yield
    finally:
        with _awaited_lock:
            _awaited[name] -= 1


def awaited() -> tuple[str, ...]:
    """Names of those that were asked and have not answered yet, in order."""
    with _awaited_lock:
        return tuple(sorted(name for name, count in _awaited.items() if count > 0))


class Deadline:
    """A moment after which all waiting ends.

    Args:
        seconds: Seconds from now.
    """

    __slots__ = ("_ends", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds

    def passed(self) -> float:
        """Seconds since it was set."""
        return time.monotonic() - self._ends + self.seconds

    def bound(self, timeout: float) -> float:
        """A timeout in seconds that ends with this deadline at the latest; a deadline of 0 s bounds nothing."""
        return min(timeout, max(self.remaining(), 0.001)) if self.seconds else timeout

    def remaining(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self._ends - time.monotonic())

    def has_time_for(self, look: float) -> bool:
        """True if a look that takes as long as the last one, so many seconds, can still end in time."""
        return self.remaining() > max(LAST_LOOK * look, SHORTEST_LOOK)

    def pause(self, usual: float, look: float) -> float:
        """Seconds to the next look: as usual, or less, so that one as long as the last one ends in time."""
        return min(usual, max(0.0, self.remaining() - LAST_LOOK * look))
