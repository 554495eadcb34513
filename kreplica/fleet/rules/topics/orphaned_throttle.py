"""Throttles that were left behind: replicas are throttled although no reassignment runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.health.rules import Severity
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import CONFIGS, PARTITIONS
from kreplica.model.wording.durations import spell_duration

NAME = "orphaned-throttle"
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
LEAST_MS = 3_600_000
"""Shortest time that is told: throttles are set some time before replicas move, and taken away some time afterwards."""


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics with throttled replicas for an hour or longer in which no partition of the cluster was moved."""
    table = history.configs
    if not len(table) or not len(history.partitions):
        return
    names, values = table.strings("name"), table.strings("value")
    lists = [code for code, word in enumerate(names.dictionary) if word in LISTS]
    nothing = [code for code, word in enumerate(values.dictionary) if not word.strip()]
    throttled = np.isin(names.codes, lists) & (values.codes >= 0) & ~np.isin(values.codes, nothing)
    idle = _idle(history.partitions)
    told: dict[str | None, list[tuple[Span, str]]] = {}
    for first, last in table.chains(throttled):
        entity, runs = table.strings("entity")[first], table.runs
        whole = (table.seen_before(first), int(runs.first[first]), int(runs.last[last]), int(runs.ended[last]))
        for span in _inside(idle, *whole):
            if history.held_until[span.last] - history.times[span.first] >= LEAST_MS:
                told.setdefault(entity, []).append((span, str(names[first])))
    for topic, some in told.items():
        spans = [span for span, _ in some]
        span = max(spans, key=lambda one: (one.ended < 0, one.last - one.first))
        lasted = int(history.held_until[span.last] - history.times[span.first]) // 1000
        yield history.finding(
            span,
            table.tellers,
            rule=NAME,
            severity=Severity.WARNING,
            certainty=Certainty.PROVED,
            message=f"replicas throttled for {spell_duration(lasted)} in which nothing was moved",
            topic=topic,
            evidence={"settings": sorted({name for _, name in some})},
        )


def _idle(table: Lasting) -> Integers:
    """Numbers of the observations that tell of every partition that it is not being reassigned."""
    known = table.known("adding") & table.known("removing")
    busy = ~known | (table.lists("adding").lengths() > 0) | (table.lists("removing").lengths() > 0)
    changes = np.zeros(len(table.times) + 1, np.int64)
    np.add.at(changes, table.runs.first[busy], 1)
    np.add.at(changes, table.runs.last[busy] + 1, -1)
    moved = np.cumsum(changes)[:-1]
    found: Integers = table.tellers[moved[table.tellers] == 0]
    return found


def _inside(idle: Integers, before: int, first: int, last: int, ended: int) -> Iterator[Span]:
    """Stretches of idle observations from one to another."""
    inside = idle[(idle >= first) & (idle <= last)]
    cuts = np.flatnonzero(np.diff(inside) > 1) + 1
    borders = [0, *cuts.tolist(), len(inside)] if len(inside) else []
    for begin, end in pairwise(borders):
        one, other = int(inside[begin]), int(inside[end - 1])
        yield Span(before if one == first else one - 1, one, other, ended if other == last else other + 1)


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (CONFIGS, PARTITIONS),
    "a throttle was left behind when replicas had been moved: replicas that come back from an outage catch up slowly",
    "take it away: kreplica rebalance throttles shows what is left, kafka-reassign-partitions --verify removes it",
    find,
)
