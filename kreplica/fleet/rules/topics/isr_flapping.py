"""Brokers that leave the in-sync replicas of a partition again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import often, over_a_day_later, to_the_day
from kreplica.health.rules import Severity
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Column, Difference
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.wording.words import counted

NAME = "isr-flapping"
MOST_LEFT = 3
"""A rolling restart lets each broker leave once, one that is begun again twice."""
MOST_NAMED = 20


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Brokers that left the in-sync replicas of one partition three times within a day, or more often."""
    table = history.partitions
    if not len(table):
        return
    before, after = table.changes
    isr = table.lists("isr")
    asked = Evaluator(table.evaluator.snapshot, {"was": isr.take(before), "now": isr.take(after)})
    left = asked.list(Difference(Column("was"), Column("now")))
    rows = after[left.row_numbers()]
    keys = table.runs.coded.keys[rows]
    _numbers, things = np.unique(keys * (2**32) + left.values, return_inverse=True)
    at = table.runs.first[rows]
    bad = often(things, history.times[at], np.ones(len(things), np.int64), MOST_LEFT)
    for broker in np.unique(left.values[bad]).tolist():
        mine = bad & (left.values == broker)
        first, last = int(at[mine].min()), int(at[mine].max())
        some = sorted({(table.strings("topic")[row], table.integers("partition")[row]) for row in rows[mine].tolist()})
        names = [f"{topic}-{partition}" for topic, partition in some]
        begun = table.seen_before(int(rows[mine][np.argmin(at[mine])]))
        span = Span(begun, first, last, over_a_day_later(history, last))
        found = history.finding(
            span,
            table.tellers,
            rule=NAME,
            severity=Severity.WARNING,
            certainty=Certainty.PROVED,
            message=f"left the in-sync replicas {int(mine.sum())} times, of {counted(len(names), 'partition')}",
            broker=broker,
            evidence={"left": int(mine.sum()), "partitions": len(names), "worst": names[:MOST_NAMED]},
        )
        yield to_the_day(history, span, found)


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (PARTITIONS,),
    "a broker left the in-sync replicas of a partition three times within a day, or more often: it is too slow, or"
    " restarts",
    "look at its disk, its network and its garbage collection; kreplica history --broker N tells its life",
    find,
)
