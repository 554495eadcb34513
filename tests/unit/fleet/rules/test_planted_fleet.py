"""A fleet by a seed: all trouble in it is found, from when to when it was there, and nothing where there is none."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import pytest
from histories.clusters import chosen_of, hours
from plain.rules_in_sql import found_by_duckdb
from planted.fleet import END, GROUP, Answer, healthy_fleet, planted_fleet
from suite.turned_comparisons import turned, with_changed

from kreplica.fleet import rules
from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.judging import FLEET_RULES, judge_clusters, newest_ms
from kreplica.fleet.rule import Circumstances
from kreplica.fleet.rules.topics import lowering
from kreplica.history.selection import choose
from kreplica.system.stores.storage import LocalStorage


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


@pytest.fixture(scope="module")
def clusters(judged: Judged) -> list[ClusterHistory]:
    """The clusters of the planted fleet; what rules read of them is kept."""
    months = choose(LocalStorage(judged.history)).by_cluster().values()
    return [ClusterHistory(some) for some in months]


def said_by(module: ModuleType, clusters: Sequence[ClusterHistory]) -> list[FleetFinding] | str:
    """What a rule finds in a fleet; the error if it ends with one."""
    asked = Circumstances(max(int(one.times[-1]) for one in clusters), None, {"eu": frozenset(GROUP)})
    try:
        if module.RULE.find is not None:
            return [one for cluster in clusters for one in module.RULE.find(cluster, asked)]
        settings = [module.present_settings(cluster) for cluster in clusters]
        return list(module.find_between("eu", [one for one in settings if not asked.groups["eu"].isdisjoint(one.ids)]))
    except Exception as error:
        return repr(error)


FEW = {"unclean-election": 0.4, "vanished-topic": 0.25, "replication-factor-lowered": 0.4}
"""Rules of which most comparisons are for cases that are not in the planted fleet: they are in tests of their own."""
LEAST = 0.6


def module_of(rule: str) -> ModuleType:
    """The module that bears the rule's name, in whichever folder of the rules it stands."""
    names = [module.name for module in walk_packages(rules.__path__, f"{rules.__name__}.")]
    [name] = [name for name in names if name.endswith(f".{rule.replace('-', '_')}")]
    return importlib.import_module(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [rule.name for rule in FLEET_RULES])
def test_a_rule_says_something_else_when_its_comparisons_are_turned_around(
    name: str, clusters: list[ClusterHistory]
) -> None:
    module = module_of(name)
    is_said = said_by(module, clusters)
    assert isinstance(is_said, list)
    assert {one.rule for one in is_said} == {name}
    changed = list(turned(module)) or [(said, with_changed(module, one)) for said, one in turned(lowering)]
    unnoticed = [said for said, one in changed if said_by(one, clusters) == is_said]
    assert len(changed) - len(unnoticed) >= max(1, FEW.get(name, LEAST) * len(changed)), unnoticed


@pytest.mark.slow
def test_nothing_is_found_in_a_healthy_fleet(tmp_path: Path) -> None:
    fleet = healthy_fleet(1)
    assert {cluster.taken[-1].taken_at for cluster in fleet} == {fleet[0].taken[-1].taken_at}
    assert {cluster.now for cluster in fleet} <= {END + 1, END + 24}
    chosen = chosen_of(tmp_path, fleet)
    assert len(chosen.by_cluster()) == len(fleet)
    assert judge_clusters(chosen, Circumstances(newest_ms(chosen)), processes=2) == []
