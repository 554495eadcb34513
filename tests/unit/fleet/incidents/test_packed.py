"""Findings in little memory: as a list of them in all that is asked, and none is left as an object in an answer."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, ingest_into
from histories.folders import moment
from histories.observations import HOUR, MARCH
from planted.incidents import stop

from kreplica.config.mutes import Mute
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.incidents.fleet import incidents_in
from kreplica.fleet.incidents.packed import GatheredFindings, PackedFindings, Summary, packed
from kreplica.health.rules import Severity
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage


def finding(rule: str, number: int, severity: Severity = Severity.WARNING) -> FleetFinding:
    times = {"begun_after_ms": None, "valid_from_ms": number, "last_seen_ms": number, "valid_to_ms": None}
    told = {"snapshots": 1, "longest_interval_ms": 0, "in_newest": True, "message": "m", "topic": "t"}
    return FleetFinding("c", rule, severity, Certainty.PROVED, partition=number, **times, **told)  # type: ignore[arg-type]


EVERY = [finding("b", 1), finding("a", 2, Severity.CRITICAL), finding("b", 3), finding("a", 4), finding("c", 5)]
PARTS = [PackedFindings(EVERY[:2]), PackedFindings([]), PackedFindings(EVERY[2:])]


def test_an_event_is_of_one_moment_at_which_it_is_over() -> None:
    times = [(7, 7, 7), (7, 7, 9), (7, 7, None), (7, 9, 9), (7, 9, 10), (5, 7, 7)]
    made = [replace(EVERY[0], valid_from_ms=one, last_seen_ms=last, valid_to_ms=end) for one, last, end in times]
    assert [one.is_event for one in made] == [True, False, False, False, False, False]


@pytest.mark.parametrize("some", [PackedFindings(EVERY), GatheredFindings(PARTS)], ids=["packed", "gathered"])
def test_they_are_asked_as_a_list_is(some: Sequence[FleetFinding]) -> None:
    assert (list(some), len(some)) == (EVERY, 5)
    assert [some[at] for at in range(-5, 5)] == EVERY * 2
    assert some[1:4] == EVERY[1:4]
    assert EVERY[3] in some
    with pytest.raises(IndexError):
        some[5]


def test_what_is_gathered_is_counted_by_rule_and_chosen_from() -> None:
    every = GatheredFindings(PARTS)
    assert list(every.by_rule.items()) == [("a", 2), ("b", 2), ("c", 1)]
    some = every.where(lambda one: one.rule != "b")
    assert (list(some), some.by_rule) == ([EVERY[1], EVERY[3], EVERY[4]], {"a": 2, "c": 1})
    assert not GatheredFindings([])


def test_what_is_packed_is_not_packed_again_and_has_its_summary() -> None:
    one = packed(EVERY)
    assert packed(one) is one
    assert Summary.of(one) == Summary.of(EVERY) == Summary(Severity.CRITICAL, {"a": 2, "b": 2, "c": 1}, 5)


@pytest.fixture
def history(tmp_path: Path) -> LocalStorage:
    """Two clusters in which a broker goes down, and leaders move without a cause that anybody could know."""
    clusters = [PlantedCluster("c1", "c1"), PlantedCluster("c2", "c2")]
    for cluster in clusters:
        cluster.snapshot(3)
        stop(cluster, 2)
        cluster.snapshot(3)
        for number in range(3):
            cluster.change("orders", number, leader=-1)
        cluster.add("scratch", 0, replicas=[0], isr=[0], leader=0)
        cluster.snapshot(3)
    storage = LocalStorage(tmp_path)
    ingest_into(storage, clusters)
    return storage


def held() -> int:
    """Findings that are objects; isinstance would ask dead proxies what they stand for."""
    gc.collect()
    return sum(type(one) is FleetFinding for one in gc.get_objects())


def test_an_answer_holds_no_finding_as_an_object(history: LocalStorage) -> None:
    before = held()
    made = moment(MARCH)
    mutes = [Mute("under-replicated", made + timedelta(days=9), made, "c1")]
    for answer in (incidents_in(history), incidents_in(history, mutes=mutes)):
        assert (len(answer.left_over) > 1, sum(len(one.findings) for one in answer.incidents) > 10) == (True, True)
        assert held() == before


def test_what_is_left_over_is_narrowed_by_time_and_by_mutes(history: LocalStorage) -> None:
    every = incidents_in(history).left_over
    rule = next(iter(every.by_rule))
    assert {one.cluster for one in every} == {"c1", "c2"}
    made = moment(MARCH)
    muted = incidents_in(history, mutes=[Mute(rule, made + timedelta(days=9), made, "c1", at_most=99)]).left_over
    assert list(muted) == [one for one in every if (one.cluster, one.rule) != ("c1", rule)]
    assert not incidents_in(history, Wanted(until=moment(MARCH + HOUR))).left_over
    assert list(incidents_in(history, Wanted(since=moment(MARCH + HOUR))).left_over) == list(every)
