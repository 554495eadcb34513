"""Cases of a scenario: the one that holds for a version, and the outcomes that count as coming true."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kreplica.engine.checkers.delays import Measures
from kreplica.engine.checkers.histories import Histories
from kreplica.engine.checkers.outcome import Outcome
from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.settings import Value
from kreplica.engine.setup import ProducerSetup, TopicSetup, cluster
from kreplica.engine.trace import Event, Kind
from kreplica.engine.versions.supported import ControllerKind
from kreplica.errors import UsageError
from kreplica.scenarios import Between, Case, Scenario, scenario_named
from kreplica.scenarios.playing import steps_missed
from kreplica.scenarios.scenario import differences

OUTCOME = Outcome("", 9, Histories(sent=3, lost=("m2",)), (), Measures(isr_changes=2))
SCENARIO = Scenario(
    name="made-up",
    title="",
    why="",
    source="",
    setup=cluster(1, TopicSetup("t", ((1,),))),
    plan=(),
    cases=(
        Case("0.10", {"lost": ("m2",)}),
        Case("0.11", {"lost": ()}),
        Case("2.0", {"lost": 0}, {"acks": 1}),
    ),
    probes={"twice": lambda events: 2 * len(events)},
)


@pytest.mark.parametrize(
    ("version", "settings", "expected"),
    [
        ("0.9", {}, None),
        ("0.10", {}, 0),
        ("0.10.2", {}, 0),
        ("0.10.1", {}, None),
        ("1.0", {}, 1),
        ("0.11", {}, 1),
        ("4.1", {}, 1),
        ("4.1", {"acks": 1}, 2),
        ("1.1", {"acks": 1}, None),
        ("4.1", {"acks": 0}, None),
    ],
)
def test_the_newest_case_that_is_not_above(version: str, settings: dict[str, int], expected: int | None) -> None:
    case = SCENARIO.case_for(version, settings)
    assert case is (None if expected is None else SCENARIO.cases[expected])


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.7", 0), ("3.9", 0), ("3.3-kraft", 1), ("3.6-kraft", 1), ("3.8-kraft", 2), ("3.9-kraft", 2), ("4.3", 2)],
)
def test_a_case_is_of_the_modes_it_names(version: str, expected: int) -> None:
    """Of KRaft 3.3 nothing is said by what ZooKeeper mode does, nor of 3.9 in ZooKeeper mode by KRaft 3.8."""
    zookeeper = Case("2.7", {"lost": ()}, controllers=(ControllerKind.ZOOKEEPER,))
    cases = (zookeeper, Case("3.3-kraft", {"lost": 1}), Case("3.8-kraft", {"lost": 2}))
    made_up = replace(SCENARIO, cases=cases)
    assert made_up.case_for(version, {}) is cases[expected]
    assert replace(SCENARIO, cases=cases[:1]).case_for("3.3-kraft", {}) is None


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"acks": 1}, True),
        ({"acks": -1}, False),
        ({"min.insync.replicas": 2}, True),
        ({"min.insync.replicas": 1}, False),
        ({"retries": 5, "acks": 1}, True),
        ({"retries": 6}, False),
        ({"isolation.level": "read_committed"}, False),
    ],
)
def test_a_setting_that_everybody_has_already_asks_for_nothing_else(settings: dict[str, Value], asked: bool) -> None:
    topics = (TopicSetup("t", ((1,),), {"min.insync.replicas": 2}), TopicSetup("u", ((1,),)))
    clients = (ProducerSetup("p", settings={"acks": 1}), ProducerSetup("q", settings={"acks": 1, "retries": 5}))
    setup = cluster(1, *topics, clients=clients, settings={"min.insync.replicas": 2, "retries": 5})
    made_up = replace(SCENARIO, setup=setup, cases=SCENARIO.cases[1:2])
    assert (made_up.case_for("4.1", settings) is not None) is asked


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ({"lost": ("m2",)}, True),
        ({"lost": ("m1",)}, False),
        ({"lost": 1}, True),
        ({"lost": 0}, False),
        ({"lost": Between(1)}, True),
        ({"isr_changes": Between(3, 4)}, False),
        ({"isr_changes": 2, "is_safe": False}, True),
        ({"is_safe": True}, False),
        ({"twice": 0}, True),
        ({"twice": 1}, False),
        ({"produce_ms_99": Between(0)}, False),
    ],
)
def test_what_comes_true(expected: dict[str, object], holds: bool) -> None:
    assert (differences(SCENARIO, Case("4.1", expected), OUTCOME, ()) == ()) is holds


def test_a_difference_in_words() -> None:
    (difference,) = differences(SCENARIO, Case("4.1", {"lost": ()}), OUTCOME, ())
    assert str(difference) == "lost: expected none, found m2"


def test_a_measure_that_is_none_is_a_defect_of_the_scenario() -> None:
    with pytest.raises(KeyError):
        differences(SCENARIO, Case("4.1", {"losses": 0}), OUTCOME, ())


def test_an_unknown_scenario() -> None:
    with pytest.raises(UsageError, match="no scenario 'hw-loss'"):
        scenario_named("hw-loss")


def test_steps_that_never_came_about_are_reported_as_often_as_they_are_planned() -> None:
    crash = Step(When(kind=Kind.STARTED, node="broker-1", count=2), Crash("broker-1"))
    event = Event(1, Kind.FAULT, "plan", ("crash", "broker-1"))
    assert steps_missed((crash, crash, crash), ()) == (crash, crash, crash)
    assert steps_missed((crash, crash, crash), (event,)) == (crash, crash)
    assert steps_missed((crash, crash), (event, event)) == ()
