"""Looks at a large cluster: the whole is read before anything begins and every few seconds, not at every look."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from clusters.played_clock import PlayedClock
from plans.moved import OPTIONS, Moved

from kreplica.errors import UnreachableError
from kreplica.execution.moves.running.looks import Looks
from kreplica.planner.reassignment.moves.order import MoveLimits
from kreplica.sources.kafka.reassignments import Move

FIRST, SECOND = ("orders", 0), ("orders", 1)
GOES_ON = Move([1, 2, 4, 3], [4], [3])


class Paper:
    """A cluster that tells what it is given."""

    def __init__(self) -> None:
        self.moves = {FIRST: GOES_ON, SECOND: GOES_ON}
        self.silent = False
        self.asked = 0

    def ongoing(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], Move]:
        self.asked += 1
        if self.silent:
            raise UnreachableError("reassignments cannot be read")
        return {key: move for key, move in self.moves.items() if key in partitions}


def looks_of(cluster: Paper, cost: float) -> tuple[Looks, PlayedClock]:
    """Right after a reading of the whole that took so long."""
    clock = PlayedClock(100.0)
    looks = Looks(cluster, clock)
    began = clock.now()
    clock.sleep(cost)
    looks.read_since(began)
    return looks, clock


@pytest.mark.parametrize(("cost", "seconds"), [(0.2, 0.0), (0.25, 2.5), (0.5, 5.0), (0.75, 7.5), (4.0, 10.0)])
def test_the_whole_is_put_off_ten_times_as_long_as_it_takes(cost: float, seconds: float) -> None:
    looks, clock = looks_of(Paper(), cost)
    waited = 0.0
    while looks.may_wait([FIRST, SECOND]):
        clock.sleep(0.125)
        waited += 0.125
    assert waited == seconds


def _ended(cluster: Paper) -> None:
    del cluster.moves[SECOND]


def _changed(cluster: Paper) -> None:
    cluster.moves[SECOND] = Move([1, 2, 3, 4], [], [4])


def _silent(cluster: Paper) -> None:
    cluster.silent = True


@pytest.mark.parametrize("happens", [_ended, _changed, _silent])
def test_the_whole_is_read_when_something_happens_to_what_is_in_flight(happens: Callable[[Paper], None]) -> None:
    cluster = Paper()
    looks, _ = looks_of(cluster, 1.0)
    assert looks.may_wait([FIRST, SECOND])
    happens(cluster)
    assert not looks.may_wait([FIRST, SECOND])


def test_what_was_asked_for_and_is_not_seen_yet_is_looked_for() -> None:
    cluster = Paper()
    _ended(cluster)
    looks, _ = looks_of(cluster, 1.0)
    assert not looks.may_wait([FIRST, SECOND])


def test_with_nothing_in_flight_the_whole_is_read() -> None:
    cluster = Paper()
    looks, _ = looks_of(cluster, 1.0)
    assert not looks.may_wait([])
    assert cluster.asked == 0


@pytest.fixture
def slow(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> tuple[PlayedClock, list[float], list[float]]:
    """Readings of the whole take 2 s; when they began, and when the controller was asked."""
    clock, whole, asked = PlayedClock(100.0), list[float](), list[float]()
    snapshot, ongoing = moved.cluster.snapshot, moved.cluster.ongoing

    def read() -> Any:
        whole.append(clock.now())
        clock.sleep(2.0)
        return snapshot()

    def ask(partitions: Collection[tuple[str, int]]) -> Any:
        asked.append(clock.now())
        return ongoing(partitions)

    moved.cluster.start(*[(1, 2, 3)] * 4)
    moved.make(dict.fromkeys(range(4), (1, 2, 4)), MoveLimits(moves=2))
    monkeypatch.setattr(moved.cluster, "snapshot", read)
    monkeypatch.setattr(moved.cluster, "ongoing", ask)
    return clock, whole, asked


def test_a_run_on_a_large_cluster_reads_the_whole_every_ten_seconds(
    moved: Moved, slow: tuple[PlayedClock, list[float], list[float]]
) -> None:
    clock, whole, asked = slow
    assert moved.run(replace(OPTIONS, poll=1.0, max_wait=600.0, clock=clock)).stopped == ""
    assert moved.cluster.replicas == [(1, 2, 4)] * 4
    gaps = [later - earlier - 2.0 for earlier, later in pairwise(whole[1:])]
    assert set(map(round, gaps)) <= {1, 10}, "at once where something has ended or begun, else after ten seconds"
    assert 10 in map(round, gaps)
    assert len(asked) > 3 * len(whole)


def test_what_ends_between_two_readings_is_followed_by_the_next_move_at_once(
    moved: Moved, slow: tuple[PlayedClock, list[float], list[float]]
) -> None:
    clock, whole, asked = slow
    for number in range(4):
        moved.cluster.change(number, hangs=True)
    ended: list[float] = []

    def end(_: str) -> None:
        row = moved.cluster.read()["rows"]["0"]
        if row.get("adding") and len(asked) == 5 and not ended:
            moved.cluster.change(0, replicas=[1, 2, 4], isr=[1, 2, 4], adding=[], removing=[])
            ended.append(clock.now())

    tell = moved.cluster.ongoing
    moved.cluster.ongoing = lambda partitions: (end(""), tell(partitions))[1]  # type: ignore[method-assign]
    run = moved.run(replace(OPTIONS, poll=1.0, max_wait=30.0, clock=clock))
    assert run.stopped.startswith("nothing has moved on for 30 s")
    assert ended[0] in whole or ended[0] + 1.0 in whole
    assert len(moved.cluster.read()["asked"]) == 3, "the third began when the first had ended"
