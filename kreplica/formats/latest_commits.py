"""Commit records that may still count: the last of each key, over as few bytes as that needs.

What is kept of a window is copied out of it at once, so a window goes as soon as it is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.latest_keys import last_of_each_key, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

HELD_BYTES = 32 << 20
"""Copies that may be held before what is overwritten in them is let go."""
WIDEST_ROW = 512
"""Longer records, which hardly exist, are copied one by one."""


@dataclass(frozen=True, slots=True)
class CommitSlices:
    """Commit records, not yet decoded: where key and value stand, and where the record stood.

    Args:
        data: Bytes.
        key_start, key_length, value_start, value_length: As in RecordColumns.
        record_offset: Of the record in the log.
        producer_id: Of the transaction that it is or was part of; -1 if none.
    """

    data: NDArray[np.uint8]
    key_start: NDArray[np.int64]
    key_length: NDArray[np.int64]
    value_start: NDArray[np.int64]
    value_length: NDArray[np.int64]
    record_offset: NDArray[np.int64]
    producer_id: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.record_offset)

    def take(self, which: NDArray[Any]) -> CommitSlices:
        """Some of them, by a mask or indices."""
        return CommitSlices(self.data, *(getattr(self, field.name)[which] for field in fields(self)[1:]))

    def keys(self) -> list[bytes]:
        """The bytes of each key."""
        view = self.data.data
        pairs = zip(self.key_start.tolist(), self.key_length.tolist(), strict=True)
        return [view[start : start + length].tobytes() for start, length in pairs]


EMPTY = CommitSlices(np.zeros(0, np.uint8), *(np.zeros(0, np.int64) for _ in range(6)))


class LatestCommits:
    """The last commit of each key of all that were added; what is overwritten is let go from time to time."""

    def __init__(self) -> None:
        self._held: list[CommitSlices] = []
        self._own_bytes = 0

    def add(self, piece: CommitSlices) -> None:
        """Takes more, and copies of the bytes that they stand in."""
        if not len(piece):
            return
        self._held.append(copied(piece))
        if self.held_bytes() > max(HELD_BYTES, 2 * self._own_bytes):
            self.all()

    def all(self) -> CommitSlices:
        """The last of each key, in the order of the log; owns its bytes."""
        if not self._held:
            return EMPTY
        together = joined(self._held)
        if (np.diff(together.record_offset) < 0).any():
            together = together.take(np.argsort(together.record_offset, kind="stable"))
        latest = copied(last_of_each(together))
        self._held, self._own_bytes = [latest], len(latest.data)
        return latest

    def held_bytes(self) -> int:
        """How many bytes are held."""
        return sum(len(piece.data) for piece in self._held)


def last_of_each(piece: CommitSlices) -> CommitSlices:
    """The last record of each key, in order."""
    return piece.take(last_of_each_key(piece.data, piece.key_start, piece.key_length))


def joined(pieces: Sequence[CommitSlices]) -> CommitSlices:
    """All pieces over one stretch of bytes."""
    if len(pieces) <= 1:
        return pieces[0] if pieces else EMPTY
    sizes = [len(piece.data) for piece in pieces]
    shift = np.repeat(np.cumsum(sizes) - sizes, [len(piece) for piece in pieces])
    names = [field.name for field in fields(CommitSlices)]
    columns = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in names}
    columns["key_start"] += shift
    columns["value_start"] += shift
    return CommitSlices(**columns)


def copied(piece: CommitSlices) -> CommitSlices:
    """The same over bytes of its own: of each record key, length of the value, and value, as they stand."""
    if not len(piece):
        return EMPTY
    value_at = piece.value_start - piece.key_start
    size = np.maximum(piece.key_length, value_at + np.maximum(piece.value_length, 0))
    width = int(size.max())
    if width <= WIDEST_ROW:
        data, key_start = rows_of(piece.data, piece.key_start, width), np.arange(len(piece)) * width
    else:
        data, key_start = _one_by_one(piece.data, piece.key_start, size), np.cumsum(size) - size
    return replace(piece, data=data, key_start=key_start, value_start=key_start + value_at)


def _one_by_one(data: NDArray[np.uint8], start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.uint8]:
    bounds = zip(start.tolist(), (start + size).tolist(), strict=True)
    return np.frombuffer(b"".join(data.data[begin:end] for begin, end in bounds), np.uint8)
