"""An audit of generated fleets finds and counts what kreplica's own rules find and count in each snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from random import Random
from typing import Any

import pytest
from examples import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs

from kreplica.health.findings import find
from kreplica.health.listing import count_all
from kreplica.health.rules import GROUP_RULES, PARTITION_RULES
from kreplica.model.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot

pytestmark = pytest.mark.spark

ALL_RULES = frozenset(rule.name for rule in (*PARTITION_RULES, *GROUP_RULES))
PLACE = ("rule", "severity", "topic", "partition", "broker")


def expected_findings(snapshots: Sequence[ClusterSnapshot]) -> list[dict[str, Any]]:
    return [
        {
            "cluster": snapshot.label,
            "taken_at": snapshot.taken_at.isoformat(),
            "rule": finding.rule,
            "severity": finding.severity.word,
            "topic": finding.topic,
            "partition": finding.partition,
            "broker": finding.broker,
            "message": finding.message,
            "evidence": dict(finding.evidence),
        }
        for snapshot in snapshots
        for finding in find(snapshot)
    ]


def identity(row: dict[str, Any], *times: str) -> str:
    return repr([row["cluster"], *(row[name] for name in (*PLACE, *times))])


def expected_spans(snapshots: Sequence[ClusterSnapshot]) -> list[dict[str, Any]]:
    """Walks through the snapshots of each cluster, a finding at a time."""
    done: list[dict[str, Any]] = []
    for _, group in groupby(snapshots, key=lambda snapshot: snapshot.label):
        running: dict[str, dict[str, Any]] = {}
        for snapshot in group:
            now = {identity(row): row for row in expected_findings([snapshot])}
            done += [{**running.pop(key), "in_newest": False} for key in set(running) - set(now)]
            for key, row in now.items():
                taken_at = row.pop("taken_at")
                before = running.get(key, {"valid_from": taken_at, "snapshots": 0})
                span = {"valid_from": before["valid_from"], "valid_to": taken_at, "snapshots": before["snapshots"] + 1}
                running[key] = {**row, **span}
        done += [{**row, "in_newest": True} for row in running.values()]
    return done


@settings(examples(0.02), phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_findings_and_counts_are_those_of_each_snapshot(
    generated: Callable[..., list[ClusterSnapshot]], in_spark: Callable[..., Any], seed: int
) -> None:
    from analyzers.audit import Audit

    snapshots = generated(Random(seed), 16)
    audit = Audit(in_spark(snapshots), ALL_RULES, per_snapshot=True)

    found = sorted(map(structs.asdict, audit.findings()), key=lambda row: identity(row, "taken_at"))
    newest = {snapshot.label: snapshot.taken_at.isoformat() for snapshot in snapshots}
    expected = [{**row, "in_newest": row["taken_at"] == newest[row["cluster"]]} for row in expected_findings(snapshots)]
    assert found == sorted(expected, key=lambda row: identity(row, "taken_at"))

    counted = audit.counts()
    assert [(row.cluster, row.taken_at) for row in counted] == [(item.label, item.taken_at) for item in snapshots]
    for row, snapshot in zip(counted, snapshots, strict=True):
        size = {
            "partitions": len(snapshot.partitions),
            "topics": snapshot.topic_count,
            "brokers": len(snapshot.brokers),
        }
        every = count_all(Evaluator(snapshot))
        assert row.counts == {**size, **{count.predicate.name: count.true for count in every}}
        assert row.unknown == {count.predicate.name: count.unknown for count in every if count.unknown}


def test_runs_of_a_finding_become_spans(
    generated: Callable[..., list[ClusterSnapshot]], in_spark: Callable[..., Any]
) -> None:
    from analyzers.audit import Audit

    source = Random(20260301)
    different = generated(source, 6)
    # The same states again and again, so that findings last, end and come back.
    snapshots = _repeated(different, source)
    audit = Audit(in_spark(snapshots), ALL_RULES)
    expected = expected_spans(snapshots)
    assert max(row["snapshots"] for row in expected) > 2
    found = sorted(map(structs.asdict, audit.findings()), key=lambda row: identity(row, "valid_from"))
    assert found == sorted(expected, key=lambda row: identity(row, "valid_from"))

    tallies = audit.tallies()
    assert sum(tally.findings for tally in tallies) == len(expected)
    assert sum(tally.in_newest for tally in tallies) == sum(row["in_newest"] for row in expected)
    top = audit.top(7)
    assert len(top) == 7
    assert top[0].severity == "critical"
    assert top[0].in_newest is True


def test_only_the_rules_asked_for_are_judged(
    generated: Callable[..., list[ClusterSnapshot]], in_spark: Callable[..., Any]
) -> None:
    from analyzers.audit import Audit

    snapshots = generated(Random(7), 8)
    for rule in ("offline", "mixed-rf", "leader-imbalance"):
        expected = [row for row in expected_findings(snapshots) if row["rule"] == rule]
        found = list(Audit(in_spark(snapshots), {rule}, per_snapshot=True).findings())
        assert expected
        assert {row.rule for row in found} == {rule}
        assert len(found) == len(expected)


def _repeated(snapshots: Sequence[ClusterSnapshot], source: Random) -> list[ClusterSnapshot]:
    from dataclasses import replace
    from datetime import timedelta

    made = [
        replace(
            source.choice(snapshots),
            cluster_id=f"cluster-{cluster}",
            taken_at=snapshots[0].taken_at + timedelta(hours=hour),
        )
        for cluster in range(3)
        for hour in range(7)
    ]
    return sorted(made, key=lambda snapshot: (snapshot.label, snapshot.taken_at))
