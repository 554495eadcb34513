"""The pool gives what comes before the deadline and leaves the rest behind, or waits for those that write."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from kreplica.system.deadline import Deadline
from kreplica.system.pool import POOL_SIZE, Pool, all_results


def test_results_and_errors_come_by_key() -> None:
    def fail() -> int:
        raise ValueError("no")

    pool = Pool({"a": lambda: 1, "b": fail}, Deadline(5))
    results = {key: (result, type(error)) for key, result, error in pool.results()}
    assert results == {"a": (1, type(None)), "b": (None, ValueError)}
    assert pool.unfinished == frozenset()


def test_a_blocked_call_is_left_behind_at_the_deadline() -> None:
    blocked = threading.Event()
    begun = time.monotonic()
    pool = Pool({"quick": lambda: True, "blocked": lambda: blocked.wait(30)}, Deadline(2))
    assert [key for key, _, _ in pool.results()] == ["quick"]
    assert 1.9 < time.monotonic() - begun < 20
    assert pool.unfinished == {"blocked"}
    blocked.set()


def test_no_more_threads_than_the_pool_holds() -> None:
    lock, running, most = threading.Lock(), 0, 0

    def call() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    pool = Pool(dict.fromkeys(range(5 * POOL_SIZE), call), Deadline(20))
    assert len(list(pool.results())) == 5 * POOL_SIZE
    assert 1 < most <= POOL_SIZE


def test_remaining_time_never_goes_below_zero() -> None:
    deadline = Deadline(0.01)
    time.sleep(0.02)
    assert deadline.remaining() == 0


def test_all_results_stand_in_the_order_of_the_calls_and_the_first_error_is_raised() -> None:
    ready = threading.Event()

    def fail(error: Exception) -> int:
        raise error

    def last() -> int:
        ready.set()
        return 2

    assert all_results([lambda: ready.wait(10), last]) == [True, 2]
    with pytest.raises(KeyError):
        all_results([lambda: 1, lambda: fail(KeyError()), lambda: fail(ValueError())])
    assert all_results([]) == []


def test_the_end_of_the_block_waits_for_calls_under_way_and_begins_no_more() -> None:
    begun, go, ended = threading.Event(), threading.Event(), []

    def call(number: int) -> None:
        begun.set()
        go.wait(10)
        ended.append(number)

    with suppress(KeyboardInterrupt), Pool({number: partial(call, number) for number in range(3)}, most=1):
        begun.wait(10)
        threading.Timer(0.1, go.set).start()
        raise KeyboardInterrupt
    assert ended == [0]


def test_calls_added_one_after_the_other_all_run() -> None:
    done: list[int] = []
    with Pool[int, None](most=1) as pool:
        for number in range(2000):
            pool.finish()
            pool.add(number, partial(done.append, number))
        pool.finish()
    assert done == list(range(2000))


def test_finish_raises_what_a_call_raised() -> None:
    def fail() -> None:
        raise KeyError("x")

    with Pool({1: fail}) as pool, pytest.raises(KeyError):
        pool.finish()


def test_results_that_are_left_are_discarded_once_each() -> None:
    go, discarded = threading.Event(), []

    def late() -> str:
        go.wait(10)
        return "late"

    pool = Pool({"ready": lambda: "ready", "late": late})
    while pool._finished.empty():
        time.sleep(0.01)
    pool.abandon(discarded.append)
    assert discarded == ["ready"]
    go.set()
    end = time.monotonic() + 10
    while len(discarded) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert discarded == ["ready", "late"]
    assert pool.next(0) is None


def test_no_more_results_are_held_than_there_is_room_for() -> None:
    lock, held, most = threading.Lock(), 0, 0

    def call() -> None:
        nonlocal held, most
        with lock:
            held += 1
            most = max(most, held)

    pool = Pool(dict.fromkeys(range(20), call), most=4, held=3)
    time.sleep(0.1)
    for _ in pool.results():
        with lock:
            held -= 1
    assert most == 3
    assert held == 0


def test_an_interrupt_waits_for_no_call() -> None:
    program = (
        "import signal, threading, time\n"
        "from kreplica.system.pool import all_results\n"
        "threading.Timer(0.2, signal.pthread_kill, (threading.get_ident(), signal.SIGINT)).start()\n"
        "begun = time.monotonic()\n"
        "try: all_results([lambda: time.sleep(60)] * 40)\n"
        "except KeyboardInterrupt: print(time.monotonic() - begun < 30)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=40, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_threads_and_executors_are_made_in_one_place() -> None:
    """No pools: the reader of a sandbox's load follows the topic, its links hand on bytes, each by one thread."""
    root = Path(__file__).parents[3]
    made = re.compile(r"\b(?:ThreadPoolExecutor|ProcessPoolExecutor|Thread)\(")
    found = {
        str(path.relative_to(root))
        for folder in ("kreplica", "commands", "analyzers", "docs")
        for path in (root / folder).rglob("*.py")
        if made.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"kreplica/sandbox/links.py", "kreplica/system/pool.py", "kreplica/system/processes.py"}
