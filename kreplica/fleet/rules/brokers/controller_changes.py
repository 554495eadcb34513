"""Controllers that changed: the leader of the metadata quorum, or the controller that ZooKeeper names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import often
from kreplica.health.rules import Severity

NAME = "controller-changes"
MOST_CHANGES = 3
"""A rolling restart of three controllers moves it twice or three times."""


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Each change of the controller; a warning where four lie within a day."""
    told = history.controllers
    changes = [(before, at, was, now) for (before, was), (at, now) in pairwise(told) if was != now]
    if not changes:
        return
    at = np.array([at for _, at, _, _ in changes], np.int64)
    bad = often(np.zeros_like(at), history.times[at], np.ones_like(at), MOST_CHANGES + 1)
    tellers = np.array([number for number, _ in told], np.int64)
    for (before, after, was, now), again in zip(changes, bad.tolist(), strict=True):
        more = f", one of more than {MOST_CHANGES} changes within a day" if again else ""
        yield history.finding(
            Span.event(before, after),
            tellers,
            rule=NAME,
            severity=Severity.WARNING if again else Severity.INFO,
            certainty=Certainty.PROVED,
            message=f"the controller moved from {was} to {now}{more}",
            broker=now,
            evidence={"before": was, "after": now},
        )


RULE = FleetRule(
    NAME,
    Severity.INFO,
    (),
    "the controller moved; a warning where it did more than three times within a day: nothing can be elected meanwhile",
    "look at the controllers' garbage collection, disks and network between them",
    find,
    worst=Severity.WARNING,
)
