"""Findings of many snapshots and metadata logs, and the spans that they form, in plain Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate, groupby, pairwise
from random import Random
from statistics import median
from types import MappingProxyType
from typing import Any

from kreplica.health.findings import Finding, find
from kreplica.health.rules import GROUP_RULES, PARTITION_RULES, RowsWhere
from kreplica.history.months.observations import digest_of_snapshot
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.tables.table import Table

PLACE = ("rule", "severity", "topic", "partition", "broker")


def expected_findings(snapshots: Sequence[ClusterSnapshot]) -> list[dict[str, Any]]:
    return [
        {
            "cluster": snapshot.label,
            "taken_at": snapshot.taken_at.isoformat(),
            "rule": finding.rule,
            "severity": finding.severity.word,
            "topic": finding.topic,
            "partition": finding.partition,
            "broker": finding.broker,
            "message": finding.message,
            "evidence": dict(finding.evidence),
        }
        for snapshot in snapshots
        for finding in find(snapshot)
    ]


def identity(row: dict[str, Any], *times: str) -> str:
    return repr([row["cluster"], *(row[name] for name in (*PLACE, *times))])


Thing = tuple[str, str | None, int | None, int | None]


def states(snapshot: ClusterSnapshot) -> dict[Thing, tuple[int | None, str | None, Finding | None]]:
    """States of each thing and rule in a snapshot: severity's rank, 0 or not known; topic id; finding."""
    evaluator = Evaluator(snapshot)
    rows: list[dict[str, Any]] = [dict(row) for row in snapshot.partitions.rows()]
    ids = {row["topic"]: row["topic_id"] for row in rows}
    told: dict[Thing, int | None] = {}
    for rule in PARTITION_RULES if rows else ():
        for row, value in zip(rows, evaluator.boolean(rule.when).to_list(), strict=True):
            told[rule.name, row["topic"], row["partition"], None] = None if value is None else 0
    for group_rule in GROUP_RULES if rows else ():
        keys = [row["topic"] for row in rows] if group_rule.key is None else evaluator.integer(group_rule.key).to_list()
        conditions = [fact.condition for _, fact in group_rule.facts if isinstance(fact, RowsWhere)]
        columns = [evaluator.boolean(condition).to_list() for condition in conditions]
        for at, key in enumerate(keys):
            if key is not None:
                place = (key, None, None) if group_rule.key is None else (None, None, key)
                thing = (group_rule.name, *place)
                unknown = any(column[at] is None for column in columns)
                told[thing] = None if unknown or told.get(thing, 0) is None else 0
    found = {(item.rule, item.topic, item.partition, item.broker): item for item in find(snapshot)}
    ranks = {thing: item.severity.rank for thing, item in found.items()}
    return {thing: (rank, ids.get(thing[1] or ""), found.get(thing)) for thing, rank in {**told, **ranks}.items()}


def usual_wait(times: Sequence[datetime]) -> float:
    """Seconds between two looks at a cluster up to which nobody calls it a gap."""
    waits = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    some = [wait for wait in waits if wait]
    return 3 * median(some) if len(some) > 1 else float("inf")


Log = Sequence[ClusterSnapshot]
"""The states of a cluster by a metadata log, from its first moment to its last one."""
Held = Collection[tuple[str, str]]
"""Topics and settings that a log holds."""
SETTINGS = {"min_isr": "min.insync.replicas", "unclean_leader_election": "unclean.leader.election.enable"}


def told(
    snapshots: Sequence[ClusterSnapshot], logs: Sequence[Log], held: Held = ()
) -> list[tuple[ClusterSnapshot, Any]]:
    """What is known of a cluster, in order: the states of its logs, each with the log's number, and else snapshots.

    What a snapshot says in the time of a log does not count. Settings alone that a log never holds are in files of
    brokers: they are what the last snapshot before told.
    """
    inside = [one for one in snapshots if any(log[0].taken_at <= one.taken_at <= log[-1].taken_at for log in logs)]
    found: list[tuple[ClusterSnapshot, Any]] = [(one, None) for one in snapshots if one not in inside]
    for number, log in enumerate(logs):
        for state in log:
            rows: list[dict[str, Any]] = [dict(row) for row in state.partitions.rows()]
            for row in rows:
                for column, name in SETTINGS.items():
                    if row[column] is None and (row["topic"], name) not in held:
                        row[column] = _last_told(snapshots, state.taken_at, row, column)
            found.append((replace(state, partitions=Table.from_rows(PARTITIONS, rows)), number))
    return sorted(found, key=lambda pair: pair[0].taken_at)


