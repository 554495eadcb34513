"""Brokers that are not there any more, or not alive, by snapshots that list all of them, or by metadata logs.

A broker that was back before it was away for longer than a restart takes, as far as is known, did not vanish: logs
see each restart. One that is away now, and was so for no longer, may be about to come back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.rules.absences import RESTART_MS, absences
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.wording.words import counted

NAME = "vanished-broker"


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Brokers that are not listed any more, or listed as not alive, and were not just restarted."""
    table = history.brokers
    if not len(table):
        return
    alive = table.booleans("alive")
    there = alive.values | alive.is_null()
    brokers = table.integers("broker").values
    order = np.argsort(brokers, kind="stable")
    things = np.split(order, np.flatnonzero(np.diff(brokers[order])) + 1)
    for one in absences(table, things, there):
        span = one.span(table)
        brief = int(history.held_until[span.last] - history.times[span.first]) <= RESTART_MS
        if brief and one.back >= 0:
            continue
        broker = int(brokers[one.before])
        left = _replicas_on(history.partitions, broker, one.first)
        told = f"{counted(left, 'partition')} still placed on it" if left else "no partition is placed on it"
        yield history.finding(
            span,
            table.tellers,
            rule=NAME,
            severity=Severity.WARNING if left else Severity.INFO,
            certainty=Certainty.POSSIBLE if brief else Certainty.PROVED,
            message=f"the broker {'is not there any more' if one.back < 0 else 'was not there'}; {told}",
            broker=broker,
            evidence={"partitions": left, "rack": table.strings("rack")[one.before]},
        )


def _replicas_on(table: Lasting, broker: int, at: int) -> int:
    """Number of partitions that have a replica on a broker at an observation."""
    replicas = table.lists("replicas")
    runs = table.runs
    hits = np.unique(replicas.row_numbers()[replicas.values == broker])
    inside = (runs.first[hits] <= at) & ((runs.ended[hits] < 0) | (runs.ended[hits] > at))
    return int(inside.sum())


RULE = FleetRule(
    NAME,
    Severity.INFO,
    (BROKERS, PARTITIONS),
    "a broker stopped for longer than a restart takes, half an hour, or was taken out of the cluster; a warning while "
    "partitions are placed on it",
    "start it again, or move its replicas to other brokers",
    find,
    worst=Severity.WARNING,
)
