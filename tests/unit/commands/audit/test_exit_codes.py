"""Exit codes of audit: findings first, then what was not read or not told, by the table of the README."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from clusters.generated import hidden, partition, snapshot_of

from analyzers.audit import MOST_HELD, Tally
from analyzers.fleet_audit import Audited
from analyzers.rows import SpanFinding
from commands.audit.answer import answer_to
from commands.shared.printing.output import OutputFormat
from kreplica.errors import ExitCode, UsageError
from kreplica.health.rules import Severity
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot


def audited(folder: Path, *severities: Severity, gap: bool = False, damage: bool = False) -> Audited:
    """An audit of two clusters, the second of which may hide topics, with what Spark found."""
    for name, gaps in (("one", ()), ("two", (hidden(2),) if gap else ())):
        write_snapshot(snapshot_of([partition()], [{"broker": 1}], cluster_id=name, name=name, gaps=gaps), folder)
    if damage:
        next((folder / "manifests").rglob("*.json")).with_name("damaged.json").write_text("{")
    selection = select_snapshots([folder], Wanted())
    tallies = [Tally("one", "a-rule", severity, findings=1, in_newest=1) for severity in severities]
    return Audited(selection, cast("Any", NothingFetched), [], tallies)


class NothingFetched:
    row = SpanFinding

    @staticmethod
    def findings() -> Iterator[SpanFinding]:
        raise AssertionError("findings were fetched")
        yield


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({}, ExitCode.OK),
        ({"gap": True}, ExitCode.INCOMPLETE),
        ({"damage": True}, ExitCode.INCOMPLETE),
    ],
    ids=["whole", "gap", "damage"],
)
def test_a_finding_comes_before_what_is_missing(tmp_path: Path, facts: dict[str, bool], code: ExitCode) -> None:
    assert audited(tmp_path / "none", **facts).exit_code(Severity.WARNING) is code
    assert audited(tmp_path / "minor", Severity.INFO, **facts).exit_code(Severity.WARNING) is code
    found = audited(tmp_path / "major", Severity.INFO, Severity.WARNING, **facts)
    assert found.exit_code(Severity.WARNING) is ExitCode.FINDINGS
    assert found.exit_code(Severity.CRITICAL) is code


@pytest.mark.parametrize("output", [OutputFormat.json, OutputFormat.parquet])
def test_more_findings_than_memory_should_hold_are_refused_before_any_is_fetched(
    tmp_path: Path, output: OutputFormat
) -> None:
    (tally,) = audited(tmp_path, Severity.INFO).tallies
    many = replace(audited(tmp_path), tallies=[replace(tally, findings=MOST_HELD), tally])
    with pytest.raises(UsageError, match=rf"{MOST_HELD + 1} findings.*--cluster and --since; -o jsonl.*--out DIR"):
        answer_to(many, output, counts_only=False)
    assert answer_to(many, output, counts_only=True).rows == []
    with pytest.raises(AssertionError, match="were fetched"):
        answer_to(replace(many, tallies=[replace(tally, findings=MOST_HELD)]), output, counts_only=False)
    for form in (OutputFormat.table, OutputFormat.jsonl, OutputFormat.csv, OutputFormat.markdown):
        assert answer_to(many, form, counts_only=False).columns is SpanFinding
