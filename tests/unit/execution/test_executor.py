"""Course of a run of a plan, and its stops. The cluster is on paper; tests/kafka runs against real ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kreplica.errors import ChangeRefusedError, UnreachableError
from kreplica.execution.elections import apply
from kreplica.execution.executor import Pace, Session
from kreplica.execution.journal_file import journal_path
from kreplica.execution.plan import plan_leaders
from kreplica.execution.plan_journal import Phase
from kreplica.execution.progress import State
from kreplica.planner.preferred_leaders import plan_elections

Make = Callable[..., Any]


def instead_of_sleeping(monkeypatch: pytest.MonkeyPatch, do: Callable[[float], object]) -> None:
    """Has the executor alone call ``do`` instead of sleeping: threads of others may be at work in this process."""
    clock = SimpleNamespace(sleep=do, monotonic=time.monotonic)
    monkeypatch.setattr("kreplica.execution.executor.time", clock)


def leaders(made: Any) -> dict[int, int]:
    return {row["partition"]: row["leader"] for row in made.cluster.rows()}


def test_batches_are_elected_in_turn_with_a_pause_between(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0, 1, 3, 4, 5)
    slept: list[float] = []
    instead_of_sleeping(monkeypatch, slept.append)
    assert made.run(apply, Pace(pause=7)) == ""
    assert [row["leader"] == row["replicas"][0] for row in made.cluster.rows()] == [True] * 6
    assert slept == [7, 7]
    assert [said for said in made.said if "batch" in said] == [
        "batch 1 of 3: 2 of 2 as planned",
        "batch 2 of 3: 2 of 2 as planned",
        "batch 3 of 3: 1 of 1 as planned",
    ]


def test_steps_can_be_split_but_not_joined(paper: Make) -> None:
    made = paper(0, 1, 3, 4, 5)
    made.run(apply, Pace(batch=1))
    assert len(made.said) == 5
    assert made.progress.phase is Phase.APPLIED


def test_drift_stops_the_run_before_that_batch(paper: Make) -> None:
    made = paper(0, 1, batch=1)
    first, second = (change.partition for change in made.plan.changes)
    made.cluster.change(second, leader_epoch=9)
    reason = made.run(apply)
    assert (
        reason
        == f"batch 2 of 2: the cluster has drifted from the plan, orders-{second}: leader epoch changed from 5 to 9"
    )
    assert leaders(made)[first] == made.plan.changes[0].to_leader
    assert leaders(made)[second] == made.plan.changes[1].from_leader
    assert made.progress.apply == {("orders", first): State.DONE, ("orders", second): State.PENDING}
    assert made.progress.message == reason


def test_trouble_after_a_batch_stops_the_run(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0, 1, batch=1)
    elect = made.cluster.elect_preferred

    def harmful(*arguments: Any) -> Any:
        found = elect(*arguments)
        made.cluster.change(5, isr=[3])  # a bystander loses its followers
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", harmful)
    reason = made.run(apply)
    assert reason == "after batch 1 of 2: the cluster got worse, 1 partition is under min ISR now (orders-5)"
    assert sorted(made.progress.apply.values()) == [State.DONE, State.PENDING]


def test_nobody_pauses_after_the_cluster_got_worse(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0, 1, batch=1)
    elect = made.cluster.elect_preferred

    def harmful(*arguments: Any) -> Any:
        found = elect(*arguments)
        made.cluster.change(5, isr=[3])
        return found

    slept: list[float] = []
    instead_of_sleeping(monkeypatch, slept.append)
    monkeypatch.setattr("kreplica.control.elect.elect_preferred", harmful)
    assert "the cluster got worse" in made.run(apply, Pace(pause=600))
    assert 600 not in slept


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"leader_epoch": 9},
            "the cluster has drifted from the plan, orders-{second}: leader epoch changed from 5 to 9",
        ),
        ({"leader": -1}, "the cluster got worse, 1 partition has no live leader now (orders-{second})"),
    ],
    ids=str,
)
def test_what_happens_during_a_pause_is_seen(
    paper: Make, monkeypatch: pytest.MonkeyPatch, changed: dict[str, int], said: str
) -> None:
    made = paper(0, 1, batch=1)
    second = made.plan.changes[1].partition

    def meanwhile(seconds: float) -> None:
        if seconds == 600:
            made.cluster.change(second, **changed)

    instead_of_sleeping(monkeypatch, meanwhile)
    assert made.run(apply, Pace(pause=600)).endswith(said.format(second=second))
    assert made.cluster.row(second)["leader"] != made.plan.changes[1].to_leader


def test_trouble_that_was_there_before_stops_nothing(paper: Make) -> None:
    made = paper(0, 1)
    made.cluster.change(5, isr=[3])
    assert made.run(apply) == ""


def test_a_partition_without_a_leader_is_worse_than_before(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0, batch=1)
    elect = made.cluster.elect_preferred

    def harmful(*arguments: Any) -> Any:
        found = elect(*arguments)
        for number in (2, 4):
            made.cluster.change(number, leader=-1)
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", harmful)
    assert made.run(apply).endswith("2 partitions have no live leader now (orders-2, orders-4)")


def test_an_election_that_fails_stops_nothing_and_is_reported(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0, 1, batch=1)
    first = made.plan.changes[0].partition
    elect = made.cluster.elect_preferred

    def fall_back(handle: Any, partitions: Any) -> Any:
        found = elect(handle, partitions)
        if partitions == [("orders", first)]:  # the controller answers "elected", and another leads
            made.cluster.change(first, leader=made.plan.changes[0].from_leader)
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", fall_back)
    assert made.run(apply) == ""
    assert made.progress.phase is Phase.APPLIED
    assert list(made.progress.apply.values()) == [State.FAILED, State.DONE]


def test_a_leader_found_in_place_is_not_elected_and_not_this_plans_doing(paper: Make) -> None:
    made = paper(0, 1)
    change = made.plan.changes[0]
    made.cluster.change(change.partition, leader=change.to_leader, leader_epoch=6)
    assert made.run(apply) == ""
    assert made.progress.apply[change.key] is State.ALREADY
    assert made.cluster.row(change.partition)["leader_epoch"] == 6
    assert sorted(made.progress.apply.values()) == [State.ALREADY, State.DONE]


def test_a_plan_of_another_cluster_is_refused_and_nothing_noted(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0)
    other = replace(made.cluster.read_snapshot(), cluster_id="another")
    monkeypatch.setattr("kreplica.execution.executor.read_snapshot", lambda *_: other)
    with pytest.raises(
        ChangeRefusedError, match=r"the plan belongs to another cluster; made for cluster-id .* another"
    ):
        made.run(apply)
    assert made.progress.phase is Phase.NEW


def test_a_cluster_that_falls_silent_stops_the_run_and_leaves_it_under_way(
    paper: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = paper(0, 1, batch=1)

    def silent(*_: Any) -> Any:
        raise UnreachableError("no answer to the elections")

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", silent)
    assert made.run(apply) == "batch 1 of 2: no answer to the elections"
    assert list(made.progress.apply.values()) == [State.UNDER_WAY, State.PENDING]
    monkeypatch.setattr("kreplica.control.elect.elect_preferred", made.cluster.elect_preferred)
    assert made.run(apply) == ""
    assert set(made.progress.apply.values()) == {State.DONE}


def test_ctrl_c_is_noted(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0, 1, batch=1)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    instead_of_sleeping(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        made.run(apply, Pace(pause=1))
    assert (made.progress.phase, made.progress.message) == (Phase.APPLYING, "interrupted")
    assert list(made.progress.apply.values()) == [State.DONE, State.PENDING]


def test_a_read_only_handle_is_refused_before_anything(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = paper(0)

    def read_only(session: Session) -> str:
        return apply(replace(session, handle=replace(session.handle, read_only=True)))

    with pytest.raises(ChangeRefusedError, match="read_only"):
        made.run(read_only)
    assert made.progress.phase is Phase.NEW
    assert leaders(made)[0] == 2


def test_no_journal_is_made_by_looking(paper: Make) -> None:
    made = paper(0)
    assert made.progress.phase is Phase.NEW
    assert not journal_path(made.path).exists()


def test_the_plan_names_what_it_was_made_from(paper: Make) -> None:
    made = paper(0, 4)
    snapshot = made.cluster.read_snapshot()
    plan = plan_leaders(snapshot, plan_elections(snapshot), "now", 2)
    assert {facts.key for facts in plan.made_from} == {("orders", 0), ("orders", 4)}
    facts = plan.facts["orders", 0]
    assert (facts.leader, facts.leader_epoch, facts.replicas) == (2, 5, (1, 2, 3))
    (step,), (back,) = plan.steps, plan.inverse
    assert [(change.from_leader, change.to_leader) for change in step.changes] == [(2, 1), (3, 2)]
    assert [(change.from_leader, change.to_leader) for change in back.changes] == [(1, 2), (2, 3)]
