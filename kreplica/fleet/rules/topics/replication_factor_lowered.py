"""Replication factors that were lowered: fewer copies than there were meant to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.rules.topics.lowering import lowered
from kreplica.health.rules import Severity
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.expressions import Difference, OrEmpty, Size
from kreplica.model.tables.columns import IntColumn
from kreplica.model.tables.schema import PARTITIONS

NAME = "replication-factor-lowered"
_TARGET = Size(Difference(known.REPLICAS, OrEmpty(known.REMOVING)))
"""Replicas that a partition is to have when its reassignment, if any, is over."""


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics with partitions that have fewer replicas than before; those being removed count as gone."""
    table = history.partitions
    if len(table):
        factors = _without_passing(table, table.evaluator.integer(_TARGET))
        yield from lowered(history, table, "replicas", factors, NAME, "replicas")


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


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (PARTITIONS,),
    "fewer copies than there were meant to be: the loss of fewer brokers loses records",
    "raise it again by a reassignment, unless it was meant",
    find,
)
