"""Runs of records of one length, of many batches at once: where a record begins is known only from the one before it.

A record's length says where the next one begins. What a client or coordinator writes together is mostly of one length:
as many as are expected are looked at in one step, and those count that begin as the first does. Lengths are followed
as they stand, right or wrong: the caller checks where the records end.

Records as a coordinator writes nearly all: fields of one or two bytes before the key, and no headers.

    length | attributes int8 | timestamp delta | offset delta | key length | key | value length | value | 0
                               one or two bytes each: eight bytes hold them

One word of eight bytes tells where the key begins, by shifts instead of a look at each byte. What is not so is left to
``records``, which reads all that Kafka writes and says what is damaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.segments.columns import read_one_signed
from kreplica.formats.segments.numbers import read_signed, unzigzag

if TYPE_CHECKING:
    from numpy.typing import NDArray


LEAST_RECORD = 6
"""The smallest length of a record: five one-byte fields and a count of headers."""
FIRST_WIDTH, WIDEST = 8, 512
"""Records looked at in one step of each batch: at first, and at most."""
NARROW = 24
"""With fewer records to be looked at in a step, one after the other is faster than array operations: measured."""
SHIFT, BYTES = 3, 7
"""A step holds the distance to the next record, and in its low bits the number of bytes of the length."""


@dataclass(frozen=True, slots=True)
class RecordRuns:
    """Runs in the order of the batches; together they have a place for each record that is wanted.

    Args:
        start: Index of the first byte of the first record of each.
        step: That of its records; 0 where there is no record.
        count: Number of records.
        batch: Index of their batch.
    """

    start: NDArray[np.int64]
    step: NDArray[np.int64]
    count: NDArray[np.int64]
    batch: NDArray[np.int64]

    def fill(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> bool:
        """True if the records of each batch, from ``begin`` on, end where the batch ends."""
        reached = begin.copy()
        reached[self.batch] = self.start + (self.step >> SHIFT) * self.count  # of several the last one stays
        return bool(self.step.all()) and np.array_equal(reached, end)

    def expand(self, some: slice = slice(None)) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and step of each record of these runs."""
        count = self.count[some]
        step = np.repeat(self.step[some], count)
        distance = self.step[some] >> SHIFT
        first = self.start[some] - (np.cumsum(count) - count) * distance
        return np.repeat(first, count) + np.arange(len(step)) * (step >> SHIFT), step


@dataclass(slots=True)
class _Lanes:
    """Batches whose records are still followed.

    Args:
        batch: Their indices.
        place: Which of all wanted records the next one of each is.
        at: Index of its first byte.
        left: Number of records wanted from there on.
        end: Index after the batch.
    """

    batch: NDArray[np.int64]
    place: NDArray[np.int64]
    at: NDArray[np.int64]
    left: NDArray[np.int64]
    end: NDArray[np.int64]

    def go_on(self, step: NDArray[np.int64], count: NDArray[np.int64]) -> _Lanes:
        """The lanes after a run of each; without those that have come to their end."""
        at, left = self.at + (step >> SHIFT) * count, self.left - count
        going = np.flatnonzero(left)
        return _Lanes(self.batch[going], (self.place + count)[going], at[going], left[going], self.end[going])


_Part = tuple["NDArray[np.int64]", ...]
"""Runs as they are found: place, start, step, count, batch."""


def _steps() -> NDArray[np.int32]:
    """Steps by the two bytes that a record begins with, the first one the lower; 0 where they do not tell, or tell a
    length that no record has.
    """
    length = unzigzag(np.arange(1 << 14))
    one, two = (np.where(length >= LEAST_RECORD, length + size << SHIFT | size, 0) for size in (1, 2))
    steps = np.zeros((256, 256), np.int32)  # second byte, first byte
    steps[:, :128] = one[:128]
    steps[:128, 128:] = two.reshape(128, 128)
    return steps.reshape(-1)


_STEP = _steps()


