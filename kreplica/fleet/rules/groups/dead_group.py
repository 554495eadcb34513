"""Consumer groups that have had no member for long."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import DAY_MS
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import GROUPS
from kreplica.model.wording.durations import spell_duration

NAME = "dead-group"
DEAD_MS = 7 * DAY_MS
WITHOUT_MEMBERS = ("Dead", "Empty")


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Groups without members for a week or longer, up to the newest snapshot that tells."""
    table = history.groups
    if not len(table):
        return
    states = table.strings("state")
    codes = [code for code, word in enumerate(states.dictionary) if word in WITHOUT_MEMBERS]
    spans: dict[str, Span] = {}
    for first, last in table.chains(np.isin(states.codes, codes)):
        span = Span(
            table.seen_before(first),
            int(table.runs.first[first]),
            int(table.runs.last[last]),
            int(table.runs.ended[last]),
        )
        group = str(table.strings("group")[last])
        if group not in spans or span.last > spans[group].last:
            spans[group] = span
    for group, span in spans.items():
        lasted = int(history.times[span.last] - history.times[span.first])
        if lasted >= DEAD_MS and span.ended < 0:
            yield history.finding(
                span,
                table.tellers,
                rule=NAME,
                severity=Severity.INFO,
                certainty=Certainty.PROVED,
                message=f"{group} has had no member for {spell_duration(lasted // 1000)}",
                group=group,
            )


RULE = FleetRule(
    NAME,
    Severity.INFO,
    (GROUPS,),
    "a group has had no member for a week: its offsets are kept, or expire, for nobody",
    "delete it if nobody is to come back: kafka-consumer-groups --delete --group NAME",
    find,
)
