"""Setups made smaller against failures whose smallest setup is known, and plan files read back."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kreplica.engine.faults import At, Crash, Step
from kreplica.engine.leaving_out import LeaveOut, leave_out, without
from kreplica.engine.plan_file import PlanFile, plan_file_from_json, plan_file_to_json
from kreplica.engine.setup import ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
from kreplica.errors import UsageError

SETUP = cluster(
    3,
    TopicSetup("orders", ((1, 2, 3),)),
    TopicSetup("audit", ((1, 2, 3),)),
    clients=(
        ProducerSetup("shop", sends("orders-0", *(f"m{number}" for number in range(40)))),
        ProducerSetup("log", sends("audit-0", "a1", "a2")),
        ReaderSetup("reader", ("orders-0", "audit-0")),
    ),
)
STEPS = (Step(At(1), Crash("broker-1")),)


def values_sent(left_out: LeaveOut) -> set[str]:
    clients = without(SETUP, left_out).clients
    return {send.value for client in clients if isinstance(client, ProducerSetup) for send in client.sends}


@given(st.sets(st.integers(0, 39), min_size=1, max_size=2))
@example({0, 39})
def test_clients_topics_and_records_that_are_not_needed_go(needed: set[int]) -> None:
    """A failure that takes these records alone keeps one producer, one topic and what lies between the records."""
    wanted = {f"m{number}" for number in needed}
    found = leave_out(SETUP, lambda more: wanted <= values_sent(more), most_runs=500)
    assert set(found.clients) == {"log", "reader"}
    assert found.topics == ("audit",)
    assert found.records.get("shop", (0, 40)) == (min(needed), max(needed) + 1)


def test_nothing_goes_where_all_is_needed() -> None:
    assert not leave_out(SETUP, lambda more: not more.any).any


def test_plays_are_bounded_and_a_refused_one_does_not_fail() -> None:
    played = []

    def fails(more: LeaveOut) -> bool:
        played.append(more)
        if len(played) % 2:
            raise UsageError("the plan names what was left out")
        return True

    leave_out(SETUP, fails, most_runs=9)
    assert len(played) <= 9


@pytest.mark.parametrize(
    "left_out",
    [
        LeaveOut(clients=("nobody",)),
        LeaveOut(topics=("nothing",)),
        LeaveOut(records={"reader": (0, 1)}),
        LeaveOut(topics=("audit",)),
    ],
)
def test_what_cannot_be_left_out_is_refused(left_out: LeaveOut) -> None:
    with pytest.raises(UsageError):
        without(SETUP, left_out)


def test_a_file_is_read_as_it_was_written() -> None:
    file = PlanFile(
        scenario="s",
        kafka_version="0.10",
        settings={"acks": "all"},
        seed=2**70,
        leave_out=LeaveOut(("reader",), (), {"shop": (1, 2)}),
        steps=STEPS,
    )
    assert plan_file_from_json(plan_file_to_json(file), "plan.json") == file


def test_a_list_of_steps_is_a_plan_too() -> None:
    steps = json.loads(plan_file_to_json(PlanFile(steps=STEPS)))["steps"]
    assert plan_file_from_json(json.dumps(steps).encode(), "plan.json") == PlanFile(steps=STEPS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "p is no plan of faults"),
        (b"{", "p is no plan of faults"),
        (b"{}", "p cannot be played; it names no schema"),
        (b'{"schema": "kreplica/faults/v2", "steps": 1}', "p cannot be played; its schema is kreplica/faults/v2"),
        (b'{"schema": "kreplica/faults/v1"}', "p is no plan of faults"),
        (b'{"schema": "kreplica/faults/v1", "steps": [], "sed": 1}', "p is no plan of faults"),
        (b'{"schema": "kreplica/faults/v1", "steps": [{}]}', "p is no plan of faults"),
    ],
)
def test_what_is_no_plan_is_refused_by_name(content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_file_from_json(content, "p")


@given(st.integers(0, 400))
def test_a_cut_file_is_refused(length: int) -> None:
    whole = plan_file_to_json(PlanFile(scenario="s", steps=STEPS)).rstrip()
    with pytest.raises(UsageError):
        plan_file_from_json(whole[: min(length, len(whole) - 1)], "p")
