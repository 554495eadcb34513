"""Differences between a plan and its cluster: those that are drift, and those that are harmless."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from clusters.generated import hidden, snapshot_of

from kreplica.execution.drift import StepCheck, got_worse, look, trouble

Make = Callable[..., Any]


def check(made: Any, brokers: tuple[int, ...] = (1, 2, 3), **facts: Any) -> StepCheck:
    """What is seen of partition 0, which broker 2 led and broker 1 is to lead."""
    (step,) = made.plan.steps
    rows = [row for row in made.cluster.rows() if row is not None]
    alive = [{"broker": broker, "alive": broker in brokers} for broker in (1, 2, 3)]
    return look(made.plan, step.changes, step.preconditions, snapshot_of(rows, alive, **facts))["orders", 0]


@pytest.mark.parametrize(
    ("changed", "drift"),
    [
        (
            {"topic_id": "AAAAAAAAAAAAAAAAAAAAAg"},
            "topic was deleted and created again (id AAAAAAAAAAAAAAAAAAAAAQ, now ",
        ),
        ({"replicas": [2, 1, 3]}, "replicas changed from 1,2,3 to 2,1,3"),
        ({"replicas": [1, 2]}, "replicas changed from 1,2,3 to 1,2"),
        ({"adding": [3]}, "a reassignment has begun (adding 3, removing none)"),
        ({"removing": [3]}, "a reassignment has begun (adding none, removing 3)"),
        ({"leader": 3}, "leader changed from 2 to 3"),
        ({"leader": -1}, "leader changed from 2 to none"),
        ({"leader_epoch": 6}, "leader epoch changed from 5 to 6"),
        ({"isr": [2, 3]}, "the replica on broker 1 is not in sync"),
        ({"offline_replicas": [1]}, "the replica on broker 1 is offline"),
    ],
    ids=str,
)
def test_drift_is_named(paper: Make, changed: dict[str, Any], drift: str) -> None:
    made = paper(0)
    made.cluster.change(0, **changed)
    found = check(made)
    assert found.drift.startswith(drift)
    assert found.already is False


def test_a_dead_preferred_leader_is_drift(paper: Make) -> None:
    assert check(paper(0), brokers=(2, 3)).drift == "broker 1 is not alive"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"isr": [1, 2]},
        {"isr": [2, 1, 3]},
        {"partition_epoch": 99},
        {"min_isr": 1},
        {"topic_id": None},
        {"leader_epoch": None},
        {"leader": None},
        {"adding": None, "removing": None},
    ],
    ids=str,
)
def test_what_leaves_the_plan_right_is_no_drift(paper: Make, changed: dict[str, Any]) -> None:
    made = paper(0, partition_epoch=7)
    made.cluster.change(0, **changed)
    assert (check(made).already, check(made).drift) == (False, "")


def test_a_leader_in_place_is_harmless_whatever_its_epoch(paper: Make) -> None:
    made = paper(0)
    made.cluster.change(0, leader=1, leader_epoch=40, isr=[1])
    assert check(made) == StepCheck(1, True, "")


def test_a_leader_in_place_of_another_topic_is_drift(paper: Make) -> None:
    made = paper(0)
    made.cluster.change(0, leader=1, topic_id="AAAAAAAAAAAAAAAAAAAAAg")
    assert check(made).drift.startswith("topic was deleted and created again")


@pytest.mark.parametrize("replicas", [[1, 3, 2], [1, 2], [1, 2, 4]], ids=str)
def test_a_leader_in_place_of_other_replicas_is_drift(paper: Make, replicas: list[int]) -> None:
    """What the plan would bring back, it knows of its own replicas only."""
    made = paper(0)
    made.cluster.change(0, leader=1, replicas=replicas)
    assert (check(made).already, check(made).drift.startswith("replicas changed from 1,2,3 to")) == (False, True)


def test_a_partition_that_is_gone_or_hidden(paper: Make) -> None:
    made = paper(0)
    made.cluster.write([row for row in made.cluster.rows() if row["partition"] != 0])
    assert check(made) == StepCheck(None, False, "deleted")
    assert check(made, gaps=(hidden(1),)).drift == "not there: deleted, or hidden from these credentials"


def test_a_reassignment_that_was_there_when_the_plan_was_made_is_none(paper: Make) -> None:
    made = paper(0, adding=[3])
    assert check(made).drift == ""
    made.cluster.change(0, adding=[])  # it has ended, and the replicas are as they were
    assert check(made).drift == ""


def test_only_new_trouble_of_known_partitions_is_worse(paper: Make) -> None:
    made = paper(0)
    made.cluster.change(1, isr=[2])
    before = trouble(made.cluster.read_snapshot())
    assert got_worse(before, before) == ""
    made.cluster.change(1, isr=[1, 2, 3])
    assert got_worse(before, trouble(made.cluster.read_snapshot())) == ""
    new = [{**made.cluster.row(0), "partition": 77, "isr": []}, {**made.cluster.row(0), "partition": 78, "leader": -1}]
    made.cluster.write([*made.cluster.rows(), *new])
    assert got_worse(before, trouble(made.cluster.read_snapshot())) == "", "a new topic is not this plan's doing"
    for number in (2, 3, 4, 5):
        made.cluster.change(number, isr=[1])
    made.cluster.change(0, leader=-1)
    assert got_worse(before, trouble(made.cluster.read_snapshot())) == (
        "1 partition has no live leader now (orders-0),"
        " 4 partitions are under min ISR now (orders-2, orders-3, orders-4, …)"
    )
