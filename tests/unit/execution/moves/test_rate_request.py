"""Rates that are asked for beside a run: who answers, what is refused, and what is thrown away."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from plans.moved import OPTIONS, Moved

from kreplica.errors import ChangeRefusedError, ExitCode
from kreplica.execution.moves import rate_request
from kreplica.execution.moves.plans.journal import MOVE_JOURNAL, Event, entry
from kreplica.execution.moves.rate_request import rebalance_throttle, request_path, requests_of
from kreplica.execution.plan_journal import Operation
from kreplica.planner.reassignment.moves.order import MoveLimits

MB = 1_000_000
FOLLOWER_RATE = "follower.replication.throttled.rate"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_request, "PAUSE_SECONDS", 0.02)


@pytest.fixture
def hanging(moved: Moved) -> Moved:
    """A plan of one move, which does not end."""
    moved.cluster.start((1, 2, 3))
    moved.make({0: (1, 2, 4)}, MoveLimits(moves=1))
    moved.cluster.change(0, hangs=True)
    return moved


@contextmanager
def carried_out(moved: Moved, **more: Any) -> Iterator[None]:
    """A run beside the test until the end of the block."""
    begun, over, found = threading.Event(), threading.Event(), []
    look = moved.cluster.snapshot

    def snapshot() -> Any:
        if over.is_set():  # by the run's own thread: the cluster is a file
            moved.cluster.change(0, hangs=False)
        return look()

    moved.cluster.snapshot = snapshot  # type: ignore[method-assign]
    moved.cluster.point = lambda what: begun.set() if what == "after the reassignment" else None
    asked = requests_of(moved.path, moved.digest)
    options = replace(OPTIONS, throttle=5 * MB, poll=0.02, max_wait=60.0, asked_rate=asked, **more)
    thread = threading.Thread(target=lambda: found.append(moved.run(options)))
    thread.start()
    assert begun.wait(20)
    try:
        yield
    finally:
        over.set()
        thread.join(30)
    assert [one.stopped for one in found] == [""]


def test_a_run_changes_its_rate_and_puts_back_what_was_there_before(hanging: Moved) -> None:
    hanging.cluster.set(own={f"4/{FOLLOWER_RATE}": "8"})
    with carried_out(hanging):
        found = rebalance_throttle(hanging.path, 7 * MB)
        assert {(row.broker, row.before, row.rate) for row in found.rows} == {
            (broker, str(5 * MB), 7 * MB) for broker in (1, 2, 3, 4)
        }
        again = rebalance_throttle(hanging.path, 9 * MB)
        assert {row.before for row in again.rows} == {str(7 * MB)}
    assert hanging.cluster.throttles_now == ({f"4/{FOLLOWER_RATE}": "8"}, {}, {})
    assert sorted(one.name for one in hanging.path.parent.glob("plan.json.*")) == ["plan.json.journal"]


def test_a_plan_that_nobody_carries_out_is_refused_with_what_to_type(hanging: Moved) -> None:
    with pytest.raises(ChangeRefusedError) as refused:
        rebalance_throttle(hanging.path, 7 * MB)
    assert refused.value.exit_code is ExitCode.CHANGE_REFUSED
    assert "no process is carrying it out" in refused.value.what
    assert refused.value.fix == f"begin it: kreplica rebalance apply {hanging.path} --throttle 7000000 --execute"
    hanging.run(replace(OPTIONS, throttle=5 * MB, max_wait=0.1))
    with pytest.raises(ChangeRefusedError) as refused:
        rebalance_throttle(hanging.path, 7 * MB)
    assert refused.value.fix == f"go on with it: kreplica rebalance resume {hanging.path} --throttle 7000000 --execute"
    hanging.cluster.change(0, hangs=False)
    hanging.run(replace(OPTIONS, throttle=5 * MB))
    with pytest.raises(ChangeRefusedError) as refused:
        rebalance_throttle(hanging.path, 7 * MB)
    assert refused.value.fix == "it has ended: there is nothing to throttle"
    assert not request_path(hanging.path).exists()


def test_a_run_that_does_not_answer_leaves_no_request_behind(hanging: Moved) -> None:
    with MOVE_JOURNAL.open(hanging.path, hanging.plan, hanging.digest) as journal:
        journal.append(entry(Event.STARTED, Operation.APPLY, pid=os.getpid()))
        with pytest.raises(ChangeRefusedError, match=r"has not changed its rate; it did not answer for 0\.1 s"):
            rebalance_throttle(hanging.path, 7 * MB, wait=0.1)
    assert not request_path(hanging.path).exists()


WANTED = {"schema": "kreplica/throttle/v1", "pid": os.getpid(), "id": "id-1", "rate": 7 * MB}


@pytest.mark.parametrize(
    "changed",
    [
        {"schema": "kreplica/throttle/v2"},
        {"plan": "sha256:other"},
        {"pid": os.getpid() + 1},
        {"rate": 0},
        {"rate": "7"},
        {"id": None},
        {"id": "x" * 20_000},
    ],
)
def test_what_is_not_for_this_run_is_thrown_away(hanging: Moved, changed: dict[str, Any]) -> None:
    asked, path = requests_of(hanging.path, hanging.digest), request_path(hanging.path)
    assert asked() is None
    path.write_text(json.dumps({**WANTED, "plan": hanging.digest, **changed}))
    assert (asked(), path.exists()) == (None, False)
    path.write_text(json.dumps({**WANTED, "plan": hanging.digest}))
    found = asked()
    assert found is not None
    assert (found.id, found.rate, asked()) == ("id-1", 7 * MB, None)


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"[" * 9000, b'{"rate": 1'])
def test_what_is_no_request_is_thrown_away(hanging: Moved, content: bytes) -> None:
    path = request_path(hanging.path)
    path.write_bytes(content)
    assert requests_of(hanging.path, hanging.digest)() is None
    assert not path.exists()


def test_a_pipe_is_not_waited_for(hanging: Moved) -> None:
    os.mkfifo(request_path(hanging.path))
    begun = time.monotonic()
    assert requests_of(hanging.path, hanging.digest)() is None
    assert time.monotonic() - begun < 5
