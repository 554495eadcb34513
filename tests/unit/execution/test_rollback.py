"""The way back: which leaders return, and that every replica order is as it was. The cluster is on paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kreplica.errors import ChangeRefusedError, UnreachableError
from kreplica.execution.elections import apply
from kreplica.execution.plan_journal import Phase
from kreplica.execution.progress import State
from kreplica.execution.rollback import look_back, reordered, rollback, still_to_roll_back

Make = Callable[..., Any]
FACTS = ("leader", "replicas", "isr")


def facts(made: Any) -> list[list[Any]]:
    return [[row[name] for name in FACTS] for row in made.cluster.rows()]


def applied(paper: Make, *numbers: int, **fields: Any) -> tuple[Any, list[list[Any]]]:
    """A plan that was applied, and what the cluster was before."""
    made = paper(*numbers, **fields)
    before = facts(made)
    assert made.run(apply) == ""
    return made, before


def impossible(made: Any) -> dict[int, str]:
    """Why some leaders cannot be brought back."""
    steps = still_to_roll_back(made.plan, made.progress)
    checks = look_back(made.plan, steps, made.cluster.read_snapshot())
    return {key[1]: check.drift for key, check in checks.items() if check.drift}


def test_leaders_are_brought_back_last_step_first_and_orders_stay(paper: Make) -> None:
    made, before = applied(paper, 0, 1, 3, 4, 5)
    assert facts(made) != before
    assert made.run(rollback) == ""
    assert facts(made) == before
    assert made.progress.phase is Phase.ROLLED_BACK
    assert set(made.progress.rollback.values()) == {State.DONE}


def test_no_replica_set_ever_changes(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = applied(paper, 0, 4)
    asked: list[dict[int, list[int]]] = []
    reorder = made.cluster.reorder_replicas

    def watched(handle: Any, orders: Any) -> Any:
        asked.append({number: list(order) for (_, number), order in orders.items()})
        return reorder(handle, orders)  # refuses another set of replicas

    monkeypatch.setattr("kreplica.execution.rollback.reorder_replicas", watched)
    made.run(rollback)
    assert asked == [{0: [2, 1, 3], 4: [3, 2, 1]}, {0: [1, 2, 3], 4: [2, 3, 1]}]


def test_what_others_elected_is_left_alone(paper: Make) -> None:
    made = paper(0, 1)
    made.cluster.change(0, leader=1)
    made.run(apply)
    made.run(rollback)
    assert [row["leader"] for row in made.cluster.rows()][:2] == [1, 3]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"leader": 3}, "broker 3 leads now, not broker 1 as the plan left it: somebody else changed it"),
        ({"leader": -1}, "nobody leads now, not broker 1 as the plan left it: somebody else changed it"),
        ({"isr": [1, 2]}, "broker 3 is not in sync, so that the replica order must not be touched"),
        ({"isr": [1, 3]}, "the replica on broker 2 is not in sync"),
        ({"replicas": [1, 3, 2]}, "replicas changed from 1,2,3 to 1,3,2"),
        ({"adding": [2]}, "a reassignment has begun (adding 2, removing none)"),
        ({"topic_id": "AAAAAAAAAAAAAAAAAAAAAg"}, "topic was deleted and created again"),
    ],
    ids=str,
)
def test_what_cannot_be_brought_back_says_why_and_is_not_touched(
    paper: Make, changed: dict[str, Any], reason: str
) -> None:
    made, before = applied(paper, 0, 1)
    made.cluster.change(0, **changed)
    touched = made.cluster.row(0)
    assert impossible(made)[0].startswith(reason)
    assert made.run(rollback) == ""
    assert made.cluster.row(0) == touched
    assert facts(made)[1] == before[1], "the others are brought back"
    assert ("orders", 0) not in made.progress.rollback


def test_no_leader_cannot_be_brought_back(paper: Make) -> None:
    made, _ = applied(paper, 0, leader=-1)
    assert impossible(made) == {0: "nobody led before: there is no leader to bring back"}


def test_a_half_applied_plan_is_rolled_back_as_far_as_it_came(paper: Make) -> None:
    made = paper(0, 1, batch=1)
    before = facts(made)
    second = made.plan.changes[1].partition
    made.cluster.change(second, leader_epoch=9)
    assert "drifted" in made.run(apply)
    assert made.run(rollback) == ""
    assert facts(made) == before
    assert sorted(made.progress.apply.values()) == [State.DONE, State.DROPPED]


@pytest.mark.parametrize("error", [UnreachableError("no answer"), ChangeRefusedError("refused")], ids=str)
def test_the_order_is_restored_whatever_became_of_the_election(
    paper: Make, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    made, _ = applied(paper, 0)
    after = facts(made)

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", fail)
    assert made.run(rollback) == ""
    assert facts(made) == after, "the plan's leader leads on, the order is as it was"
    assert made.progress.rollback == {("orders", 0): State.FAILED}
    assert str(error) in made.progress.results["orders", 0].error


def test_an_order_that_could_not_be_restored_is_found_and_restored_later(
    paper: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, before = applied(paper, 0)
    calls: list[int] = []
    reorder = made.cluster.reorder_replicas

    def once(handle: Any, orders: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise UnreachableError("no answer")
        return reorder(handle, orders)

    monkeypatch.setattr("kreplica.execution.rollback.reorder_replicas", once)
    made.run(rollback)
    assert made.progress.results["orders", 0].error == "the replica order is not restored (no answer)"
    assert made.run(rollback) == "orders-0: the replica order is not restored (no answer)", "nothing else is begun"
    assert made.progress.message == "orders-0: the replica order is not restored (no answer)"
    assert made.cluster.row(0)["replicas"] == [2, 1, 3]
    assert reordered(made.plan, made.progress, made.cluster.read_snapshot()) == (("orders", 0),)

    monkeypatch.setattr("kreplica.execution.rollback.reorder_replicas", reorder)
    assert made.run(rollback) == ""
    assert facts(made) == before
    assert made.progress.rollback == {("orders", 0): State.DONE}


def test_an_order_to_restore_is_looked_for_in_the_plans_own_cluster_only(
    paper: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = applied(paper, 0)
    reorder, asked = made.cluster.reorder_replicas, []

    def once(handle: Any, orders: Any) -> Any:
        asked.append(orders)
        if len(asked) > 1:
            raise UnreachableError("no answer")
        return reorder(handle, orders)

    monkeypatch.setattr("kreplica.execution.rollback.reorder_replicas", once)
    made.run(rollback)
    assert reordered(made.plan, made.progress, made.cluster.read_snapshot()) == (("orders", 0),)
    asked.clear()
    another = replace(made.cluster.read_snapshot(), cluster_id="another")
    monkeypatch.setattr("kreplica.execution.rollback.read_snapshot", lambda *_: another)
    with pytest.raises(ChangeRefusedError, match="the plan belongs to another cluster"):
        made.run(rollback)
    assert asked == []


def test_a_leader_that_somebody_else_put_in_between_two_batches_is_left(
    paper: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, before = applied(paper, 0, 3, batch=1)
    first, second = (change.partition for step in made.plan.inverse for change in step.changes)
    elect = made.cluster.elect_preferred

    def meanwhile(*arguments: Any) -> Any:
        found = elect(*arguments)
        made.cluster.change(second, leader=3, leader_epoch=9)
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", meanwhile)
    reason = made.run(rollback)
    assert reason.startswith(
        f"batch 2 of 2: the cluster has drifted from the plan, orders-{second}: broker 3 leads now"
    )
    assert facts(made)[first] == before[first]
    assert (made.cluster.row(second)["leader"], made.cluster.row(second)["leader_epoch"]) == (3, 9)
    monkeypatch.setattr("kreplica.control.elect.elect_preferred", elect)
    assert made.run(rollback) == "", "what can be brought back is back"
    assert made.cluster.row(second)["leader"] == 3


def test_ctrl_c_leaves_no_order_changed(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made, before = applied(paper, 0)
    after = facts(made)

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", interrupt)
    with pytest.raises(KeyboardInterrupt):
        made.run(rollback)
    assert facts(made) == after
    assert (made.progress.phase, made.progress.message) == (Phase.ROLLING_BACK, "interrupted")
    monkeypatch.setattr("kreplica.control.elect.elect_preferred", made.cluster.elect_preferred)
    assert made.run(rollback) == ""
    assert facts(made) == before


def test_an_order_that_somebody_else_made_is_not_undone(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = applied(paper, 0)
    elect = made.cluster.elect_preferred

    def meddle(*arguments: Any) -> Any:
        found = elect(*arguments)
        made.cluster.change(0, replicas=[3, 2, 1])
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", meddle)
    made.run(rollback)
    assert made.cluster.row(0)["replicas"] == [3, 2, 1]
    assert made.progress.results["orders", 0].error == "the replica order is not restored (its replicas are 3,2,1 now)"


def test_what_may_have_been_elected_when_a_run_died_is_brought_back(
    paper: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = paper(0)
    before = facts(made)
    elect = made.cluster.elect_preferred

    def unanswered(*arguments: Any) -> Any:
        elect(*arguments)
        raise UnreachableError("no answer to the elections")

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", unanswered)
    made.run(apply)
    assert (made.progress.apply, facts(made) != before) == ({("orders", 0): State.UNDER_WAY}, True)
    monkeypatch.setattr("kreplica.control.elect.elect_preferred", elect)
    assert made.run(rollback) == ""
    assert facts(made) == before


def left_reordered(paper: Make, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A plan whose rollback has changed the order of partition 0 and could not restore it."""
    made, _ = applied(paper, 0)
    reorder, asked = made.cluster.reorder_replicas, []

    def once(handle: Any, orders: Any) -> Any:
        asked.append(orders)
        if len(asked) > 1:
            raise UnreachableError("no answer")
        return reorder(handle, orders)

    monkeypatch.setattr("kreplica.execution.rollback.reorder_replicas", once)
    made.run(rollback)
    monkeypatch.setattr("kreplica.execution.rollback.reorder_replicas", reorder)
    assert made.cluster.row(0)["replicas"] == [2, 1, 3]
    return made


