"""The ledger of a load: every record has a number, and its fate is recorded once.

A value begins with 24 bytes: run (8 random bytes) | number (8, big endian) | nanoseconds of the monotonic clock (8),
then zeros up to the size asked for. The number decides the partition (number modulo partitions), so that order within
a partition is the order of numbers.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HEADER = struct.Struct(">8sQQ")
MIN_SIZE = HEADER.size

PENDING, ACKNOWLEDGED, REFUSED = 0, 1, 2


@dataclass(slots=True)
class Ledger:
    """Records of the producer and their fates.

    Attributes:
        run: Tells this load's records from all others.
        partitions: Number of partitions.
        fates: One byte for each record sent: PENDING, ACKNOWLEDGED or REFUSED.
        latencies_ms: From sending to the acknowledgement, in no order.
        errors: Number of refused records by the name of the error.
    """

    run: bytes
    partitions: int
    fates: bytearray = field(default_factory=bytearray)
    latencies_ms: array[float] = field(default_factory=lambda: array("d"))
    errors: Counter[str] = field(default_factory=Counter)

    def add(self) -> int:
        """Enter a record and return its number."""
        self.fates.append(PENDING)
        return len(self.fates) - 1

    def acknowledge(self, number: int, latency_ms: float) -> None:
        """Write down that the cluster took a record."""
        self.fates[number] = ACKNOWLEDGED
        self.latencies_ms.append(latency_ms)

    def acknowledged(self) -> int:
        """Return how many records the cluster took."""
        return self.fates.count(ACKNOWLEDGED)

    def refuse(self, number: int, error: str) -> None:
        """Write down that the cluster, or the producer after its time ran out, refused a record."""
        self.fates[number] = REFUSED
        self.errors[error] += 1


@dataclass(slots=True)
class Reading:
    """Records of one run as a reader saw them.

    Attributes:
        seen: Number of times each record was read, by its number (at most 255).
        highest: Highest number read so far, by partition.
        out_of_order: Records read for the first time after a later one of their partition, by partition.
        latencies_ms: From sending to reading, in no order.
        positions: Offset after the last one read, by partition.
    """

    seen: bytearray = field(default_factory=bytearray)
    highest: dict[int, int] = field(default_factory=dict)
    out_of_order: Counter[int] = field(default_factory=Counter)
    latencies_ms: array[float] = field(default_factory=lambda: array("d"))
    positions: dict[int, int] = field(default_factory=dict)

    def enter(self, partition: int, number: int) -> None:
        """Write down one record read."""
        if number >= len(self.seen):
            self.seen.extend(bytes(number + 1 - len(self.seen)))
        first_time = self.seen[number] == 0
        self.seen[number] = min(255, self.seen[number] + 1)
        if first_time and number < self.highest.get(partition, -1):
            self.out_of_order[partition] += 1
        self.highest[partition] = max(number, self.highest.get(partition, -1))

    def count(self) -> int:
        """Return how many different records were read."""
        return len(self.seen) - self.seen.count(0)

    def times(self, number: int) -> int:
        """Return how often a record was read."""
        return self.seen[number] if number < len(self.seen) else 0


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """The account of one partition, in records.

    Attributes:
        partition: Its number.
        sent: Handed to the producer.
        acknowledged: Of these, taken by the cluster.
        refused: Of these, refused.
        read_back: Of those sent, found in the log at the end.
        lost: Acknowledged and not in the log at the end, though it could be read.
        unread: Acknowledged and not found because the log could not be read to its end; they may be there.
        duplicated: Found more than once.
        out_of_order: Found after a later one.
    """

    partition: int
    sent: int
    acknowledged: int
    refused: int
    read_back: int | None = None
    lost: int | None = None
    unread: int | None = None
    duplicated: int | None = None
    out_of_order: int | None = None


def account(ledger: Ledger, final: Reading | None, readable: Mapping[int, bool]) -> list[PartitionLoad]:
    """Compare the acknowledged records with those in the log.

    Args:
        ledger: The producer's books.
        final: What the log held at the end; None when it was not read.
        readable: By partition, whether the log could be read to its end and everything in it was visible.

    Returns:
        One account for each partition, in order.
    """
    return [
        _account(ledger, final, partition, readable.get(partition, False)) for partition in range(ledger.partitions)
    ]


def _account(ledger: Ledger, final: Reading | None, partition: int, readable: bool) -> PartitionLoad:
    numbers = range(partition, len(ledger.fates), ledger.partitions)
    fates = ledger.fates[partition :: ledger.partitions]
    sent, acknowledged, refused = len(fates), fates.count(ACKNOWLEDGED), fates.count(REFUSED)
    if final is None:
        return PartitionLoad(partition, sent, acknowledged, refused)
    missing = sum(ledger.fates[number] == ACKNOWLEDGED and final.times(number) == 0 for number in numbers)
    return PartitionLoad(
        partition=partition,
        sent=sent,
        acknowledged=acknowledged,
        refused=refused,
        read_back=sum(final.times(number) > 0 for number in numbers),
        lost=missing if readable else 0,
        unread=0 if readable else missing,
        duplicated=sum(final.times(number) > 1 for number in numbers),
        out_of_order=final.out_of_order[partition],
    )


QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1.0))


def quantiles(values: Sequence[float]) -> dict[str, float | None]:
    """Return quantiles by nearest rank: the smallest value that a given share does not exceed; None without values."""
    ordered = sorted(values)
    count = len(ordered)
    return {
        name: round(ordered[max(0, -(-int(share * 1000) * count // 1000) - 1)], 3) if count else None
        for name, share in QUANTILES
    }
