"""Exit codes of audit: findings first, then what was not read or not told, by the table of the README."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from generated_clusters import hidden, partition, snapshot_of

from analyzers.audit import Tally
from commands.audit.answer import Audited, Question
from commands.audit.command import _exit_code
from commands.shared.rule_options import FailOn
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
    question = Question(selection, frozenset(), per_snapshot=False, counts_only=False, output=None)
    tallies = [Tally("one", "a-rule", severity, findings=1, in_newest=1) for severity in severities]
    return Audited(question, cast("Any", None), [], tallies)


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
    assert _exit_code(audited(tmp_path / "none", **facts), FailOn.warning) is code
    assert _exit_code(audited(tmp_path / "minor", Severity.INFO, **facts), FailOn.warning) is code
    found = audited(tmp_path / "major", Severity.INFO, Severity.WARNING, **facts)
    assert _exit_code(found, FailOn.warning) is ExitCode.FINDINGS
    assert _exit_code(found, FailOn.critical) is code
