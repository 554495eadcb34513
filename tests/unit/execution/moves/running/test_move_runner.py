"""Runs of moves against a cluster on paper: limits, drift, trouble, stops, and throttles as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from clusters.played_clock import PlayedClock
from plans.moved import OPTIONS, Moved

from kreplica.errors import ChangeRefusedError
from kreplica.execution.moves.plan_state import look_at_replica_plan
from kreplica.execution.moves.plans.plan_file import write_replica_plan
from kreplica.execution.moves.running import runner
from kreplica.execution.moves.running.runner import refuse_second_runner, run_moves
from kreplica.execution.moves.taking_back import take_back
from kreplica.execution.plan_journal import Operation, Phase
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.moves.order import MoveLimits

LEADER, FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"
THROTTLED = replace(OPTIONS, throttle=5_000_000)
DRAIN = dict.fromkeys(range(6), (1, 2, 4))


def drain(moved: Moved, limits: MoveLimits | None = None, **more: Any) -> None:
    moved.cluster.start(*[(1, 2, 3)] * 6, **more)
    moved.make(DRAIN, limits)


def test_every_partition_is_moved_within_the_limits(moved: Moved) -> None:
    drain(moved, MoveLimits(moves_per_broker=2))
    assert moved.run().stopped == ""
    assert moved.cluster.replicas == [(1, 2, 4)] * 6
    assert moved.cluster.read()["worst"] == 2
    assert set(moved.states.values()) == {"done"}
    assert moved.progress.phase is Phase.APPLIED


def test_a_partition_that_changed_is_left_out_and_the_run_goes_on(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=2))
    moved.cluster.change(1, replicas=[1, 2, 5], isr=[1, 2, 5])
    moved.cluster.change(2, replicas=[1, 2, 4], isr=[1, 2, 4])
    moved.cluster.change(3, adding=[5], replicas=[1, 2, 5, 3], removing=[3], hangs=True)
    assert moved.run().stopped == ""
    assert moved.states == {0: "done", 1: "left-out", 2: "already", 3: "left-out", 4: "done", 5: "done"}
    reasons = {key[1]: result.reason for key, result in moved.progress.results.items() if result.reason}
    assert reasons == {
        1: "its replicas are 1,2,5: somebody else changed them",
        2: "it had its new replicas before its turn",
        3: "another reassignment is going on (adding 5, removing 3)",
    }
    assert all(number not in (1, 2, 3) for number, _ in moved.cluster.read()["asked"]), "others' are never touched"


def test_a_run_waits_by_the_clock_that_it_is_given(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SETTLE_SECONDS", 10.0)
    drain(moved)
    moved.cluster.change(0, adding=[5], replicas=[1, 2, 5, 3], removing=[3], hangs=True)
    clock = PlayedClock()
    stopped = moved.run(replace(OPTIONS, poll=60.0, max_wait=86_400.0, clock=clock)).stopped
    assert stopped == "", "what somebody else moves is left out once it has stayed so"
    assert moved.states[0] == "left-out"
    assert clock.seconds >= 60, "a look a minute"


def test_a_change_between_the_look_and_the_request_is_noticed_by_the_request(moved: Moved) -> None:
    drain(moved)

    def interfere(what: str) -> None:
        if what == "before the reassignment":
            moved.cluster.change(0, replicas=[3, 2, 1])

    moved.cluster.point = interfere
    moved.run()
    assert (moved.states[0], moved.states[1]) == ("left-out", "done")
    assert moved.cluster.replicas[0] == (3, 2, 1)


def test_a_moment_between_two_answers_is_no_drift(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller has ended a move, and the broker that is asked still tells the merged replicas."""
    monkeypatch.setattr(runner, "SETTLE_SECONDS", 5.0)
    drain(moved)
    snapshot, looks = moved.cluster.snapshot, [0]

    def torn() -> Any:
        looks[0] += 1
        found = snapshot()
        if looks[0] in (3, 4):
            rows = [
                {**found.partitions.row(number), "replicas": [1, 2, 4, 3], "adding": [], "removing": []}
                for number in range(6)
            ]
            found = replace(found, partitions=Table.from_rows(PARTITIONS, rows))
        return found

    moved.cluster.snapshot = torn  # type: ignore[method-assign]
    assert moved.run(replace(OPTIONS, max_wait=60.0)).stopped == ""
    assert set(moved.states.values()) == {"done"}


def test_nothing_begins_while_the_cluster_is_worse(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=1))
    asked: list[int] = []

    def break_it(what: str) -> None:
        if what == "after the reassignment":
            asked.append(1)
            moved.cluster.change(5, leader=-1)

    moved.cluster.point = break_it
    stopped = moved.run(replace(OPTIONS, max_wait=0.2)).stopped
    assert stopped == "the cluster got worse, 1 partition has no live leader now (orders-5)"
    assert (len(asked), moved.states[0]) == (1, "done"), "what was in flight ended"
    moved.cluster.point = lambda _: None
    moved.cluster.change(5, leader=1)
    assert moved.run().stopped == ""
    assert moved.cluster.replicas == [(1, 2, 4)] * 6


