"""Throttles that are too low: told before a run begins, and of copies that come no nearer while it goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from clusters.played_clock import PlayedClock
from plans.moved import OPTIONS, Moved

from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.running import runner
from kreplica.execution.moves.throttles.automatic_rate import RateBounds
from kreplica.execution.moves.throttles.rate_warnings import (
    STALLED_SECONDS,
    StalledCopies,
    low_rate_warnings,
    measured_writes,
    small_rate,
)
from kreplica.model.wording.words import rate_words
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.moves.order import MoveLimits

MB = 1_000_000
KEYS = [("orders", number) for number in range(4)]
TO_4 = [ReplicaChange(*key, (1, 2, 3), (1, 2, 4)) for key in KEYS]


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (1, "1 B/s"),
        (999, "999 B/s"),
        (1000, "1 KB/s"),
        (1_500_000, "1.5 MB/s"),
        (50 * MB, "50 MB/s"),
        (2 * 10**9, "2 GB/s"),
    ],
)
def test_rates_in_words(rate: int, words: str) -> None:
    assert rate_words(rate) == words


def test_a_rate_below_kafkas_advice() -> None:
    assert small_rate(MB) == []
    assert small_rate(MB - 1) == ["a throttle of 1000 KB/s is little: Kafka advises 1 MB/s at least"]


def warned(throttle: Any, writes: dict[int, float], **limits: int) -> list[str]:
    known = {KEYS[number]: written for number, written in writes.items()}
    return low_rate_warnings(throttle, TO_4, MoveLimits(**limits), known)


@pytest.mark.parametrize(
    ("throttle", "writes", "limits", "said"),
    [
        (None, {0: 10**12}, {}, []),
        (2 * MB, {}, {}, []),
        (2 * MB, {0: 1.9 * MB}, {}, []),
        (2 * MB, {0: 2 * MB}, {}, ["lets through to orders-0 (2 MB/s): no end of it"]),
        (RateBounds(MB, 3 * MB), {0: 2 * MB}, {}, []),
        (RateBounds(MB, 2 * MB), {0: 2 * MB, 3: 4 * MB}, {}, ["to orders-3 (4 MB/s), orders-0 (2 MB/s)"]),
        (2 * MB, dict.fromkeys(range(4), 0.9 * MB), {"moves_per_broker": 2}, []),
        (2 * MB, dict.fromkeys(range(4), 0.9 * MB), {"moves_per_broker": 3}, ["2.7 MB/s may be written"]),
        (2 * MB, dict.fromkeys(range(4), 0.9 * MB), {"moves": 2}, []),
    ],
)
def test_what_is_said_beforehand(
    throttle: Any, writes: dict[int, float], limits: dict[str, int], said: list[str]
) -> None:
    found = warned(throttle, writes, **limits)
    assert len(found) == len(said), found
    assert all(part in text for part, text in zip(said, found, strict=True)), found


def test_only_what_is_copied_counts() -> None:
    order = [ReplicaChange(*KEYS[0], (1, 2), (2, 1))]
    assert low_rate_warnings(2 * MB, order, MoveLimits(), {KEYS[0]: 9.0 * MB}) == []


def test_what_is_written_to_a_replica_that_changes_its_directory_counts_too() -> None:
    within = [ChangedDirectory(*KEYS[1], 1, "/d", "/e", 10)]
    (text,) = low_rate_warnings(2 * MB, [], MoveLimits(), {KEYS[1]: 2.0 * MB}, within)
    assert text == "more is written than the throttle of 2 MB/s lets through to orders-1 (2 MB/s): no end of it"


def test_what_is_written_is_measured_by_the_leaders_copy(moved: Moved) -> None:
    moved.cluster.start((1, 2, 3), (1, 2, 3), (2, 1, 3), (1, 2, 3), dead=[2], written={"0": 700.0, "1": 0, "2": 9.0})
    clock = PlayedClock()
    moved.cluster.clock = clock
    found = measured_writes(moved.cluster, moved.cluster.snapshot(), KEYS[:3], 10.0, clock)
    assert found == {KEYS[0]: 700.0, KEYS[1]: 0.0}, "the leader of the third does not answer"
    assert measured_writes(moved.cluster, moved.cluster.snapshot(), KEYS, 0.0, clock) == {}
    moved.cluster.set(written={"0": -50.0})
    found = measured_writes(moved.cluster, moved.cluster.snapshot(), KEYS[:1], 10.0, clock)
    assert found == {KEYS[0]: 0.0}, "retention deletes"


def test_a_copy_that_comes_no_nearer_is_named_once() -> None:
    copies = StalledCopies()
    second = 1.5 * MB

    def look(at: float, left: float, rate: int | None = MB) -> list[str]:
        return copies.look(at, {KEYS[0]: (int(100 * MB + second * at), int(left))}, rate)

    assert look(0, 50 * MB) == []
    assert look(10, 49 * MB) == []
    assert look(10 + STALLED_SECONDS - 1, 60 * MB) == []
    assert look(10 + STALLED_SECONDS, 60 * MB, None) == []
    (said,) = look(10 + STALLED_SECONDS, 60 * MB)
    assert said.startswith("the copy of orders-0 has come no nearer for 60 s: 1.5 MB/s are written to it, the throttle")
    assert look(500, 70 * MB) == []
    assert look(501, 48 * MB) == []
    assert look(501 + STALLED_SECONDS, 48 * MB), "it came nearer and stalled again"
    assert copies.look(999, {}, MB) == []
    assert look(1000, 80 * MB) == [], "another move"


def test_a_copy_of_a_partition_that_nobody_writes_to_is_slow_for_another_reason() -> None:
    copies = StalledCopies()
    assert copies.look(0, {KEYS[0]: (100, 50)}, MB) == []
    assert copies.look(1000, {KEYS[0]: (100, 50)}, MB) == []


def test_a_run_names_the_move_that_comes_no_nearer(moved: Moved) -> None:
    clock = PlayedClock()
    moved.cluster.clock = clock
    moved.cluster.start((1, 2, 3), written={"0": 2.0 * MB}, copied={"0": 1.0 * MB})
    moved.make({0: (1, 2, 4)}, MoveLimits(moves=1))
    moved.cluster.change(0, hangs=True)
    look = moved.cluster.snapshot

    def snapshot() -> Any:
        if clock.seconds > 3 * STALLED_SECONDS:
            moved.cluster.change(0, hangs=False)
        return look()

    moved.cluster.snapshot = snapshot  # type: ignore[method-assign]
    found = moved.run(replace(OPTIONS, throttle=MB, poll=10.0, max_wait=300.0, clock=clock))
    (said,) = [text for text in moved.said if "no nearer" in text]
    assert said.endswith("2 MB/s are written to it, the throttle is 1 MB/s for each broker")
    assert found == runner.MoveRun(remarks=(said,))
