"""The producers that a partition's log knew at an offset, which is the file's name: 00000000000000000018.snapshot.

    | version int16 = 1 | crc uint32 | count int32 | entries ...          crc: CRC-32C of everything after it

    | producer id int64 | epoch int16 | last sequence int32 | last offset int64 | offset delta int32 |
    | timestamp int64 | coordinator epoch int32 | first offset of the current transaction int64 |   46 bytes, big endian

Kafka: org.apache.kafka.storage.internals.log.ProducerStateManager, ProducerSnapshot.json.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kreplica.formats.damage import Damage
from kreplica.formats.unreadable_ranges import entries_read

_HEADER = struct.Struct(">hIi")
_CRC_END = 6
_ENTRY = np.dtype(
    [
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("last_sequence", ">i4"),
        ("last_offset", ">i8"),
        ("offset_delta", ">i4"),
        ("timestamp", ">i8"),
        ("coordinator_epoch", ">i4"),
        ("current_txn_first_offset", ">i8"),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class ProducerSnapshot:
    """The producers in a snapshot.

    Args:
        entries: A structured array, a row a producer: producer_id, producer_epoch, last_sequence, last_offset,
            offset_delta (the last batch's records less one), timestamp (ms since the epoch), coordinator_epoch (-1
            without transactions), current_txn_first_offset (-1 without an open transaction).
        damage: What could not be read, and a CRC that does not fit (the entries are kept).
    """

    entries: npt.NDArray[np.void]
    damage: tuple[Damage, ...]


def place_in_file(row: int, field: str) -> int:
    """Position of a field of an entry in the file; entries are counted from 0."""
    assert _ENTRY.fields is not None
    return _HEADER.size + row * _ENTRY.itemsize + int(_ENTRY.fields[field][1])


def decode_producer_snapshot(content: bytes, file: str, unreadable: Sequence[Damage] = ()) -> ProducerSnapshot:
    """Decodes a .snapshot file of a partition.

    Args:
        content: The whole file.
        file: Its name, for damage.
        unreadable: Stretches that a disk did not give: entries there are left out, and the CRC is not judged.
    """
    if not entries_read(1, _HEADER.size, unreadable).all():
        return _nothing(*unreadable)
    if len(content) < _HEADER.size:
        expected = f"{_HEADER.size} bytes at least"
        return _nothing(Damage(file, 0, "cut off", len(content), expected, f"{len(content)} bytes"))
    version, crc, count = _HEADER.unpack_from(content)
    if version != 1:
        return _nothing(Damage(file, 0, "unknown version", len(content), "1", str(version)))
    damage = [*unreadable] if unreadable else [*_crc_damage(content, crc, file)]
    whole = (len(content) - _HEADER.size) // _ENTRY.itemsize
    kept = min(max(count, 0), whole)
    if (rest := len(content) - _HEADER.size - kept * _ENTRY.itemsize) or kept != count:
        position = len(content) - rest
        damage.append(Damage(file, position, "the count of producers is wrong", rest, str(count), str(whole)))
    entries = np.frombuffer(content, dtype=_ENTRY, count=kept, offset=_HEADER.size)
    entries = entries[entries_read(kept, _ENTRY.itemsize, unreadable, _HEADER.size)]
    return ProducerSnapshot(entries.astype(_ENTRY.newbyteorder("=")), tuple(damage))


def _nothing(*damage: Damage) -> ProducerSnapshot:
    return ProducerSnapshot(np.empty(0, dtype=_ENTRY.newbyteorder("=")), damage)


def _crc_damage(content: bytes, crc: int, file: str) -> list[Damage]:
    from crc32c import crc32c

    found = int(crc32c(content[_CRC_END:]))
    if found == crc:
        return []
    return [Damage(file, 2, "the CRC does not fit", 0, f"{crc:08x}", f"{found:08x}")]
