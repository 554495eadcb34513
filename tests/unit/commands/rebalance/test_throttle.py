"""rebalance throttle, and --throttle auto: what is asked of a run, and refused. The cluster is on paper."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from plans.moved import OPTIONS, Moved

import kreplica as library
from commands.main import run
from commands.rebalance.moves import run_of
from commands.rebalance.options import RateOptions
from kreplica.errors import UsageError
from kreplica.execution.moves import rate_request
from kreplica.execution.moves.rate_request import requests_of
from kreplica.execution.moves.throttles import throttling
from kreplica.execution.moves.throttles.automatic_rate import RateBounds

MB = 1_000_000
Throttle = Callable[..., tuple[int, str, str]]


@pytest.fixture
def moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Moved:
    """A plan of one move, which does not end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rate_request, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(throttling, "PAUSE_SECONDS", 0.01)
    found = Moved(tmp_path)
    found.cluster.start((1, 2, 3))
    found.make({0: (1, 2, 4)})
    found.cluster.change(0, hangs=True)
    return found


@pytest.fixture
def throttle(moved: Moved, capsys: pytest.CaptureFixture[str]) -> Throttle:
    def call(*words: str) -> tuple[int, str, str]:
        code = run(["rebalance", "throttle", "plan.json", *words])
        printed = capsys.readouterr()
        return int(code), printed.out, printed.err

    return call


@contextmanager
def carried_out(moved: Moved) -> Iterator[None]:
    """A run beside the test, until the end of the block."""
    begun, over = threading.Event(), threading.Event()
    look = moved.cluster.snapshot

    def snapshot() -> Any:
        if over.is_set():
            moved.cluster.change(0, hangs=False)
        return look()

    moved.cluster.snapshot = snapshot  # type: ignore[method-assign]
    moved.cluster.point = lambda what: begun.set() if what == "after the reassignment" else None
    asked = requests_of(moved.path, moved.digest)
    options = replace(OPTIONS, throttle=5 * MB, poll=0.02, max_wait=60.0, asked_rate=asked)
    thread = threading.Thread(target=lambda: moved.run(options))
    thread.start()
    assert begun.wait(20)
    try:
        yield
    finally:
        over.set()
        thread.join(30)


def test_the_rate_of_a_run_is_changed(moved: Moved, throttle: Throttle) -> None:
    with carried_out(moved):
        code, out, _ = throttle("--rate", "7MB/s", "-o", "json")
        document = json.loads(out)
        assert (code, document["schema"]) == (0, "kreplica/rebalance-throttle/v1")
        assert document["rates"][0] == {
            "broker": 1, "setting": "leader.replication.throttled.rate", "before": "5000000", "rate": 7_000_000,
        }  # fmt: skip
        assert (document["summary"]["rate"], document["summary"]["brokers"]) == (7_000_000, 4)
        code, out, err = throttle("--rate", "500KB")
        assert (code, out.splitlines()[-1]) == (0, "the run sets 500 KB/s for 4 brokers")
        assert err.startswith("warning: a throttle of 500 KB/s is little: Kafka advises 1 MB/s at least")
    assert moved.cluster.throttles_now == ({}, {}, {})


def test_the_function_gives_the_same(moved: Moved, throttle: Throttle) -> None:
    with carried_out(moved):
        throttle("--rate", "6MB")
        code, out, _ = throttle("--rate", "7MB", "-o", "json")
        throttle("--rate", "6MB")
        found = library.rebalance_throttle(moved.path, 7 * MB)
    assert (msgspec.to_builtins(found.rows), found.exit_code) == (json.loads(out)["rates"], code)


def test_no_run_and_no_rate(moved: Moved, throttle: Throttle) -> None:
    code, out, err = throttle("--rate", "7MB")
    assert (code, out) == (4, "")
    assert "no process is carrying it out, so that no rate can be changed; not begun, 0 of 1 done" in err
    assert "begin it: kreplica rebalance apply plan.json --throttle 7000000 --execute" in err
    assert throttle()[0] == 2
    code, _, err = throttle("--rate", "fast")
    assert (code, err.startswith("error: --rate fast is no size")) == (2, True)
    Path("plan.json").write_text('{"schema": "kreplica/plan/v1"}')
    code, _, err = throttle("--rate", "7MB")
    assert (code, "plan.json is no plan of replicas" in err) == (2, True)


def typed(throttle: str | None, least: str | None = None, most: str | None = None) -> Any:
    return run_of(RateOptions(throttle, least, most), needs_throttle=True).throttle


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("none",), None),
        (("50MB/s",), 50 * MB),
        (("auto",), RateBounds(MB, 100 * MB)),
        (("auto", "2MB"), RateBounds(2 * MB, 100 * MB)),
        (("auto", None, "1.5GB"), RateBounds(MB, 1500 * MB)),
        (("auto", "5MB", "5MB/s"), RateBounds(5 * MB, 5 * MB)),
    ],
)
def test_throttles_as_they_are_typed(words: Any, expected: Any) -> None:
    assert typed(*words) == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("5MB", "1MB"), "--min is for --throttle auto"),
        (("none", None, "1MB"), "--max is for --throttle auto"),
        (("auto", "5MB", "4MB"), "--min is above --max"),
        (("auto", "500MB"), "--min is above --max"),
        (("auto", "x"), "--min x is no size"),
        (("automatic",), "--throttle automatic is no size"),
    ],
)
def test_throttles_that_are_none(words: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        typed(*words)
