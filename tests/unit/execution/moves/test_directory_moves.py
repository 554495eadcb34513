"""Changes of log directories within a run: begun within the limits, followed, refused, taken back, throttled."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters.played_clock import PlayedClock
from plans.moved import OPTIONS, Moved

from kreplica.config.handle import ClusterHandle
from kreplica.control.log_directories import DirectoryResult
from kreplica.control.settings import EntityType, Operation, SettingChange, SettingResult
from kreplica.errors import ChangeRefusedError, ExitCode, InputError
from kreplica.execution.digest import write_document
from kreplica.execution.moves import carrying_out
from kreplica.execution.moves.carrying_out import (
    CarryOutOptions,
    MoveOutcome,
    moves_apply,
    moves_cancel,
    moves_resume,
    moves_rollback,
    moves_status,
)
from kreplica.execution.moves.directories import moves
from kreplica.execution.moves.plan_state import look_at_replica_plan
from kreplica.execution.moves.plans.plan import PlanRequest, plan_replicas
from kreplica.execution.moves.plans.plan_file import read_replica_plan, write_replica_plan
from kreplica.execution.moves.running.runner import refuse_second_runner
from kreplica.execution.moves.throttles.rate_changes import RateRequest
from kreplica.execution.plan_journal import Phase
from kreplica.model.throttles import DIRECTORY_RATE
from kreplica.planner.reassignment.moves.order import MoveLimits

HANDLE = ClusterHandle(name="paper", bootstrap_servers="127.0.0.1:1")
RATE = 5_000_000
THROTTLED = replace(OPTIONS, throttle=RATE)
FOUR = [(number, 1) for number in range(4)]
MOVED = {f"{number}/1": "/e" for number in range(4)}


def relieve(moved: Moved, limits: MoveLimits | None = None, **more: Any) -> None:
    """Four replicas of broker 1 that are to change their log directory, and one that is to leave broker 3."""
    moved.cluster.start(*[(2, 1, 3)] * 5, **more)
    moved.make({4: (2, 1, 4)}, limits, FOUR)


@pytest.fixture
def run(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A command on the plan, as the library gives it."""
    monkeypatch.setattr(carrying_out, "LiveCluster", lambda *_, **__: moved.cluster)
    monkeypatch.setattr(moves, "SETTLE_SECONDS", 0.3)
    options = CarryOutOptions(replace(THROTTLED, poll=0.05, max_wait=3.0, clock=PlayedClock()))

    def command(work: Any, **more: Any) -> MoveOutcome:
        found: MoveOutcome = work(HANDLE, moved.path, options, execute=True, **more)
        return found

    return command


def test_replicas_change_their_directory_two_at_a_time(moved: Moved) -> None:
    relieve(moved, check="1")
    assert moved.run().stopped == ""
    assert (moved.cluster.where, moved.cluster.replicas[4]) == (MOVED, (2, 1, 4))
    assert set(moved.states_within.values()) == {"done"}
    assert moved.progress.phase is Phase.APPLIED
    assert moved.cluster.read()["worst_within"] == {"1": 2}, "the limit of each log directory"


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        (MoveLimits(moves_per_directory=4), 4),
        (MoveLimits(moves_per_directory=4, bytes_per_directory=3000), 3),
        (MoveLimits(moves_per_directory=4, bytes_per_broker=2000), 2),
        (MoveLimits(moves_per_directory=4, moves_per_broker=1), 1),
        (MoveLimits(moves_per_directory=4, bytes_per_directory=1), 1),
    ],
)
def test_limits_hold_for_brokers_and_directories(moved: Moved, limits: MoveLimits, most: int) -> None:
    relieve(moved, limits)
    assert moved.run().stopped == ""
    assert moved.cluster.where == MOVED
    assert moved.cluster.read()["worst_within"] == {"1": most}


def test_a_change_waits_for_room_in_its_directory(moved: Moved) -> None:
    relieve(moved)
    moved.cluster.set(room={"1/e": 999})
    found = moved.run(replace(OPTIONS, max_wait=0.1))
    assert moved.cluster.where == {}
    assert "nothing has moved on" in found.stopped
    assert set(moved.states_within.values()) == {"pending"}
    moved.cluster.set(room={"1/e": 1000})
    assert moved.run().stopped == ""
    assert (moved.cluster.where, moved.cluster.read()["worst_within"]) == (MOVED, {"1": 1}), "both copies are counted"


