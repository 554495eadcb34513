"""kreplica check: the rules, judged over one cluster or several, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import (
    ExcludeInternalOption,
    ExitZeroOption,
    MaxAgeOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    exit_of,
    narrowed,
    takes_sources_as_of,
)
from commands.shared.options.rules import FailOn, FailOnOption, RuleOption, known_rules

if TYPE_CHECKING:
    from kreplica.health.findings import Finding


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


@takes_sources_as_of
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

    The screen groups findings by rule, unless --all or --rule is given. Exits 1 when a finding is at least as severe as
    --fail-on, 5 when there is none but something could not be read, or a rule of that severity could not be judged.
    """
    from commands.check.screen import CheckedView, show
    from commands.shared.printing.output import Answer, cluster_object, emit
    from commands.shared.values import parse_duration
    from kreplica.health.findings import Finding
    from kreplica.health.rules import Severity
    from kreplica.monitoring import checking

    rules, age = known_rules(rule or ()), None if max_age is None else parse_duration(max_age, "--max-age")
    checked = checking.check(
        sources.handles(),
        rules,
        lowest=Severity(fail_on),
        topics=topic,
        exclude_internal=exclude_internal,
        most_age=age,
    )
    answer = Answer(
        command="check",
        rows_name="findings",
        columns=Finding,
        rows=checked.rows,
        clusters=[cluster_object(snapshot) for snapshot in checked.snapshots],
        summary=_summary(checked.rows) | {"complete": not checked.missing},
        warnings=checked.warnings,
        row_clusters=checked.reading.row_clusters(checked.found),
    )
    views = [
        CheckedView(snapshot, some, f"{sources.again(snapshot.name)}{narrowed(topic, exclude_internal)}")
        for snapshot, some in checked.found
    ]
    emit(answer, output, lambda console: show(answer, views, console, each=everything or bool(rule)))
    code = checked.exit_code
    raise exit_of(code, exit_zero=exit_zero)


def _summary(findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "findings": len(findings),
        "by_severity": dict(Counter(finding.severity.word for finding in findings)),
        "by_rule": dict(Counter(finding.rule for finding in findings)),
    }
