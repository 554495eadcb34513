"""Committed offsets compared with the logs of a live cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.health.offset_range import OffsetRange, Standing, offset_ranges
from kreplica.monitoring.clusters import Reading, read_offsets_of

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.formats.consumer_offsets.rows import CommittedOffset


@dataclass(frozen=True, slots=True)
class ComparedOffsets:
    """Offsets compared with a cluster.

    Args:
        reading: The cluster as read.
        ranges: Range of the log for each offset, in their order.
    """

    reading: Reading
    ranges: Sequence[OffsetRange]

    @property
    def counts(self) -> dict[Standing, int]:
        """Number of offsets by standing, in the order of Standing; those of unknown standing are left out."""
        found = Counter(each.standing for each in self.ranges)
        return {standing: found[standing] for standing in Standing if found[standing]}

    @property
    def outside(self) -> int:
        """Number of offsets outside the range of their log."""
        return sum(count for standing, count in self.counts.items() if standing is not Standing.in_range)

    @property
    def unknown(self) -> int:
        """Number of offsets whose log's range the cluster did not report."""
        return sum(each.standing is None for each in self.ranges)


def compare_offsets(handle: ClusterHandle, rows: Sequence[CommittedOffset]) -> ComparedOffsets:
    """Asks the leaders of the partitions that offsets name for the range of their logs.

    Args:
        handle: The live cluster.
        rows: Committed offsets.

    Raises:
        KreplicaError: The cluster cannot be read.
    """
    reading = read_offsets_of(handle, {(row.topic, row.partition) for row in rows})
    asked = ((row.topic, row.partition, row.offset) for row in rows)
    return ComparedOffsets(reading, list(offset_ranges(reading.snapshots[0], asked)))
