"""Position of a committed offset in its log: a consumer that continues there may find no records.

A fetch below the log start offset or above the log end offset is out of range (OffsetOutOfRangeException, thrown by
org.apache.kafka.storage.internals.log.UnifiedLog.read): the consumer goes where auto.offset.reset sends it. The log end
offset itself is in range: nothing is there yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot


class Standing(StrEnum):
    """Position of an offset relative to the log of its partition."""

    in_range = "in range"
    below_start = "below start"
    above_end = "above end"
    no_such_partition = "no such partition"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The range of a log, and the position of one offset.

    Args:
        log_start_offset, end_offset: As the leader reported; None where it did not.
        standing: None where that cannot be known.
    """

    log_start_offset: int | None
    end_offset: int | None
    standing: Standing | None


_HIDDEN = OffsetRange(None, None, None)
_NOWHERE = OffsetRange(None, None, Standing.no_such_partition)


def standing_of(offset: int, log_start_offset: int | None, end_offset: int | None) -> Standing | None:
    """Returns the position of an offset; None where too little is known of the log."""
    if log_start_offset is not None and offset < log_start_offset:
        return Standing.below_start
    if end_offset is not None and offset > end_offset:
        return Standing.above_end
    return None if log_start_offset is None or end_offset is None else Standing.in_range


def offset_ranges(snapshot: ClusterSnapshot, offsets: Iterable[tuple[str, int, int]]) -> Iterator[OffsetRange]:
    """The range for each topic, partition and offset, in their order.

    A partition that a snapshot with gaps lacks may be one of those that are missing from it: nothing is said of it.
    """
    starts, ends = (snapshot.integers(name).to_list() for name in ("log_start_offset", "end_offset"))
    for topic, partition, offset in offsets:
        try:
            row = snapshot.row_number(topic, partition)
        except KeyError:
            yield _HIDDEN if snapshot.gaps else _NOWHERE
            continue
        yield OffsetRange(starts[row], ends[row], standing_of(offset, starts[row], ends[row]))