def test_the_rate_of_directories_is_as_it_was_afterwards(moved: Moved) -> None:
    before = {"own": {f"1/{DIRECTORY_RATE}": "70", "2/other": "1"}, "default": {"check": "1", DIRECTORY_RATE: "80"}}
    relieve(moved, **before)
    assert moved.run(THROTTLED).stopped == ""
    assert moved.cluster.throttles_now == (before["own"], before["default"], {})
    assert not moved.progress.owes


def test_a_rate_that_somebody_changed_meanwhile_is_left(moved: Moved) -> None:
    relieve(moved)

    def interfere(what: str) -> None:
        if what == "after the directories":
            state = moved.cluster.read()
            moved.cluster.set(own={**state["own"], f"1/{DIRECTORY_RATE}": "123"})

    moved.cluster.point = interfere
    found = moved.run(THROTTLED)
    assert moved.cluster.read()["own"] == {f"1/{DIRECTORY_RATE}": "123"}
    assert f"{DIRECTORY_RATE} of broker 1 is 123: somebody else changed it, it is left" in found.remarks


def test_what_changed_meanwhile_is_left_out(moved: Moved) -> None:
    relieve(moved)
    moved.cluster.set(
        where={"0/1": "/e", "1/1": "/f"},
        future={"2/1": {"path": "/g", "looks": -1000}},
    )
    moved.cluster.change(3, replicas=[2, 3], isr=[2, 3], leader=2)
    assert moved.run().stopped == ""
    assert list(moved.states_within.values()) == ["already", "left-out", "left-out", "left-out"]
    reasons = [result.reason for _, result in sorted(moved.progress.within.results.items())]
    assert reasons == [
        "it was in that directory before its turn",
        "it is in /f: somebody else moved it",
        "somebody else moves it to /g",
        "broker 1 has no replica of it any more",
    ]
    assert "placed" not in moved.cluster.read(), "others' are never touched"


def test_a_directory_that_is_offline_leaves_out_what_goes_there(moved: Moved) -> None:
    relieve(moved)
    moved.cluster.set(offline=["1/e"])
    assert moved.run().stopped == ""
    assert set(moved.states_within.values()) == {"left-out"}
    assert {one.reason for one in moved.progress.within.results.values()} == {"log directory /e is offline"}
    assert moved.states == {4: "done"}


def test_a_directory_that_fails_meanwhile_is_named(moved: Moved) -> None:
    relieve(moved)

    def fail(what: str) -> None:
        if what == "after the directories":
            moved.cluster.set(offline=["1/e"], future={})

    moved.cluster.point = fail
    moved.run()
    outcomes = {str(one.outcome): one.reason for one in moved.progress.within.results.values()}
    assert outcomes == {"failed": "log directory /e is offline", "left-out": "log directory /e is offline"}


def test_a_broker_that_is_down_is_named_and_its_replicas_go_on_when_it_is_back(moved: Moved) -> None:
    relieve(moved)

    def kill(what: str) -> None:
        if what == "after the directories":
            moved.cluster.set(dead=[1])

    moved.cluster.point = kill
    found = moved.run(replace(THROTTLED, poll=1.0, max_wait=30.0, clock=PlayedClock()))
    assert "orders-0 on broker 1: broker 1 is down" in found.stopped
    assert len(found.in_flight) == 2
    assert moved.progress.owes, "what is in flight stays throttled"
    moved.cluster.point = lambda _: None
    moved.cluster.set(dead=[])
    assert moved.run(THROTTLED).stopped == ""
    assert (moved.cluster.where, moved.cluster.read()["own"]) == (MOVED, {})
    asked = [one for one in moved.cluster.read()["placed"] if one[0] == 0]
    assert asked == [[0, 1, "/e"]], "what is in flight is not asked for again"


def test_a_request_that_was_lost_is_sent_again_by_the_next_run(moved: Moved) -> None:
    relieve(moved)

    def kill(what: str) -> None:
        if what == "before the directories":
            raise KeyboardInterrupt

    moved.cluster.point = kill
    with pytest.raises(KeyboardInterrupt):
        moved.run()
    assert sorted(moved.states_within.values()) == ["pending", "pending", "under-way", "under-way"]
    moved.cluster.point = lambda _: None
    assert moved.run().stopped == ""
    assert moved.cluster.where == MOVED


