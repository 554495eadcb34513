"""kreplica check: the rules, judged over one cluster or several, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options import (
    ExcludeInternalOption,
    ExitZeroOption,
    MaxAgeOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    narrowed,
    takes_sources,
)
from commands.shared.rule_options import FailOn, FailOnOption, RuleOption, known_rules
from commands.shared.values import parse_duration
from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from kreplica.health.findings import Finding
    from kreplica.health.rules import Severity
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.monitoring.clusters import Reading


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "check",
        short_help="Judge a cluster by rules; each finding with its facts.",
        epilog=examples(
            "kreplica check --dump sample --rule rf-one --rule min-isr-equals-rf",
            "kreplica check --context 'prod-*' --fail-on critical -o json",
        ),
    )(check)


@takes_sources
def check(
    sources: SourceOptions,
    rule: RuleOption = None,
    fail_on: FailOnOption = FailOn.warning,
    everything: Annotated[bool, typer.Option("--all", help="List every finding on the screen.")] = False,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    max_age: MaxAgeOption = None,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Judge a cluster by kreplica's rules: every finding with its severity and the facts behind it.

    On the screen findings are gathered by rule, unless --all or --rule asks for each. Exits 1 when a finding is at
    least as severe as --fail-on, 5 when there is none but something could not be read, or a rule that could have one
    could not be judged.
    """
    from commands.check.screen import CheckedView, show
    from commands.shared.printing.output import Answer, cluster_object, emit
    from kreplica.health.findings import Finding, find
    from kreplica.health.gates import Freshness, gate_code
    from kreplica.health.rules import Severity
    from kreplica.monitoring.clusters import gaps_beside, judged_each, read_clusters, select_each
    from kreplica.sources import Facet

    rules = known_rules(rule or ())
    freshness = Freshness(None if max_age is None else parse_duration(max_age, "--max-age"))
    reading = read_clusters(sources.handles(), Facet.GATE, freshness)
    selected, remarks = select_each(reading.snapshots, topics=topic, exclude_internal=exclude_internal)
    lowest = Severity(fail_on)
    snapshots = [_with_unjudged(one, rules, lowest) for one in judged_each(reading, selected, freshness)]
    found = [(snapshot, find(snapshot, rules)) for snapshot in snapshots]
    rows = [finding for _, some in found for finding in some]
    answer = Answer(
        command="check",
        rows_name="findings",
        columns=Finding,
        rows=rows,
        clusters=[cluster_object(snapshot) for snapshot in snapshots],
        summary=_summary(rows) | {"complete": not _missing(reading, snapshots)},
        warnings=[*reading.warnings(), *remarks, *gaps_beside(reading, snapshots)],
        row_clusters=reading.row_clusters(found),
    )
    views = [
        CheckedView(snapshot, some, f"{sources.again(snapshot.name)}{narrowed(topic, exclude_internal)}")
        for snapshot, some in found
    ]
    emit(answer, output, lambda console: show(answer, views, console, each=everything or bool(rule)))
    against = any(finding.severity >= lowest for finding in rows)
    code = gate_code(against, _missing(reading, snapshots))
    raise typer.Exit(ExitCode.OK if exit_zero and code is ExitCode.FINDINGS else code)


def _with_unjudged(snapshot: ClusterSnapshot, rules: frozenset[str], lowest: Severity) -> ClusterSnapshot:
    """The cluster, with a gap that names the rules that could not be judged for some partitions."""
    from kreplica.health.findings import unjudged
    from kreplica.model.snapshot import Gap

    by_count: dict[int, list[str]] = {}
    for name, count in unjudged(snapshot, rules, lowest).items():
        by_count.setdefault(count, []).append(name)
    gaps = [
        Gap("not-judged", f"too little is known of {count} partitions for {', '.join(names)}", count)
        for count, names in by_count.items()
    ]
    return replace(snapshot, gaps=(*snapshot.gaps, *gaps))


def _missing(reading: Reading, snapshots: Sequence[ClusterSnapshot]) -> list[object]:
    """Facts that were not read or are not known."""
    return [*reading.failures, *(gap for snapshot in snapshots for gap in snapshot.gaps)]


def _summary(findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "findings": len(findings),
        "by_severity": dict(Counter(finding.severity.word for finding in findings)),
        "by_rule": dict(Counter(finding.rule for finding in findings)),
    }
