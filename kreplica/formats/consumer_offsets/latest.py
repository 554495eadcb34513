"""Commit records that may still count: the last of each key, over as few bytes as that needs.

The bytes that are kept of a window are copied at once, so the window is freed as soon as it is replayed.

The last record of each key, in bulk: what a compacted log keeps, found before a key or value is decoded.

Keys are copied into the rows of a matrix and compared by a hash of the row; every record is then compared with the one
that was found for it, byte for byte, so that two keys of one hash are never taken for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


WORD = 8
WIDEST_KEY_ROW = 256
"""Longer keys, which hardly exist, are compared one by one."""
COMPARED_AT_ONCE = 1 << 13
LEAST_BITS, MOST_BITS = 10, 24


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """Groups of equal stretches of bytes.

    Args:
        places: Index of one stretch of each group, ascending.
        number: For every stretch, the number of its group in ``places``.
    """

    places: NDArray[np.int64]
    number: NDArray[np.int64]


def distinct_keys(data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]) -> DistinctKeys:
    """Groups equal keys; arguments as of ``last_of_each_key``."""
    winner = last_with_same_key(data, start, length)
    places = np.flatnonzero(winner == np.arange(len(winner)))
    number = np.zeros(len(winner), np.int64)
    number[places] = np.arange(len(places))
    return DistinctKeys(places, number[winner])


def last_of_each_key(data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the last record of each key, ascending.

    Args:
        data: Bytes that hold the keys.
        start, length: Range of each record's key; none is null.
    """
    return np.flatnonzero(last_with_same_key(data, start, length) == np.arange(len(start)))


def last_with_same_key(
    data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each record the index of the last one that has its key; arguments as of ``last_of_each_key``."""
    if not len(start):
        return np.zeros(0, np.int64)
    rows = key_words(data, start, length)
    if rows is None:
        return _keys_one_by_one(data, start, length)
    winner = _winners(key_hashes(rows, length))
    if not (_same(rows, winner) and np.array_equal(length.take(winner), length)):
        return _keys_one_by_one(data, start, length)
    return winner


def _same(rows: NDArray[np.uint64], winner: NDArray[np.int64]) -> bool:
    """True if each row equals that of its winner; some thousands at once stay in a processor's cache."""
    pieces = (slice(begin, begin + COMPARED_AT_ONCE) for begin in range(0, len(rows), COMPARED_AT_ONCE))
    return all(np.array_equal(rows.take(winner[piece], axis=0), rows[piece]) for piece in pieces)


def key_words(
    data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64], least: int = 1
) -> NDArray[np.uint64] | None:
    """Each key in a row of at least so many eight-byte words, padded with zeros; None when one is too long for that."""
    width = max(least, -(-int(length.max()) // WORD)) * WORD
    if width > WIDEST_KEY_ROW:
        return None
    words = rows_of(data, start, width).view(np.uint64).reshape(len(start), width // WORD)
    filled = int(length.min()) // WORD  # every key fills these words: nothing after them to be cleared
    if filled < width // WORD:
        words[:, filled:] &= _masks(width)[:, filled:].take(length, axis=0)
    return words


def key_hashes(words: NDArray[np.uint64], length: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of each key; trailing words of zeros do not change it."""
    return words @ _multipliers(words.shape[1]) + length.astype(np.uint64)


def rows_of(data: NDArray[np.uint8], start: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """So many bytes from each start on, one row a start; zeros where the data ends before."""
    if len(data) < int(start.max()) + width:
        data = np.concatenate([data, np.zeros(width, np.uint8)])
    return np.ndarray((len(data) - width + 1,), f"V{width}", data, strides=(1,))[start].view(np.uint8)


@lru_cache(maxsize=64)
def _masks(width: int) -> NDArray[np.uint64]:
    """Row n keeps the first n bytes."""
    kept = np.arange(width)[np.newaxis, :] < np.arange(width + 1)[:, np.newaxis]
    return np.where(kept, 255, 0).astype(np.uint8).view(np.uint64)


@lru_cache(maxsize=64)
def _multipliers(count: int) -> NDArray[np.uint64]:
    """Odd, so that keys which differ in one word never have the same hash. SplitMix64: numpy.random imports slowly."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    return (mixed ^ mixed >> np.uint64(31)) | np.uint64(1)


def _winners(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Index of the last record with the hash of each.

    Records are thrown into slots by the upper bits of their hash, the last stays; those whose slot another hash has
    taken, few, are sorted.
    """
    count = len(hashes)
    bits = min(MOST_BITS, max(LEAST_BITS, count.bit_length() + 2))
    slot = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    table = np.empty(1 << bits, np.int64)
    table[slot] = np.arange(count)
    winner = table[slot]
    lost = np.flatnonzero(hashes[winner] != hashes)
    if lost.size:
        values, place = np.unique(hashes[lost], return_inverse=True)
        last = np.zeros(len(values), np.int64)
        last[place] = lost
        winner[lost] = last[place]
    return winner


def _keys_one_by_one(data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    bounds = zip(start.tolist(), (start + length).tolist(), strict=True)
    keys = [data.data[begin:end].tobytes() for begin, end in bounds]
    last = {key: index for index, key in enumerate(keys)}
    return np.array([last[key] for key in keys], np.int64)


HELD_BYTES = 32 << 20
"""Copies that may be held before overwritten records in them are freed."""
WIDEST_ROW = 512
"""Longer records, which hardly exist, are copied one by one."""


@dataclass(frozen=True, slots=True)
class CommitSlices:
    """Commit records, not yet decoded: positions of key and value, and the record's offset.

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
    """The last commit of each key of all that were added; overwritten ones are freed from time to time."""

    def __init__(self) -> None:
        self._held: list[CommitSlices] = []
        self._own_bytes = 0

    def add(self, piece: CommitSlices) -> None:
        """Adds records, and copies of their bytes."""
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
        """Number of bytes held."""
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
