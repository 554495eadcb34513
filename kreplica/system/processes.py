"""The same work over many items on several processors: this process and copies of it take the next item in turn.

Leaner than an executor, whose imports, threads and queues take as long as a hundred megabytes of records. One process
may be started ahead, before it is known what there is to do: it imports what the work will need while this one still
reads its command line.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, Generic, NoReturn, TypeVar

from kreplica.system.environment import SAFE_PATH, environment

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_TURNS = 1 << 12
"""As many turns as any system's pipe has room for; of more items each turn is for several."""
TURN_BYTES = 2


@dataclass(frozen=True, slots=True)
class _Turns:
    """Numbers in a pipe: the process that reads one has the turn. The pipe ends after the last."""

    reading: int
    writing: int

    @classmethod
    def make(cls) -> _Turns:
        return cls(*os.pipe())

    def fill(self, count: int) -> None:
        os.write(self.writing, b"".join(number.to_bytes(TURN_BYTES, "big") for number in range(count)))
        os.close(self.writing)

    def work(self, work: Callable[[Item], Result], items: Sequence[Item]) -> dict[int, Result]:
        """Results of the work for the items of the turns that this process gets, by their index."""
        count, done = min(len(items), MOST_TURNS), {}
        while turn := os.read(self.reading, TURN_BYTES):
            for index in range(int.from_bytes(turn, "big"), len(items), count):
                done[index] = work(items[index])
        return done


@dataclass(frozen=True, slots=True)
class _Other(Generic[Result]):
    """Another process and the pipe that its results come through."""

    process: int
    pipe: BinaryIO

    @classmethod
    def start(cls, act: Callable[[BinaryIO], None]) -> _Other[Result]:
        """Lets a copy of this process act, which is given the other end of the pipe; nothing else comes after that."""
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            _act_and_exit(act, writing)
        os.close(writing)
        return cls(process, os.fdopen(reading, "rb"))

    def results(self) -> dict[int, Result]:
        content = self.pipe.read()
        if not content:
            raise OSError(f"process {self.process} has ended without a result")
        done, found = pickle.loads(content)
        if not done:
            raise found
        results: dict[int, Result] = found
        return results

    def end(self) -> None:
        """Ends the process if it still works; it has nothing to put away."""
        self.pipe.close()
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A process that was started ahead, the pipe that its work goes through, and the turns it will take."""

    other: _Other[object]
    orders: BinaryIO
    turns: _Turns

    def order(self, work: Callable[[Item], Result], items: Sequence[Item]) -> None:
        try:
            with self.orders:
                pickle.dump((_current_folder(), work, items), self.orders, pickle.HIGHEST_PROTOCOL)
        except BrokenPipeError:
            pass  # it is gone: that no result comes tells it


_ahead: list[_Ahead] = []
"""At most one: the next work of this process takes it."""


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_ahead(modules: Sequence[str]) -> None:
    """Starts a process for the work that ``side_by_side`` will be asked for next; it ends with this one if none comes.

    To be called while this process is small and has one thread, where the system can copy processes.

    Args:
        modules: What it imports meanwhile.
    """
    turns = _Turns.make()
    taking, giving = os.pipe()

    def act(results: BinaryIO) -> None:
        os.close(giving)
        os.close(turns.writing)
        _leave_streams()
        _import(modules)
        with os.fdopen(taking, "rb") as orders:
            order = orders.read()
        if order:
            folder, work, items = pickle.loads(order)
            os.chdir(folder or os.curdir)  # relative paths are those of the process that asks
            _send(results, lambda: turns.work(work, items))

    other: _Other[object] = _Other.start(act)
    os.close(taking)
    _ahead.append(_Ahead(other, os.fdopen(giving, "wb"), turns))


def side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], processes: int, modules: Sequence[str] = ()
) -> list[Result]:
    """Returns the work's result for each item, in order.

    Args:
        work: Called in this process, in a copy of it, or in the one that was started ahead, to which it goes by pickle;
            what it gives or raises is sent back by pickle.
        items: Arguments of the calls. The next free process takes the next one.
        processes: How many to use; one where the system cannot copy processes.
        modules: What the work imports, which is done here before copies are made. Only if there are several.

    Raises:
        Exception: Any exception that the work raised.
    """
    count = max(1, min(processes, len(items))) if hasattr(os, "fork") else 1
    if count == 1:
        return [work(item) for item in items]
    ahead = _ahead.pop() if _ahead else None
    turns = ahead.turns if ahead else _Turns.make()
    others: list[_Other[Result]] = [ahead.other] if ahead else []  # type: ignore[list-item]  # of the work it is given
    try:
        turns.fill(min(len(items), MOST_TURNS))
        if ahead:
            ahead.order(work, items)
        _import(modules)
        while len(others) < count - 1:
            others.append(_Other.start(lambda results: _send(results, lambda: turns.work(work, items))))
        done = turns.work(work, items)
        for other in others:
            done.update(other.results())
    finally:
        os.close(turns.reading)
        for other in others:
            other.end()
    return [done[index] for index in range(len(items))]


def in_new_processes(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    *,
    patient: bool = False,
    apart: bool = False,
) -> Iterator[Result]:
    """Yields the work's result for each item, in order, as soon as it is known: for long work with progress.

    Each process begins anew and imports what it needs, so that nothing of this one can change the result.

    Args:
        work: A function of a module; it goes by pickle.
        items: Arguments of the calls.
        processes: How many to start.
        patient: Whether they ignore Ctrl-C, which reaches each of them, and end the item that they are at.
        apart: Whether they leave out the program that runs here, of which they need nothing: a script that has no guard
            against being run by them would begin anew.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with environment(SAFE_PATH):  # the pool itself starts a process, too: multiprocessing's resource tracker
        pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_end_with_parent)
        yield from _results(pool, work, items, patient=patient, apart=apart)


def _results(
    pool: ProcessPoolExecutor, work: Callable[[Item], Result], items: Sequence[Item], *, patient: bool, apart: bool
) -> Iterator[Result]:
    with pool:
        with _ignoring_interrupts() if patient else nullcontext(), _without_program() if apart else nullcontext():
            results = pool.map(work, items)
        yield from results


def _end_with_parent() -> None:
    """Ends this process when the one that started it is gone: killed, it cannot say so, and this one would wait on."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    assert parent is not None, "only processes that another one started come here"

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _without_program() -> Iterator[None]:
    """Hides the program that runs here from processes that are started meanwhile, which would run its file."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignores SIGINT, which processes that are started meanwhile keep doing, from their first moment on."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what becomes of signals
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _current_folder() -> str | None:
    """None if it was deleted."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return None


def _import(modules: Sequence[str]) -> None:
    for name in modules:
        importlib.import_module(name)


def _send(pipe: BinaryIO, act: Callable[[], object]) -> None:
    try:
        outcome: tuple[bool, object] = (True, act())
    except Exception as error:
        outcome = (False, error)
    pickle.dump(outcome, pipe, pickle.HIGHEST_PROTOCOL)


def _act_and_exit(act: Callable[[BinaryIO], None], writing: int) -> NoReturn:
    """Ctrl-C and its like reach every process of a terminal: the first one ends this. Nothing is flushed or run."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        with os.fdopen(writing, "wb") as results:
            act(results)
        status = 0
    finally:
        os._exit(status)


def _leave_streams() -> None:
    """Points the standard streams at the null device, so that no reader of them waits for this process."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
