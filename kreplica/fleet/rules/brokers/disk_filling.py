"""Disks that fill: a straight line through the space that was left, hour by hour, meets nothing soon."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import DAY_MS
from kreplica.health.rules import Severity
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import LOG_DIRS

NAME = "disk-filling"
WARNING_DAYS, CRITICAL_DAYS = 14.0, 2.0
LOOK_BACK_MS, LEAST_MS, LEAST_SAMPLES = 7 * DAY_MS, DAY_MS, 6


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Log directories that are full within two weeks if they go on as in the week before the newest snapshot."""
    samples = history.samples(LOG_DIRS)
    rows = samples.known("usable_bytes")
    if not len(rows):
        return
    keys, numbers = samples.keys()[rows], samples.numbers[rows]
    left = samples.rows.integers("usable_bytes").values[rows]
    newest = int(samples.numbers.max())
    for key in np.unique(keys).tolist():
        mine = np.flatnonzero(keys == key)
        mine = mine[history.times[numbers[mine]] >= history.times[newest] - LOOK_BACK_MS]
        times, space = history.times[numbers[mine]], left[mine]
        if len(mine) < LEAST_SAMPLES or numbers[mine[-1]] != newest or times[-1] - times[0] < LEAST_MS:
            continue
        lost = _lost_a_day(times, space)
        if lost <= 0 or space[-1] / lost > WARNING_DAYS:
            continue
        days, row = round(float(space[-1] / lost), 2), int(rows[mine[-1]])
        path, broker = samples.rows.strings("path")[row], samples.rows.integers("broker")[row]
        yield history.finding(
            Span(-1, int(numbers[mine[0]]), newest),
            history.log_dirs.tellers,
            rule=NAME,
            severity=Severity.CRITICAL if days <= CRITICAL_DAYS else Severity.WARNING,
            certainty=Certainty.LIKELY,
            message=f"{path} is full in {days:.1f} days if it goes on as in the days before",
            broker=broker,
            evidence={"path": path, "days": days, "usable_bytes": int(space[-1]), "lost_a_day": round(lost)},
        )


def _lost_a_day(times: Integers, space: Integers) -> float:
    """Space that a day takes: the slope of the line of least squares, downwards."""
    days = (times - times[0]) / DAY_MS
    centred = days - days.mean()
    return -float((centred * (space - space.mean())).sum() / (centred**2).sum())


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (LOG_DIRS,),
    "a log directory is full within two weeks, critical within two days, if it goes on as in the week before",
    "shorten retention, add space, or move replicas: kreplica disks tells what grows",
    find,
    worst=Severity.CRITICAL,
)