def test_a_destination_that_died_stops_the_run_by_name_and_a_resume_goes_on(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=1))
    moved.cluster.point = lambda what: moved.cluster.set(dead=[4]) if what == "after the reassignment" else None
    found = moved.run(replace(THROTTLED, max_wait=0.2))
    assert "orders-0: broker 4, which gets a replica, is down" in found.stopped
    assert found.in_flight == (("orders", 0),)
    assert "throttles stay" in found.remarks[0]
    own, _, lists = moved.cluster.throttles_now
    assert own
    assert lists == {f"{LEADER}.replicas": "0:1,0:2,0:3", f"{FOLLOWER}.replicas": "0:4"}, "it is still moving"
    moved.cluster.point = lambda _: None
    moved.cluster.set(dead=[])
    assert moved.run(THROTTLED) == runner.MoveRun()
    assert moved.cluster.replicas == [(1, 2, 4)] * 6
    assert moved.cluster.throttles_now == ({}, {}, {})


def test_a_stop_lets_what_is_in_flight_finish_and_puts_the_throttles_back(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=2))
    begun: list[str] = []
    moved.cluster.point = lambda what: begun.append(what) if what == "after the reassignment" else None
    found = moved.run(replace(THROTTLED, stopping=lambda: bool(begun)))
    assert found == runner.MoveRun("4 moves not begun: stopped by the user")
    assert sorted(moved.states.values()) == ["done"] * 2 + ["pending"] * 4
    assert moved.cluster.throttles_now == ({}, {}, {})


def test_a_second_runner_is_refused(moved: Moved) -> None:
    drain(moved)
    moved.cluster.change(2, adding=[4], removing=[3], replicas=[1, 2, 4, 3], hangs=True)
    with pytest.raises(ChangeRefusedError, match=r"in flight that its journal does not know; orders-2"):
        refuse_second_runner(moved.plan, moved.progress, moved.cluster.snapshot(), {})


def test_a_plan_of_another_cluster_is_refused(moved: Moved) -> None:
    drain(moved)
    snapshot = moved.cluster.snapshot
    moved.cluster.snapshot = lambda: replace(snapshot(), cluster_id="other")  # type: ignore[method-assign]
    with pytest.raises(ChangeRefusedError, match="the plan belongs to another cluster"):
        moved.run()


OPERATORS = {
    "nothing": {},
    "own": {"own": {f"1/{LEADER}.rate": "7", f"4/{FOLLOWER}.rate": "8", "5/x": "9"}},
    "default": {"default": {f"{LEADER}.rate": "70", f"{FOLLOWER}.rate": "80"}},
    "both": {"own": {f"4/{FOLLOWER}.rate": "8"}, "default": {f"{FOLLOWER}.rate": "80"}},
    "entries": {"lists": {f"{LEADER}.replicas": "7:1,0:2", f"{FOLLOWER}.replicas": "3:4,1:1"}},
    "every": {"lists": {f"{LEADER}.replicas": "*", f"{FOLLOWER}.replicas": "*"}},
}


@pytest.mark.parametrize("before", OPERATORS.values(), ids=OPERATORS)
def test_throttles_hold_while_anything_moves_and_are_then_what_they_were(moved: Moved, before: dict[str, Any]) -> None:
    drain(moved, MoveLimits(moves=2), **before)
    was = moved.cluster.throttles_now
    seen: list[Any] = []
    moved.cluster.point = lambda what: (
        seen.append(moved.cluster.throttles_now) if what == "before the reassignment" else None
    )
    assert moved.run(THROTTLED) == runner.MoveRun()
    assert moved.cluster.throttles_now == was
    for own, _, lists in seen:
        assert own[f"4/{FOLLOWER}.rate"] == own[f"1/{LEADER}.rate"] == "5000000"
        added = {*lists[f"{FOLLOWER}.replicas"].split(",")} - {*was[2].get(f"{FOLLOWER}.replicas", "").split(",")}
        assert len(added) <= 2, "only what is in flight is listed"
    assert len(seen) == 3


def test_a_value_that_somebody_changed_is_left_and_told(moved: Moved) -> None:
    drain(moved)
    moved.cluster.point = lambda what: (
        moved.cluster.set(own={**moved.cluster.read()["own"], f"4/{FOLLOWER}.rate": "99"})
        if what == "after the reassignment"
        else None
    )
    found = moved.run(THROTTLED)
    assert found.remarks == (f"{FOLLOWER}.rate of broker 4 is 99: somebody else changed it, it is left",)
    assert moved.cluster.throttles_now == ({f"4/{FOLLOWER}.rate": "99"}, {}, {})
    assert not moved.progress.owed