def test_a_request_that_was_not_answered_may_show_later(moved: Moved) -> None:
    relieve(moved)
    place, snapshot = moved.cluster.place, moved.cluster.snapshot
    late: list[dict[tuple[str, int, int], str]] = []
    looks = [0]

    def silent(directories: dict[tuple[str, int, int], str]) -> dict[tuple[str, int, int], DirectoryResult]:
        late.append(directories)
        return {key: DirectoryResult(error="unanswered") for key in directories}

    def looking() -> Any:
        looks[0] += 1
        if looks[0] % 30 == 0 and late:  # longer than what looks changed by somebody else stays so
            place(late.pop())
        return snapshot()

    moved.cluster.place, moved.cluster.snapshot = silent, looking  # type: ignore[method-assign, assignment]
    assert moved.run(replace(OPTIONS, poll=0.005)).stopped == ""
    assert (moved.cluster.where, set(moved.states_within.values())) == (MOVED, {"done"})


def test_a_copy_that_comes_nearer_is_waited_for(moved: Moved) -> None:
    relieve(moved)
    clock = PlayedClock()
    moved.cluster.clock = clock
    assert moved.run(replace(OPTIONS, poll=60.0, max_wait=100.0, clock=clock)).stopped == ""
    assert moved.cluster.where == MOVED


def test_a_partition_that_somebody_reassigns_waits(moved: Moved) -> None:
    relieve(moved)
    moved.cluster.change(0, adding=[5], replicas=[2, 1, 5, 3], removing=[3], hangs=True)
    found = moved.run(replace(OPTIONS, poll=1.0, max_wait=30.0, clock=PlayedClock()))
    assert "orders-0 on broker 1: its partition is being reassigned" in found.stopped
    assert sorted(moved.states_within.values()) == ["done", "done", "done", "pending"]
    moved.cluster.change(0, hangs=False)
    assert moved.run().stopped == ""
    assert moved.cluster.where == MOVED


def test_nothing_changes_its_directory_without_its_throttle(moved: Moved) -> None:
    relieve(moved)
    set_rates = moved.cluster.set_rates

    def refused(rates: dict[tuple[int, str], int | None]) -> dict[tuple[int, str], SettingResult]:
        made = set_rates({key: rate for key, rate in rates.items() if key[1] != DIRECTORY_RATE})
        failed = {key: SettingResult(asked, "INVALID_CONFIG", "why") for key in rates if key[1] == DIRECTORY_RATE}
        return {**made, **failed}

    asked = SettingChange(EntityType.BROKER, "1", DIRECTORY_RATE, Operation.SET, str(RATE))
    moved.cluster.set_rates = refused  # type: ignore[method-assign, assignment]
    found = moved.run(replace(THROTTLED, poll=1.0, max_wait=30.0, clock=PlayedClock()))
    assert "orders-0 on broker 1: its throttle cannot be set: INVALID_CONFIG: why" in found.stopped
    assert (moved.states, set(moved.states_within.values())) == ({4: "done"}, {"pending"})
    assert "placed" not in moved.cluster.read()


def test_a_replica_that_left_right_before_the_request_is_left_out(moved: Moved) -> None:
    relieve(moved)

    def leave(what: str) -> None:
        if what == "before the directories":
            moved.cluster.change(0, replicas=[2, 3], isr=[2, 3])

    moved.cluster.point = leave
    assert moved.run().stopped == ""
    assert moved.states_within == {(0, 1): "left-out", (1, 1): "done", (2, 1): "done", (3, 1): "done"}


def test_credentials_that_may_not_stop_the_run_and_nothing_is_under_way(moved: Moved) -> None:
    relieve(moved, denied=True)
    assert "log directories cannot be changed" in moved.run(THROTTLED).stopped
    assert set(moved.states_within.values()) == {"pending"}
    assert moved.cluster.read()["own"] == {}


