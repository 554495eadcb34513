"""Exit codes of audit: findings first, then what was not read or not told, by the table of the README."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from generated_clusters import hidden, partition, snapshot_of

from analyzers.audit import Tally
from analyzers.fleet_audit import Audited
from kreplica.errors import ExitCode
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
    return Audited(selection, cast("Any", None), [], tallies)


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
