"""Setups made smaller against failures whose smallest setup is known, and plan files read back."""

from __future__ import annotations

import json

import pytest
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

from kreplica.engine import observe, version_named
from kreplica.engine.fault_plan import At, Crash, ElectPreferred, Step
from kreplica.engine.fuzzing.smaller_setup import leave_out
from kreplica.engine.plans.file import PlanFile, plan_file_from_json, plan_file_to_json
from kreplica.engine.plans.omissions import LeaveOut, settings_of, without
from kreplica.engine.plans.text import left_out_words
from kreplica.engine.setup import ConsumerSetup, ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
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


WIDE = cluster(
    5,
    TopicSetup("t", ((1, 2, 3), (2, 3, 4), (3, 4, 5)), {"min.insync.replicas": 2}),
    TopicSetup("__consumer_offsets", ((4, 5),)),
    clients=(
        ProducerSetup("shop", sends("t-1", "m1"), {"acks": -1, "linger.ms": 0}),
        ConsumerSetup("reader", ("t",), settings={"group.id": "g"}),
    ),
    settings={"retries": 5, "acks": 1},
)
WIDE_SETTINGS = ("retries", "acks", "min.insync.replicas", "linger.ms", "group.id")


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


@examples(0.3)
@given(
    st.sets(st.integers(1, 5)),
    st.sets(st.sampled_from(("t-0", "t-2"))),
    st.sets(st.sampled_from(WIDE_SETTINGS[:3])),  # the others are of clients that are not needed
    st.data(),
)
def test_brokers_partitions_and_settings_that_are_not_needed_go(
    brokers: set[int], partitions: set[str], needed_settings: set[str], data: st.DataObject
) -> None:
    """A failure that takes just these keeps them, and every replica of each partition that is left."""
    stays = data.draw(st.sets(st.sampled_from(WIDE_SETTINGS)))

    def fails(more: LeaveOut) -> bool:
        there = without(WIDE, more)
        return (
            there.topics[0].name == "t"
            and brokers <= {broker.id for broker in there.brokers}
            and partitions <= set(there.topics[0].partitions)
            and needed_settings <= set(settings_of(there))
        )

    found = leave_out(WIDE, fails, most_runs=500, stays=stays)
    left = without(WIDE, found)
    assert fails(found)
    assert (left.clients, set(left.topics[0].partitions)) == ((), partitions)
    assert not set(found.settings) & (needed_settings | stays)
    assert {*found.settings, *needed_settings, *stays} >= set(settings_of(left))
    promised = {name: replicas for topic in WIDE.topics for name, replicas in topic.partitions.items()}
    replicas = {name: replicas for topic in left.topics for name, replicas in topic.partitions.items()}
    assert replicas == {name: promised[name] for name in (*sorted(partitions), "__consumer_offsets-0")}
    assert {broker.id for broker in left.brokers} == brokers.union(*replicas.values())


def test_what_is_left_keeps_its_names() -> None:
    left = without(WIDE, LeaveOut(("reader",), (), {}, ("t-0",), (3,), ("acks",)))
    assert [broker.id for broker in left.brokers] == [1, 2, 4, 5]
    assert left.topics[0].partitions == {"t-1": (2, 4), "t-2": (4, 5)}
    assert (dict(left.settings), dict(left.clients[0].settings)) == ({"retries": 5}, {"linger.ms": 0})
    outcome, _ = observe(left, (Step(At(1), ElectPreferred("t-1")),), version_named("3.9"))
    assert (outcome.histories.acknowledged, outcome.histories.lost) == (1, ())


def test_a_plan_cannot_name_what_is_left_out() -> None:
    left = without(WIDE, LeaveOut(("reader",), (), {}, ("t-0",), (3,)))
    for action in (ElectPreferred("t-0"), Crash("broker-3")):
        with pytest.raises(UsageError):
            observe(left, (Step(At(1), action),), version_named("3.9"))


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


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        (LeaveOut(brokers=(9,)), "leaves out of the broker '9', which is not there"),
        (LeaveOut(partitions=("t-3",)), "leaves out of the partition 't-3', which is not there"),
        (LeaveOut(settings=("linger",)), "leaves out of the setting 'linger', which is not there"),
        (LeaveOut(records={"shop": (1, 1)}), "records of shop from place 1 up to 1; shop sends 1"),
        (LeaveOut(records={"shop": (-1, 1)}), "from place -1 up to 1"),
        (LeaveOut(records={"shop": (0, 2)}), "from place 0 up to 2"),
        (LeaveOut(brokers=(4, 5)), "brokers of __consumer_offsets-0 cannot all be left out"),
        (LeaveOut(("reader",), partitions=("t-1",)), "partition t-1 cannot be left out; shop speaks of it"),
        (LeaveOut(partitions=("t-0",)), "partition t-0 cannot be left out; reader speaks of it"),
    ],
)
def test_why_something_cannot_be_left_out(left_out: LeaveOut, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        without(WIDE, left_out)


def test_what_is_left_out_in_words() -> None:
    everything = LeaveOut(("a", "b"), ("t",), {"p": (0, 1), "q": (2, 5)}, ("u-0",), (1, 3), ("acks",))
    assert left_out_words(everything) == [
        "clients a, b",
        "topic t",
        "partition u-0",
        "brokers 1, 3",
        "setting acks",
        "the records of p but number 1",
        "the records of q but numbers 3 to 5",
    ]


def test_a_file_is_read_as_it_was_written() -> None:
    file = PlanFile(
        scenario="s",
        kafka_version="0.10",
        settings={"acks": "all"},
        seed=2**70,
        leave_out=LeaveOut(("reader",), (), {"shop": (1, 2)}, ("t-0",), (3,), ("acks",)),
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
        (b'{"schema": "kreplica/faults/v1", "steps": [], "seed": -1}', "p is no plan of faults"),
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
