"""kreplica check: the rules, judged over one cluster or several, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import (
    ExcludeInternalOption,
    ExitZeroOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    narrowed,
    takes_sources,
)
from kreplica.errors import ExitCode, UsageError
from kreplica.nearest_names import nearest_or_known

if TYPE_CHECKING:
    from commands.output import Row
    from commands.reading import Reading
    from kreplica.health.findings import Finding
    from kreplica.model.schema import Kind
    from kreplica.model.snapshot import ClusterSnapshot

COLUMNS = ("rule", "severity", "topic", "partition", "broker", "message", "evidence")


class FailOn(StrEnum):
    """From which severity on findings make the command exit 1."""

    info = "info"
    warning = "warning"
    critical = "critical"


FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="Lowest severity that makes the exit code 1.")]
RuleOption = Annotated[
    list[str] | None, typer.Option("--rule", metavar="NAME", help="Only this rule; may be repeated.")
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("check", short_help="The rules that a cluster breaks, and the facts behind each.")(check)


@takes_sources
def check(
    sources: SourceOptions,
    rule: RuleOption = None,
    fail_on: FailOnOption = FailOn.warning,
    everything: Annotated[bool, typer.Option("--all", help="List every finding on the screen.")] = False,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Judge a cluster by kreplica's rules: every finding with its severity and the facts behind it.

    On the screen findings are gathered by rule, unless --all or --rule asks for each. Exits 1 when a finding is at
    least as severe as --fail-on, 5 when there is none but something could not be read.
    """
    from commands.check_screen import CheckedView, show
    from commands.output import Answer, emit
    from commands.reading import cluster_object, read_clusters, select_each
    from kreplica.sources import Facet

    rules = known_rules(rule or ())
    reading = read_clusters(sources.handles(), Facet.HEALTH)
    snapshots, remarks = select_each(reading.snapshots, topics=topic, exclude_internal=exclude_internal)
    found = [(snapshot, _find(snapshot, rules)) for snapshot in snapshots]
    lead = ("cluster",) if reading.several else ()
    rows = [
        finding_row(finding, snapshot.label if reading.several else None)
        for snapshot, some in found
        for finding in some
    ]
    answer = Answer(
        command="check",
        rows_name="findings",
        columns=(*lead, *COLUMNS),
        rows=rows,
        clusters=[cluster_object(snapshot) for snapshot in snapshots],
        summary=_summary(rows),
        warnings=[*reading.warnings(), *remarks],
        kinds=_kinds(),
    )
    views = [
        CheckedView(snapshot, some, f"{sources.again(snapshot.name)}{narrowed(topic, exclude_internal)}")
        for snapshot, some in found
    ]
    emit(answer, output, lambda console: show(answer, views, console, each=everything or bool(rule)))
    raise typer.Exit(_exit_code(found, fail_on, reading, exit_zero=exit_zero))


def known_rules(names: Sequence[str]) -> frozenset[str]:
    """The names given, or all rules if none is.

    Raises:
        UsageError: There is no such rule.
    """
    from kreplica.health.rules import ALL_RULES

    known = {rule.name for rule in ALL_RULES}
    unknown = sorted(set(names) - known)
    if unknown:
        raise UsageError(f"no rule {', '.join(unknown)}", "", nearest_or_known(unknown[0], sorted(known)))
    return frozenset(names or known)


def finding_row(finding: Finding, cluster: str | None) -> dict[str, object]:
    """A finding as a row of the contract; ``cluster`` only where there are several."""
    row: dict[str, object] = {} if cluster is None else {"cluster": cluster}
    return row | {
        "rule": finding.rule,
        "severity": finding.severity.word,
        "topic": finding.topic,
        "partition": finding.partition,
        "broker": finding.broker,
        "message": finding.message,
        "evidence": dict(finding.evidence),
    }


def _find(snapshot: ClusterSnapshot, rules: frozenset[str]) -> list[Finding]:
    from kreplica.health.findings import find

    return find(snapshot, rules)


def _kinds() -> dict[str, Kind]:
    from kreplica.model.schema import Kind

    return {name: Kind.INT32 if name in ("partition", "broker") else Kind.STRING for name in ("cluster", *COLUMNS)}


def _summary(rows: Sequence[Row]) -> dict[str, object]:
    return {
        "findings": len(rows),
        "by_severity": dict(Counter(str(row["severity"]) for row in rows)),
        "by_rule": dict(Counter(str(row["rule"]) for row in rows)),
    }


def _exit_code(
    found: Sequence[tuple[ClusterSnapshot, list[Finding]]],
    fail_on: FailOn,
    reading: Reading,
    *,
    exit_zero: bool,
) -> ExitCode:
    from kreplica.health.rules import Severity

    lowest = Severity[fail_on.name.upper()]
    if any(finding.severity >= lowest for _, some in found for finding in some):
        return ExitCode.OK if exit_zero else ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if reading.incomplete else ExitCode.OK
