"""Leaders that change again and again, also between two snapshots: leader epochs count them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import often, over_a_day_later, to_the_day
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.wording.words import counted

NAME = "leader-epoch-churn"
MOST_EPOCHS = 10
"""A rolling restart raises the epoch of a partition of three replicas up to six times where ISRs that shrink do."""


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics with partitions whose leader epoch rose by ten within a day, or by more."""
    table = history.partitions
    if not len(table):
        return
    before, after = table.changes
    epochs, known = table.integers("leader_epoch").values, table.known("leader_epoch")
    rose = known[before] & known[after] & (epochs[after] > epochs[before])
    before, after = before[rose], after[rose]
    by = epochs[after] - epochs[before]
    at = table.runs.first[after]
    bad = often(table.runs.coded.keys[after], history.times[at], by, MOST_EPOCHS)
    codes = table.strings("topic").codes[after]
    for code in np.unique(codes[bad]).tolist():
        mine = bad & (codes == code)
        first, last = int(at[mine].min()), int(at[mine].max())
        partitions = np.unique(table.integers("partition").values[after[mine]]).tolist()
        begun = int(table.last_telling("leader_epoch", before[mine])[np.argmin(at[mine])])
        number, rises = counted(len(partitions), "partition"), int(by[mine].sum())
        span = Span(begun, first, last, over_a_day_later(history, last))
        found = history.finding(
            span,
            table.tellers,
            rule=NAME,
            severity=Severity.WARNING,
            certainty=Certainty.PROVED,
            message=f"leader epochs of {number} rose by {rises}, by {MOST_EPOCHS} or more of one within a day",
            topic=table.strings("topic").dictionary[code],
            evidence={"rises": rises, "partitions": partitions},
        )
        yield to_the_day(history, span, found)


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (PARTITIONS,),
    "leaders changed ten times within a day, or more often: producers and consumers stop for a moment each time",
    "look for brokers that restart or lose their session, and for rebalancing that is switched on twice",
    find,
)