def test_a_partition_is_not_reassigned_while_a_replica_of_it_changes_its_directory(moved: Moved) -> None:
    moved.cluster.start((1, 2, 3))
    moved.make({0: (1, 2, 4)}, None, [(0, 1)])
    seen = []

    def look(what: str) -> None:
        if what == "before the reassignment":
            seen.append(moved.cluster.read().get("future"))

    moved.cluster.point = look
    assert moved.run().stopped == ""
    assert (seen, moved.cluster.where, moved.cluster.replicas) == ([{}], {"0/1": "/e"}, [(1, 2, 4)])


def test_a_plan_that_is_being_carried_out_by_somebody_else_is_refused(moved: Moved) -> None:
    relieve(moved)
    moved.cluster.set(future={"0/1": {"path": "/e", "looks": -1000}})
    state = look_at_replica_plan(moved.path, moved.cluster)
    assert state.snapshot is not None
    with pytest.raises(ChangeRefusedError, match="orders-0"):
        refuse_second_runner(state.plan, state.progress, state.snapshot, state.within)


def test_a_copy_that_comes_goes_to_its_directory_and_is_named_where_it_does_not(moved: Moved) -> None:
    for forgets in (False, True):
        moved.cluster.start((1, 2, 3))
        targets = {("orders", 0): (1, 2, 4)}
        request = PlanRequest(targets, {(("orders", 0), 4): "/e"})
        plan, _ = plan_replicas(moved.cluster.snapshot(), request, "2026-03-01T12:00:00+00:00")
        moved.path = moved.path.with_name(f"{forgets}.json")
        moved.digest = write_replica_plan(plan, moved.path)

        def restart(what: str, forgets: bool = forgets) -> None:
            if forgets and what == "before the reassignment":
                moved.cluster.set(where={})

        moved.cluster.point = restart
        found = moved.run()
        assert moved.states == {0: "done"}
        told = ("broker 4 has put orders-0 into /d, not into /e",)
        assert (found.remarks, moved.cluster.where) == ((told, {}) if forgets else ((), {"0/4": "/e"}))


def test_nothing_more_begins_after_a_stop_and_the_rate_goes_back(moved: Moved) -> None:
    relieve(moved)
    found = moved.run(replace(THROTTLED, stopping=lambda: "future" in moved.cluster.read()))
    assert found.stopped == "2 moves not begun: stopped by the user"
    assert sorted(moved.states_within.values()) == ["done", "done", "pending", "pending"]
    assert moved.cluster.read()["own"] == {}


def test_a_rate_that_is_asked_for_holds_for_directories_too(moved: Moved) -> None:
    relieve(moved)
    asked = iter((None, RateRequest("id-1", 7_000_000)))
    seen: set[str] = set()

    def look(what: str) -> None:
        if what == "after the rates":
            seen.update(moved.cluster.read()["own"].items())

    moved.cluster.point = look
    assert moved.run(replace(OPTIONS, asked_rate=lambda: next(asked, None))).stopped == ""
    assert (f"1/{DIRECTORY_RATE}", "7000000") in seen
    assert moved.cluster.read()["own"] == {}


def test_a_copy_that_comes_no_nearer_is_named(moved: Moved) -> None:
    """Its copy stands still at 0 bytes while 900 a second are written to it."""
    moved.cluster.start((2, 1, 3), written={"0": 900.0})
    moved.make({}, None, [(0, 1)])
    moved.cluster.change(0, hangs=True)
    clock = PlayedClock()
    moved.cluster.clock = clock
    found = moved.run(replace(THROTTLED, throttle=500, poll=10.0, max_wait=100.0, clock=clock))
    (text,) = (one for one in found.remarks if "no nearer" in one)
    assert text.startswith("the copy of orders-0 has come no nearer for 6")
    assert text.endswith("900 B/s are written to it, the throttle is 500 B/s for each broker")
    assert "a throttle below what is written, or a slow disk" in found.stopped


def test_the_way_back_is_the_directory_before(moved: Moved, run: Any) -> None:
    relieve(moved)
    assert run(moves_apply).exit_code is ExitCode.OK
    found = run(moves_rollback)
    assert (found.exit_code, found.rollback_counts) == (ExitCode.OK, {"done": 5})
    assert (moved.cluster.where, moved.cluster.replicas) == ({}, [(2, 1, 3)] * 5)
    assert moved.cluster.read()["own"] == {}


