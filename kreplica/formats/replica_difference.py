"""Where two copies of a partition's log differ.

Followers append the very batches of their leader, so that first and last offset, leader epoch and checksum tell one
batch from another. Brokers compact on their own, at different times: the same epoch at an offset, but other bytes,
is no difference as long as the records that both still have are the same ones. An offset that only one of them still
has is taken for compacted away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.batch_windows import BatchWindow
from kreplica.formats.batches import BatchColumns
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.log_contents import LogContents
from kreplica.formats.records import decode_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.log_contents import SegmentContents

_IDENTITY = np.dtype([("base", "i8"), ("last", "i8"), ("epoch", "i4"), ("crc", "u4")])
RecordContent = tuple[int, bytes | None, bytes | None]
"""Timestamp, key and value."""


@dataclass(frozen=True, slots=True)
class _Batch:
    segment: SegmentContents
    index: int

    @property
    def base_offset(self) -> int:
        return int(self.segment.batches.base_offset[self.index])

    @property
    def last_offset(self) -> int:
        return int(self.segment.batches.last_offset[self.index])

    @property
    def leader_epoch(self) -> int:
        return int(self.segment.batches.leader_epoch[self.index])


def first_difference(left: LogContents, right: LogContents, log_start: int = 0) -> int | None:
    """The first offset, in the range that both logs cover, at which they do not hold the same record.

    Args:
        left, right: Two copies of one partition.
        log_start: The higher of both log starts, where that is behind the first segments' beginning.

    Returns:
        None if one is the beginning of the other, as far as both go.
    """
    begin, end = max(left.start_offset, right.start_offset, log_start), min(left.end_offset, right.end_offset)
    mine, others = _unlike(left, right, begin, end), _unlike(right, left, begin, end)
    place = 0
    for batch in mine:
        while place < len(others) and others[place].last_offset < batch.base_offset:
            place += 1
        for other in _overlapping(others, place, batch):
            found = _difference(batch, other, begin)
            if found is not None:
                return found
    return None


def _unlike(log: LogContents, other: LogContents, begin: int, end: int) -> list[_Batch]:
    """Batches of the common range that the other log does not have as they are."""
    known = np.unique(np.concatenate([np.zeros(0, _IDENTITY), *(_identity(each.batches) for each in other.segments)]))
    return [
        _Batch(segment, index)
        for segment in log.segments
        for index in np.flatnonzero(
            (segment.batches.last_offset >= begin)
            & (segment.batches.base_offset < end)
            & ~_in_sorted(_identity(segment.batches), known)
        ).tolist()
    ]


def _identity(batches: BatchColumns) -> NDArray[Any]:
    found = np.zeros(len(batches), _IDENTITY)
    found["base"], found["last"] = batches.base_offset, batches.last_offset
    found["epoch"], found["crc"] = batches.leader_epoch, batches.crc
    return found


def _in_sorted(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    if not len(known):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


def _overlapping(others: list[_Batch], place: int, batch: _Batch) -> Iterator[_Batch]:
    while place < len(others) and others[place].base_offset <= batch.last_offset:
        yield others[place]
        place += 1


def _difference(left: _Batch, right: _Batch, begin: int) -> int | None:
    if left.leader_epoch != right.leader_epoch:
        return max(left.base_offset, right.base_offset, begin)
    mine, others = _records(left), _records(right)
    unlike = (offset for offset, content in mine.items() if others.get(offset, content) != content)
    return next((offset for offset in unlike if offset >= begin), None)


def _records(batch: _Batch) -> dict[int, RecordContent]:
    batches = batch.segment.batches.take(slice(batch.index, batch.index + 1))
    position, size = int(batches.position[0]), int(batches.size[0])
    with FileBytes.open(batch.segment.path) as source:
        data = np.frombuffer(source.read(position, size), np.uint8)
    if len(data) < size:  # it was truncated meanwhile
        return {}
    window = BatchWindow(str(batch.segment.path), position, data, batches, ())
    return {
        int(offset): (int(records.timestamp[index]), records.key(index), records.value(index))
        for records in decode_records(window)
        for index, offset in enumerate(records.offset.tolist())
    }
