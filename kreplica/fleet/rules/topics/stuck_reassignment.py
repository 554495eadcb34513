"""Reassignments that do not end: replicas are being added or removed for longer than a day, always the same."""

from __future__ import annotations

from collections.abc import Iterator

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import DAY_MS
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import ids

NAME = "stuck-reassignment"


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Partitions whose reassignment is the same for a day or longer."""
    table = history.partitions
    if not len(table):
        return
    adding, removing = table.lists("adding"), table.lists("removing")
    moving = (adding.lengths() > 0) | (removing.lengths() > 0)
    for first, last in table.chains(moving):
        targets = [_target(table.lists("replicas")[row], removing[row]) for row in (first, last)]
        span = Span(
            table.seen_before(first, "adding"),
            int(table.runs.first[first]),
            int(table.runs.last[last]),
            int(table.runs.ended[last]),
        )
        lasted = int(history.held_until[span.last] - history.times[span.first])
        if lasted < DAY_MS or targets[0] != targets[1]:
            continue
        in_sync = sorted(set(adding[last] or ()) & set(table.lists("isr")[last] or ()))
        yield history.finding(
            span,
            table.tellers,
            rule=NAME,
            severity=Severity.WARNING,
            certainty=Certainty.PROVED,
            message=f"reassignment for {spell_duration(lasted // 1000)}: adding {ids(adding[last] or ())},"
            f" of which in sync {ids(in_sync)}, removing {ids(removing[last] or ())}",
            topic=table.strings("topic")[last],
            partition=table.integers("partition")[last],
            evidence={"adding": adding[last], "removing": removing[last], "in_sync": in_sync},
        )


def _target(replicas: list[int] | None, removing: list[int] | None) -> frozenset[int]:
    return frozenset(replicas or ()) - frozenset(removing or ())


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (PARTITIONS,),
    "a reassignment was not over after a day: a replica that is added does not catch up, or its broker is gone",
    "see what the new replica lacks with kreplica describe; take the reassignment back if its broker does not return",
    find,
)
