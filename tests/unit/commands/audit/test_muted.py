"""kreplica audit where rules are muted: what is told, counted and ended with, and what is said of a broken mute."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from clusters.generated import NOON, partition, snapshot_of
from rich.console import Console

from analyzers.audit import SnapshotCounts, Tally
from analyzers.fleet_audit import Audited
from analyzers.rows import SpanFinding
from analyzers.rules.over_time import tallied, worst_first
from commands.audit.answer import answer_to
from commands.audit.screen import show
from commands.shared.printing.output import OutputFormat
from kreplica.config.mutes import Mute
from kreplica.errors import ExitCode
from kreplica.fleet.known.worsening import Key, Stretch
from kreplica.health.rules import Severity
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.rows import names_of
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot

RULE = "under-replicated"
MADE = NOON + timedelta(minutes=30)


class Found:
    """Findings as an Audit gives them."""

    row = SpanFinding
    columns = names_of(SpanFinding)

    def __init__(self, rows: Sequence[SpanFinding]) -> None:
        self.rows = rows

    def findings(self) -> Iterator[SpanFinding]:
        return iter(self.rows)

    def top(self, count: int) -> Sequence[SpanFinding]:
        return worst_first(self.rows, count)

    def tallies(self) -> list[Tally]:
        return [Tally(*key, *some) for key, some in tallied(self.rows).items()]

    def stretches(self, rules: Collection[str]) -> list[Stretch]:
        return [
            Stretch(one.cluster, one.rule, one.severity, one.topic, ms(one.valid_from), ms(one.last_seen), None, 1)
            for one in self.rows
            if one.rule in rules
        ]

    def without(self, hidden: Collection[Key]) -> Found:
        return Found([one for one in self.rows if (one.cluster, one.rule, one.topic) not in hidden])


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def finding(number: int, first: int, rule: str = RULE, severity: Severity = Severity.WARNING) -> SpanFinding:
    times = [(NOON + timedelta(hours=hour)).isoformat() for hour in (first, 2)]
    return SpanFinding(
        "c1", *times, None, 1, 0, True, rule, severity, "orders", number, None, f"{rule} {number}", {}, False
    )


def audited(folder: Path, *rows: SpanFinding, ill: int = 0) -> Audited:
    """Three snapshots of a cluster, an hour apart from noon on, with what Spark found in them."""
    taken = [NOON + timedelta(hours=hour) for hour in range(3)]
    for when in taken:
        write_snapshot(snapshot_of([partition()], [{"broker": 1}], cluster_id="c1", name="prod", taken_at=when), folder)
    numbers = {"topics": 1, "brokers": 1, "partitions": 1, **{one.name: 0 for one in PREDICATES}}
    counts = [SnapshotCounts("c1", when, {**numbers, "under_replicated": ill}, {}) for when in taken]
    found = Found(rows)
    return Audited(select_snapshots([folder], Wanted()), cast("Any", found), counts, found.tallies())


def mute(**values: Any) -> Mute:
    return Mute(values.pop("rule", RULE), NOON + timedelta(days=7), MADE, **values)


def screen(one: Audited, capsys: Any) -> list[str]:
    text = io.StringIO()
    show(one, ["dumps"], one.exit_code(), Console(file=text, width=160))
    return [*text.getvalue().splitlines(), *capsys.readouterr().out.splitlines()]


def test_muted_findings_are_counted_apart_and_not_ended_with(tmp_path: Path, capsys: Any) -> None:
    rows = [finding(0, 0), finding(1, 0), finding(2, 0, "at-min-isr", Severity.INFO)]
    one = audited(tmp_path, *rows, ill=2).muted_by([mute(cluster="pro*")])
    assert one.exit_code() is ExitCode.OK
    for form in (OutputFormat.json, OutputFormat.jsonl):
        answer = answer_to(one, form, counts_only=False)
        assert [*answer.rows] == rows[2:]
        assert (answer.summary["findings"], answer.summary["muted"]) == (1, 2)
    (told,) = cast("list[dict[str, Any]]", answer.summary["mutes"])
    assert (told["rule"], told["cluster"], told["findings"], told["broken"]) == (RULE, "c1", 2, False)
    lines = screen(one, capsys)
    assert "muted    2 findings of under-replicated in prod, until 2026-03-08 12:00:00" in lines
    assert not [line for line in lines if line.endswith(("replicated 0", "replicated 1"))]


def test_where_all_is_muted_the_verdict_says_so(tmp_path: Path, capsys: Any) -> None:
    one = audited(tmp_path, finding(0, 0), ill=1).muted_by([mute(topic="o*")])
    assert one.exit_code() is ExitCode.OK
    lines = screen(one, capsys)
    assert lines[0].startswith("MUTED 1 of 1 cluster in their newest snapshot")
    assert "muted    1 finding of under-replicated of topics o* in prod, until 2026-03-08 12:00:00" in lines


def test_a_mute_that_is_broken_is_told_and_counts_again(tmp_path: Path, capsys: Any) -> None:
    rows = [finding(0, 0), finding(1, 1, severity=Severity.CRITICAL)]
    one = audited(tmp_path, *rows, ill=2).muted_by([mute()])
    assert one.exit_code(Severity.CRITICAL) is ExitCode.FINDINGS
    answer = answer_to(one, OutputFormat.json, counts_only=False)
    assert [*answer.rows] == rows
    assert (answer.summary["findings"], answer.summary["muted"]) == (2, 0)
    (told,) = cast("list[dict[str, Any]]", answer.summary["mutes"])
    assert told["broken"]
    assert (told["before"], told["after"]) == (
        {"at_once": 1, "severity": "warning"},
        {"at_once": 2, "severity": "critical"},
    )
    said = "under-replicated in prod got worse and counts again: 2 at once since 2026-03-01 12:30:00, 1 before"
    assert f"unmuted  {said}; critical since, warning before" in screen(one, capsys)


def test_a_mute_that_covers_nothing_is_not_told(tmp_path: Path) -> None:
    one = audited(tmp_path, finding(0, 0)).muted_by([mute(cluster="other"), mute(rule="offline")])
    assert one.exit_code() is ExitCode.FINDINGS
    assert "mutes" not in answer_to(one, OutputFormat.json, counts_only=False).summary
    assert audited(tmp_path / "again", finding(0, 0)).muted_by([]).total == 1
