"""Lag of missing replicas and the rate at which they catch up, by two readings of live clusters."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kreplica.errors import UsageError
from kreplica.monitoring.clusters import MOST_AT_ONCE
from kreplica.monitoring.lag.rates import MissingCopy, Pace, Progress, compare

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.health.causes import Explanation
    from kreplica.model.snapshot import ClusterSnapshot, LogPosition
    from kreplica.model.tables.columns import Indices

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Measured:
    """Progress of missing replicas between two readings of one cluster.

    Args:
        seconds: Seconds between the readings.
        progress: Progress of each missing replica that could be measured, by topic and partition.
        silent: Brokers that did not answer one of the readings.
    """

    seconds: float
    progress: Mapping[Place, Sequence[Progress]]
    silent: tuple[int, ...]

    def rows(self, topic: str, partition: int) -> list[dict[str, object]]:
        """The ``measured`` field of one partition."""
        return [one.as_row() for one in self.progress.get((topic, partition), ())]

    def summary(self) -> dict[str, object]:
        """Counts by pace and the longest time to catch up."""
        every = [one for found in self.progress.values() for one in found]
        paces = Counter(one.pace for one in every)
        times = [one.seconds_to_catch_up for one in every if one.seconds_to_catch_up is not None]
        counts = {pace.value.replace("-", "_"): paces[pace] for pace in Pace}
        longest = round(max(times), 1) if times else None
        return {"seconds": self.seconds, "replicas": len(every), **counts, "seconds_to_catch_up": longest}


def require_live(handles: Sequence[ClusterHandle]) -> None:
    """Checks that every cluster can be measured.

    Raises:
        UsageError: One is a dump, or known by ZooKeeper alone.
    """
    for handle in handles:
        if handle.bootstrap_servers is None:
            raise UsageError(
                f"{handle.name} cannot be measured", "--measure asks the brokers twice", "name a live cluster's brokers"
            )


def measure(
    targets: Sequence[tuple[ClusterHandle, ClusterSnapshot, Sequence[MissingCopy]]], seconds: float
) -> list[Measured]:
    """Reads the positions of missing replicas and their leaders twice, all clusters at the same time.

    Args:
        targets: Handle, snapshot and missing replicas of each cluster.
        seconds: Seconds between the readings.
    """
    first = _read_all(targets)
    if any(positions for positions, _ in first):
        time.sleep(seconds)
    second = _read_all(targets)
    found = []
    for (_, _, copies), before, after in zip(targets, first, second, strict=True):
        progress: dict[Place, list[Progress]] = {}
        for copy, one in zip(copies, compare(copies, before[0], after[0]), strict=True):
            progress.setdefault((copy.topic, copy.partition), []).append(one)
        found.append(Measured(seconds, progress, tuple(sorted({*before[1], *after[1]}))))
    return found


def _read_all(
    targets: Sequence[tuple[ClusterHandle, ClusterSnapshot, Sequence[MissingCopy]]],
) -> list[tuple[list[LogPosition], list[int]]]:
    from kreplica.sources.kafka.offsets import read_positions
    from kreplica.system.pool import all_results

    calls = [partial(read_positions, handle, snapshot, _by_broker(copies)) for handle, snapshot, copies in targets]
    return all_results(calls, MOST_AT_ONCE)


def _by_broker(copies: Sequence[MissingCopy]) -> dict[int, list[Place]]:
    found: dict[int, dict[Place, None]] = {}
    for copy in copies:
        for broker in (copy.broker, copy.leader):
            found.setdefault(broker, {})[copy.topic, copy.partition] = None
    return {broker: list(places) for broker, places in found.items()}


def measurable(why: Explanation, rows: Indices) -> list[MissingCopy]:
    """Missing replicas of the given partitions whose broker and leader can both be asked."""
    facts, missing = why.facts, why.missing
    asked = np.zeros(len(facts.leaders), dtype=np.bool_)
    asked[rows] = True
    led = missing.leaders >= 0
    kept = asked[missing.rows] & led & ~missing.offline
    kept &= facts.alive[facts.index(missing.brokers)]
    kept[led] &= facts.alive[facts.index(missing.leaders[led])]
    topics, numbers = facts.snapshot.strings("topic"), facts.snapshot.integers("partition").values
    chosen = missing.take(kept)
    return [
        MissingCopy(topics.dictionary[topics.codes[row]], int(numbers[row]), broker, leader)
        for row, broker, leader in zip(
            chosen.rows.tolist(), chosen.brokers.tolist(), chosen.leaders.tolist(), strict=True
        )
    ]
