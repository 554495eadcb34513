"""Topics that are not there any more, by snapshots that list all of them, or by metadata logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.rules.absences import absences
from kreplica.health.rules import Severity
from kreplica.model.tables.columns import Indices
from kreplica.model.tables.schema import PARTITIONS

NAME = "vanished-topic"


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics without any partition in snapshots that list all, and topics that came back as others."""
    table = history.partitions
    if not len(table):
        return
    codes = table.strings("topic").codes
    order = np.argsort(codes, kind="stable")
    things = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    for one in absences(table, _that_end(table, things)):
        topic = table.strings("topic")[one.before]
        anew = one.after >= 0 and _recreated(table, one.before, one.after)
        back = ", and was created anew since" if anew else ", and came back since" if one.after >= 0 else ""
        yield history.finding(
            one.span(table),
            table.listing,
            rule=NAME,
            severity=Severity.WARNING,
            certainty=Certainty.PROVED,
            message=f"the topic {'was not there' if back else 'is not there any more'}{back}",
            topic=topic,
            evidence={"topic_id": table.strings("topic_id")[one.before], "created_anew": anew},
        )


def _that_end(table: Lasting, things: Sequence[Indices]) -> list[Indices]:
    """Things without a row that lasts from their first to the end: few are looked at one by one."""
    return [rows for rows in things if not ((table.runs.ended[rows] < 0) & (table.runs.first[rows] == 0)).any()]


def _recreated(table: Lasting, before: int, after: int) -> bool:
    one, other = (table.strings("topic_id")[row] for row in (before, after))
    return one is not None and other is not None and one != other


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (PARTITIONS,),
    "a topic was deleted: its records are gone",
    "ask who deleted it; consumers and producers of it fail, or create it anew with default settings",
    find,
)
