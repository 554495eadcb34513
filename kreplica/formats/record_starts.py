"""Where the records of many batches begin: the i-th record of every batch in one step.

The lengths are followed as they stand, right or wrong; a table says for the two bytes that nearly every length fits
into how far the next record is. Only then all records are looked at together, and each batch ends before its first
one that cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.record_columns import read_one_signed
from kreplica.formats.varints import read_signed, unzigzag

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_RECORD = 6
"""The least that the length of a record says: five one-byte fields and a count of headers."""
NARROW = 48
"""With fewer batches left, one record after the other is faster than a step of array operations: measured."""


@dataclass(frozen=True, slots=True)
class RecordStarts:
    """The records of batches.

    Args:
        body: Index of the byte behind each record's length, batch after batch.
        size: Bytes from there on.
        batch: Which batch each is of.
        count: How many records of each batch are there.
        stopped_at: Index behind the last of each batch.
    """

    body: NDArray[np.int64]
    size: NDArray[np.int64]
    batch: NDArray[np.int64]
    count: NDArray[np.int64]
    stopped_at: NDArray[np.int64]


SHIFT, BYTES = 3, 7
"""A step holds how far it is to the next record, and in its low bits how many bytes the length takes."""


def _steps() -> NDArray[np.int64]:
    """The step of each two bytes that a record may begin with, the first one the lower; 0 where they do not tell, or
    tell a length that no record has."""
    pair = np.arange(1 << 16)
    first, second = pair & 255, pair >> 8
    length = unzigzag(np.where(first < 128, first, first & 127 | second << 7))
    told = ((first < 128) | (second < 128)) & (length >= LEAST_RECORD)
    size = 1 + (first > 127)
    return np.where(told, length + size << SHIFT | size, 0)


_STEP = _steps()


@dataclass(frozen=True, slots=True)
class _Work:
    """What is filled: a place for each record that a batch says it has.

    Args:
        data: Bytes.
        end: Index behind the last byte of each batch's records.
        wanted: How many records each has at most.
        first: Place of the first one of each.
        start: Index of the first byte of each record.
        step: Its step; 0 where there is no record.
    """

    data: NDArray[np.uint8]
    end: NDArray[np.int64]
    wanted: NDArray[np.int64]
    first: NDArray[np.int64]
    start: NDArray[np.int64]
    step: NDArray[np.int64]


def record_starts(
    data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64], count: NDArray[np.int64]
) -> RecordStarts:
    """Finds the records.

    Args:
        data: Bytes.
        begin, end: Index of the first byte of each batch's records, and behind the last.
        count: How many records each batch says it has. It may lie: no more are looked for than have room.
    """
    wanted = np.clip(count, 0, (end - begin) // (LEAST_RECORD + 1))
    total, first = int(wanted.sum()), np.cumsum(wanted) - wanted
    work = _Work(data, end, wanted, first, np.zeros(total, np.int64), np.zeros(total, np.int64))
    _follow(work, begin)
    batch, size = np.repeat(np.arange(len(wanted)), wanted), work.step & BYTES
    body, following = work.start + size, work.start + (work.step >> SHIFT)
    sound = (size > 0) & (following <= end[batch])
    if sound.all():
        return RecordStarts(body, following - body, batch, wanted, _behind_last(work, begin, wanted))
    number = np.arange(total) - first[batch]
    broken = np.flatnonzero(~sound)[::-1]
    kept = wanted.copy()
    kept[batch[broken]] = number[broken]  # the first one, written last, stays
    there = number < kept[batch]
    return RecordStarts(body[there], (following - body)[there], batch[there], kept, _behind_last(work, begin, kept))


def _behind_last(work: _Work, begin: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    stopped_at, some = begin.copy(), count > 0
    last = (work.first + count - 1)[some]
    stopped_at[some] = work.start[last] + (work.step[last] >> SHIFT)
    return stopped_at


def _follow(work: _Work, begin: NDArray[np.int64]) -> None:
    """Fills in the records: those of many batches together while there are many, then batch by batch."""
    order = np.argsort(-work.wanted, kind="stable")
    falling = work.wanted[order]
    together = int(falling[NARROW]) if len(falling) > NARROW else 0
    at, place = begin[order], work.first[order]
    for going in np.searchsorted(-falling, -np.arange(together)).tolist():
        at, place = at[:going], place[:going]
        step = _next(work.data, at)
        work.start[place], work.step[place] = at, step
        at, place = at + (step >> SHIFT), place + 1
    left = falling[: len(at)] - together
    for lane in np.flatnonzero(left > 0).tolist():
        slot, end = int(place[lane]), int(work.end[order[lane]])
        starts, steps = _one_after_the_other(work.data.data[:end], int(at[lane]), int(left[lane]))
        work.start[slot : slot + len(starts)] = starts
        work.step[slot : slot + len(starts)] = steps


def _next(data: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """The step of the record at each index; 0 where none can be."""
    low, high = data.take(at, mode="clip"), data.take(at + 1, mode="clip")
    step = _STEP.take(low | high.astype(np.uint16) << 8)
    if not step.all():
        slow = np.flatnonzero(step == 0)
        length, body = read_signed(data, at[slow])
        size = body - at[slow]
        step[slow] = np.where((length >= LEAST_RECORD) & (size > 0), length + size << SHIFT | size, 0)
    return step


def _one_after_the_other(view: memoryview, at: int, most: int) -> tuple[list[int], list[int]]:
    """Start and step of the records of one batch, up to the first that cannot be; the bytes end where it ends."""
    starts: list[int] = []
    steps: list[int] = []
    room = len(view)
    while len(starts) < most:
        try:
            first = view[at]
            length, body = ((first >> 1) ^ -(first & 1), at + 1) if first < 128 else read_one_signed(view, at)
        except (ValueError, IndexError):
            break
        if length < LEAST_RECORD or body + length > room:
            break
        starts.append(at)
        steps.append(body + length - at << SHIFT | body - at)
        at = body + length
    return starts, steps
