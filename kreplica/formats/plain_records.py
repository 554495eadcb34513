"""Records as a coordinator writes nearly all: fields of one or two bytes before the key, and no headers.

    length | attributes int8 | timestamp delta | offset delta | key length | key | value length | value | 0
                               one or two bytes each: eight bytes hold them

One word of eight bytes tells where the key begins, by shifts instead of a look at each byte. What is not so is left to
``records``, which reads all that Kafka writes and says what is damaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.varints import read_signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORD = 8
LONGER = 0x81808000
"""Bits of a word that say that one of the three fields has a second byte, or that the key is null."""
NULL = -1


@dataclass(frozen=True, slots=True)
class PlainRecords:
    """Where the fields of records stand.

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
    """Reads them.

    Args:
        data: Bytes.
        body, end: Index of the byte behind each record's length, and behind the record; at least one record.

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
    """Where offset deltas and keys stand, and how long keys are; None when a field is longer, or a key null."""
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
    """1 where the varint that a word begins with has a second byte, and the word behind it if it has no third."""
    more = word >> 7 & 1
    return more, word >> 8 + 8 * more
