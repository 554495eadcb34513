"""Rules over time, of kreplica/fleet: what an audit of a history judges by besides the rules on single snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from analyzers.rows import SpanFinding
from kreplica.errors import UsageError
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.judging import FLEET_RULES, judge_clusters, newest_ms
from kreplica.fleet.rule import Circumstances
from kreplica.fleet.rules.settings import cluster_drift

if TYPE_CHECKING:
    from kreplica.health.rules import Severity
    from kreplica.history.selection import Chosen

FLEET_NAMES = frozenset(rule.name for rule in FLEET_RULES)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def refuse_without_time(rules: Collection[str], *, history: bool) -> None:
    """Raises UsageError if rules over time are all that is asked for, and there is no history."""
    if not history and rules and FLEET_NAMES.issuperset(rules):
        what = f"{', '.join(sorted(rules))}: rules over time judge a history"
        raise UsageError(what, "dumps are named", "kreplica audit ingest DUMP... --into HISTORY makes one of them")


def refuse_without_group(rules: Collection[str], groups: Collection[str]) -> None:
    """Raises UsageError if a rule that compares clusters of a group is asked for, and there is no group."""
    if cluster_drift.NAME in rules and not groups:
        what = f"{cluster_drift.NAME} compares the clusters of a group"
        raise UsageError(what, "no group is named", "name one by --group TAG, a tag of contexts")


def found_over_time(
    chosen: Chosen,
    rules: Collection[str],
    now_ms: int | None = None,
    expect_every_ms: int | None = None,
    processes: int = 1,
    groups: Mapping[str, frozenset[str]] | None = None,
) -> list[SpanFinding]:
    """Rows of what fleet rules found, the most severe first.

    Args:
        chosen: The months of the history.
        rules: Names of the rules to judge by; those of other kinds are left out.
        now_ms: The moment that the fleet is judged at, milliseconds since the epoch; its newest snapshot if None.
        expect_every_ms: A snapshot is due so often; None for the interval that each cluster kept.
        processes: Number of processes that share the clusters.
        groups: Groups of clusters that are to be alike, each with the ids or names of its clusters.

    Raises:
        InputError: A file is damaged, or not there.
    """
    names = FLEET_NAMES.intersection(rules)
    if not names or not chosen.months:
        return []
    asked = Circumstances(newest_ms(chosen) if now_ms is None else now_ms, expect_every_ms, groups or {})
    return sorted(map(row_of, judge_clusters(chosen, asked, names, processes)), key=span_order)


def tallied(rows: Iterable[SpanFinding]) -> Mapping[tuple[str, str, Severity], tuple[int, int]]:
    """Numbers of rows by cluster, rule and severity: of all, and of those in the newest snapshot."""
    every, newest = Counter[tuple[str, str, "Severity"]](), Counter[tuple[str, str, "Severity"]]()
    for row in rows:
        key = (row.cluster, row.rule, row.severity)
        every[key] += 1
        newest[key] += row.in_newest
    return {key: (count, newest[key]) for key, count in every.items()}


def span_order(row: SpanFinding) -> tuple[object, ...]:
    """Sorts as an audit does: the most severe first, then by cluster, rule, key and time; null before anything else."""
    key = (row.topic or "", -1 if row.partition is None else row.partition, -1 if row.broker is None else row.broker)
    return (-row.severity.rank, row.cluster, row.rule, *key, row.valid_from)


def worst_first(rows: Iterable[SpanFinding], count: int) -> Sequence[SpanFinding]:
    """The first rows: the most severe first, those of the newest snapshots before older ones, the latest before."""
    by_time = sorted(sorted(rows, key=span_order), key=lambda row: row.last_seen, reverse=True)
    return sorted(by_time, key=lambda row: (-row.severity.rank, not row.in_newest))[:count]


def row_of(one: FleetFinding) -> SpanFinding:
    """A finding of a rule over time as a row of the answer."""
    evidence: dict[str, object] = {"certainty": one.certainty.value, "begun_after": _time(one.begun_after_ms)}
    if one.group is not None:
        evidence["group"] = one.group
    return SpanFinding(
        cluster=one.cluster,
        valid_from=_text(one.valid_from_ms),
        last_seen=_text(one.last_seen_ms),
        valid_to=_time(one.valid_to_ms),
        snapshots=one.snapshots,
        longest_interval_ms=one.longest_interval_ms,
        in_newest=one.in_newest,
        rule=one.rule,
        severity=one.severity,
        topic=one.topic,
        partition=one.partition,
        broker=one.broker,
        message=one.message,
        evidence={**evidence, **one.evidence},
        exact=one.exact,
    )


def _time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else _text(milliseconds)


def _text(milliseconds: int) -> str:
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat()