def _last_told(snapshots: Sequence[ClusterSnapshot], until: datetime, row: dict[str, Any], column: str) -> Any:
    values = [
        older[column]
        for snapshot in snapshots
        if snapshot.taken_at <= until
        for older in snapshot.partitions.rows()
        if (older["topic"], older["partition"]) == (row["topic"], row["partition"])
    ]
    return next((value for value in reversed(values) if value is not None), None)


def expected_spans(
    snapshots: Sequence[ClusterSnapshot], logs: Mapping[str, Sequence[Log]] = MappingProxyType({}), held: Held = ()
) -> list[dict[str, Any]]:
    """Walks through what is known of each cluster, a thing at a time; snapshots are in order."""
    done: list[dict[str, Any]] = []
    for label, group in groupby(snapshots, key=lambda snapshot: snapshot.label):
        every = list(group)
        usual = usual_wait([snapshot.taken_at for snapshot in every])
        pairs = told(every, logs.get(label, ()), held)
        some, log = [one for one, _ in pairs], [number for _, number in pairs]
        times, said = [snapshot.taken_at for snapshot in some], [states(snapshot) for snapshot in some]
        waits = [timedelta(0), *(later - earlier for earlier, later in pairwise(times))]
        for at in range(1, len(some)):
            if log[at] is not None and log[at] == log[at - 1]:
                waits[at] = timedelta(0)
        stretch = list(accumulate(int(wait.total_seconds() > usual) for wait in waits))
        line = _Line(label, times, waits, log)
        for thing in {thing for one in said for thing, (rank, *_) in one.items() if rank}:
            span: dict[str, Any] = {}
            for at, one in enumerate(said):
                absent = 0 if some[at].source == "kafka" or log[at] is not None else None
                rank, topic_id, finding = one.get(thing, (absent, None, None))
                if rank is None:
                    continue
                if span:
                    renewed = None not in (span["id"], topic_id) and span["id"] != topic_id
                    if rank != span["rank"] or renewed or stretch[at] != stretch[span["last"]]:
                        span["ended"] = at if rank != span["rank"] or renewed else None
                        done.append(_span(line, span, in_newest=False))
                        span = {}
                if rank:
                    span = span or {"rank": rank, "first": at, "seen": 0, "id": None, "ended": None}
                    known = topic_id or span["id"]
                    seen = span["seen"] + (log[at] is None)
                    span |= {"last": at, "seen": seen, "id": known, "finding": finding}
            if span:
                done.append(_span(line, span, in_newest=True))
    return done


@dataclass(frozen=True)
class _Line:
    label: str
    times: Sequence[datetime]
    waits: Sequence[timedelta]
    log: Sequence[Any]


def _span(line: _Line, span: dict[str, Any], *, in_newest: bool) -> dict[str, Any]:
    finding, ended, last = span["finding"], span["ended"], span["last"]
    waits = [wait // timedelta(milliseconds=1) for wait in line.waits[span["first"] + 1 : last + 1]]
    log = line.log[span["first"]]
    held = ended is not None and line.log[last] is not None and line.log[last] == line.log[ended]
    return {
        "cluster": line.label,
        "valid_from": line.times[span["first"]].isoformat(),
        "last_seen": line.times[ended if held else last].isoformat(),
        "valid_to": None if ended is None else line.times[ended].isoformat(),
        "snapshots": span["seen"],
        "longest_interval_ms": max(waits, default=0),
        "in_newest": in_newest,
        "rule": finding.rule,
        "severity": finding.severity.word,
        "topic": finding.topic,
        "partition": finding.partition,
        "broker": finding.broker,
        "message": finding.message,
        "evidence": dict(finding.evidence),
        "exact": log is not None and log == line.log[last] and (ended is None or held),
    }


def repeated(snapshots: Sequence[ClusterSnapshot], source: Random, clusters: int = 3) -> list[ClusterSnapshot]:
    """States again and again in several clusters, so that findings last, end and come back; with pauses in between."""
    made = []
    for cluster in range(clusters):
        hour = 0
        for _ in range(9):
            hour += source.choice((0, 1, 1, 1, 1, 2, 9))
            moment = snapshots[0].taken_at + timedelta(hours=hour)
            made.append(replace(source.choice(snapshots), cluster_id=f"cluster-{cluster}", taken_at=moment))
    distinct = {digest_of_snapshot(one): one for one in made}.values()
    return sorted(distinct, key=lambda one: (one.label, one.taken_at, digest_of_snapshot(one)))
