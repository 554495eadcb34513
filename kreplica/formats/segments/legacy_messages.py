"""Messages of magic 0 and 1, alone or compressed into one, as records.

Inside a compressed message of magic 1 offsets count from 0 and the message itself has the offset of the last one
(KIP-31); inside one of magic 0 they are those of the log. The layout is drawn in ``batches``.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.damage import Damage
from kreplica.formats.segments.batch_layout import KEY_AT, LEAST_BYTES, MAGIC_AT, PREFIX_BYTES, TIMESTAMP_AT
from kreplica.formats.segments.batches import CODEC_MASK, NONE
from kreplica.formats.segments.columns import RecordColumns
from kreplica.formats.segments.numbers import integers_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.segments.columns import Areas
    from kreplica.formats.segments.windows import BatchWindow

_MESSAGE = struct.Struct(">qiIbb")
MOST_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True)
class _Messages:
    """Index of the first byte of each message, index after it, its batch, its offset."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    batch: NDArray[np.int64]
    offset: NDArray[np.int64]


def decode_messages(window: BatchWindow, areas: Areas) -> Iterator[RecordColumns]:
    """The messages of old batches as columns; without headers, sequences and leader epochs, which they do not have."""
    messages, damage = _messages(window, areas)
    for begin in range(0, len(messages.start), MOST_AT_ONCE) or [0]:
        piece = slice(begin, begin + MOST_AT_ONCE)
        part = _Messages(messages.start[piece], messages.end[piece], messages.batch[piece], messages.offset[piece])
        yield _columns(window, areas, part, (*areas.damage, *damage) if begin == 0 else ())


def _messages(window: BatchWindow, areas: Areas) -> tuple[_Messages, list[Damage]]:
    batches = window.batches
    alone = batches.codec[areas.index] == 0
    if alone.all():
        return _Messages(areas.begin, areas.end, areas.index, batches.last_offset[areas.index]), []
    rows: list[NDArray[np.int64]] = []
    damage: list[Damage] = []
    for place, index in enumerate(areas.index.tolist()):
        begin, end, offset = int(areas.begin[place]), int(areas.end[place]), int(batches.last_offset[index])
        if alone[place]:
            rows.append(np.array([[begin, end, index, offset]], np.int64))
            continue
        inside, stopped_at = _inside(areas.data, begin, end)
        base = offset - int(inside[-1, 2]) if len(inside) and batches.magic[index] == 1 else 0
        rows.append(np.insert(inside + np.array([0, 0, base]), 2, index, axis=1))
        if stopped_at != end:
            reason = "compressed messages do not fill this one"
            damage.append(Damage(window.file, int(batches.position[index]), reason, end - stopped_at))
    return _Messages(*(np.concatenate(rows).T if rows else np.zeros((4, 0), np.int64))), damage


def _inside(data: NDArray[np.uint8], begin: int, end: int) -> tuple[NDArray[np.int64], int]:
    """Rows of start, end and written offset of each message in a compressed one; and where none could be read."""
    found, position, view = array("q"), begin, data.data  # an array: a bomb of a kilobyte has millions of them
    while position + _MESSAGE.size <= end:
        offset, size, _, magic, attributes = _MESSAGE.unpack_from(view, position)
        behind = position + PREFIX_BYTES + size
        if magic not in (0, 1) or attributes & CODEC_MASK or behind - position < LEAST_BYTES[magic] or behind > end:
            break
        found.extend((position, behind, offset))
        position = behind
    return np.frombuffer(found, np.int64).reshape(-1, 3) if found else np.zeros((0, 3), np.int64), position


def _columns(window: BatchWindow, areas: Areas, messages: _Messages, damage: tuple[Damage, ...]) -> RecordColumns:
    data, start = areas.data, messages.start
    stamped = data.take(start + MAGIC_AT, mode="clip") == 1
    key_at = start + np.where(stamped, KEY_AT[1], KEY_AT[0])
    key_length, key_start = integers_at(data, ">i4", key_at), key_at + 4
    value_at = key_start + np.maximum(key_length, 0)
    value_length, value_start = integers_at(data, ">i4", value_at), value_at + 4
    sound = (key_length >= NONE) & (value_length >= NONE)
    sound &= value_start + np.maximum(value_length, 0) == messages.end
    timestamp = np.where(stamped, integers_at(data, ">i8", start + TIMESTAMP_AT), NONE)
    appended = window.batches.log_append_time[messages.batch]
    timestamp = np.where(appended, window.batches.max_timestamp[messages.batch], timestamp)
    faults = [
        Damage(
            window.file,
            int(window.batches.position[messages.batch[index]]),
            "key and value do not fill the message",
            int(messages.end[index] - start[index]),
        )
        for index in np.flatnonzero(~sound).tolist()
    ]
    nothing = np.zeros(len(start), np.int64)
    records = RecordColumns(
        data,
        window.batches,
        (*damage, *faults),
        messages.batch,
        messages.offset,
        timestamp,
        key_start,
        key_length,
        value_start,
        value_length,
        nothing,
        nothing,
    )
    return records if not faults else records.take(sound)
