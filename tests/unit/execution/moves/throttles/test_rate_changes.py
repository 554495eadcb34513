"""Rates of runs that go on: the automatic one, one that is asked for, and what is put back; the cluster is on paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of
from clusters.played_clock import PlayedClock
from plans.moved import OPTIONS, Moved

from kreplica.control.settings import UNANSWERED, EntityType, Operation, SettingChange, SettingResult
from kreplica.errors import UnreachableError
from kreplica.execution.moves.plans.journal import MOVE_JOURNAL, Event
from kreplica.execution.moves.running import runner
from kreplica.execution.moves.throttles.automatic_rate import CALM_SECONDS, RateBounds
from kreplica.execution.moves.throttles.rate_changes import RateRequest, replication_seen
from kreplica.planner.reassignment.moves.order import MoveLimits

LEADER, FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"
MB = 1_000_000
BOUNDS = RateBounds(MB, 16 * MB)
OPERATORS = {
    "own": {f"4/{FOLLOWER}.rate": "8", "5/x": "9"},
    "default": {f"{LEADER}.rate": "70"},
    "lists": {f"{LEADER}.replicas": "7:1"},
}


class Clock(PlayedClock):
    """Time that passes only where somebody waits; ``waited`` is called after each wait."""

    def __init__(self, waited: Callable[[int], None] = lambda _: None) -> None:
        super().__init__()
        self.waits, self._waited = 0, waited

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.waits += 1
        self._waited(self.waits)


def hanging(moved: Moved, **more: Any) -> None:
    """A move in flight that does not end, and partitions that nothing moves."""
    moved.cluster.start((1, 2, 3), (1, 2, 3), (1, 2, 3), **more)
    moved.make({0: (1, 2, 4)}, MoveLimits(moves=1))
    moved.cluster.change(0, hangs=True)


def own_rates(moved: Moved) -> dict[str, str]:
    return {key: value for key, value in moved.cluster.throttles_now[0].items() if key.endswith(".rate")}


def automatic(clock: Clock, **more: Any) -> Any:
    return replace(OPTIONS, throttle=BOUNDS, poll=0.1, max_wait=3600.0, clock=clock, **more)


def test_an_automatic_rate_is_halved_and_rises_and_leaves_nothing_behind(moved: Moved) -> None:
    hanging(moved, **OPERATORS)
    before, seen = moved.cluster.throttles_now, []

    def waited(number: int) -> None:
        seen.append({own_rates(moved)[f"4/{FOLLOWER}.rate"], own_rates(moved)[f"1/{LEADER}.rate"]})
        if number == 3:
            moved.cluster.change(1, isr=[1, 2])
        if number == 6:
            moved.cluster.change(1, isr=[1, 2, 3])
        if number == 8:
            clock.seconds += CALM_SECONDS
        if number == 12:
            moved.cluster.change(0, hangs=False)

    clock = Clock(waited)
    assert moved.run(automatic(clock)) == runner.MoveRun()
    told = [one for one in seen if len(one) == 1]
    assert told == seen, "the same for each broker that this run has set"
    values = [int(one.pop()) for one in seen]
    assert [value for number, value in enumerate(values) if value != values[number - 1] or not number] == [
        4 * MB, 2 * MB, 2_200_000,
    ]  # fmt: skip
    assert moved.cluster.throttles_now == before
    assert "throttle 4 MB/s -> 2 MB/s: broker 3 left the ISR of orders-1" in moved.said


def test_a_change_is_in_the_journal_with_its_origin_before_it_is_made(moved: Moved) -> None:
    hanging(moved, **OPERATORS)
    found: list[Any] = []

    def at(what: str) -> None:
        if what == "before the rates":
            found.append((MOVE_JOURNAL.read(moved.path, moved.digest)[0][-1], own_rates(moved)))

    def waited(number: int) -> None:
        if number == 2:
            moved.cluster.change(1, isr=[1, 2])
        if number == 5:
            moved.cluster.change(0, hangs=False)

    moved.cluster.point = at
    moved.run(automatic(Clock(waited)))
    line, then = found[1]
    assert (line.event, line.message) == (Event.THROTTLING, "automatic rate: broker 3 left the ISR of orders-1")
    (note,) = [one for one in line.rates if one.broker == 4]
    assert (note.name, note.value, note.before, note.origin) == (
        f"{FOLLOWER}.rate", 2 * MB, "4000000", "broker-dynamic",
    )  # fmt: skip
    assert then[f"4/{FOLLOWER}.rate"] == "4000000", "not made yet"


def test_a_rate_that_somebody_else_set_is_left_by_the_automatic_one(moved: Moved) -> None:
    hanging(moved)

    def waited(number: int) -> None:
        if number == 2:
            moved.cluster.set(own={**moved.cluster.read()["own"], f"2/{LEADER}.rate": "99"})
            moved.cluster.change(1, isr=[1, 2])
        if number == 5:
            moved.cluster.change(0, hangs=False)

    found = moved.run(automatic(Clock(waited)))
    assert found.remarks == (f"{LEADER}.rate of broker 2 is 99: somebody else changed it, it is left",)
    assert moved.cluster.throttles_now == ({f"2/{LEADER}.rate": "99"}, {}, {})


def test_a_resumed_run_goes_on_with_the_rate_of_the_run_before(moved: Moved) -> None:
    hanging(moved)
    clock = Clock(lambda number: moved.cluster.change(1, isr=[1, 2]) if number == 2 else None)
    assert moved.run(replace(automatic(clock), max_wait=1.0)).in_flight
    assert set(own_rates(moved).values()) == {str(2 * MB)}
    moved.cluster.point = lambda _: seen.append(set(own_rates(moved).values()))
    seen: list[set[str]] = []
    assert moved.run(replace(automatic(Clock()), max_wait=1.0)).in_flight
    assert all(one == {str(2 * MB)} for one in seen), "never back to where it began"


def test_a_cluster_that_is_silent_for_a_moment_is_asked_again(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging(moved)
    set_rates, failed = moved.cluster.set_rates, []

    def silent_once(wanted: Any) -> Any:
        if str(2 * MB) in map(str, wanted.values()) and not failed:
            failed.append(1)
            raise UnreachableError("the broker did not answer")
        return set_rates(wanted)

    def waited(number: int) -> None:
        if number == 2:
            moved.cluster.change(1, isr=[1, 2])
        if number == 5:
            seen.append(set(own_rates(moved).values()))
            moved.cluster.change(0, hangs=False)

    seen: list[set[str]] = []
    monkeypatch.setattr(moved.cluster, "set_rates", silent_once)
    assert moved.run(automatic(Clock(waited))) == runner.MoveRun()
    assert (failed, seen) == ([1], [{str(2 * MB)}])
    assert moved.cluster.throttles_now == ({}, {}, {})


def test_a_broker_that_does_not_take_a_rate_is_asked_again(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging(moved)
    set_rates, failed, seen = moved.cluster.set_rates, [], []

    def refused_twice(wanted: Any) -> Any:
        silent = [key for key, value in wanted.items() if (key[0], value) == (4, 2 * MB)] if len(failed) < 2 else []
        failed.extend(silent)
        answers = set_rates({key: value for key, value in wanted.items() if key not in silent})
        for broker, name in silent:
            change = SettingChange(EntityType.BROKER, str(broker), name, Operation.SET, str(2 * MB))
            answers[broker, name] = SettingResult(change, UNANSWERED, "no answer within 30 s")
        return answers

    def waited(number: int) -> None:
        if number == 2:
            monkeypatch.setattr(moved.cluster, "set_rates", refused_twice)
            moved.cluster.change(1, isr=[1, 2])
        seen.append(own_rates(moved)[f"4/{FOLLOWER}.rate"])
        if number == 8:
            moved.cluster.change(0, hangs=False)

    assert moved.run(automatic(Clock(waited))) == runner.MoveRun()
    assert [seen.count(str(rate * MB)) for rate in (4, 2)] == [3, len(seen) - 3], "at the third look"
    told = [text for text in moved.said if text.startswith("broker 4")]
    assert told == [
        "broker 4 keeps its rate for now: unanswered: no answer within 30 s",
        "broker 4 has taken the rate",
    ]
    assert len([text for text in moved.said if text.startswith("throttle 4 MB/s -> 2 MB/s")]) == 1
    assert moved.cluster.throttles_now == ({}, {}, {})


@pytest.mark.parametrize("throttle", [5 * MB, BOUNDS, None], ids=["fixed", "automatic", "none"])
def test_a_rate_that_is_asked_for_holds_from_then_on(moved: Moved, throttle: Any) -> None:
    hanging(moved, **OPERATORS)
    before, seen = moved.cluster.throttles_now, []

    def waited(number: int) -> None:
        seen.append({value for key, value in own_rates(moved).items()})
        if number == 5:
            moved.cluster.change(1, isr=[1, 2])  # which no longer halves it
        if number == 9:
            moved.cluster.change(0, hangs=False)

    clock = Clock(waited)
    requests = [RateRequest("id-1", 7 * MB)]
    options = replace(
        automatic(clock),
        throttle=throttle,
        asked_rate=lambda: requests.pop() if clock.waits == 3 and requests else None,
    )
    assert moved.run(options) == runner.MoveRun()
    assert seen[4:9] == [{str(7 * MB)}] * 5
    assert str(7 * MB) not in seen[2]
    assert moved.cluster.throttles_now == before
    assert any(text.endswith("7 MB/s: as asked for") for text in moved.said)
    lines = [one.message for one in MOVE_JOURNAL.read(moved.path, moved.digest)[0] if one.event is Event.THROTTLING]
    assert lines.count("rate asked for, request id-1") == 1


@pytest.mark.parametrize("changed", [False, True])
def test_a_kill_between_journal_and_change_leaves_a_rate_that_is_put_back(moved: Moved, changed: bool) -> None:
    hanging(moved, **OPERATORS)
    before, points = moved.cluster.throttles_now, []

    def killed(what: str) -> None:
        points.append(what)
        if points.count("before the rates") == 2 and what == ("after the rates" if changed else "before the rates"):
            raise KeyboardInterrupt

    moved.cluster.point = killed
    requests = [RateRequest("id-1", 7 * MB)]
    clock = Clock()
    options = replace(
        automatic(clock), throttle=5 * MB, asked_rate=lambda: requests.pop() if clock.waits and requests else None
    )
    with pytest.raises(KeyboardInterrupt):
        moved.run(options)
    assert own_rates(moved)[f"4/{FOLLOWER}.rate"] == str(7 * MB if changed else 5 * MB)
    moved.cluster.point = lambda _: None
    moved.cluster.change(0, hangs=False)
    assert moved.run(replace(OPTIONS, throttle=None)) == runner.MoveRun()
    assert moved.cluster.throttles_now == before
    assert not moved.progress.owed


def out_of(**fields: Any) -> tuple[set[Any], int]:
    found = replication_seen(snapshot_of([partition(**fields)]), {("orders", 0, 4), ("orders", 0, 3)}, 0.0)
    return set(found.out), found.at_min_isr


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (set(), 0)),
        ({"isr": [1, 3]}, ({("orders", 0, 2)}, 1)),
        ({"isr": [1, 3], "min_isr": 1}, ({("orders", 0, 2)}, 0)),
        ({"isr": [1], "min_isr": 2}, ({("orders", 0, 2)}, 1)),
        ({"isr": [1, 2]}, (set(), 0)),  # 3 is one that the plan removes
        ({"replicas": [1, 2, 4], "isr": [1, 2]}, (set(), 0)),  # 4 is one that it adds
        ({"replicas": [1, 2, 5], "isr": [1, 2], "adding": [5]}, (set(), 0)),  # somebody else adds 5
        ({"replicas": [1, 2, 5, 4], "isr": [1, 5, 4], "adding": [5]}, ({("orders", 0, 2)}, 0)),
        ({"isr": [1, 3], "min_isr": None}, ({("orders", 0, 2)}, 0)),
        ({"replicas": [1, 2], "isr": [1, 2]}, (set(), 0)),  # at min ISR, as it was made
    ],
)
def test_replicas_of_the_plan_are_no_followers_outside_it(fields: Any, expected: Any) -> None:
    assert out_of(**fields) == expected
