"""A fleet by a seed: all trouble in it is found, from when to when it was there, and nothing where there is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from fleet_histories import chosen_of, hours
from planted_fleet import END, GROUP, Answer, healthy_fleet, planted_fleet
from rules_in_sql import found_by_duckdb

from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.judging import FLEET_RULES, judge_clusters, newest_ms
from kreplica.fleet.rule import Circumstances


def answer_of(one: FleetFinding) -> Answer:
    return Answer(one.rule, hours(one), one.topic, one.partition, one.broker, one.group)


@dataclass(frozen=True)
class Judged:
    """The planted fleet as a history, what was planted in it, and what was found."""

    history: Path
    expected: list[tuple[str, Answer]]
    found: list[FleetFinding]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder, fleet = tmp_path_factory.mktemp("planted"), planted_fleet(1)
    expected = [(label, answer) for label, (_, answers) in fleet.items() for answer in answers]
    chosen = chosen_of(folder, [cluster for cluster, _ in fleet.values()])
    asked = Circumstances(newest_ms(chosen), None, {"eu": frozenset(GROUP)})
    return Judged(folder, expected, judge_clusters(chosen, asked, processes=2))


@pytest.mark.slow
def test_each_trouble_is_found_once_with_its_begin_and_end_and_nothing_else(judged: Judged) -> None:
    assert {answer.rule for _, answer in judged.expected} == {rule.name for rule in FLEET_RULES}
    assert Counter((one.cluster, answer_of(one)) for one in judged.found) == Counter(judged.expected)


@pytest.mark.slow
def test_duckdb_finds_the_same_by_sql_over_the_documented_layout(judged: Judged, root: Path) -> None:
    """Judges every rule by a statement of its own; of kreplica only what wrote the files has a part in it.

    What it is about, its begin and its end are compared; severity, certainty and evidence are not.
    """
    by_sql = Counter(found_by_duckdb(root, judged.history, GROUP))
    assert {row[0] for row in by_sql} == {rule.name for rule in FLEET_RULES}
    assert Counter(map(key_of, judged.found)) == by_sql


def key_of(one: FleetFinding) -> tuple[object, ...]:
    """A finding as a row of SQL: what it is about, its begin, its end."""
    return one.rule, one.cluster, *one.key, one.valid_from_ms, one.valid_to_ms


@pytest.mark.slow
def test_nothing_is_found_in_a_healthy_fleet(tmp_path: Path) -> None:
    fleet = healthy_fleet(1)
    assert {cluster.taken[-1].taken_at for cluster in fleet} == {fleet[0].taken[-1].taken_at}
    assert {cluster.now for cluster in fleet} <= {END + 1, END + 24}
    chosen = chosen_of(tmp_path, fleet)
    assert len(chosen.by_cluster()) == len(fleet)
    assert judge_clusters(chosen, Circumstances(newest_ms(chosen)), processes=2) == []
