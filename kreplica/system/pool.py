"""The one bounded pool of threads: it keeps to a deadline, and an interrupt is not held up by a call that blocks.

    Pool(calls, deadline).results()     results as they come; a call that blocks is left behind at the deadline
    all_results(calls)                  all of them, in the order of the calls
    with Pool(calls) as pool:           calls that must not be left behind, as they write: the block waits for those
        pool.finish()                   under way, whatever ends it, and begins no more

Threads are daemons: one that is left behind (a paused broker, a name server that does not answer) holds up neither the
answer nor the end of the process, where concurrent.futures would join it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar, cast

from kreplica.system.deadline import Deadline

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

POOL_SIZE = 16
"""Most requests under way at once: enough to hide the way to distant brokers, few enough for a laptop."""

INTERRUPT_SECONDS = 0.5
"""Longest wait in one piece: an interrupt that comes just before a wait begins is noticed when it ends."""


class Pool(Generic[Key, Result]):
    """Runs one call per key, so many at once, and hands out results as they come, until the deadline.

    Args:
        calls: Calls to run, by key; ``add`` takes more.
        deadline: When to stop waiting; never if None.
        most: How many run at once.
        held: Most results that are under way or have not been handed out, for results that take much memory; any
            number if None.
    """

    def __init__(
        self,
        calls: Mapping[Key, Callable[[], Result]] | None = None,
        deadline: Deadline | None = None,
        most: int = POOL_SIZE,
        held: int | None = None,
    ) -> None:
        self._deadline = deadline or Deadline(threading.TIMEOUT_MAX)
        self._most = most
        self._room = None if held is None else threading.Semaphore(held)
        self._unfinished: set[Key] = set()
        self._waiting: queue.SimpleQueue[tuple[Key, Callable[[], Result]]] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[tuple[Key, Result | None, BaseException | None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._abandoned = False
        self._discard: Callable[[Result], object] | None = None
        self._threads: list[threading.Thread] = []
        self._working = 0
        for key, call in (calls or {}).items():
            self.add(key, call)

    def __enter__(self) -> Pool[Key, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()
        for thread in self._threads:
            thread.join()

    @property
    def unfinished(self) -> frozenset[Key]:
        """Keys whose result has not been handed out."""
        return frozenset(self._unfinished)

    def add(self, key: Key, call: Callable[[], Result]) -> None:
        """Runs one more call."""
        self._unfinished.add(key)
        with self._lock:
            self._waiting.put((key, call))
            if self._working == self._most:
                return
            self._working += 1
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(threading.Thread(target=self._work, daemon=True))
        self._threads[-1].start()

    def next(self, seconds: float) -> tuple[Key, Result | None, BaseException | None] | None:
        """The next key with its result or the exception that the call raised; None if so many seconds pass before."""
        deadline = Deadline(seconds)
        while True:
            try:
                found = self._finished.get(timeout=min(deadline.remaining(), INTERRUPT_SECONDS))
                break
            except queue.Empty:
                if not deadline.remaining():
                    return None
        self._unfinished.discard(found[0])
        if self._room is not None:
            self._room.release()
        return found

    def results(self) -> Iterator[tuple[Key, Result | None, BaseException | None]]:
        """Keys with results or exceptions, as they come; ends when all are done or at the deadline."""
        while self._unfinished and (found := self.next(self._deadline.remaining())) is not None:
            yield found

    def finish(self) -> None:
        """Waits for every call.

        Raises:
            BaseException: The first that a call raised.
        """
        for _, _, error in self.results():
            if error is not None:
                raise error

    def abandon(self, discard: Callable[[Result], object] | None = None) -> None:
        """Begins no more calls.

        Args:
            discard: Is given each result that has not been handed out, those of calls under way among them.
        """
        with self._lock:
            self._abandoned, self._discard = True, discard
            left = _emptied(self._finished)
            _emptied(self._waiting)
        if self._room is not None:
            self._room.release(self._most)  # threads that wait for room find nothing to do
        for _, result, error in left:
            self._drop(result, error)

    def _work(self) -> None:
        while (next_call := self._next_call()) is not None:
            key, call = next_call
            result: Result | None = None
            error: BaseException | None = None
            try:
                result = call()
            except BaseException as raised:  # handed to the thread that waits
                error = raised
            with self._lock:
                wanted = not self._abandoned
                if wanted:
                    self._finished.put((key, result, error))
            if not wanted:
                self._drop(result, error)

    def _drop(self, result: Result | None, error: BaseException | None) -> None:
        if self._discard is not None and error is None:
            self._discard(cast("Result", result))

    def _next_call(self) -> tuple[Key, Callable[[], Result]] | None:
        if self._room is not None:
            self._room.acquire()
        with self._lock:  # a call that is added later must find this thread at work, or gone
            try:
                return self._waiting.get_nowait()
            except queue.Empty:
                self._working -= 1
        if self._room is not None:
            self._room.release()
        return None


Item = TypeVar("Item")


def _emptied(waiting: queue.SimpleQueue[Item]) -> list[Item]:
    found = []
    while not waiting.empty():
        found.append(waiting.get_nowait())
    return found


def all_results(calls: Sequence[Callable[[], Result]], most: int = POOL_SIZE) -> list[Result]:
    """Runs calls side by side, each of which keeps to a deadline of its own; Ctrl-C waits for none, and no more begin.

    Args:
        calls: What to run.
        most: How many run at once.

    Returns:
        Their results, in the order of the calls.

    Raises:
        Exception: What the first of those raised that raised anything.
    """
    pool = Pool(dict(enumerate(calls)), most=most)
    try:
        outcomes = {key: (result, error) for key, result, error in pool.results()}
    finally:
        pool.abandon()
    for key in range(len(calls)):
        if (error := outcomes[key][1]) is not None:
            raise error
    return [cast("Result", outcomes[key][0]) for key in range(len(calls))]
