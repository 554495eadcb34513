"""An audit of generated fleets finds and counts what kreplica's own rules find and count in each snapshot."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from examples import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs
from plain.spans import expected_findings, expected_spans, identity, repeated

from kreplica.health.listing import count_all
from kreplica.health.rules import GROUP_RULES, PARTITION_RULES, Severity
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot

pytestmark = pytest.mark.spark

ALL_RULES = frozenset(rule.name for rule in (*PARTITION_RULES, *GROUP_RULES))


@pytest.mark.timeout(900)
@settings(examples(0.04), phases=[Phase.generate])
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


@pytest.mark.timeout(900)
@settings(examples(0.02), phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_runs_of_a_finding_become_spans(
    generated: Callable[..., list[ClusterSnapshot]], in_spark: Callable[..., Any], seed: int
) -> None:
    from analyzers.audit import Audit

    source = Random(seed)
    # The same states again and again, so that findings last, end and come back; with gaps, and with partial sources.
    snapshots = repeated(generated(source, 10), source, 6)
    audit = Audit(in_spark(snapshots), ALL_RULES)
    expected = expected_spans(snapshots)
    found = sorted(map(structs.asdict, audit.findings()), key=lambda row: identity(row, "valid_from"))
    assert found == sorted(expected, key=lambda row: identity(row, "valid_from"))

    tallies = audit.tallies()
    assert sum(tally.findings for tally in tallies) == len(expected)
    assert sum(tally.in_newest for tally in tallies) == sum(row["in_newest"] for row in expected)
    top = audit.top(7)
    worst = sorted(expected, key=lambda row: (-Severity(row["severity"]).rank, not row["in_newest"]))[:7]
    assert [(row.severity, row.in_newest) for row in top] == [(row["severity"], row["in_newest"]) for row in worst]


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
