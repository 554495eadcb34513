"""Index files of a segment: .index, .timeindex and .txnindex, all big endian; their base offset is the file's name.

    .index        | relative offset int32 | position int32 |                                    8 bytes
    .timeindex    | timestamp int64       | relative offset int32 |                            12 bytes
    .txnindex     | version int16 = 0 | producer id int64 | first offset int64 |
                  | last offset int64 | last stable offset int64 |                             34 bytes

A broker preallocates the first two at log.index.size.max.bytes and cuts them when the segment is rolled or the broker
stops in order: zeros at the end of a live or killed broker's file are no entries. Offsets, and timestamps too, grow.
Kafka: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex, AbortedTxn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kreplica.formats.damage import Damage
from kreplica.formats.unreadable_ranges import entries_read

_OFFSET_ENTRY = np.dtype([("offset", ">u4"), ("position", ">u4")])
_TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">u4")])
_TRANSACTION_ENTRY = np.dtype(
    [
        ("version", ">i2"),
        ("producer_id", ">i8"),
        ("first_offset", ">i8"),
        ("last_offset", ">i8"),
        ("last_stable_offset", ">i8"),
    ]
)
OFFSET_ENTRY_BYTES = _OFFSET_ENTRY.itemsize
TIME_ENTRY_BYTES = _TIME_ENTRY.itemsize
TRANSACTION_ENTRY_BYTES = _TRANSACTION_ENTRY.itemsize

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class OffsetIndex:
    """n entries: the batch that holds ``offsets[i]`` begins at byte ``positions[i]`` of the segment.

    ``rows[i]`` is the entry's number in the file, from 0.
    """

    rows: Integers
    offsets: Integers
    positions: Integers
    damage: tuple[Damage, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndex:
    """n entries: no record up to ``offsets[i]`` has a later timestamp than ``timestamps[i]``, ms since the epoch.

    ``rows[i]`` is the entry's number in the file, from 0.
    """

    rows: Integers
    timestamps: Integers
    offsets: Integers
    damage: tuple[Damage, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TransactionIndex:
    """n aborted transactions: records of ``producer_ids[i]`` from ``first_offsets[i]`` to the marker at
    ``last_offsets[i]`` are not to be read; ``last_stable_offsets[i]`` is the last stable offset then.
    """

    producer_ids: Integers
    first_offsets: Integers
    last_offsets: Integers
    last_stable_offsets: Integers
    damage: tuple[Damage, ...]


def decode_offset_index(content: bytes, base_offset: int, file: str, unreadable: Sequence[Damage] = ()) -> OffsetIndex:
    """Decodes an .index file.

    Args:
        content: The whole file.
        base_offset: The number that its name is.
        file: Its name, for damage.
        unreadable: Stretches that a disk did not give: entries there are left out.
    """
    entries, damage = _entries(content, _OFFSET_ENTRY, file, unreadable)
    rows, gap = _filled(entries, ("offset", "position"), file, unreadable)
    entries = entries[rows]
    offsets, positions = _int64(entries["offset"]) + base_offset, _int64(entries["position"])
    damage += gap + _not_growing(offsets, "offset", file, rows * _OFFSET_ENTRY.itemsize)
    damage += _not_growing(positions, "position", file, rows * _OFFSET_ENTRY.itemsize)
    return OffsetIndex(rows, offsets, positions, tuple(damage))


def decode_time_index(content: bytes, base_offset: int, file: str, unreadable: Sequence[Damage] = ()) -> TimeIndex:
    """Decodes a .timeindex file.

    Args:
        content: The whole file.
        base_offset: The number that its name is.
        file: Its name, for damage.
        unreadable: Stretches that a disk did not give: entries there are left out.
    """
    entries, damage = _entries(content, _TIME_ENTRY, file, unreadable)
    rows, gap = _filled(entries, ("timestamp", "offset"), file, unreadable)
    entries = entries[rows]
    timestamps, offsets = _int64(entries["timestamp"]), _int64(entries["offset"]) + base_offset
    damage += gap + _not_growing(timestamps, "timestamp", file, rows * _TIME_ENTRY.itemsize)
    damage += _not_growing(offsets, "offset", file, rows * _TIME_ENTRY.itemsize)
    return TimeIndex(rows, timestamps, offsets, tuple(damage))


def decode_transaction_index(content: bytes, file: str, unreadable: Sequence[Damage] = ()) -> TransactionIndex:
    """Decodes a .txnindex file; entries of an unknown version are left out.

    Args:
        content: The whole file.
        file: Its name, for damage.
        unreadable: Stretches that a disk did not give: entries there are left out.
    """
    entries, damage = _entries(content, _TRANSACTION_ENTRY, file, unreadable)
    size = _TRANSACTION_ENTRY.itemsize
    read = entries_read(len(entries), size, unreadable)
    for row in np.flatnonzero(read & (entries["version"] != 0)).tolist():
        found = str(int(entries["version"][row]))
        damage.append(Damage(file, row * size, "unknown version of an aborted transaction", size, "0", found))
    rows = np.flatnonzero(read & (entries["version"] == 0))
    known = entries[rows]
    backwards = rows[known["last_offset"] < known["first_offset"]].tolist()
    damage += [Damage(file, row * size, "a transaction that ends before it begins", 0) for row in backwards]
    return TransactionIndex(
        _int64(known["producer_id"]),
        _int64(known["first_offset"]),
        _int64(known["last_offset"]),
        _int64(known["last_stable_offset"]),
        tuple(damage),
    )


def _entries(
    content: bytes, entry: np.dtype[Any], file: str, unreadable: Sequence[Damage]
) -> tuple[npt.NDArray[Any], list[Damage]]:
    whole, rest = divmod(len(content), entry.itemsize)
    entries = np.frombuffer(content, dtype=entry, count=whole)
    if not rest:
        return entries, list(unreadable)
    position = len(content) - rest
    cut = Damage(file, position, "an entry cut off", rest, f"{entry.itemsize} bytes", f"{rest} bytes")
    return entries, [*unreadable, cut]


def _filled(
    entries: npt.NDArray[Any], names: tuple[str, str], file: str, unreadable: Sequence[Damage]
) -> tuple[Integers, list[Damage]]:
    """Mask of the entries in use: not the preallocated tail, nor zeroed entries in between, which are damage.

    The first entry of an offset index is (0, 0) at the earliest after log.index.interval.bytes of records, so that an
    entry of zeros alone never refers to a batch.
    """
    size = entries.dtype.itemsize
    read = entries_read(len(entries), size, unreadable)
    filled = (entries[names[0]] != 0) | (entries[names[1]] != 0)
    rows = np.flatnonzero(read & filled)
    holes = np.flatnonzero((read & ~filled)[: int(rows[-1]) + 1]).tolist() if len(rows) else []
    return rows, [Damage(file, row * size, "zeros between entries", size) for row in holes]


def _not_growing(values: Integers, name: str, file: str, bytes_at: Integers) -> list[Damage]:
    rows = (np.flatnonzero(values[1:] < values[:-1]) + 1).tolist()
    return [
        Damage(file, int(bytes_at[row]), f"the {name} goes back", 0, f"at least {values[row - 1]}", str(values[row]))
        for row in rows
    ]


def _int64(values: npt.NDArray[Any]) -> Integers:
    return values.astype(np.int64)
