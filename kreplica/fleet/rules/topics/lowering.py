"""Lowering: values of partitions that became less than they were, by topic and moment, and how long they stayed so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.health.rules import Severity
from kreplica.model.tables.columns import IntColumn
from kreplica.model.wording.words import counted


@dataclass(slots=True)
class _Lowered:
    """Partitions of a topic in which a value was lowered at one moment, and what became of it."""

    before: int
    after: int
    last: int = -1
    ended: set[int] = field(default_factory=set)
    partitions: list[int] = field(default_factory=list)


def lowered(
    history: ClusterHistory, table: Lasting, column: str, values: IntColumn, name: str, what: str
) -> Iterator[FleetFinding]:
    """Findings of values that became less, one for each topic, moment, and value before and after.

    Args:
        history: The cluster's history.
        table: Its partitions, not empty.
        column: The column that the value is of: where it was last told is what a finding began after.
        values: The value of each row.
        name: The rule.
        what: The value in words.
    """
    valid = np.ones(len(table), np.bool_) if values.valid is None else values.valid
    before, after = table.changes
    less = valid[before] & valid[after] & (values.values[after] < values.values[before])
    topics, last_told = table.strings("topic"), table.last_telling(column, before)
    found: dict[tuple[str | None, int, int, int, int], _Lowered] = {}
    for row in np.flatnonzero(less).tolist():
        one, other = int(before[row]), int(after[row])
        was, now = int(values.values[one]), int(values.values[other])
        key = (topics[other], int(last_told[row]), int(table.runs.first[other]), was, now)
        group = found.setdefault(key, _Lowered(was, now))
        last, ended = _lasts(table, values, valid, other, was)
        group.last = max(group.last, last)
        group.ended.add(ended)
        group.partitions.append(table.integers("partition").values[other].item())
    for (topic, seen, first, was, now), group in found.items():
        number = counted(len(group.partitions), "partition")
        yield history.finding(
            Span(seen, first, group.last, -1 if -1 in group.ended else max(group.ended)),
            table.tellers,
            rule=name,
            severity=Severity.WARNING,
            certainty=Certainty.PROVED,
            message=f"{what} lowered from {was} to {now} in {number}",
            topic=topic,
            evidence={"before": was, "after": now, "partitions": sorted(group.partitions)},
        )


def _lasts(table: Lasting, values: IntColumn, valid: np.ndarray, row: int, was: int) -> tuple[int, int]:
    """Numbers of the last observation with less than there was, and of the one that ended it, -1 if none did."""
    runs = table.runs
    while True:
        following = row + 1
        goes_on = (
            following < len(runs)
            and runs.coded.keys[following] == runs.coded.keys[row]
            and runs.first[following] == runs.ended[row]
            and not (valid[following] and values.values[following] >= was)
        )
        if not goes_on:
            return int(runs.last[row]), int(runs.ended[row])
        row = following
