"""Rules over time beside those on single snapshots: one answer in every form."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from histories.clusters import PlantedCluster, chosen_of

from analyzers.rows import SnapshotFinding, SpanFinding
from analyzers.rules.over_time import found_over_time, span_order
from kreplica.fleet.known.worsening import Stretch
from kreplica.history.selection import choose
from kreplica.system.stores.storage import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.audit import Audit

pytestmark = pytest.mark.spark

TIMES = [f"2026-04-01T0{hour}:00:00+00:00" for hour in range(4)]


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Two clusters; in one of them a topic is deleted, and a partition of another has no leader meanwhile."""
    clean, planted = PlantedCluster("a"), PlantedCluster("b")
    clean.snapshot(7)
    planted.snapshot(4)
    for number in range(3):
        del planted.partitions["orders", number]
    planted.change("audit", 1, leader=-1, isr=[1])
    planted.snapshot(3)
    chosen_of(tmp_path / "history", [clean, planted])
    return tmp_path / "history"


def audit_of(spark: SparkSession, history: Path, *rules: str) -> Audit:
    from analyzers.audit import Audit
    from analyzers.reading.histories import read_history
    from analyzers.reading.sources import Sources

    storage = LocalStorage(history)
    chosen = choose(storage)
    found = found_over_time(chosen, rules)
    return Audit(read_history(spark, storage, Sources(chosen)), rules, over_time=found)


def test_both_kinds_of_rules_are_one_answer(spark: SparkSession, history: Path, tmp_path: Path) -> None:
    audit = audit_of(spark, history, "offline", "vanished-topic", "no-snapshot")
    rows = list(audit.findings())
    assert [(row.cluster, row.severity, row.rule, row.topic, row.partition) for row in rows] == [
        ("b", "critical", "offline", "audit", 1),
        ("b", "warning", "vanished-topic", "orders", None),
    ]
    assert rows == sorted(rows, key=span_order)  # type: ignore[arg-type]
    gone = rows[1]
    assert (gone.valid_from, gone.last_seen, gone.valid_to) == (TIMES[0], TIMES[2], None)  # type: ignore[union-attr]
    assert (gone.snapshots, gone.longest_interval_ms, gone.in_newest) == (3, 3_600_000, True)  # type: ignore[union-attr]
    assert gone.evidence["begun_after"] == "2026-03-31T23:00:00+00:00"
    assert gone.evidence["certainty"] == "proved"
    assert [(tally.rule, tally.findings, tally.in_newest) for tally in audit.tallies()] == [
        ("offline", 1, 1),
        ("vanished-topic", 1, 1),
    ]
    assert audit.top(5) == rows
    assert audit.top(1) == rows[:1]
    with ExitStack() as afterwards:
        audit.write(tmp_path / "out", afterwards)
    written = {row["rule"]: row for row in pq.read_table(tmp_path / "out" / "findings").to_pylist()}
    assert written["vanished-topic"]["severity"] == "warning"
    assert written["vanished-topic"]["valid_from"].isoformat() == TIMES[0]
    assert json.loads(written["vanished-topic"]["evidence"]) == gone.evidence
    frame = audit.findings_pandas()
    assert frame["rule"].to_list() == ["offline", "vanished-topic"]


def test_rules_over_time_alone_leave_the_others_out(spark: SparkSession, history: Path) -> None:
    audit = audit_of(spark, history, "vanished-topic")
    assert [row.rule for row in audit.findings()] == ["vanished-topic"]
    assert [count.counts["offline"] for count in audit.counts() if count.cluster == "b"] == [0] * 4 + [1] * 3


def test_muted_findings_are_counted_in_spark_and_left_out(spark: SparkSession, history: Path) -> None:
    audit = audit_of(spark, history, "offline", "vanished-topic", "no-snapshot")
    offline, gone = audit.findings()
    assert isinstance(offline, SpanFinding)
    for rules in (["offline"], ["vanished-topic"], ["offline", "vanished-topic"], ["no-snapshot"]):
        wanted = [stretch_of(one) for one in (offline, gone) if one.rule in rules]
        assert sorted(audit.stretches(rules), key=repr) == sorted(wanted, key=repr)
    hidden = {("b", "offline", "audit"), ("a", "vanished-topic", "orders"), ("b", "vanished-topic", None)}
    rest = audit.without(hidden)
    assert list(rest.findings()) == rest.top(9) == [gone]
    assert [(one.rule, one.findings) for one in rest.tallies()] == [("vanished-topic", 1)]
    assert list(audit.without({("b", "vanished-topic", "orders")}).findings()) == [offline]
    assert list(audit.findings()) == [offline, gone], "the audit itself has all of them"


def stretch_of(one: SnapshotFinding | SpanFinding) -> Stretch:
    assert isinstance(one, SpanFinding)
    times = (None if text is None else moment_ms(text) for text in (one.valid_from, one.last_seen, one.valid_to))
    return Stretch(one.cluster, one.rule, one.severity, one.topic, *times, 1)  # type: ignore[arg-type]


def moment_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
