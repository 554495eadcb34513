"""Warnings of rates that are too low: said before a run begins, and of moves in flight that come no nearer.

A copy that is throttled below what is written to its partition never catches up. What is written is measured by the
leader's copy, read twice: bytes on its disk, as they are copied. Retention that deletes meanwhile hides a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

from kreplica.execution.moves.throttles.automatic_rate import ADVISED_RATE, RateBounds
from kreplica.execution.plan import PartitionKey
from kreplica.model.wording.words import listed, rate_words
from kreplica.sources.kafka.log_dirs import BrokerLogs

if TYPE_CHECKING:
    from kreplica.execution.moves.clock import Clock
    from kreplica.execution.moves.cluster import MoveCluster
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.moves.throttles.rate_changes import Throttle
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
    from kreplica.planner.reassignment.moves.order import MoveLimits

STALLED_SECONDS = 60.0
"""Seconds for which a copy comes no nearer before that is said."""

MOST_NAMED = 3


def small_rate(rate: int) -> list[str]:
    """The warning of a rate below what Kafka advises; none if it is not."""
    if rate >= ADVISED_RATE:
        return []
    return [f"a throttle of {rate_words(rate)} is little: Kafka advises {rate_words(ADVISED_RATE)} at least"]


def highest_rate(throttle: Throttle) -> int | None:
    """The highest rate that a throttle may have; None for no limit."""
    return throttle.most if isinstance(throttle, RateBounds) else throttle


def low_rate_warnings(
    throttle: Throttle,
    changes: Iterable[ReplicaChange],
    limits: MoveLimits,
    writes: Mapping[PartitionKey, float],
    within: Iterable[ChangedDirectory] = (),
) -> list[str]:
    """Warnings of a throttle that is too low, at best.

    Args:
        throttle: The throttle.
        changes: What is to be moved.
        limits: What may be in flight at the same time.
        writes: Bytes a second that are written to partitions; those that are not known are left out.
        within: Replicas that are to change their log directory.
    """
    rate = highest_rate(throttle)
    if rate is None:
        return []
    copying = [change for change in changes if change.adding]
    keys = [one.key for one in copying] + [one.key for one in within]
    hopeless = {key: writes[key] for key in keys if writes.get(key, 0) >= rate}
    warnings = small_rate(rate)
    if hopeless:
        names = [
            f"{topic}-{number} ({rate_words(written)})"
            for (topic, number), written in sorted(hopeless.items(), key=lambda one: -one[1])
        ]
        told = listed(names, MOST_NAMED)
        warnings.append(f"more is written than the throttle of {rate_words(rate)} lets through to {told}: no end of it")
    together = _received_together([one for one in copying if one.key not in hopeless], limits, writes)
    for broker, written in sorted(together.items()):
        if written >= rate:
            warnings.append(
                f"{rate_words(written)} may be written to what goes to broker {broker} at the same time, the throttle"
                f" is {rate_words(rate)}: give fewer moves for each broker, or a higher rate"
            )
    return warnings


def _received_together(
    changes: Iterable[ReplicaChange], limits: MoveLimits, writes: Mapping[PartitionKey, float]
) -> dict[int, float]:
    """The most that may be written to partitions that one broker receives at the same time."""
    received: dict[int, list[float]] = {}
    for change in changes:
        for broker in change.adding:
            received.setdefault(broker, []).append(writes.get(change.key, 0.0))
    most = min(limits.moves_per_broker, limits.moves)
    return {broker: sum(nlargest(most, some)) for broker, some in received.items()}


def measured_writes(
    cluster: MoveCluster, snapshot: ClusterSnapshot, partitions: Iterable[PartitionKey], seconds: float, clock: Clock
) -> dict[PartitionKey, float]:
    """Bytes a second that are written to partitions, as far as their leaders tell.

    Args:
        cluster: The cluster.
        snapshot: What is known of it.
        partitions: The partitions.
        seconds: Seconds between two readings; none where it is 0.
        clock: Time as it is counted and spent.

    Raises:
        UnreachableError: The cluster did not answer.
    """
    leaders = {
        key: leader
        for key in partitions
        if (row := snapshot.find_row(*key)) is not None
        and (leader := snapshot.integers("leader")[row]) is not None and leader >= 0
    }  # fmt: skip
    if not leaders or not seconds:
        return {}
    first, begun = leader_sizes(cluster, leaders), clock.now()
    clock.sleep(seconds)
    second, passed = leader_sizes(cluster, leaders), clock.now() - begun
    return {key: max(0, second[key] - size) / passed for key, size in first.items() if key in second and passed > 0}


def leader_sizes(cluster: MoveCluster, leaders: Mapping[PartitionKey, int]) -> dict[PartitionKey, int]:
    """Bytes of the leaders' copies; those that are not told are left out."""
    logs = cluster.logs(sorted(set(leaders.values())), list(leaders))
    return {
        (copy.topic, copy.partition): copy.size
        for one in logs.values()
        if isinstance(one, BrokerLogs)
        for copy in one.replicas
        if not copy.future and leaders.get((copy.topic, copy.partition)) == copy.broker
    }


@dataclass(slots=True)
class _Copy:
    """The least that was left of a copy, since when, and the bytes of its leader then."""

    left: int
    since: float
    size: int
    told: bool = False


class StalledCopies:
    """Copies in flight that come no nearer, although something is copied."""

    def __init__(self) -> None:
        self._copies: dict[PartitionKey, _Copy] = {}

    def look(self, at: float, sizes: Mapping[PartitionKey, tuple[int, int]], rate: int | None) -> list[str]:
        """Counts a look; returns a clause for each that has stalled since, once.

        Args:
            at: Seconds of a clock that never goes back.
            sizes: Bytes of the leader's copy, and those that are left to copy, of each move in flight.
            rate: The throttle; None for none, of which nothing is said.
        """
        self._copies = {key: one for key, one in self._copies.items() if key in sizes}
        return [
            clause for key, (size, left) in sizes.items() if (clause := self._count(key, _Copy(left, at, size), rate))
        ]

    def _count(self, key: PartitionKey, now: _Copy, rate: int | None) -> str:
        before = self._copies.get(key)
        if before is None or now.left < before.left or not now.left:
            self._copies[key] = now
            return ""
        passed = now.since - before.since
        if before.told or rate is None or passed < STALLED_SECONDS or now.size <= before.size:
            return ""
        before.told = True
        written = rate_words((now.size - before.size) / passed)
        topic, number = key
        return (
            f"the copy of {topic}-{number} has come no nearer for {passed:.0f} s: {written} are written to it, the"
            f" throttle is {rate_words(rate)} for each broker"
        )
