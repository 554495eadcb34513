"""Each entry of an offset or a time index, held against the segment beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kreplica.formats.indexes import OffsetIndex, TimeIndex
from kreplica.formats.log_contents import SegmentContents

OFFSET_ENTRY, TIME_ENTRY = 8, 12
"""Bytes of an entry."""
_NO_TIMESTAMP = -1


@dataclass(frozen=True, slots=True)
class EntryVerdict:
    """What the log says of one entry.

    Args:
        row: Which entry of the file, from 0.
        batch: Which batch of the segment it leads to, from 0; None if to none.
        valid: None where the log cannot tell: damage stands there, compaction took the batch away, or the broker
            makes the entry anew when it starts.
        message: What is wrong, empty unless ``valid`` is False; so are the next two.
        expected, found: What should stand in the entry, and what does.
    """

    row: int
    batch: int | None
    valid: bool | None
    message: str = ""
    expected: str = ""
    found: str = ""


def offset_entries(segment: SegmentContents, index: OffsetIndex, *, rebuilt: bool) -> Iterator[EntryVerdict]:
    """An entry leads to the first byte of a batch that does not begin behind its offset.

    LogSegment.append enters the last offset of what is appended at once and where that begins.

    Args:
        segment: What the index is of.
        index: Its entries.
        rebuilt: Whether the broker makes the index anew when it starts (LogLoader.recoverLog), so that an entry behind
            the end of a log that a crash cut is nothing wrong.
    """
    sound_up_to = min((each.position for each in segment.damage), default=None)
    entries = zip(index.rows.tolist(), index.offsets.tolist(), index.positions.tolist(), strict=True)
    for row, offset, position in entries:
        batch = _batch_at(segment, position)
        if sound_up_to is not None and position >= sound_up_to:
            yield EntryVerdict(row, batch, None)
        else:
            yield _offset_entry(segment, row, offset, position, batch, rebuilt)


def _batch_at(segment: SegmentContents, position: int) -> int | None:
    positions = segment.batches.position
    place = int(np.searchsorted(positions, position))
    return place if place < len(positions) and int(positions[place]) == position else None


def _offset_entry(
    segment: SegmentContents, row: int, offset: int, position: int, batch: int | None, rebuilt: bool
) -> EntryVerdict:
    if offset >= segment.end_offset:
        if rebuilt:
            return EntryVerdict(row, batch, None)
        expected = f"an offset before {segment.end_offset}, where the segment ends"
        return EntryVerdict(row, batch, False, "behind the end of the segment", expected, str(offset))
    if batch is None:
        expected = f"a byte of {segment.path.name} where a batch begins, for offset {offset}"
        return EntryVerdict(row, None, False, "leads to no batch", expected, f"byte {position}")
    base = int(segment.batches.base_offset[batch])
    if offset < base:
        expected = f"offset {base} or later, as at byte {position}"
        return EntryVerdict(row, batch, False, "leads behind its offset", expected, str(offset))
    return EntryVerdict(row, batch, True)


def time_entries(segment: SegmentContents, index: TimeIndex, *, rebuilt: bool) -> Iterator[EntryVerdict]:
    """An entry has the latest timestamp of the batch that holds its offset.

    LogSegment.append; kafka-dump-log compares the same. An empty segment's entry has no timestamp.

    Args:
        segment: What the index is of.
        index: Its entries.
        rebuilt: As for ``offset_entries``.
    """
    entries = zip(index.rows.tolist(), index.timestamps.tolist(), index.offsets.tolist(), strict=True)
    for row, timestamp, offset in entries:
        yield _time_entry(segment, row, timestamp, offset, rebuilt)


def _time_entry(segment: SegmentContents, row: int, timestamp: int, offset: int, rebuilt: bool) -> EntryVerdict:
    batches = segment.batches
    place = int(np.searchsorted(batches.last_offset, offset))
    behind = place == len(batches)
    batch = None if behind or int(batches.base_offset[place]) > offset else place
    if timestamp == _NO_TIMESTAMP:
        return EntryVerdict(row, batch, None)
    if batch is not None and int(batches.max_timestamp[batch]) == timestamp:
        return EntryVerdict(row, batch, True)
    if segment.damage or (behind and rebuilt) or (batch is None and not behind):
        return EntryVerdict(row, batch, None)
    if batch is None:
        expected = f"an offset before {segment.end_offset}, where the segment ends"
        return EntryVerdict(row, None, False, "behind its end", expected, str(offset))
    expected = f"timestamp {int(batches.max_timestamp[batch])}, the latest of the batch of offset {offset}"
    return EntryVerdict(row, batch, False, "not the timestamp of its batch", expected, str(timestamp))
