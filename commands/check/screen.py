"""check on the screen: verdict first, then what is broken, rule by rule, then what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from commands.shared.printing.screen import TableColumn, aged, print_columns, print_lines, print_rows, print_verdict
from commands.shared.printing.verdicts import severity_color
from kreplica.health.findings import Finding
from kreplica.health.rules import ALL_RULES, Severity
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer
    from kreplica.model.snapshot import ClusterSnapshot

MOST_SHOWN = 4
"""Places that a rule names at most; the rest are counted."""

_RULES = (TableColumn("SEVERITY"), TableColumn("RULE"), TableColumn("FINDINGS"), TableColumn("WHERE", fold=True))
_WHY = {rule.name: rule.why for rule in ALL_RULES}


@dataclass(frozen=True, slots=True)
class CheckedView:
    """One cluster and what was found in it.

    Args:
        snapshot: The partitions that were judged.
        findings: The worst first.
        options: The way in and the selection, to be typed again.
    """

    snapshot: ClusterSnapshot
    findings: Sequence[Finding]
    options: str


def show(answer: Answer[Finding], views: Sequence[CheckedView], console: Console, *, each: bool) -> None:
    """Prints the findings for a person, each of them or gathered by rule."""
    if each:
        print_rows(console, Finding, answer.rows, row_clusters=answer.row_clusters)
    for number, view in enumerate(views):
        if number:
            console.print()
        _show_verdict(view, console)
        if not each:
            _show_rules(view, console)


def _show_verdict(view: CheckedView, console: Console) -> None:
    snapshot = view.snapshot
    partitions, topics = counted(len(snapshot.partitions), "partition"), counted(snapshot.topic_count, "topic")
    scope = f"{partitions} of {topics} in {snapshot.name}"
    counts = Counter(finding.severity for finding in view.findings)
    said = ", ".join(f"{counts[severity]} {severity.word}" for severity in reversed(Severity) if counts[severity])
    if view.findings:
        worst = max(counts)
        print_verdict(
            console,
            worst.word.upper(),
            severity_color(worst),
            f"{counted(len(view.findings), 'finding')} ({said}) among {scope}{aged(snapshot)}",
        )
    else:
        word, color = ("INCOMPLETE", "yellow") if snapshot.gaps else ("CLEAN", "green")
        print_verdict(console, word, color, f"no findings among {scope}{aged(snapshot)}")
    print_lines(console, "missing", [gap.message for gap in snapshot.gaps])


def _show_rules(view: CheckedView, console: Console) -> None:
    """One line for each rule and severity, with the first places."""
    rules = [(key, list(some)) for key, some in groupby(view.findings, key=lambda item: (item.severity, item.rule))]
    if not rules:
        return
    cells = [[severity.word, name, len(some), _places(some), _WHY[name]] for (severity, name), some in rules]
    print_columns(console, _RULES, [row[:-1] for row in cells])
    meanings = {name: why for _, name, _, _, why in cells}
    width = max(map(len, meanings))
    print_lines(console, "means", [f"{name:<{width}}  {why}" for name, why in meanings.items()])
    (_, name), _ = rules[0]
    print_lines(
        console,
        "next",
        [f"kreplica check {view.options} --rule {name}", f"kreplica check {view.options} --all"],
        whole=True,
    )


def _places(findings: Sequence[Finding]) -> str:
    """``orders 0,3; broker 5; and 7 more``."""
    shown, rest = findings[:MOST_SHOWN], findings[MOST_SHOWN:]
    parts = list(_place_parts(shown))
    return "; ".join([*parts, f"and {len(rest)} more"] if rest else parts)


def _place_parts(findings: Sequence[Finding]) -> Iterator[str]:
    for (topic, broker), some in groupby(findings, key=lambda item: (item.topic, item.broker)):
        partitions = ",".join(str(item.partition) for item in some if item.partition is not None)
        yield f"broker {broker}" if topic is None else f"{topic} {partitions}".rstrip()
