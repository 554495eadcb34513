"""No snapshot came although one was due: nobody knows how the cluster is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.health.rules import Severity
from kreplica.history.pauses import PAUSE_FACTOR, longest_usual
from kreplica.model.wording.durations import spell_duration

NAME, SEVERITY = "no-snapshot", Severity.WARNING
LATE_FACTOR = 1.5
"""A snapshot that is expected so often is missing after so many times as long: timers are not exact."""


def find(history: ClusterHistory, asked: Circumstances) -> Iterator[FleetFinding]:
    """Times between two snapshots, or up to now, that are longer than a snapshot may take to come."""
    times = history.line.times
    if not len(times):
        return  # a metadata log alone tells of the cluster
    every = asked.expect_every_ms
    longest = longest_usual(times) if every is None else LATE_FACTOR * every
    until = np.append(times[1:], max(asked.now_ms, int(times[-1])))
    newest = len(times) - 1
    for at in np.flatnonzero(until - times > longest).tolist():
        waited = int(until[at] - times[at])
        told = "usual here" if every is None else "expected"
        usual = spell_duration(round(longest / PAUSE_FACTOR if every is None else every) / 1000)
        lasts = at == newest
        yield FleetFinding(
            cluster=history.cluster,
            rule=NAME,
            severity=SEVERITY,
            certainty=Certainty.PROVED,
            begun_after_ms=int(times[at]),
            valid_from_ms=int(times[at]),
            last_seen_ms=int(until[at]),
            valid_to_ms=None if lasts else int(until[at]),
            snapshots=0,
            longest_interval_ms=waited,
            in_newest=lasts,
            message=f"no snapshot for {spell_duration(waited // 1000)}, one in {usual} is {told}",
            evidence={"waited_seconds": waited // 1000, "longest_usual_seconds": round(longest) // 1000},
        )


RULE = FleetRule(
    NAME,
    SEVERITY,
    (),
    "no snapshot came although one was due: a cluster that nobody looks at seems healthy",
    "look at the timer that takes snapshots, and whether the cluster can be reached",
    find,
)
