"""Each entry of an offset or a time index, compared with the segment beside it.

A follower that had more than its new leader cuts its log, but its indexes in memory only: the later entries stay in
the files until others are written over them, or until the segment is rolled or the broker stops in order
(AbstractIndex.truncateToEntries0). After a kill they lead anywhere, and may follow newer ones. The broker then
makes the index anew, so that nothing in it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.indexes import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES, OffsetIndex, TimeIndex
from kreplica.formats.logs.log_range import SegmentContents

_NO_TIMESTAMP = -1


@dataclass(frozen=True, slots=True)
class EntryVerdict:
    """The log's verdict on one entry.

    Args:
        row: Number of the entry in the file, from 0.
        batch: Number of the batch in the segment that it leads to, from 0; None if to none.
        valid: None where the log cannot tell: the range is damaged, compaction removed the batch, or the broker
            makes the entry anew when it starts.
        message: Description of the fault, empty unless ``valid`` is False; so are the next two.
        expected, found: The value that the entry should have, and the one it has.
    """

    row: int
    batch: int | None
    valid: bool | None
    message: str = ""
    expected: str = ""
    found: str = ""


def index_damage(segment: SegmentContents, index: OffsetIndex | TimeIndex, *, rebuilt: bool) -> list[Damage]:
    """Damage of an index. Not damage: entries that go back after others that a follower cut, and half-written ones."""
    if not rebuilt or _cut_from(segment) < segment.end_offset:
        return [each for each in index.damage if each.skipped or not rebuilt]
    torn = _torn_row(segment, index)
    size = OFFSET_ENTRY_BYTES if isinstance(index, OffsetIndex) else TIME_ENTRY_BYTES
    return [each for each in index.damage if each.skipped or each.position != torn * size]


def _torn_row(segment: SegmentContents, index: OffsetIndex | TimeIndex) -> int:
    """The last entry if a running or killed broker has written the first of its two numbers alone; else -1."""
    second = index.positions if isinstance(index, OffsetIndex) else index.offsets - segment.base_offset
    return int(index.rows[-1]) if len(second) and not second[-1] else -1


def _known_up_to(segment: SegmentContents, *, rebuilt: bool) -> float:
    """The offset from which on an entry may be left over from before a truncation."""
    return _cut_from(segment) if rebuilt else math.inf


def _cut_from(segment: SegmentContents) -> int:
    """The earliest offset at which records were cut: the first that another leader wrote; else the end.

    Before KIP-101 a follower cut down to its high watermark, and its batches have no leader epoch.
    """
    epochs = segment.batches.leader_epoch
    if not len(epochs):
        return segment.base_offset
    if epochs[0] < 0 or (epochs[0] > 0 and segment.base_offset == 0):
        return segment.base_offset
    others = np.flatnonzero(epochs != epochs[0])
    return int(segment.batches.base_offset[others[0]]) if len(others) else segment.end_offset


def offset_entries(segment: SegmentContents, index: OffsetIndex, *, rebuilt: bool) -> Iterator[EntryVerdict]:
    """An entry leads to the first byte of a batch that does not begin after its offset.

    LogSegment.append enters the last offset of what is appended at once and where that begins.

    Args:
        segment: The segment of the index.
        index: Its entries.
        rebuilt: Whether the broker makes the index anew when it starts (LogLoader.recoverLog), so that an entry after
            the end of a log that a crash or a follower cut is nothing wrong.
    """
    known_up_to, torn = _known_up_to(segment, rebuilt=rebuilt), _torn_row(segment, index) if rebuilt else -1
    sound_up_to = min((each.position for each in segment.damage), default=None)
    entries = zip(index.rows.tolist(), index.offsets.tolist(), index.positions.tolist(), strict=True)
    for row, offset, position in entries:
        batch = _batch_at(segment, position)
        if sound_up_to is not None and position >= sound_up_to:
            yield EntryVerdict(row, batch, None)
        else:
            verdict = _offset_entry(segment, row, offset, position, batch)
            unknown = offset >= known_up_to or row == torn
            yield verdict if verdict.valid or not unknown else EntryVerdict(row, batch, None)


def _batch_at(segment: SegmentContents, position: int) -> int | None:
    positions = segment.batches.position
    place = int(np.searchsorted(positions, position))
    return place if place < len(positions) and int(positions[place]) == position else None


def _offset_entry(segment: SegmentContents, row: int, offset: int, position: int, batch: int | None) -> EntryVerdict:
    if offset >= segment.end_offset:
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
    known_up_to, torn = _known_up_to(segment, rebuilt=rebuilt), _torn_row(segment, index) if rebuilt else -1
    entries = zip(index.rows.tolist(), index.timestamps.tolist(), index.offsets.tolist(), strict=True)
    for row, timestamp, offset in entries:
        verdict = _time_entry(segment, row, timestamp, offset)
        unknown = offset >= known_up_to or row == torn
        yield verdict if verdict.valid or not unknown else EntryVerdict(row, verdict.batch, None)


def _time_entry(segment: SegmentContents, row: int, timestamp: int, offset: int) -> EntryVerdict:
    batches = segment.batches
    place = int(np.searchsorted(batches.last_offset, offset))
    behind = place == len(batches)
    batch = None if behind or int(batches.base_offset[place]) > offset else place
    if timestamp == _NO_TIMESTAMP:
        return EntryVerdict(row, batch, None)
    if batch is not None and int(batches.max_timestamp[batch]) == timestamp:
        return EntryVerdict(row, batch, True)
    if segment.damage or (batch is None and not behind):
        return EntryVerdict(row, batch, None)
    if batch is None:
        expected = f"an offset before {segment.end_offset}, where the segment ends"
        return EntryVerdict(row, None, False, "behind its end", expected, str(offset))
    expected = f"timestamp {int(batches.max_timestamp[batch])}, the latest of the batch of offset {offset}"
    return EntryVerdict(row, batch, False, "not the timestamp of its batch", expected, str(timestamp))
