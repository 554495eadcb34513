"""The same work over many items on several processors: this process takes a share, forked ones the others.

Leaner than an executor, whose imports, threads and queues take as long as a hundred megabytes of records.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(work: Callable[[Item], Result], items: Sequence[Item], processes: int) -> list[Result]:
    """What the work gives for each item, in order.

    Args:
        work: Called in this process or in a copy of it; what it gives or raises is sent back by pickle.
        items: What it is called with.
        processes: How many to use; one where the system cannot copy processes.

    Raises:
        Exception: Whatever the work raised.
    """
    count = max(1, min(processes, len(items))) if hasattr(os, "fork") else 1
    others = [_Other.start(work, items[number::count]) for number in range(1, count)]
    try:
        shares = [[work(item) for item in items[::count]], *(other.results() for other in others)]
    finally:
        for other in others:
            other.end()
    return [shares[number % count][number // count] for number in range(len(items))]


@dataclass(frozen=True, slots=True)
class _Other(Generic[Result]):
    """Another process and the pipe that its results come through."""

    process: int
    pipe: BinaryIO

    @classmethod
    def start(cls, work: Callable[[Item], Result], items: Sequence[Item]) -> _Other[Result]:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            _work_and_exit(work, items, writing)
        os.close(writing)
        return cls(process, os.fdopen(reading, "rb"))

    def results(self) -> list[Result]:
        content = self.pipe.read()
        if not content:
            raise OSError(f"process {self.process} has ended without a result")
        done, found = pickle.loads(content)
        if not done:
            raise found
        results: list[Result] = found
        return results

    def end(self) -> None:
        """Ends the process if it still works; it has nothing to put away."""
        self.pipe.close()
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def _work_and_exit(work: Callable[[Item], Result], items: Sequence[Item], writing: int) -> None:
    """Ctrl-C reaches every process of a terminal: the first one ends this. Nothing of its own is flushed or run."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            outcome: tuple[bool, object] = (True, [work(item) for item in items])
        except Exception as error:
            outcome = (False, error)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(outcome, pipe, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        os._exit(status)