def in_flight(moved: Moved, run: Any) -> None:
    """One replica in its new directory, one on its way."""
    relieve(moved, MoveLimits(moves_per_directory=1))
    moved.cluster.change(1, hangs=True)
    assert run(moves_apply).exit_code is ExitCode.CHANGE_REFUSED
    assert moved.cluster.where == {"0/1": "/e"}
    assert list(moved.cluster.read()["future"]) == ["1/1"]


def test_status_tells_what_the_copy_lacks(moved: Moved, run: Any) -> None:
    in_flight(moved, run)
    found = moves_status(HANDLE, moved.path)
    states = [(row.partition, row.state, row.bytes_left, row.offset_lag) for row in found.rows]
    assert states == [
        (0, "done", None, None), (1, "under-way", 0, 1000), (2, "pending", None, None), (3, "pending", None, None),
        (4, "done", None, None),
    ]  # fmt: skip
    assert [row.directories for row in found.rows] == [["1:/e"]] * 4 + [[]]
    assert found.state.seconds_left(1000) == 2.0, "two of 1000 bytes are left to the same broker"
    assert found.exit_code is ExitCode.FINDINGS


def test_a_cancellation_lets_what_is_in_flight_finish_or_takes_it_back(moved: Moved, run: Any) -> None:
    in_flight(moved, run)
    found = run(moves_cancel, in_flight=True)
    assert (found.exit_code, found.counts) == (ExitCode.OK, {"done": 2, "cancelled": 1, "dropped": 2})
    assert (moved.cluster.where, moved.cluster.read()["future"]) == ({"0/1": "/e"}, {})
    assert moved.cluster.read()["own"] == {}
    assert not found.is_left


def test_a_cancellation_follows_what_is_in_flight(moved: Moved, run: Any) -> None:
    in_flight(moved, run)
    moved.cluster.change(1, hangs=False)
    found = run(moves_cancel)
    assert (found.exit_code, found.counts) == (ExitCode.OK, {"done": 3, "dropped": 2})
    assert moved.cluster.where == {"0/1": "/e", "1/1": "/e"}


def test_a_broker_that_is_down_keeps_a_cancellation_waiting(moved: Moved, run: Any) -> None:
    in_flight(moved, run)
    moved.cluster.set(dead=[1])
    assert run(moves_cancel, in_flight=True).exit_code is ExitCode.CHANGE_REFUSED
    assert moved.states_within[1, 1] == "under-way"
    moved.cluster.set(dead=[])
    assert run(moves_resume).exit_code is ExitCode.OK
    assert (moved.states_within[1, 1], moved.cluster.read()["future"]) == ("cancelled", {})
    assert moved.cluster.read()["own"] == {}


def test_a_rollback_takes_back_what_is_in_flight_first(moved: Moved, run: Any) -> None:
    in_flight(moved, run)
    found = run(moves_rollback)
    assert found.exit_code is ExitCode.OK
    assert (moved.cluster.where, moved.cluster.read()["future"]) == ({}, {})
    assert list(moved.states_within.values()) == ["done", "cancelled", "dropped", "dropped"]


def test_a_plan_without_them_is_written_as_before(moved: Moved, tmp_path: Path) -> None:
    moved.cluster.start((1, 2, 3))
    moved.make({0: (1, 2, 4)})
    text = moved.path.read_text()
    assert "changed_directories" not in text
    assert "per_directory" not in text
    assert read_replica_plan(moved.path)[0].limits == MoveLimits()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"broker": 5}, "broker 5 has no replica"),
        ({"destination": "/d"}, "does not change"),
        ({"size": -1}, "size is below 0"),
    ],
)
def test_nonsense_is_refused(moved: Moved, fields: dict[str, Any], reason: str) -> None:
    relieve(moved)
    document = json.loads(moved.path.read_text())
    del document["digest"]
    document["changed_directories"][0] |= fields
    write_document(document, moved.path, replace=True)
    with pytest.raises(InputError, match=reason):
        read_replica_plan(moved.path)


def test_a_replica_that_changes_twice_is_refused(moved: Moved) -> None:
    relieve(moved)
    document = json.loads(moved.path.read_text())
    del document["digest"]
    document["changed_directories"].append(document["changed_directories"][0])
    write_document(document, moved.path, replace=True)
    with pytest.raises(InputError, match="changes its log directory twice"):
        read_replica_plan(moved.path)