def record_runs(
    data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64], wanted: NDArray[np.int64]
) -> RecordRuns:
    """Follows the records.

    Args:
        data: Bytes.
        begin, end: Index of the first byte of each batch's records, and after the last.
        wanted: Number of records to look for in each batch: no more than have room.
    """
    some = np.flatnonzero(wanted)
    lanes = _Lanes(some, (np.cumsum(wanted) - wanted)[some], begin[some], wanted[some], end[some])
    parts: list[_Part] = []
    width = FIRST_WIDTH
    while len(lanes.at) * width >= max(1, NARROW):
        step, count = _next_runs(data, lanes, width)
        parts.append((lanes.place, lanes.at, step, count, lanes.batch))
        width = min(WIDEST, 5 * int(count.sum()) // (4 * len(count)) + 1)
        lanes = lanes.go_on(step, count)
    parts += _one_by_one(data, lanes)
    if not parts:
        nothing = np.zeros(0, np.int64)
        return RecordRuns(nothing, nothing, nothing, nothing)
    place, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(place)
    return RecordRuns(*(column[order] for column in columns))


def _next_runs(data: NDArray[np.uint8], lanes: _Lanes, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Step and length of the run at the head of each lane; where no record can be the run takes all that is left."""
    first, second = data, data[1:]  # two looks at single bytes take less time than one at two: these are not aligned
    head = first.take(lanes.at, mode="clip"), second.take(lanes.at, mode="clip")
    step = _STEP.take(head[0] | head[1].astype(np.uint16) << 8).astype(np.int64)
    reach = (step >> SHIFT) * np.arange(width)[:, np.newaxis]
    reach += lanes.at
    same = first.take(reach, mode="clip") == head[0]
    same &= second.take(reach, mode="clip") == head[1]
    count = same.argmin(axis=0)
    count[count == 0] = width  # the first is itself: none differs
    if not step.all():
        slow = np.flatnonzero(step == 0)
        step[slow] = _long_steps(data, lanes.at[slow])
        count[slow] = 1
    return step, np.where(step == 0, lanes.left, np.minimum(count, lanes.left))


def _long_steps(data: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """The step of records whose first two bytes do not tell it; 0 where none can be."""
    length, body = read_signed(data, at)
    size = body - at
    return np.where((length >= LEAST_RECORD) & (size > 0), length + size << SHIFT | size, 0)


def _one_by_one(data: NDArray[np.uint8], lanes: _Lanes) -> list[_Part]:
    """All that is left, batch after batch."""
    parts = []
    for batch, place, at, left, end in zip(*(getattr(lanes, name).tolist() for name in _Lanes.__slots__), strict=True):
        starts, steps = _one_after_the_other(data.data[:end], at, left)
        counts = [1] * len(starts)
        if len(starts) < left:
            starts, steps, counts = [*starts, end], [*steps, 0], [*counts, left - len(starts)]
        found = np.array([starts, steps, counts], np.int64)
        parts.append((place + np.arange(len(starts)), *found, np.full(len(starts), batch)))
    return parts


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


WORD = 8
LONGER = 0x81808000
"""Bits of a word that say that one of the three fields has a second byte, or that the key is null."""
NULL = -1


@dataclass(frozen=True, slots=True)
class PlainRecords:
    """Positions of the fields of records.

    Args:
        offset_at: Index of the offset delta.
        key_start, key_length: No key is null.
        value_start, value_length: A value of -1 bytes is null.
    """

    offset_at: NDArray[np.int64]
    key_start: NDArray[np.int64]
    key_length: NDArray[np.int64]
    value_start: NDArray[np.int64]
    value_length: NDArray[np.int64]


def plain_records(data: NDArray[np.uint8], body: NDArray[np.int64], end: NDArray[np.int64]) -> PlainRecords | None:
    """Reads plain records.

    Args:
        data: Bytes.
        body, end: Index of the byte after each record's length, and after the record; at least one record.

    Returns:
        None when a single one is not plain, or its fields do not fill it.
    """
    if int(body.max()) + WORD > len(data):
        return None
    words: NDArray[Any] = np.ndarray((len(data) - WORD + 1,), "<i8", data, strides=(1,))
    heads = _heads(words[body], body)
    if heads is None:
        return None
    offset_at, key_start, key_length = heads
    value_length, value_start = read_signed(data, key_start + key_length)
    headers_at = value_start + np.maximum(value_length, 0)
    filled = (headers_at == end - 1).all() and int(value_length.min()) >= NULL
    if not filled or data.take(headers_at).any():
        return None
    return PlainRecords(offset_at, key_start, key_length, value_start, value_length)


def _heads(
    word: NDArray[np.int64], body: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Start of offset deltas and keys, and length of keys; None when a field is longer, or a key null."""
    if not (word & LONGER).any():
        return body + 2, body + 4, word >> 25 & 0x3F
    after_attributes = word >> 8
    timestamp_more, after_timestamp = _skip(after_attributes)
    offset_more, after_offset = _skip(after_timestamp)
    key_more, _ = _skip(after_offset)
    longer = after_attributes & timestamp_more << 15 | after_timestamp & offset_more << 15
    encoded = (after_offset & 0x7F) | (after_offset >> 1 & 0x3F80) * key_more
    if ((longer | after_offset & key_more << 15 | (encoded & 1)) != 0).any():
        return None
    offset_at = body + 2 + timestamp_more
    return offset_at, offset_at + 2 + (offset_more + key_more), encoded >> 1


def _skip(word: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """1 where the varint that a word begins with has a second byte, and the word after it if it has no third."""
    more = word >> 7 & 1
    return more, word >> 8 + 8 * more
