"""Replication factors and min.insync.replicas that were lowered: what is protected less than it was meant to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.health.rules import Severity
from kreplica.model import predicates as known
from kreplica.model.columns import IntColumn
from kreplica.model.expressions import Difference, OrEmpty, Size
from kreplica.model.schema import PARTITIONS
from kreplica.model.words import counted

FACTOR, MIN_ISR = "replication-factor-lowered", "min-isr-lowered"
_TARGET = Size(Difference(known.REPLICAS, OrEmpty(known.REMOVING)))
"""Replicas that a partition is to have when its reassignment, if any, is over."""


@dataclass(slots=True)
class _Lowered:
    """Partitions of a topic in which a value was lowered at one moment, and what became of it."""

    before: int
    after: int
    last: int = -1
    ended: set[int] = field(default_factory=set)
    partitions: list[int] = field(default_factory=list)


def find_factors(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics with partitions that have fewer replicas than before; those being removed count as gone."""
    table = history.partitions
    if len(table):
        factors = _without_passing(table, table.evaluator.integer(_TARGET))
        yield from _lowered(history, table, "replicas", factors, FACTOR, "replicas")


def _without_passing(table: Lasting, values: IntColumn) -> IntColumn:
    """Numbers of replicas, that before it in place of a higher one that a single snapshot shows.

    Kafka tells replicas and reassignments in two answers: of a move that ends between them a snapshot may have the
    replicas of both sides, and nothing of the move.
    """
    before, after = table.changes
    known = np.ones(len(table), np.bool_) if values.valid is None else values.valid
    inner, at_before, at_after = np.intersect1d(after, before, return_indices=True)
    earlier, later, found = before[at_before], after[at_after], values.values.copy()
    higher = (
        (found[inner] > found[earlier]) & (found[inner] > found[later]) & known[inner] & known[earlier] & known[later]
    )
    passing = higher & (table.runs.first[inner] == table.runs.last[inner])
    if table.in_logs is not None:  # each record is a state that there was
        passing &= ~table.in_logs[table.runs.first[inner]]
    found[inner[passing]] = found[earlier[passing]]
    return IntColumn(found, values.valid)


def find_min_isrs(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics with a smaller min.insync.replicas than before."""
    table = history.partitions
    if len(table):
        yield from _lowered(history, table, "min_isr", table.integers("min_isr"), MIN_ISR, "min.insync.replicas")


def _lowered(
    history: ClusterHistory, table: Lasting, column: str, values: IntColumn, name: str, what: str
) -> Iterator[FleetFinding]:
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


FACTOR_RULE = FleetRule(
    FACTOR,
    Severity.WARNING,
    (PARTITIONS,),
    "fewer copies than there were meant to be: the loss of fewer brokers loses records",
    "raise it again by a reassignment, unless it was meant",
    find_factors,
)
MIN_ISR_RULE = FleetRule(
    MIN_ISR,
    Severity.WARNING,
    (PARTITIONS,),
    "records count as written when fewer replicas have them",
    "set it again, unless it was meant; look for a change of the brokers' default where several topics have it",
    find_min_isrs,
)
