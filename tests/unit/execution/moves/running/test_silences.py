"""A cluster that is silent once, whatever it is asked for then: the run ends as one that heard everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from plans.moved import OPTIONS, Moved

from kreplica.errors import AuthenticationError, KreplicaError, UnreachableError
from kreplica.execution.moves.directories import moves
from kreplica.execution.moves.requests import MOST_REQUESTS
from kreplica.execution.moves.running import runner
from kreplica.execution.moves.throttles import throttling
from kreplica.planner.reassignment.moves.order import MoveLimits

BEFORE = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
TARGETS = {0: (2, 1, 4), 1: (2, 4, 1)}
REQUESTS = ("throttles", "set_rates", "extend_lists", "shrink_lists", "reassign", "place")
THROTTLED = replace(OPTIONS, throttle=5_000_000)


class Silence:
    """Has the nth request of one kind fail, before it is made or with its answer lost; counts the requests."""

    def __init__(self, moved: Moved, request: str, number: int, *, lost: bool, error: KreplicaError) -> None:
        self.count, self._number, self._lost, self._error = 0, number, lost, error
        setattr(moved.cluster, request, partial(self._ask, getattr(moved.cluster, request)))

    def _ask(self, request: Callable[..., Any], *words: Any, **named: Any) -> Any:
        self.count += 1
        if self.count == self._number and not self._lost:
            raise self._error
        answer = request(*words, **named)
        if self.count == self._number:
            raise self._error
        return answer


@pytest.fixture(autouse=True)
def _settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "SETTLE_SECONDS", 0.2)
    monkeypatch.setattr(runner, "TAKEN_SECONDS", 0.05)
    monkeypatch.setattr(moves, "TAKEN_SECONDS", 0.05)


def moved_in(folder: Path) -> Moved:
    """A plan of two moves, one in flight at a time, and a change of a log directory, under an operator's throttles."""
    folder.mkdir()
    moved = Moved(folder)
    operators = {"own": {"1/leader.replication.throttled.rate": "7"}, "default": {"check": "1"}}
    moved.cluster.start(*BEFORE, **operators, lists={"leader.replication.throttled.replicas": "2:1,0:2"})
    moved.make(TARGETS, MoveLimits(moves=1), within=[(2, 3)])
    return moved


@pytest.mark.parametrize("lost", [False, True], ids=["before", "answer lost"])
@pytest.mark.parametrize("request_name", REQUESTS)
def test_a_request_that_is_not_answered_once_changes_nothing(request_name: str, lost: bool, tmp_path: Path) -> None:
    silences = 0
    for number in range(1, 100):
        moved = moved_in(tmp_path / str(number))
        before = moved.cluster.throttles_now
        error = UnreachableError("the broker did not answer")
        silence = Silence(moved, request_name, number, lost=lost, error=error)
        assert moved.run(THROTTLED) == runner.MoveRun(), (number, moved.said)
        assert moved.cluster.replicas == [*TARGETS.values(), (3, 1, 2)]
        assert moved.cluster.where == {"2/3": "/e"}
        assert set(moved.states.values()) | set(moved.states_within.values()) == {"done"}
        assert moved.cluster.throttles_now == before, number
        if silence.count < number:
            break
        silences += 1
    assert silences >= 1


@pytest.mark.parametrize("request_name", ["throttles", "set_rates", "extend_lists"])
def test_refused_credentials_end_a_run_at_once(request_name: str, tmp_path: Path) -> None:
    moved = moved_in(tmp_path / "moved")
    Silence(moved, request_name, 2, lost=False, error=AuthenticationError("the cluster refused the credentials"))
    assert moved.run(THROTTLED).stopped == "the cluster refused the credentials"


def test_a_cluster_that_stays_silent_ends_the_run_when_its_patience_is_over(tmp_path: Path) -> None:
    moved = moved_in(tmp_path / "moved")
    answer, asked = moved.cluster.set_rates, []

    def silent_from_the_second_on(wanted: Any) -> Any:
        asked.append(1)
        if len(asked) >= 2:
            raise UnreachableError("the broker did not answer")
        return answer(wanted)

    moved.cluster.set_rates = silent_from_the_second_on  # type: ignore[method-assign]
    found = moved.run(replace(THROTTLED, max_wait=0.3))
    assert "the broker did not answer" in found.stopped, found


def test_a_move_whose_requests_are_never_answered_fails_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, asked = moved_in(tmp_path / "moved"), []
    monkeypatch.setattr(runner, "SETTLE_SECONDS", 0.05)

    def silent(targets: Any, *_: object, **__: object) -> Any:
        asked.extend(targets)
        raise UnreachableError("the controller did not answer")

    moved.cluster.reassign = silent  # type: ignore[method-assign]
    assert moved.run(THROTTLED).stopped == ""
    assert [asked.count(("orders", number)) for number in TARGETS] == [MOST_REQUESTS] * 2
    assert moved.states == {0: "failed", 1: "failed"}
    assert moved.cluster.replicas == list(BEFORE)
