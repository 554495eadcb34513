"""Preferred leaders elected after moves: which, in which batches, and what stops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from plans.moved import OPTIONS, Moved

from kreplica.execution.moves import preferred_leaders
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.journal import MOVE_JOURNAL, Event
from kreplica.execution.moves.preferred_leaders import Electing, elect_preferred_leaders
from kreplica.execution.plan import LeaderChange
from kreplica.execution.plan_journal import Operation


def applied(moved: Moved) -> None:
    """Partitions whose order alone is changed, but for the last one, which keeps its preferred leader."""
    moved.cluster.start(*[(1, 2, 3)] * 7)
    moved.make({**dict.fromkeys(range(6), (2, 3, 1)), 6: (1, 3, 2)})
    assert moved.run().stopped == ""


def elected(moved: Moved, options: Any = OPTIONS) -> tuple[str, tuple[str, ...]]:
    def work(session: Any) -> Any:
        electing = Electing(moved.cluster, session.journal, Operation.APPLY, session.options)
        return elect_preferred_leaders(electing, session.plan.changes, moved.cluster.snapshot())

    found: tuple[str, tuple[str, ...]] = moved.in_session(work, options)
    return found


def leaders(moved: Moved) -> list[int]:
    return [row["leader"] for row in moved.cluster.read()["rows"].values()]


def test_preferred_leaders_that_the_plan_changes_are_elected_and_noted(moved: Moved) -> None:
    applied(moved)
    moved.cluster.change(6, leader=3)
    assert leaders(moved) == [1] * 6 + [3]
    assert elected(moved) == ("", ())
    assert leaders(moved) == [2] * 6 + [3], "the last one has the preferred leader that it had"
    lines = [one for one in MOVE_JOURNAL.read(moved.path, moved.digest)[0] if one.elections]
    assert [one.event for one in lines] == [Event.ELECTING, Event.ELECTED]
    assert {(one.from_leader, one.to_leader, one.leader, one.error) for one in lines[1].elections} == {(1, 2, 2, "")}
    assert elected(moved) == ("", ())
    assert len(moved.cluster.read()["elected"]) == 1, "who leads already is not elected again"


def test_what_cannot_be_elected_is_left_and_told(moved: Moved) -> None:
    applied(moved)
    moved.cluster.change(0, isr=[1, 3])
    moved.cluster.change(1, replicas=[3, 2, 1])
    moved.cluster.change(2, adding=[4], replicas=[2, 3, 1, 4], hangs=True)
    moved.cluster.set(refused=[3])
    stopped, (remark,) = elected(moved)
    assert stopped == ""
    assert remark.startswith("4 preferred leaders not elected: orders-0, the replica on broker 2 is not in sync")
    assert "orders-1, somebody else changed its replicas; orders-2, it is being reassigned again and 1 more" in remark
    assert leaders(moved) == [1, 1, 1, 1, 2, 2, 1]


def test_a_partition_that_changes_between_two_batches_is_left(moved: Moved, monkeypatch: Any) -> None:
    monkeypatch.setattr(preferred_leaders, "BATCH", 3)
    applied(moved)
    moved.cluster.point = lambda what: moved.cluster.change(5, isr=[1]) if what == "after the elections" else None
    stopped, remarks = elected(moved)
    assert (stopped, len(remarks)) == ("", 1)
    assert moved.cluster.read()["elected"] == [[0, 1, 2], [3, 4]]


def test_a_cluster_that_got_worse_and_a_user_stop_the_elections(moved: Moved, monkeypatch: Any) -> None:
    monkeypatch.setattr(preferred_leaders, "BATCH", 4)
    applied(moved)
    moved.cluster.point = lambda what: moved.cluster.change(6, leader=-1) if what == "after the elections" else None
    stopped = elected(moved)[0]
    assert stopped.startswith("the cluster got worse, 1 partition has no live leader now (orders-6)")
    assert len(moved.cluster.read()["elected"]) == 1
    stopped = elected(moved, replace(OPTIONS, stopping=lambda: True))[0]
    assert stopped.startswith("stopped by the user")
    assert len(moved.cluster.read()["elected"]) == 1


def test_internal_topics_are_last_and_few_at_a_time() -> None:
    changes = [LeaderChange("__consumer_offsets", number, 1, 2) for number in range(12)]
    changes += [LeaderChange("orders", number, 1, number % 3) for number in range(150)]
    found: Sequence[Sequence[LeaderChange]] = preferred_leaders._batches(changes)
    assert [(one[0].topic, len(one)) for one in found] == [
        ("orders", 100), ("orders", 50), *[("__consumer_offsets", 5)] * 2, ("__consumer_offsets", 2),
    ]  # fmt: skip
    assert sum(one.to_leader == 0 for one in found[0]) in (33, 34), "no broker bears a whole batch"


def test_nothing_is_elected_where_no_preferred_leader_changed(moved: Moved) -> None:
    moved.cluster.start((1, 2, 3))
    moved.make({0: (1, 2, 4)})
    moved.run()
    moved.cluster.change(0, leader=2)
    assert elected(moved) == ("", ())
    assert ReplicaChange("orders", 0, (1, 2, 3), (1, 2, 4)) in moved.plan.changes
    assert leaders(moved) == [2]
