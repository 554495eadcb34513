"""Invariants that must hold after every event, checked as the events come: folds that note each breach.

Each check looks at the event and at the replicas as they were before it: the work grows with the change, not with the
size of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kreplica.engine.checkers.history_of_logs import ReplicaLog, ReplicaLogs
from kreplica.engine.trace import LEADER, Event, Kind, Record


class Invariant(StrEnum):
    """Invariants of the protocol; a finding names the one that was broken."""

    COMMITTED_LOST = "committed-record-lost"
    STRONG_ISR = "isr-member-lacks-committed-record"
    DIVERGED = "logs-diverge"
    HIGH_WATERMARK_BACK = "high-watermark-went-back"
    HIGH_WATERMARK_OUTSIDE = "high-watermark-outside-the-log"
    LSO_ABOVE_HIGH_WATERMARK = "last-stable-offset-above-high-watermark"
    TWO_LEADERS = "two-leaders-in-one-epoch"
    UNCOMMITTED_READ = "uncommitted-data-read"
    IDEMPOTENCE_DUPLICATE = "idempotent-producer-duplicated"
    IDEMPOTENCE_ORDER = "idempotent-producer-reordered"
    STAYS_UNAVAILABLE = "stays-unavailable-after-faults"
    ISR_DOES_NOT_SETTLE = "isr-does-not-settle-after-faults"
    WRITES_NOT_TAKEN = "writes-not-taken-after-faults"


PROMISES: dict[Invariant, str] = {
    Invariant.COMMITTED_LOST: "a new leader holds what a high watermark has passed",
    Invariant.STRONG_ISR: "each member of the ISR, of the ELR where that is empty, holds what is committed",
    Invariant.DIVERGED: "two logs agree below both high watermarks",
    Invariant.HIGH_WATERMARK_BACK: "a leader's high watermark does not go back within its epoch",
    Invariant.HIGH_WATERMARK_OUTSIDE: "a high watermark lies within its log",
    Invariant.LSO_ABOVE_HIGH_WATERMARK: "the last stable offset is at most the high watermark",
    Invariant.TWO_LEADERS: "one broker writes in a leader epoch",
    Invariant.UNCOMMITTED_READ: "consumers read only what is committed",
    Invariant.IDEMPOTENCE_DUPLICATE: "an idempotent producer leaves no duplicate",
    Invariant.IDEMPOTENCE_ORDER: "an idempotent producer's records keep their order",
    Invariant.STAYS_UNAVAILABLE: "once faults have ended, a partition has a leader if one may lead",
    Invariant.ISR_DOES_NOT_SETTLE: "once faults have ended, an ISR holds the replicas that are there and no other",
    Invariant.WRITES_NOT_TAKEN: "once faults have ended, writes are committed and acknowledged",
}
"""Each invariant in words."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of an invariant.

    Args:
        time: Virtual time, in microseconds.
        invariant: The broken invariant.
        partition: Its partition.
        offset: Offset in the log; -1 where the breach is not about one.
        node: The node that showed it.
        expected: The expected state.
        found: The actual state.
    """

    time: int
    invariant: Invariant
    partition: str
    offset: int
    node: str
    expected: str
    found: str


class Invariants:
    """Checks every invariant; feed it before the ``ReplicaLogs`` it looks at.

    Committed records are those that some leader's high watermark has passed. A new leader's high watermark may be lower
    than that of the leader before (a follower learns of it one fetch late): that is no breach, a log that lacks
    committed records is. A leader that learns of its election only after another has begun a higher epoch is fenced,
    and need not have them.
    """

    __slots__ = ("_epochs", "_lost", "_returning", "_writers", "committed", "findings", "logs", "setbacks", "takes")

    def __init__(self, logs: ReplicaLogs) -> None:
        self.logs = logs
        self.findings: list[Finding] = []
        self.setbacks = 0
        """Number of times that a new leader began with a lower high watermark than had been reached."""
        self._returning: set[tuple[str, str]] = set()
        self.committed: dict[str, list[Record | None]] = {}
        self._epochs: dict[str, int] = {}
        self._lost: dict[str, set[tuple[int, Any]]] = {}
        self._writers: dict[tuple[str, int], str] = {}
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.APPENDED: self._appended,
            Kind.HIGH_WATERMARK: self._high_watermark,
            Kind.RECOVERED: self._recovered,
            Kind.FOLLOWER_POSITION: self._follower_position,
            Kind.BECAME_LEADER: self._became_leader,
            Kind.LAST_STABLE_OFFSET: self._last_stable_offset,
            Kind.CONSUMED: self._consumed,
        }

    def __call__(self, event: Event) -> None:
        """Checks an event against the replicas as they are before it."""
        check = self.takes.get(event.kind)
        if check is not None:
            check(event)

    def _found(self, event: Event, invariant: Invariant, offset: int, expected: object, found: object) -> None:
        self.findings.append(
            Finding(event.time, invariant, event.values[0], offset, event.node, str(expected), str(found))
        )

    def _appended(self, event: Event) -> None:
        partition, base_offset, _, records, role = event.values
        if role != LEADER or not records:
            return
        epoch = records[-1].epoch
        writer = self._writers.setdefault((partition, epoch), event.node)
        if writer != event.node:
            what = f"only {writer} writes in epoch {epoch}"
            self._found(event, Invariant.TWO_LEADERS, base_offset, what, f"{event.node} does too")

    def _high_watermark(self, event: Event) -> None:
        partition, reached, _ = event.values
        replica = self.logs.replica(partition, event.node)
        before = replica.high_watermark
        self._within_log(event, replica, reached, replica.end_offset)
        if replica.leader_epoch >= 0:
            if reached < before:
                self._found(event, Invariant.HIGH_WATERMARK_BACK, reached, f"at least {before}", reached)
            self._commit(partition, replica, reached)
        self._compare(event, replica, before, reached)

    def _commit(self, partition: str, leader: ReplicaLog, reached: int) -> None:
        committed = self.committed.setdefault(partition, [])
        have = len(committed)
        if reached <= have:
            return
        if leader.base > have:  # the log begins after committed offsets: deleted records cannot be compared
            committed.extend([None] * (leader.base - have))
        committed.extend(leader.between(len(committed), reached))

    def _within_log(self, event: Event, replica: ReplicaLog, high_watermark: int, end: int) -> None:
        """A high watermark lies between the log's start and its end, on every replica.

        Source: Kafka's UnifiedLog.updateHighWatermark, which allows no other.
        """
        if not replica.log_start <= high_watermark <= end:
            told = f"from {replica.log_start} to {end}"
            self._found(event, Invariant.HIGH_WATERMARK_OUTSIDE, high_watermark, told, high_watermark)

    def _recovered(self, event: Event) -> None:
        partition, end, _, high_watermark = event.values
        self._within_log(event, self.logs.replica(partition, event.node), high_watermark, end)
        self._returning.add((partition, event.node))

    def _follower_position(self, event: Event) -> None:
        self._returned(event, f"broker-{event.values[1]}")

    def _returned(self, event: Event, node: str) -> None:
        """Compares a restarted replica once a leader has accepted its log as a part of the leader's own."""
        partition = event.values[0]
        if (partition, node) in self._returning:
            self._returning.discard((partition, node))
            replica = self.logs.replica(partition, node)
            self._compare(event, replica, 0, replica.high_watermark)

    def _compare(self, event: Event, replica: ReplicaLog, before: int, reached: int) -> None:
        partition = event.values[0]
        if (partition, replica.node) in self._returning:
            return
        for other in self.logs.partitions[partition].values():
            if other is not replica and other.running and (partition, other.node) not in self._returning:
                self._compare_two(event, replica, other, before, reached)

    def _compare_two(self, event: Event, replica: ReplicaLog, other: ReplicaLog, before: int, reached: int) -> None:
        end = min(reached, other.high_watermark, replica.end_offset, other.end_offset)
        begin = max(min(before, end), replica.base, other.base)
        if begin >= end or replica.between(begin, end) == other.between(begin, end):
            return
        pairs = zip(replica.between(begin, end), other.between(begin, end), strict=True)
        place, (mine, theirs) = next((place, pair) for place, pair in enumerate(pairs) if pair[0] != pair[1])
        told = f"{told_record(theirs)} as on {other.node}"
        self._found(event, Invariant.DIVERGED, begin + place, told, told_record(mine))

    def _became_leader(self, event: Event) -> None:
        self._returned(event, event.node)
        partition, epoch = event.values[:2]
        if epoch < self._epochs.get(partition, -1):
            return
        self._epochs[partition] = epoch
        replica = self.logs.replica(partition, event.node)
        committed = self.committed.setdefault(partition, [])
        if replica.high_watermark < len(committed):
            self.setbacks += 1
        agreed = agreed_end(committed, replica)
        if agreed == len(committed):
            return
        found = replica.between(agreed, agreed + 1)
        told = told_record(found[0]) if found else f"a log that ends at {replica.end_offset}"
        self._found(event, Invariant.COMMITTED_LOST, agreed, told_record(committed[agreed]), told)
        lost = self._lost.setdefault(partition, set())
        lost.update((agreed + place, record.value) for place, record in enumerate(committed[agreed:]) if record)
        del committed[agreed:]

    def _last_stable_offset(self, event: Event) -> None:
        partition, offset = event.values
        high_watermark = self.logs.replica(partition, event.node).high_watermark
        if offset > high_watermark:
            self._found(event, Invariant.LSO_ABOVE_HIGH_WATERMARK, offset, f"at most {high_watermark}", offset)

    def _consumed(self, event: Event) -> None:
        partition, offset, value = event.values[:3]
        committed = self.committed.get(partition, [])
        there = committed[offset] if offset < len(committed) else None
        if there is not None and there.value == value:
            return
        if (offset, value) not in self._lost.get(partition, ()):
            told = "nothing committed there" if there is None else told_record(there)
            self._found(event, Invariant.UNCOMMITTED_READ, offset, told, value)


def agreed_end(committed: Sequence[Record | None], replica: ReplicaLog, begin: int = 0) -> int:
    """The offset up to which a replica holds the committed records from ``begin`` on; deleted records count as held."""
    own, base = replica.records, replica.base
    first = max(begin, base)
    end = min(len(committed), replica.end_offset)
    if first >= end:
        return max(end, min(first, len(committed)))
    if committed[first:end] == own[first - base : end - base]:
        return end
    differs = (place for place in range(first, end) if committed[place] not in (None, own[place - base]))
    return next(differs, end)


def told_record(record: Record | None) -> str:
    """A committed record in words; None is one that was deleted before it could be compared."""
    return f"{record.value} of epoch {record.epoch}" if record else "a deleted record"
