"""Start positions of batches in a stretch of bytes, their checksums, and the next sound batch after damage."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.segments.batch_layout import (
    ATTRIBUTES_AT,
    CHECKED_FROM,
    COUNT_AT,
    CRC_AT,
    HEADER_BYTES,
    KEY_AT,
    LAST_OFFSET_DELTA_AT,
    LEAST_BYTES,
    LENGTH_AT,
    MAGIC_AT,
    PREFIX_BYTES,
    PRODUCER_EPOCH_AT,
)
from kreplica.formats.segments.numbers import integers_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BATCH_BYTES = 256 << 20
"""A batch that says it is longer is damaged: a broker takes 1 MiB unless message.max.bytes was raised."""
SHORTEST_HEADER = MAGIC_AT + 1
SEARCH_BLOCK, LONGEST_SEARCH_BLOCK = 4096, 1 << 20
TRIALS = 4096
"""Candidates whose checksum is computed in one search, before it is given up for this stretch."""

_PREFIX = struct.Struct(">iiB")
_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")


class Stop(Enum):
    """Reason why a chain of batches ends."""

    END = "the bytes end"
    MORE = "a batch that goes on behind the bytes given"
    ZEROS = "zeros where a batch should begin"
    FAULT = "no batch"


@dataclass(frozen=True, slots=True)
class Chain:
    """Batches that follow one another.

    Args:
        starts: Index of the first byte of each.
        ends: Index after the last byte of each.
        valid: True if its checksum is right.
        stop: Reason why there is no further one.
        stopped_at: Index where a further one would begin.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    valid: NDArray[np.bool_]
    stop: Stop
    stopped_at: int


def follow(data: NDArray[np.uint8], begin: int, remaining: int) -> Chain:
    """Follows lengths from batch to batch.

    Args:
        data: The bytes.
        begin: Index where a batch begins.
        remaining: Bytes from ``data[0]`` to the end of the file: at least ``len(data)``.
    """
    bounds = _starts(data, begin)
    starts, ends, stopped_at = bounds[:-1], bounds[1:], int(bounds[-1])
    stop = _stop(data, stopped_at, remaining)
    return Chain(starts, ends, checksums_hold(data, starts, ends), stop, stopped_at)


def _starts(data: NDArray[np.uint8], begin: int) -> NDArray[np.int64]:
    """Starts of batches, and last the position where no further one begins, or not wholly.

    Lengths are followed as they stand, in the only loop over single batches; then all are looked at together, and the
    first that is of no known version or too short ends the chain.
    """
    unpack, view, end = _LENGTH.unpack_from, data.data, len(data)
    last, least = end - SHORTEST_HEADER, LEAST_BYTES[0]
    position = begin
    starts: list[int] = []
    append = starts.append
    while position <= last:
        following = position + PREFIX_BYTES + unpack(view, position + LENGTH_AT)[0]
        if following > end or following - position < least:
            break
        append(position)
        position = following
    append(position)
    found = np.array(starts, np.int64)
    magic = data.take(found[:-1] + MAGIC_AT)
    fault = (magic > 2) | (np.diff(found) < np.array(LEAST_BYTES).take(magic, mode="clip"))
    return found[: int(fault.argmax()) + 1] if fault.any() else found


def _stop(data: NDArray[np.uint8], position: int, remaining: int) -> Stop:
    if position == remaining:
        return Stop.END
    header = data[position : position + SHORTEST_HEADER]
    if len(header) < SHORTEST_HEADER:
        more = remaining > len(data)
        return Stop.MORE if more else Stop.ZEROS if not header.any() else Stop.FAULT
    if not header.any():
        return Stop.ZEROS
    length, _, magic = _PREFIX.unpack_from(data.data, position + LENGTH_AT)
    size = PREFIX_BYTES + length
    fits = magic <= 2 and LEAST_BYTES[magic] <= size <= min(MOST_BATCH_BYTES, remaining - position)
    return Stop.MORE if fits else Stop.FAULT


def batch_size(data: NDArray[np.uint8], position: int) -> int:
    """Bytes of the batch that begins there, by its length field; 0 where not even that is in the data."""
    if position + SHORTEST_HEADER > len(data):
        return 0
    return PREFIX_BYTES + int(_PREFIX.unpack_from(data.data, position + LENGTH_AT)[0])


def fault_words(data: NDArray[np.uint8], position: int, remaining: int) -> tuple[str, str, str]:
    """Describes the fault of a batch that should begin there: reason, expected, found."""
    if position + SHORTEST_HEADER > len(data):
        return "batch cut off in its header", f"at least {LEAST_BYTES[0]} bytes", f"{remaining - position} bytes"
    length, _, magic = _PREFIX.unpack_from(data.data, position + LENGTH_AT)
    size = PREFIX_BYTES + length
    if magic > 2:
        return "unknown batch version (magic)", "0, 1 or 2", str(magic)
    if LEAST_BYTES[magic] <= size <= MOST_BATCH_BYTES:
        return "batch cut off by the end of the file", f"{size} bytes", f"{remaining - position} bytes"
    return "impossible batch size", f"{LEAST_BYTES[magic]} to {MOST_BATCH_BYTES} bytes", f"{size} bytes"