@pytest.mark.parametrize(
    "changed", [{"topic_id": "AAAAAAAAAAAAAAAAAAAAAg"}, {"adding": [3]}, {"removing": [1]}], ids=str
)
def test_an_order_is_restored_only_where_it_is_the_rollbacks_own(
    paper: Make, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    """A topic of that name made anew may have just that order, and a reassignment of somebody else may make it."""
    made = left_reordered(paper, monkeypatch)
    made.cluster.change(0, **changed)
    touched = made.cluster.row(0)
    assert reordered(made.plan, made.progress, made.cluster.read_snapshot()) == ()
    assert made.run(rollback) == ""
    assert made.cluster.row(0) == touched


@pytest.mark.parametrize(
    ("changed", "seen"),
    [
        ({"adding": [3]}, "2,1,3 and moving"),
        ({"topic_id": "AAAAAAAAAAAAAAAAAAAAAg"}, "those of another topic of that name"),
    ],
    ids=str,
)
def test_what_stands_in_the_way_of_an_order_is_told(
    paper: Make, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], seen: str
) -> None:
    made, _ = applied(paper, 0)
    elect = made.cluster.elect_preferred

    def meddle(*arguments: Any) -> Any:
        found = elect(*arguments)
        made.cluster.change(0, **changed)
        return found

    monkeypatch.setattr("kreplica.control.elect.elect_preferred", meddle)
    made.run(rollback)
    assert (
        made.progress.results["orders", 0].error == f"the replica order is not restored (its replicas are {seen} now)"
    )


def test_the_order_is_asked_back_even_where_it_is_seen(paper: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that was not answered may come into effect after it was looked for."""
    made, _ = applied(paper, 0)
    asked: list[list[int]] = []

    def unanswered(_: Any, orders: Any) -> Any:
        asked.extend(list(order) for order in orders.values())
        if len(asked) == 1:
            raise UnreachableError("no answer")
        return dict.fromkeys(orders, "")

    monkeypatch.setattr("kreplica.execution.rollback.reorder_replicas", unanswered)
    made.run(rollback)
    assert asked == [[2, 1, 3], [1, 2, 3]]
