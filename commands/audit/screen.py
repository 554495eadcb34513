"""audit on the screen: the worst clusters, how their counts changed, the broken rules, and what to type next."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from commands.audit.shared.applied_mutes import print_mutes
from commands.audit.shared.moments import moment
from commands.shared.printing.screen import TableColumn, print_columns, print_lines, print_rows, print_verdict
from kreplica.errors import ExitCode
from kreplica.health.listing import TROUBLE
from kreplica.health.rules import Severity
from kreplica.model.cluster_names import told_names
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from analyzers.audit import SnapshotCounts
    from analyzers.fleet_audit import Audited

MOST_CLUSTERS = 20
MOST_FINDINGS = 15
MOST_STEPS = 6
"""Values that a trend spells out at most; longer ones show the first, the highest and the last."""

TRENDS = (*TROUBLE, "at_min_isr", "non_preferred", "reassigning")
"""Predicates that get a column where any snapshot counts one."""


@dataclass(frozen=True, slots=True)
class ClusterTrend:
    """One cluster over time; ``name`` is what the screen calls it, ``snapshots`` how many there are of it."""

    cluster: str
    name: str
    counts: Sequence[SnapshotCounts]
    snapshots: int

    def now(self, name: str) -> int:
        """A count of the newest snapshot."""
        return self.counts[-1].counts[name]

    def most(self, name: str) -> int:
        """The highest count of all."""
        return max(item.counts[name] for item in self.counts)

    def rank(self) -> tuple[object, ...]:
        """Sorts the worst first: by trouble now, then by trouble before."""
        return (*(-self.now(name) for name in TROUBLE), *(-self.most(name) for name in TROUBLE), self.cluster)


def show(
    audited: Audited, folders: Sequence[str], code: ExitCode, console: Console, *, counts_only: bool = False
) -> None:
    """Prints the audit for a person; its verdict says what the exit code says."""
    names = _names(audited)
    grouped = groupby(audited.counts, key=lambda item: item.cluster)
    seen = Counter(item.cluster for item in audited.selection.snapshots)
    found = (ClusterTrend(key, names[key], list(some), seen[key]) for key, some in grouped)
    trends = sorted(found, key=ClusterTrend.rank)
    _print_verdict(audited, trends, names, code, console)
    console.print()
    if counts_only:
        _print_counts(audited, names, console)
        return
    _print_trends(trends, console)
    if audited.total:
        console.print()
        _print_rules(audited, console)
        console.print()
        _print_findings(audited, names, console)
    print_lines(console, "next", _next(audited, trends, shlex.join(folders)), whole=True)


def _names(audited: Audited) -> dict[str, str]:
    """Name of each cluster by its label, as the screen has it."""
    return told_names({item.cluster: item.name for item in audited.observed})


def _word(audited: Audited, code: ExitCode, *, ill: bool) -> tuple[str, str]:
    """Word and colour; the worst severity if only older snapshots make it fail, or nothing is severe enough to."""
    worst = max((tally.severity for tally in audited.tallies), default=Severity.INFO).word.upper()
    if code is ExitCode.INCOMPLETE:
        return "INCOMPLETE", "yellow"
    if audited.new is not None and not audited.total:
        return "NOTHING NEW", "green"
    if ill and audited.muted and not audited.total:
        return "MUTED", "yellow"
    if code is ExitCode.OK:
        return (worst, "yellow") if ill else ("HEALTHY", "green")
    return ("UNHEALTHY" if ill else worst), "red"


def _print_verdict(
    audited: Audited, trends: Sequence[ClusterTrend], names: Mapping[str, str], code: ExitCode, console: Console
) -> None:
    ill = [trend for trend in trends if any(trend.now(name) for name in TROUBLE)]
    before = [trend for trend in trends if trend not in ill and any(trend.most(name) for name in TROUBLE)]
    word, color = _word(audited, code, ill=bool(ill))
    past = f"; {len(before)} had trouble before" if before else ""
    if ill:
        sums = [(sum(trend.now(name) for trend in ill), words) for name, words in TROUBLE.items()]
        said = ", ".join(f"{number} {words}" for number, words in sums if number)
        sentence = f"{len(ill)} of {counted(len(trends), 'cluster')} in their newest snapshot: partitions {said}{past}"
        print_verdict(console, word, color, sentence)
    else:
        found = "" if word in ("HEALTHY", "INCOMPLETE", "NOTHING NEW") else "findings, but "
        sentence = f"{found}no partition in trouble in the newest snapshot of {counted(len(trends), 'cluster')}{past}"
        print_verdict(console, word, color, sentence)
    print_lines(console, "read", [_read(audited, len(trends))])
    print_lines(console, "left out", _left_out(audited))
    if audited.new is not None:
        new, earlier = counted(audited.total, "finding"), audited.new.earlier
        print_lines(console, "baseline", [f"{new} that it does not have; {earlier} that it has are left out"])
    print_mutes(audited.mutes, names, console)


def _read(audited: Audited, clusters: int) -> str:
    times = [item.taken_at for item in audited.counts]
    partitions = sum(item.counts["partitions"] for item in audited.counts)
    number = f"{counted(len(audited.selection.snapshots), 'snapshot')} of {counted(clusters, 'cluster')}"
    logs = (
        f" and metadata logs of {audited.logged}" if audited.logged else f", {counted(partitions, 'partition')} in all"
    )
    return f"{number}{logs}, from {moment(min(times))} to {moment(max(times))} UTC"


def _left_out(audited: Audited) -> Iterator[str]:
    selection = audited.selection
    if selection.damaged:
        files = counted(len(selection.damaged), "damaged file")
        yield f"{files}, and with them {selection.told_left_out}: see the warnings"
    if selection.orphans:
        yield f"{counted(len(selection.orphans), 'foreign file')}: see the warnings"


def _print_trends(trends: Sequence[ClusterTrend], console: Console) -> None:
    shown = trends[:MOST_CLUSTERS]
    columns = [name for name in TRENDS if any(trend.most(name) for trend in trends)]
    header = [*map(TableColumn, ("CLUSTER", "SNAPSHOTS", "NEWEST", "PARTITIONS")), *_counts_columns(columns)]
    rows = [
        [
            trend.name,
            trend.snapshots,
            moment(trend.counts[-1].taken_at),
            *(_trend([item.counts[name] for item in trend.counts]) for name in ("partitions", *columns)),
        ]
        for trend in shown
    ]
    print_columns(console, header, rows)
    if len(trends) > len(shown):
        console.print(f"and {counted(len(trends) - len(shown), 'more cluster')}, in less trouble: --counts lists all")


def _trend(values: Sequence[int]) -> str:
    """The values of a count over time: ``0 → 41 → 0``; of a long series the first, the highest and the last."""
    steps = [value for value, _ in groupby(values)]
    if len(steps) <= MOST_STEPS:
        return " → ".join(map(str, steps))
    return f"{steps[0]} → … {max(steps)} … → {steps[-1]} ({len(steps) - 1} changes)"


def _print_counts(audited: Audited, names: Mapping[str, str], console: Console) -> None:
    counted = audited.counts
    columns = ["topics", "brokers", "partitions"]
    columns += [name for name in TRENDS if any(item.counts[name] for item in counted)]
    rows = [[names[item.cluster], moment(item.taken_at), *(item.counts[name] for name in columns)] for item in counted]
    print_columns(console, [TableColumn("CLUSTER"), TableColumn("TAKEN_AT"), *_counts_columns(columns)], rows)


def _counts_columns(names: Sequence[str]) -> list[TableColumn]:
    """Columns of counts; a narrow terminal leaves out the last first."""
    return [TableColumn(name.upper(), drop=len(names) - at) for at, name in enumerate(names)]


_RULES = tuple(map(TableColumn, ("SEVERITY", "RULE", "FINDINGS", "IN_NEWEST", "CLUSTERS")))


def _print_rules(audited: Audited, console: Console) -> None:
    findings: Counter[tuple[Severity, str]] = Counter()
    newest: Counter[tuple[Severity, str]] = Counter()
    clusters: dict[tuple[Severity, str], set[str]] = defaultdict(set)
    for tally in audited.tallies:
        key = (tally.severity, tally.rule)
        findings[key] += tally.findings
        newest[key] += tally.in_newest
        clusters[key].add(tally.cluster)
    rows = [
        [severity.word, rule, findings[severity, rule], newest[severity, rule], len(clusters[severity, rule])]
        for severity, rule in sorted(findings, key=lambda key: (-key[0].rank, key[1]))
    ]
    print_columns(console, _RULES, rows)


def _print_findings(audited: Audited, names: Mapping[str, str], console: Console) -> None:
    rows = audited.told.top(MOST_FINDINGS)
    times = [name for name in ("valid_from", "last_seen", "taken_at") if name in audited.audit.columns]
    exact = ["exact"] if any(getattr(row, "exact", False) for row in rows) else []
    shown = ["severity", "cluster", "rule", "topic", "partition", "broker", *times, *exact, "message"]
    cells: dict[str, Callable[[str], str]] = dict.fromkeys(times, lambda text: moment(datetime.fromisoformat(text)))
    print_rows(console, audited.audit.row, rows, shown=shown, cells={**cells, "cluster": names.__getitem__})
    if audited.total > len(rows):
        console.print(f"the worst {len(rows)} of {audited.total} findings: -o jsonl gives all")


def _next(audited: Audited, trends: Sequence[ClusterTrend], folders: str) -> Iterator[str]:
    if len(trends) > 1:
        yield f"kreplica audit {folders} --cluster {shlex.quote(trends[0].cluster)}"
    yield f"kreplica audit {folders} --counts"
    if audited.total:
        yield f"kreplica audit {folders} -o jsonl > findings.jsonl"
