"""The pool gives what comes before the deadline and leaves the rest behind."""

from __future__ import annotations

import threading
import time

import pytest

from kreplica.system.deadline import POOL_SIZE, Deadline, Pool, all_results


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
