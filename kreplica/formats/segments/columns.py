"""Records as columns: positions of each field in a stretch of bytes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.damage import Damage
    from kreplica.formats.segments.batches import BatchColumns

NULL = -1
"""Length of a key or value that is null."""


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records in the order of the file, one array a field.

    Args:
        data: The bytes of keys, values and headers: those of the file, inflated ones after them.
        batches: The batches of the window that the records are from.
        damage: Ranges of the batches of these records that could not be decoded.
        batch: Index of the record's batch in ``batches``.
        offset: Offset in the log.
        timestamp: In ms; -1 for magic 0.
        key_start, value_start: Index of the first byte in ``data``.
        key_length, value_length: Bytes; -1 for null.
        headers_start: Index of the first byte of the first header, after the count.
        headers_count: Number of headers.
    """

    data: NDArray[np.uint8]
    batches: BatchColumns
    damage: tuple[Damage, ...]
    batch: NDArray[np.int64]
    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    key_start: NDArray[np.int64]
    key_length: NDArray[np.int64]
    value_start: NDArray[np.int64]
    value_length: NDArray[np.int64]
    headers_start: NDArray[np.int64]
    headers_count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def sequence(self) -> NDArray[np.int64]:
        """Sequence number of an idempotent producer, -1 where it has none; it begins anew after 2^31 - 1."""
        first = self.batches.base_sequence[self.batch].astype(np.int64)
        counted = (first + self.offset - self.batches.base_offset[self.batch]) & 0x7FFFFFFF
        return np.where(first < 0, NULL, counted)

    def key(self, index: int) -> bytes | None:
        """The key of one record."""
        return self._bytes(self.key_start[index], self.key_length[index])

    def value(self, index: int) -> bytes | None:
        """The value of one record."""
        return self._bytes(self.value_start[index], self.value_length[index])

    def headers(self, index: int) -> list[tuple[bytes, bytes | None]]:
        """The headers of one record, in order."""
        position, found = int(self.headers_start[index]), []
        for _ in range(int(self.headers_count[index])):
            key, position = self._sized(position)
            value, position = self._sized(position)
            found.append((key or b"", value))
        return found

    def take(self, which: NDArray[Any] | slice) -> RecordColumns:
        """Some of the records, by a mask, indices or a slice; damage stays."""
        kept = [getattr(self, field.name)[which] for field in fields(self)[3:]]
        return RecordColumns(self.data, self.batches, self.damage, *kept)

    def _bytes(self, start: Any, length: Any) -> bytes | None:
        return None if length < 0 else self.data[start : start + length].tobytes()

    def _sized(self, position: int) -> tuple[bytes | None, int]:
        length, position = read_one_signed(self.data.data, position)
        return self._bytes(position, length), position + max(0, length)


def read_one_signed(data: memoryview, position: int) -> tuple[int, int]:
    """Reads a zigzag varint of at most five bytes; returns it and the index after it.

    Raises:
        ValueError: It has no end, or the data ends.
    """
    value = 0
    for shift in range(0, 35, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1), position
    raise ValueError("a varint without an end")


@dataclass(frozen=True, slots=True)
class Areas:
    """Ranges of the records of batches.

    Args:
        data: The window's bytes, inflated ones after them.
        index: Index of each batch in the window's columns.
        begin, end: Index of the first byte of its records in ``data``, and after the last.
        damage: Batches that could not be inflated.
    """

    data: NDArray[np.uint8]
    index: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    damage: tuple[Damage, ...]