def checksums_hold(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True for batches that have the checksum that they store."""
    if not len(starts):
        return np.zeros(0, np.bool_)
    from crc32c import crc32c

    magic = data[starts + MAGIC_AT]
    stored = np.ndarray((len(data) - 3,), ">u4", data, strides=(1,))[starts + np.array(CRC_AT)[magic]]
    begins, view = (starts + np.array(CHECKED_FROM)[magic]).tolist(), data.data
    if (magic == 2).all():
        computed = [crc32c(view[begin:end]) for begin, end in zip(begins, ends.tolist(), strict=True)]
    else:
        triples = zip((magic == 2).tolist(), begins, ends.tolist(), strict=True)
        computed = [crc32c(view[begin:end]) if new else zlib.crc32(view[begin:end]) for new, begin, end in triples]
    return np.asarray(stored == np.array(computed, np.uint32))


def computed_checksum(data: NDArray[np.uint8], start: int, end: int) -> int:
    """The checksum computed of the batch that begins there, by the rule of its version."""
    from crc32c import crc32c

    magic = int(data[start + MAGIC_AT])
    checked = data.data[start + CHECKED_FROM[magic] : end]
    return int(crc32c(checked) if magic == 2 else zlib.crc32(checked))


def stored_checksum(data: NDArray[np.uint8], start: int) -> int:
    """The checksum stored in the batch that begins there."""
    return int(_CRC.unpack_from(data.data, start + CRC_AT[data[start + MAGIC_AT]])[0])


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a search for a sound batch: ``at`` is its index, or where to go on; ``sound`` is True if it is one;
    ``more`` is True if a candidate at ``at`` goes on after the bytes given.
    """

    at: int
    sound: bool = False
    more: bool = False


def search(data: NDArray[np.uint8], begin: int, remaining: int, least_offset: int) -> Found:
    """Looks for the next sound batch, whose checksum holds.

    Args:
        data: The bytes.
        begin: Index of the first byte where it may begin.
        remaining: Bytes from ``data[0]`` to the end of the file.
        least_offset: Its base offset is at least this: offsets only grow in a log.
    """
    for at, end in islice(_candidates(data, begin, remaining, least_offset), TRIALS):
        if end > len(data):
            return Found(at, more=True)
        if stored_checksum(data, at) == computed_checksum(data, at, end):
            return Found(at, sound=True)
    return Found(len(data) if len(data) == remaining else max(begin, len(data) - HEADER_BYTES))


def _candidates(data: NDArray[np.uint8], begin: int, remaining: int, least_offset: int) -> Iterator[tuple[int, int]]:
    """Index and end of candidates for a batch, in order; blocks grow, so that near ones are found cheaply."""
    size = SEARCH_BLOCK
    last = len(data) - LEAST_BYTES[0]
    while begin <= last:
        end = min(begin + size, last + 1)
        at, ends = _plausible(data, begin, end, remaining, least_offset)
        yield from zip(at.tolist(), ends.tolist(), strict=True)
        begin, size = end, min(size * 4, LONGEST_SEARCH_BLOCK)


def _plausible(
    data: NDArray[np.uint8], begin: int, end: int, remaining: int, least_offset: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    at = np.flatnonzero(data[begin + MAGIC_AT : end + MAGIC_AT] <= 2) + begin
    sizes = integers_at(data, ">i4", at + LENGTH_AT) + PREFIX_BYTES
    magic = data[at + MAGIC_AT]
    least = np.array(LEAST_BYTES)[magic]
    fits = (sizes >= least) & (sizes <= MOST_BATCH_BYTES) & (at + sizes <= remaining)
    at, sizes, magic = at[fits], sizes[fits], magic[fits]
    fits = integers_at(data, ">i8", at) >= least_offset
    at, sizes, magic = at[fits], sizes[fits], magic[fits]
    fits = np.where(magic == 2, _like_v2(data, at), _like_legacy(data, at, sizes))
    return at[fits], (at + sizes)[fits]


def _like_v2(data: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.bool_]:
    delta, count = integers_at(data, ">i4", at + LAST_OFFSET_DELTA_AT), integers_at(data, ">i4", at + COUNT_AT)
    attributes = integers_at(data, ">i2", at + ATTRIBUTES_AT[2])
    epoch = integers_at(data, ">i2", at + PRODUCER_EPOCH_AT)
    sound = (attributes >= 0) & (attributes < 128) & (delta >= 0) & (count >= 0) & (count <= delta + 1)
    cut_off = at + HEADER_BYTES > len(data)  # nothing to judge by yet: more bytes have to be read
    return np.asarray((sound & (epoch >= -1)) | cut_off)


def _like_legacy(data: NDArray[np.uint8], at: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    key_at = np.where(data[at + MAGIC_AT] == 1, KEY_AT[1], KEY_AT[0])
    key_length = integers_at(data, ">i4", at + key_at)
    cut_off = at + key_at + 4 > len(data)
    attributes = data.take(at + ATTRIBUTES_AT[0], mode="clip")
    return np.asarray((attributes < 16) & (key_length >= -1) & (key_length < sizes) | cut_off)