def test_a_throttle_that_vanishes_stops_new_moves(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=1))
    moved.cluster.point = lambda what: moved.cluster.set(own={}) if what == "after the reassignment" else None
    found = moved.run(THROTTLED)
    assert found.stopped == "somebody took the throttle of broker 1 away"
    assert (moved.cluster.read()["worst"], sorted(moved.states.values())) == (1, ["done"] + ["pending"] * 5)


def test_a_dead_source_needs_no_throttle(moved: Moved) -> None:
    drain(moved, dead=[3])
    for number in range(6):
        moved.cluster.change(number, isr=[1, 2])
    assert moved.run(THROTTLED) == runner.MoveRun()
    assert moved.cluster.replicas == [(1, 2, 4)] * 6


def test_what_a_dead_broker_is_owed_stays_in_the_journal_until_it_is_back(moved: Moved) -> None:
    drain(moved)
    moved.cluster.point = lambda what: moved.cluster.set(dead=[3]) if what == "after the reassignment" else None
    found = moved.run(THROTTLED)
    assert found.remarks == ("broker 3 is down: its throttle is put back by resume, when it is back",)
    assert list(moved.progress.owed.rates) == [(3, f"{LEADER}.rate")]
    moved.cluster.set(dead=[])
    moved.run(THROTTLED)
    assert moved.cluster.throttles_now == ({}, {}, {})
    assert not moved.progress.owed


def test_what_a_dead_broker_is_owed_is_paid_by_the_controllers_where_they_are_asked(moved: Moved) -> None:
    drain(moved)
    moved.cluster.point = lambda what: moved.cluster.set(dead=[3]) if what == "after the reassignment" else None
    moved.run(THROTTLED)
    paying = replace(THROTTLED, through_controllers=True)
    refused = f"{LEADER}.rate of broker 3 is not put back: unanswered"
    assert moved.run(paying).remarks == (refused,), "the controllers do not answer"
    assert moved.progress.owed
    moved.cluster.set(controllers=True)
    assert moved.run(paying) == runner.MoveRun()
    assert moved.cluster.throttles_now == ({}, {}, {})
    assert not moved.progress.owed


def test_a_disk_with_room_for_two_copies_has_two_in_flight(moved: Moved) -> None:
    drain(moved)
    sized = tuple(replace(one, size=1000) for one in moved.plan.changes)
    plan = replace(moved.plan, changes=sized, inverse=tuple(one.inverse() for one in reversed(sized)))
    moved.digest = write_replica_plan(plan, moved.path, replace=True)
    moved.cluster.set(room={"4": 2500})
    assert moved.run().stopped == ""
    assert moved.cluster.read()["worst"] == 2


def taken_back(moved: Moved) -> Any:
    def work(session: Any) -> Any:
        return take_back(session)

    return moved.in_session(work)


def begun(moved: Moved, *numbers: int) -> None:
    """A run that stopped with moves in flight."""
    for number in numbers:
        moved.cluster.change(number, hangs=True)
    assert moved.run(replace(THROTTLED, max_wait=0.1)).in_flight == tuple(("orders", number) for number in numbers)


def test_a_move_in_flight_is_taken_back_in_its_old_order(moved: Moved) -> None:
    moved.cluster.start((4, 2, 3), (1, 2, 3))
    moved.make({0: (3, 1, 4), 1: (1, 2, 4)}, MoveLimits())
    begun(moved, 0, 1)
    assert moved.cluster.replicas[0] == (3, 1, 4, 2)
    found = taken_back(moved)
    assert (sorted(found.back), found.left) == ([("orders", 0), ("orders", 1)], {})
    assert moved.cluster.replicas == [(4, 2, 3), (1, 2, 3)]
    assert set(moved.states.values()) == {"cancelled"}
    asked = [target for number, target in moved.cluster.read()["asked"] if number == 0]
    assert asked == [[3, 1, 4], None, [4, 2, 3]], "cancelled before the old order is asked for"


@pytest.mark.parametrize(
    ("zookeeper", "reason"), [(True, "broker 3 is down: the copy stays on the disk there"), (False, "")]
)
def test_a_copy_that_leaves_a_dead_broker_stays_there_in_zookeeper_mode(
    moved: Moved, zookeeper: bool, reason: str
) -> None:
    moved.cluster.start((1, 2, 3), zookeeper=zookeeper, dead=[3])
    moved.cluster.change(0, isr=[1, 2])
    moved.make({0: (1, 2, 4)})
    assert moved.run().stopped == ""
    assert moved.progress.results["orders", 0].reason == reason


