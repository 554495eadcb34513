"""kreplica audit --baseline: what is told, counted and ended with when an earlier answer has some of the findings."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from clusters.generated import NOON, partition, snapshot_of
from rich.console import Console

import analyzers.new_findings
from analyzers.audit import SnapshotCounts, Tally
from analyzers.fleet_audit import Audited
from analyzers.rows import SpanFinding
from analyzers.rules.over_time import tallied
from commands.audit.answer import answer_to
from commands.audit.screen import show
from commands.shared.printing.output import OutputFormat
from kreplica.errors import ExitCode, UsageError
from kreplica.fleet.known.baseline import read_baseline
from kreplica.health.rules import Severity
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.rows import names_of
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot


class Found:
    """Findings as an Audit gives them."""

    row = SpanFinding
    columns = names_of(SpanFinding)

    def __init__(self, rows: Sequence[SpanFinding]) -> None:
        self.rows = rows

    def findings(self) -> Iterator[SpanFinding]:
        return iter(self.rows)


def finding(number: int, first: int, last: int, severity: Severity = Severity.WARNING) -> SpanFinding:
    times = [(NOON + timedelta(hours=hour)).isoformat() for hour in (first, last)]
    place = ("under-replicated", severity, "orders", number, None)
    return SpanFinding("c1", *times, None, 1, 0, True, *place, "in sync 1 of 2", {}, False)


def audited(folder: Path, *rows: SpanFinding) -> Audited:
    """Three snapshots of a cluster, an hour apart from noon on, with what Spark found in them."""
    taken = [NOON + timedelta(hours=hour) for hour in range(3)]
    for when in taken:
        write_snapshot(snapshot_of([partition()], [{"broker": 1}], cluster_id="c1", name="c1", taken_at=when), folder)
    numbers = {"topics": 1, "brokers": 1, "partitions": 1, **{one.name: 0 for one in PREDICATES}}
    counts = [SnapshotCounts("c1", when, numbers, {}) for when in taken]
    tallies = [Tally(*key, *some) for key, some in tallied(rows).items()]
    return Audited(select_snapshots([folder], Wanted()), cast("Any", Found(rows)), counts, tallies)


def narrowed(folder: Path, earlier: Sequence[SpanFinding], *rows: SpanFinding) -> Audited:
    lines = [json.dumps({name: getattr(one, name) for name in one.__struct_fields__}) for one in earlier]
    (folder.parent / "earlier.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return audited(folder, *rows).only_new(read_baseline(folder.parent / "earlier.jsonl"))


def screen(one: Audited, code: ExitCode) -> list[str]:
    text = io.StringIO()
    show(one, ["dumps"], code, Console(file=text, width=160))
    return text.getvalue().splitlines()


def test_only_what_is_new_is_told_counted_and_ended_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known, new = finding(0, 0, 2, Severity.CRITICAL), finding(1, 1, 2)
    every = [finding(0, 0, 1)]
    one = narrowed(tmp_path / "dumps", every, known, new)
    for form in (OutputFormat.json, OutputFormat.csv):
        answer = answer_to(one, form, counts_only=False)
        assert [*answer.rows] == [new]
        assert (answer.summary["findings"], answer.summary["in_baseline"]) == (1, 1)
        assert answer.summary["by_severity"] == {"warning": 1}
    assert one.exit_code(Severity.WARNING) is ExitCode.FINDINGS
    assert one.exit_code(Severity.CRITICAL) is ExitCode.OK
    lines = screen(one, ExitCode.FINDINGS)
    assert "baseline 1 finding that it does not have; 1 that it has are left out" in lines
    assert capsys.readouterr().out.count("in sync 1 of 2") == 1


def test_nothing_new_is_said_and_is_no_finding(tmp_path: Path) -> None:
    one = narrowed(tmp_path / "dumps", [finding(0, 0, 1)], finding(0, 0, 2))
    assert one.exit_code() is ExitCode.OK
    lines = screen(one, ExitCode.OK)
    assert lines[0].startswith("NOTHING NEW no partition in trouble in the newest snapshot of 1 cluster")
    assert "in_baseline" not in answer_to(audited(tmp_path / "other"), OutputFormat.json, counts_only=False).summary


def test_what_lasted_goes_on_at_the_first_snapshot_that_is_read(tmp_path: Path) -> None:
    before = [finding(0, -3, -2), finding(1, -3, -2)]
    one = narrowed(tmp_path / "dumps", before, finding(0, 0, 2), finding(1, 1, 2))
    assert [row.partition for row in one.told.findings()] == [1]


def test_more_that_is_new_than_is_held_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzers.new_findings, "MOST_HELD", 1)
    monkeypatch.setattr(analyzers.audit, "MOST_HELD", 1)
    assert narrowed(tmp_path / "one", [], finding(0, 0, 2)).total == 1
    with pytest.raises(UsageError, match="more than one answer holds"):
        narrowed(tmp_path / "two", [], finding(0, 0, 2), finding(1, 0, 2))
