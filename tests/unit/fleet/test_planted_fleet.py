"""A fleet by a seed: all trouble in it is found, from when to when it was there, and nothing where there is none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fleet_histories import chosen_of, hours
from planted_fleet import END, GROUP, Answer, healthy_fleet, planted_fleet

from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.judging import FLEET_RULES, judge_clusters, newest_ms
from kreplica.fleet.rule import Circumstances


def answer_of(one: FleetFinding) -> Answer:
    return Answer(one.rule, hours(one), one.topic, one.partition, one.broker, one.group)


@pytest.mark.slow
def test_each_trouble_is_found_once_with_its_begin_and_end_and_nothing_else(tmp_path: Path) -> None:
    fleet = planted_fleet(1)
    expected = [(label, answer) for label, (_, answers) in fleet.items() for answer in answers]
    assert {answer.rule for _, answer in expected} == {rule.name for rule in FLEET_RULES}
    chosen = chosen_of(tmp_path, [cluster for cluster, _ in fleet.values()])
    found = judge_clusters(chosen, Circumstances(newest_ms(chosen), None, {"eu": frozenset(GROUP)}), processes=2)
    assert Counter((one.cluster, answer_of(one)) for one in found) == Counter(expected)


@pytest.mark.slow
def test_nothing_is_found_in_a_healthy_fleet(tmp_path: Path) -> None:
    fleet = healthy_fleet(1)
    assert {cluster.taken[-1].taken_at for cluster in fleet} == {fleet[0].taken[-1].taken_at}
    assert {cluster.now for cluster in fleet} <= {END + 1, END + 24}
    chosen = chosen_of(tmp_path, fleet)
    assert len(chosen.by_cluster()) == len(fleet)
    assert judge_clusters(chosen, Circumstances(newest_ms(chosen)), processes=2) == []
