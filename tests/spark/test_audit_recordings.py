"""An audit of recordings of real clusters counts what Kafka's own tools listed in each state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from kreplica.health.findings import find
from kreplica.health.rules import ALL_RULES
from kreplica.store.manifest import read_manifest
from kreplica.store.reading import read_snapshot_files
from kreplica.store.writing import write_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATES = ("1-healthy", "2-broker-killed", "3-broker-back", "4-reassigning", "5-elected", "6-before-kill")
LISTINGS = {
    "under_replicated": "topics-under-replicated-partitions.txt",
    "under_min_isr": "topics-under-min-isr-partitions.txt",
    "at_min_isr": "topics-at-min-isr-partitions.txt",
    "unavailable": "topics-unavailable-partitions.txt",
}
RULES = {"under-replicated": "under_replicated", "under-min-isr": "under_min_isr", "at-min-isr": "at_min_isr"}
"""Rules that find just the partitions of a listing."""

Listed = set[tuple[str, int]]


@dataclass(frozen=True)
class Outcome:
    """What an audit of the packaged fleet found: counts and findings by cluster and time."""

    times: dict[str, list[str]]
    counts: dict[tuple[str, str], Mapping[str, int]]
    findings: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)


def listed(path: Path) -> Listed:
    text = path.read_text(encoding="utf-8").split("[stderr]")[0]
    return {(topic, int(number)) for topic, number in re.findall(r"\tTopic: (\S+)\tPartition: (\d+)\t", text)}


@pytest.fixture(scope="module")
def fleet(root: Path) -> Path:
    return root / "kreplica" / "data" / "fleet"


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, fleet: Path) -> Outcome:
    return audited(spark, [fleet])


def audited(spark: SparkSession, folders: list[Path]) -> Outcome:
    from analyzers.audit import Audit
    from analyzers.reading.frames import read_fleet
    from kreplica.store.selection import Wanted, select_snapshots

    selection = select_snapshots(folders, Wanted())
    assert (selection.damaged, selection.orphans) == ((), ())
    audit = Audit(read_fleet(spark, selection.snapshots), {rule.name for rule in ALL_RULES}, per_snapshot=True)
    names = {item.cluster: item.name for item in selection.snapshots}
    times: dict[str, list[str]] = {}
    counts: dict[tuple[str, str], Mapping[str, int]] = {}
    for item in audit.counts():
        times.setdefault(names[item.cluster], []).append(item.taken_at.isoformat())
        counts[names[item.cluster], item.taken_at.isoformat()] = item.counts
    outcome = Outcome(times, counts)
    for row in map(structs.asdict, audit.findings()):
        outcome.findings.setdefault((names[str(row["cluster"])], str(row["taken_at"])), []).append(row)
    return outcome


@pytest.mark.parametrize("cluster", ["kafka-4.3.1", "kafka-3.9.2"])
def test_counts_and_findings_are_the_lists_of_kafkas_tools(outcome: Outcome, root: Path, cluster: str) -> None:
    troubled = 0
    for state, time in zip(STATES, outcome.times[cluster], strict=True):
        folder = root / "tests" / "golden" / cluster / state
        tools = {name: listed(folder / file) for name, file in LISTINGS.items()}
        counts, rows = outcome.counts[cluster, time], outcome.findings[cluster, time]
        assert {name: counts[name] for name in tools} == {name: len(some) for name, some in tools.items()}, state
        every = listed(folder / "topics-describe.txt")
        assert (counts["partitions"], counts["topics"]) == (len(every), len({topic for topic, _ in every})), state
        for rule, name in RULES.items():
            found = {(row["topic"], row["partition"]) for row in rows if row["rule"] == rule}
            assert found == tools[name], (state, rule)
        troubled += bool(tools["under_replicated"])
    assert troubled == 1


def snapshots(fleet: Path) -> Iterator[Any]:
    for manifest in sorted((fleet / "manifests").iterdir()):
        yield read_snapshot_files(read_manifest(manifest))


def place(row: Mapping[str, Any]) -> str:
    return str([row["rule"], row["topic"], row["partition"], row["broker"]])


def test_every_finding_is_that_of_check_on_the_same_snapshot(outcome: Outcome, fleet: Path) -> None:
    compared = 0
    for snapshot in snapshots(fleet):
        rows = outcome.findings[snapshot.name, snapshot.taken_at.isoformat()]
        expected = [
            {
                "rule": finding.rule,
                "severity": finding.severity.word,
                "topic": finding.topic,
                "partition": finding.partition,
                "broker": finding.broker,
                "message": finding.message,
                "evidence": dict(finding.evidence),
            }
            for finding in find(snapshot)
        ]
        found = [{name: row[name] for name in expected[0]} for row in rows]
        assert sorted(found, key=place) == sorted(expected, key=place)
        compared += len(found)
    assert compared > 500


@pytest.mark.slow
def test_an_audit_of_split_folders_is_that_of_their_union(
    outcome: Outcome, spark: SparkSession, fleet: Path, tmp_path: Path
) -> None:
    """Every second snapshot in another folder: the history of each cluster is in both."""
    for number, snapshot in enumerate(snapshots(fleet)):
        write_snapshot(snapshot, tmp_path / str(number % 2))
    split = audited(spark, [tmp_path / "1", tmp_path / "0"])
    assert split.times == outcome.times
    assert split.counts == outcome.counts
    assert {key: sorted(map(str, rows)) for key, rows in split.findings.items()} == {
        key: sorted(map(str, rows)) for key, rows in outcome.findings.items()
    }
