"""Records of batches as columns, in bulk.

    record of magic 2 (DefaultRecord)
    length            varint    bytes after it
    attributes        int8      none is in use
    timestamp delta   varlong   from the batch's base timestamp
    offset delta      varint    from the batch's base offset
    key length        varint    -1: null
    key
    value length      varint    -1: null
    value
    headers           varint    their number; then of each: key length varint, key, value length varint, value

Where a record begins is known only when the one before it is read, so the i-th record of every batch is looked at in
one step (``record_starts``); all other fields are then read from all records at once.

Where the records of many batches begin: they are followed as they stand (``record_runs``), then all looked at
together, and each batch ends before its first one that cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.damage import Damage
from kreplica.formats.segments.batch_layout import HEADER_BYTES, KEY_AT
from kreplica.formats.segments.batches import NONE, Codec
from kreplica.formats.segments.codecs import InflateError, inflate
from kreplica.formats.segments.columns import Areas, RecordColumns
from kreplica.formats.segments.legacy_messages import decode_messages
from kreplica.formats.segments.numbers import VARLONG_BYTES, read_signed
from kreplica.formats.segments.record_runs import BYTES, LEAST_RECORD, SHIFT, record_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.segments.windows import BatchWindow


@dataclass(frozen=True, slots=True)
class RecordStarts:
    """The records of batches.

    Args:
        body: Index of the byte after each record's length, batch after batch.
        size: Bytes from there on.
        batch: Index of the batch of each.
        count: Number of records present in each batch.
        stopped_at: Index after the last of each batch.
    """

    body: NDArray[np.int64]
    size: NDArray[np.int64]
    batch: NDArray[np.int64]
    count: NDArray[np.int64]
    stopped_at: NDArray[np.int64]


def record_starts(
    data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64], count: NDArray[np.int64]
) -> RecordStarts:
    """Finds the records.

    Args:
        data: Bytes.
        begin, end: Index of the first byte of each batch's records, and after the last.
        count: How many records each batch says it has. It may lie: no more are looked for than have room.
    """
    wanted = np.clip(count, 0, (end - begin) // (LEAST_RECORD + 1))
    runs = record_runs(data, begin, end, wanted)
    start, step = runs.expand()
    following = start + (step >> SHIFT)
    batch, size = np.repeat(np.arange(len(wanted)), wanted), step & BYTES
    body, kept = start + size, wanted
    sound = (size > 0) & (following <= end.take(batch))
    if not sound.all():
        number = np.arange(len(step)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
        broken, kept = np.flatnonzero(~sound)[::-1], wanted.copy()
        kept[batch[broken]] = number[broken]  # the first one, written last, stays
        there = number < kept[batch]
        body, following, batch = body[there], following[there], batch[there]
    return RecordStarts(body, following - body, batch, kept, _behind_last(begin, following, kept))


def _behind_last(begin: NDArray[np.int64], following: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index after the last record of each batch; where it begins if it has none."""
    stopped_at, some = begin.copy(), np.flatnonzero(count)
    stopped_at[some] = following[np.cumsum(count)[some] - 1]
    return stopped_at


INFLATED_AT_ONCE = 16 << 20
"""Inflated bytes that are gathered before their records are decoded."""
RECORDS_AT_ONCE = 1 << 17
"""Records decoded to columns at once: a batch may inflate to millions."""
STARTS_AT_ONCE = 1 << 20
"""Records whose beginnings are found at once: some 100 bytes of memory each."""


def decode_records(window: BatchWindow) -> Iterator[RecordColumns]:
    """The records of a window's valid batches, in order, many at once.

    Damage in a batch costs the records after it in that batch, nothing else.
    """
    for areas in _areas(window):
        legacy = window.batches.magic[areas.index] < 2
        told = areas.damage
        for begin, end in _runs(legacy):
            part = Areas(areas.data, areas.index[begin:end], areas.begin[begin:end], areas.end[begin:end], told)
            told = ()
            yield from decode_messages(window, part) if legacy[begin] else _decode(window, part)
        if told:
            yield _no_records(window, areas.data, told)