def test_in_zookeeper_mode_a_copy_stays_where_its_broker_is_down(moved: Moved) -> None:
    moved.cluster.start((1, 2, 3), (1, 2, 3), zookeeper=True)
    moved.make({0: (1, 2, 4), 1: (1, 2, 5)})
    moved.cluster.change(1, hangs=True)
    moved.cluster.point = lambda what: moved.cluster.set(dead=[4]) if what == "after the reassignment" else None
    stuck = moved.run(replace(OPTIONS, max_wait=0.1)).stopped
    assert stuck.endswith("a slow disk, or an earlier topic's copy of that name on the disk")
    assert taken_back(moved).left == {}
    reasons = {key[1]: result.reason for key, result in moved.progress.results.items()}
    assert reasons[0] == "taken back in flight; broker 4 is down: the copy stays on the disk there"
    assert reasons[1] == "taken back in flight"


def test_a_move_is_not_taken_back_below_min_isr(moved: Moved) -> None:
    moved.cluster.start((1, 2), (1, 2))
    moved.make({0: (3, 4), 1: (3, 4)})
    begun(moved, 0, 1)
    moved.cluster.change(0, isr=[1, 3], more={"min_isr": 2})
    found = taken_back(moved)
    assert found.left == {
        (
            "orders",
            0,
        ): "of its replicas before only 1 would be in sync where min.insync.replicas is 2: it waits for broker 2"
    }
    assert moved.states == {0: "under-way", 1: "cancelled"}


def test_what_is_in_flight_is_followed_and_nothing_else_begins(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=2))
    begun(moved, 0, 1)
    for number in (0, 1):
        moved.cluster.change(number, hangs=False)

    def work(session: Any) -> Any:
        left = [one for one in session.plan.changes if session.progress.apply[one.key] == "under-way"]
        return run_moves(session, Operation.CANCEL, left)

    assert moved.in_session(work) == runner.MoveRun()
    assert sorted(moved.states.values()) == ["done"] * 2 + ["dropped"] * 4
    assert moved.cluster.throttles_now == ({}, {}, {})


def test_the_time_left_is_that_of_the_broker_with_most_to_copy(moved: Moved) -> None:
    moved.cluster.start((1, 2, 3), (1, 2, 3), (2, 1, 3))
    plan = moved.make({0: (1, 2, 4), 1: (1, 2, 5), 2: (2, 4, 5)})
    sized = tuple(replace(one, size=600 * (one.partition + 1)) for one in plan.changes)
    plan = replace(plan, changes=sized, inverse=tuple(one.inverse() for one in reversed(sized)))
    moved.digest = write_replica_plan(plan, moved.path, replace=True)
    state = look_at_replica_plan(moved.path, moved.cluster)
    # Broker 1 sends 600 and 1200, broker 2 sends 1800 twice; 4 gets 600 and 1800, 5 gets 1200 and 1800.
    assert (state.seconds_left(100), state.seconds_left()) == (36.0, None)
    begun(moved, 0, 1, 2)
    state = look_at_replica_plan(moved.path, moved.cluster)
    assert sum(state.bytes_left.values()) == 0, "the cluster on paper tells no size of its leaders"
    assert state.seconds_left() == 0


def test_a_resume_sets_its_rate_for_what_is_in_flight(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=1))
    begun(moved, 0)
    moved.cluster.change(0, hangs=False)
    seen: list[Any] = []
    moved.cluster.point = lambda what: (
        seen.append(moved.cluster.throttles_now[0]) if what == "after the rates" else None
    )
    moved.run(replace(THROTTLED, throttle=7_000_000, stopping=lambda: True))
    assert set(seen[0].values()) == {"7000000"}
    assert moved.cluster.throttles_now == ({}, {}, {})


def test_silence_is_waited_out(moved: Moved) -> None:
    drain(moved, MoveLimits(moves=3))
    snapshot, looks = moved.cluster.snapshot, [0]

    def sometimes() -> Any:
        looks[0] += 1
        moved.cluster.set(silent=looks[0] in (3, 4, 5))
        return snapshot()

    moved.cluster.snapshot = sometimes  # type: ignore[method-assign]
    assert moved.run().stopped == ""


def test_the_margin_of_the_plan_holds_when_it_is_carried_out(moved: Moved) -> None:
    """From three replicas to two: if two brokers failed, nobody could lead; if one did, somebody could."""
    moved.cluster.start((1, 2, 3))
    plan = moved.make({0: (1, 2)})
    assert not any(look_at_replica_plan(moved.path, moved.cluster).waiting.values())
    moved.digest = write_replica_plan(replace(plan, margin=2), moved.path, replace=True)
    (reason,) = look_at_replica_plan(moved.path, moved.cluster).waiting.values()
    assert reason.startswith("afterwards, if brokers 1, 2 failed, nobody could lead it")
    assert moved.run(replace(OPTIONS, max_wait=0.1)).stopped
    assert moved.cluster.replicas == [(1, 2, 3)]
