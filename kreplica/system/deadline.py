"""One deadline for a whole read, and a bounded pool of threads that keeps to it."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    pass

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

LAST_LOOK = 1.5
"""Times the length of the look before that a look needs to end in time."""

SHORTEST_LOOK = 0.05
"""Seconds below which no look is begun any more."""

POOL_SIZE = 16
"""Most requests under way at once: enough to hide the way to distant brokers, few enough for a laptop."""


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


class Pool(Generic[Key, Result]):
    """Runs one call per key on daemon threads and hands out results as they come, until the deadline.

    A call that is still blocked then (a paused broker, a name server that does not answer) is left behind: its
    thread is a daemon and holds up neither the answer nor the end of the process; concurrent.futures would join it.

    Args:
        calls: What to run, by key.
        deadline: When to stop waiting.
        most: How many run at once.
    """

    def __init__(self, calls: Mapping[Key, Callable[[], Result]], deadline: Deadline, most: int = POOL_SIZE) -> None:
        self._deadline = deadline
        self._unfinished = set(calls)
        self._waiting: queue.SimpleQueue[tuple[Key, Callable[[], Result]]] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[tuple[Key, Result | None, BaseException | None]] = queue.SimpleQueue()
        for item in calls.items():
            self._waiting.put(item)
        for _ in range(min(most, len(calls))):
            threading.Thread(target=self._work, daemon=True).start()

    @property
    def unfinished(self) -> frozenset[Key]:
        """Keys whose result has not been handed out."""
        return frozenset(self._unfinished)

    def results(self) -> Iterator[tuple[Key, Result | None, BaseException | None]]:
        """Key with its result or the exception that the call raised; ends when all are done or at the deadline."""
        while self._unfinished:
            try:
                key, result, error = self._finished.get(timeout=self._deadline.remaining())
            except queue.Empty:
                return
            self._unfinished.discard(key)
            yield key, result, error

    def _work(self) -> None:
        while True:
            try:
                key, call = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._finished.put((key, call(), None))
            except BaseException as error:  # handed to the thread that waits
                self._finished.put((key, None, error))


def all_results(calls: Sequence[Callable[[], Result]], most: int = POOL_SIZE) -> list[Result]:
    """Runs calls side by side, each of which keeps to a deadline of its own; Ctrl-C waits for none of them.

    Args:
        calls: What to run.
        most: How many run at once.

    Returns:
        Their results, in the order of the calls.

    Raises:
        Exception: What the first of those raised that raised anything.
    """
    pool = Pool(dict(enumerate(calls)), Deadline(threading.TIMEOUT_MAX), most)
    outcomes = {key: (result, error) for key, result, error in pool.results()}
    for key in range(len(calls)):
        if (error := outcomes[key][1]) is not None:
            raise error
    return [cast("Result", outcomes[key][0]) for key in range(len(calls))]