def _runs(legacy: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Stretches of batches that are all of the old kind, or all of the new."""
    edges = [0, *(np.flatnonzero(np.diff(legacy)) + 1).tolist(), len(legacy)] if len(legacy) else []
    return pairwise(edges)


def _areas(window: BatchWindow) -> Iterator[Areas]:
    batches = window.batches
    begin = batches.position - window.start + np.where(batches.magic == 2, HEADER_BYTES, 0)
    end = batches.position - window.start + batches.size
    usable = batches.valid.copy()
    compressed = np.flatnonzero((batches.codec != Codec.none) & usable).tolist()
    first, total, parts, damage = 0, len(window.data), [window.data], []
    for index in compressed:
        try:
            content = _inflated(window, index)
        except InflateError as error:
            damage.append(_batch_damage(window, index, str(error)))
            usable[index] = False
            continue
        parts.append(np.frombuffer(content, np.uint8))
        begin[index], end[index] = total, total + len(content)
        total += len(content)
        if total - len(window.data) >= INFLATED_AT_ONCE:
            chosen = np.flatnonzero(usable[first : index + 1]) + first
            yield Areas(np.concatenate(parts), chosen, begin[chosen], end[chosen], tuple(damage))
            first, total, parts, damage = index + 1, len(window.data), [window.data], []
    chosen = np.flatnonzero(usable[first:]) + first
    data = window.data if len(parts) == 1 else np.concatenate(parts)
    yield Areas(data, chosen, begin[chosen], end[chosen], tuple(damage))


def _inflated(window: BatchWindow, index: int) -> bytes | memoryview:
    batches = window.batches
    start = int(batches.position[index]) - window.start
    content = window.data[start : start + int(batches.size[index])].tobytes()
    magic, codec = int(batches.magic[index]), int(batches.codec[index])
    if magic == 2:
        return inflate(codec, content[HEADER_BYTES:])
    key_at = KEY_AT[magic]
    value_at = key_at + 8 + max(0, int.from_bytes(content[key_at : key_at + 4], "big", signed=True))
    length = int.from_bytes(content[value_at - 4 : value_at], "big", signed=True)
    if length < 0 or value_at + length != len(content):
        raise InflateError("no compressed messages of the length that the message says")
    return inflate(codec, content[value_at:], magic=magic)


def _decode(window: BatchWindow, areas: Areas) -> Iterator[RecordColumns]:
    told = areas.damage
    for part in _portions(window, areas):
        for starts, damage in _starts(window, part):
            told = (*told, *damage)
            for begin in range(0, len(starts.body), RECORDS_AT_ONCE) or [0]:
                piece = slice(begin, begin + RECORDS_AT_ONCE)
                yield _fields(window, part, starts, piece, told)
                told = ()


def _portions(window: BatchWindow, areas: Areas) -> Iterator[Areas]:
    """Portions of the batches, with STARTS_AT_ONCE records at most; or a single batch with more."""
    room = (areas.end - areas.begin) // (LEAST_RECORD + 1)
    total = np.cumsum(np.clip(window.batches.count[areas.index], 0, room))
    begin = 0
    while begin < len(areas.index):
        before = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, before + STARTS_AT_ONCE, side="right")))
        some = slice(begin, end)
        yield Areas(areas.data, areas.index[some], areas.begin[some], areas.end[some], ())
        begin = end


def _starts(window: BatchWindow, areas: Areas) -> Iterator[tuple[RecordStarts, tuple[Damage, ...]]]:
    """Start of each record of a portion; of one batch with very many, some after the other."""
    said = window.batches.count[areas.index].astype(np.int64)
    read, begin = np.zeros(len(said), np.int64), areas.begin
    while True:
        asked = np.clip(said - read, 0, STARTS_AT_ONCE)
        starts = record_starts(areas.data, begin, areas.end, asked)
        read, begin = read + starts.count, starts.stopped_at
        if not ((read < said) & (starts.count == asked)).any():
            yield starts, tuple(_start_damage(window, areas, read, begin))
            return
        yield starts, ()


def _fields(
    window: BatchWindow, areas: Areas, starts: RecordStarts, piece: slice, damage: tuple[Damage, ...]
) -> RecordColumns:
    data, body, batch = areas.data, starts.body[piece], areas.index.take(starts.batch[piece])
    timestamp_delta, position = read_signed(data, body + 1, VARLONG_BYTES)
    offset_delta, position = read_signed(data, position)
    key_length, key_start = read_signed(data, position)
    value_length, value_start = read_signed(data, key_start + np.maximum(key_length, 0))
    headers_count, headers_start = read_signed(data, value_start + np.maximum(value_length, 0))
    end = body + starts.size[piece]
    sound = (key_length >= NONE) & (value_length >= NONE) & (headers_start > body)
    sound &= np.where(headers_count == 0, headers_start == end, (headers_count > 0) & (headers_start < end))
    batches = window.batches
    timestamp = batches.base_timestamp.take(batch) + timestamp_delta
    appended = batches.log_append_time
    if appended.any():
        timestamp = np.where(appended[batch], batches.max_timestamp[batch], timestamp)
    records = RecordColumns(
        data,
        batches,
        damage,
        batch,
        batches.base_offset.take(batch) + offset_delta,
        timestamp,
        key_start,
        key_length,
        value_start,
        value_length,
        headers_start,
        headers_count,
    )
    if headers_count.any():
        sound &= _headers_fit(records, end, sound)
    return records if sound.all() else _without(window, records, sound, starts.size[piece])


def _headers_fit(records: RecordColumns, end: NDArray[np.int64], sound: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True if the headers of a record end where it ends; the i-th headers of all are looked at in one step."""
    fit = np.ones(len(records), np.bool_)
    which = np.flatnonzero(sound & (records.headers_count > 0))
    position, left, limit = records.headers_start[which], records.headers_count[which], end[which]
    while which.size:
        key_length, position = read_signed(records.data, position)
        bad = key_length < 0
        value_length, position = read_signed(records.data, position + np.maximum(key_length, 0))
        position = position + np.maximum(value_length, 0)
        bad |= (value_length < NONE) | (position > limit) | (position < 0) | ((left == 1) & (position != limit))
        fit[which[bad]] = False
        going = ~bad & (left > 1)
        which, position, left, limit = which[going], position[going], left[going] - 1, limit[going]
    return fit


def _without(
    window: BatchWindow, records: RecordColumns, sound: NDArray[np.bool_], size: NDArray[np.int64]
) -> RecordColumns:
    first = np.searchsorted(records.batch, records.batch)
    faults = tuple(
        Damage(
            window.file,
            int(window.batches.position[records.batch[index]]),
            f"record {index - int(first[index])} of this batch has fields that do not fill it",
            int(size[index]),
        )
        for index in np.flatnonzero(~sound).tolist()
    )
    kept = records.take(sound)
    return RecordColumns(
        kept.data, kept.batches, (*kept.damage, *faults), *(getattr(kept, name) for name in _RECORD_FIELDS)
    )


_RECORD_FIELDS = (
    "batch",
    "offset",
    "timestamp",
    "key_start",
    "key_length",
    "value_start",
    "value_length",
    "headers_start",
    "headers_count",
)


def _start_damage(
    window: BatchWindow, areas: Areas, count: NDArray[np.int64], stopped_at: NDArray[np.int64]
) -> Iterator[Damage]:
    """Batches whose records do not end where the batch ends, or are not as many as it says."""
    said = window.batches.count[areas.index]
    for place in np.flatnonzero((count != said) | (stopped_at != areas.end)).tolist():
        index = int(areas.index[place])
        left_out = max(0, int(areas.end[place] - stopped_at[place]))
        read = int(count[place])
        yield Damage(
            window.file,
            int(window.batches.position[index]),
            "records of this batch do not fill it",
            left_out,
            f"{int(said[place])} records up to its end",
            f"{read} records and {left_out} bytes behind them",
        )


def _batch_damage(window: BatchWindow, index: int, reason: str) -> Damage:
    position, size = int(window.batches.position[index]), int(window.batches.size[index])
    return Damage(window.file, position, f"records cannot be inflated: {reason}", size)


def _no_records(window: BatchWindow, data: NDArray[np.uint8], damage: tuple[Damage, ...]) -> RecordColumns:
    nothing: NDArray[np.int64] = np.zeros(0, np.int64)
    return RecordColumns(data, window.batches, damage, *(nothing for _ in _RECORD_FIELDS))
