"""Commits in batches as a coordinator writes nearly all: the last of each key, with no look at the rest of a record.

A window is taken whole or not at all: one with anything compressed, damaged, transactional or of an old version in it
is left to ``records``, and nothing of it has been counted here.

Keys that were met before, each with a number: which one a record has is looked up for thousands of records at once.

A hash leads to a slot, and in it to one of a few numbers; every record is then compared with the key of that number,
byte for byte, so that two keys of one hash are never taken for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.consumer_offsets.commits import NEWEST_COMMIT_KEY
from kreplica.formats.consumer_offsets.latest import (
    EMPTY,
    HELD_BYTES,
    CommitSlices,
    copied,
    joined,
    key_hashes,
    key_words,
)
from kreplica.formats.segments.batch_layout import HEADER_BYTES
from kreplica.formats.segments.batches import CODEC_MASK, CONTROL, TRANSACTIONAL
from kreplica.formats.segments.numbers import read_signed
from kreplica.formats.segments.record_runs import BYTES, LEAST_RECORD, SHIFT, RecordRuns, plain_records, record_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.segments.windows import BatchWindow


MOST_KNOWN = 1 << 16
"""With more keys their copies no longer stay in a processor's cache."""
WAYS = 4
"""Numbers in one slot."""
SLOTS_A_KEY = 8
"""So nearly every key is the first of its slot."""
NOBODY = -1


class KnownKeys:
    """Numbers keys from 0 on, in the order in which they come."""

    def __init__(self) -> None:
        self.count = 0
        """Number of known keys."""
        self.full = False
        """True if there were more keys than can be numbered."""
        self._words = np.zeros((1, 1), np.uint64)
        self._length = np.zeros(1, np.int64)
        self._hash = np.zeros(1, np.uint64)
        self._bits = 0
        self._slots: list[NDArray[np.int32]] = []
        self._make_slots(10)

    @property
    def width(self) -> int:
        """Words in the rows of keys that are kept."""
        return self._words.shape[1]

    def numbers(self, words: NDArray[np.uint64], length: NDArray[np.int64]) -> NDArray[np.int32] | None:
        """The number of each key, new ones for those that were not known.

        Args:
            words: Keys as rows of words, padded with zeros.
            length: Bytes of each; at least one.

        Returns:
            None when there are too many keys, or two of one hash.
        """
        words = self._as_wide(words)
        hashes = key_hashes(words, length)
        found, strange = self._look_up(hashes)
        if strange.size:
            if not self._learn(words[strange], length[strange], hashes[strange]):
                return None
            found[strange], strange = self._look_up(hashes[strange])
            if strange.size:
                return None
        same = np.array_equal(self._words.take(found, axis=0), words)
        return found if same and np.array_equal(self._length.take(found), length) else None

    def _as_wide(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The rows as wide as those that are kept: trailing zeros change no hash."""
        width = max(words.shape[1], self._words.shape[1])
        self._words = _widened(self._words, width)
        return _widened(words, width)

    def _look_up(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The number for each hash, and the indices of those that have none."""
        slot = self._slot(hashes)
        found = self._slots[0].take(slot)
        strange = np.flatnonzero(self._hash.take(found, mode="wrap") != hashes)
        for way in self._slots[1:]:
            if not strange.size:
                break
            found[strange] = way.take(slot[strange])
            strange = strange[self._hash.take(found[strange], mode="wrap") != hashes[strange]]
        return found, strange

    def _learn(self, words: NDArray[np.uint64], length: NDArray[np.int64], hashes: NDArray[np.uint64]) -> bool:
        """Gives numbers to keys that have none; False when there is no room."""
        new, first = np.unique(hashes, return_index=True)
        self.full = self.count + len(new) > MOST_KNOWN
        if self.full:
            return False
        self._make_room(self.count + len(new))
        number = np.arange(self.count, self.count + len(new))
        self._words[number], self._length[number], self._hash[number] = words[first], length[first], new
        self.count += len(new)
        if self.count * SLOTS_A_KEY > 1 << self._bits:
            return self._make_slots((self.count * SLOTS_A_KEY).bit_length())
        return self._put_in(number)

    def _make_room(self, count: int) -> None:
        """Makes room, with an empty last row, with which keys are compared that have no number."""
        more = 2 * count - len(self._hash)
        if count >= len(self._hash):
            self._words = np.pad(self._words, ((0, more), (0, 0)))
            self._length, self._hash = np.pad(self._length, (0, more)), np.pad(self._hash, (0, more))

    def _make_slots(self, bits: int) -> bool:
        self._bits = bits
        self._slots = [np.full(1 << bits, NOBODY, np.int32) for _ in range(WAYS)]
        return self._put_in(np.arange(self.count))

    def _put_in(self, number: NDArray[np.int64]) -> bool:
        """Puts keys into their slots; False when one of these is full."""
        slot = self._slot(self._hash[number])
        for way in self._slots:
            free = way[slot] == NOBODY
            way[slot[free]] = number[free]
            left = way[slot] != number
            slot, number = slot[left], number[left]
        return not number.size

    def _slot(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (hashes >> np.uint64(64 - self._bits)).view(np.int64)


def _widened(words: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    more = width - words.shape[1]
    return np.pad(words, ((0, 0), (0, more))) if more else words


RECORDS_AT_ONCE = 1 << 13
"""Some thousand records stay in a processor's cache: measured."""
TYPE_BYTES = 2
MOST_TYPE = 0x7FFF
NO_COMMIT = -1
NO_PRODUCER = -1
LOWEST = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class PlainWindow:
    """Contents of a window.

    Args:
        types: Number of records of each key type.
        tombstones: Number of its commits without a value.
    """

    types: Counter[int]
    tombstones: CommitSlices


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some thousand records: the number of each one's key, NO_COMMIT for other records; how many there are of each
    type; which are tombstones."""

    key: NDArray[np.int32]
    types: Counter[int]
    tombstones: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Held:
    """The last commit of each key of one window, and the numbers of these keys."""

    key: NDArray[np.int32]
    commits: CommitSlices


@dataclass(frozen=True, slots=True)
class _Newest:
    """The last commit of each key of the newest window, not copied out of it yet: the next one overwrites most.

    Args:
        window, runs: Its records.
        key: Numbers of its keys.
        place: Which of its records is the last one of each.
    """

    window: BatchWindow
    runs: RecordRuns
    key: NDArray[np.int64]
    place: NDArray[np.int64]

    def not_in(self, window: BatchWindow, last: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those that the next window, by its last record of each key, does not overwrite: all unless offsets go on."""
        if int(window.batches.base_offset.min()) <= int(self.window.batches.last_offset.max()):
            return np.arange(len(self.key))
        return np.flatnonzero(last[self.key] == NO_COMMIT)

    def held(self, which: NDArray[np.int64]) -> _Held:
        """Some of them, over bytes of their own."""
        return _Held(self.key[which].astype(np.int32), copied(_slices(self.window, self.runs, self.place[which])))


class PlainCommits:
    """The last commit of each key of the windows that were taken."""

    def __init__(self) -> None:
        self._keys = KnownKeys()
        self._newest: _Newest | None = None
        self._held: list[_Held] = []
        self._own_bytes = 0

    def add(self, window: BatchWindow) -> PlainWindow | None:
        """Takes the next window; None, and nothing is taken, where it is not plain."""
        runs = None if self._keys.full else _plain_runs(window)
        if runs is None:
            return None
        pieces = []
        for some in _some_thousand(runs.count):
            piece = _piece(window.data, runs, some, self._keys)
            if piece is None:
                return None
            pieces.append(piece)
        self._hold(window, runs, np.concatenate([piece.key for piece in pieces]))
        without = np.flatnonzero(np.concatenate([piece.tombstones for piece in pieces]))
        tombstones = copied(_slices(window, runs, without))
        return PlainWindow(sum((piece.types for piece in pieces), Counter()), tombstones)

    def take(self) -> CommitSlices:
        """Returns the commits gathered, in the order of the log, and keeps none of them."""
        if self._newest is not None:
            self._held.append(self._newest.held(np.arange(len(self._newest.key))))
        self._let_go()
        commits = joined([held.commits for held in self._held])
        self._newest, self._held, self._own_bytes, self._keys = None, [], 0, KnownKeys()
        return commits.take(np.argsort(commits.record_offset, kind="stable"))

    def _hold(self, window: BatchWindow, runs: RecordRuns, key: NDArray[np.int32]) -> None:
        last = np.full(self._keys.count + 1, NO_COMMIT)
        last[key] = np.arange(len(key))  # of several the last one stays; NO_COMMIT writes past the others
        number = np.flatnonzero(last[:-1] >= 0)
        if self._newest is not None and (left := self._newest.not_in(window, last)).size:
            self._held.append(self._newest.held(left))
        self._newest = _Newest(window, runs, number, last[number])
        if self._held_bytes() > max(HELD_BYTES, 2 * self._own_bytes):
            self._let_go()
            self._own_bytes = self._held_bytes()

    def _let_go(self) -> None:
        """Keeps commits that no other window overwrote: of two the higher offset, which no checksum covers, counts."""
        owner, highest = np.zeros(self._keys.count, np.int64), np.full(self._keys.count, LOWEST)
        for place, held in enumerate(self._held):
            which = np.flatnonzero(held.commits.record_offset >= highest[held.key])
            owner[held.key[which]], highest[held.key[which]] = place, held.commits.record_offset[which]
        kept = [np.flatnonzero(owner[held.key] == place) for place, held in enumerate(self._held)]
        pairs = zip(self._held, kept, strict=True)
        self._held = [_Held(held.key[which], copied(held.commits.take(which))) for held, which in pairs if which.size]

    def _held_bytes(self) -> int:
        return sum(len(held.commits.data) for held in self._held)


def _plain_runs(window: BatchWindow) -> RecordRuns | None:
    """The records of a window; None unless all of its batches are plain and have as many records as they say."""
    batches = window.batches
    plain = (batches.magic == 2) & batches.valid & ((batches.attributes & (CODEC_MASK | TRANSACTIONAL | CONTROL)) == 0)
    if not plain.all() or not batches.count.any():
        return None
    begin = batches.position - window.start + HEADER_BYTES
    end = begin - HEADER_BYTES + batches.size
    if ((batches.count < 0) | (batches.count > (end - begin) // LEAST_RECORD)).any():
        return None
    runs = record_runs(window.data, begin, end, batches.count)
    return runs if runs.fill(begin, end) else None


def _some_thousand(count: NDArray[np.int64]) -> Iterator[slice]:
    """Runs of some thousand records, and so on, all of about as many."""
    total = np.cumsum(count)
    parts = max(1, round(int(total[-1]) / RECORDS_AT_ONCE))
    edges = np.searchsorted(total, np.arange(1, parts) * int(total[-1]) // parts).tolist()
    yield from (slice(begin, end) for begin, end in pairwise([0, *edges, len(count)]) if begin < end)


def _piece(data: NDArray[np.uint8], runs: RecordRuns, some: slice, keys: KnownKeys) -> _Piece | None:
    """Some records of a window; None if one is not plain."""
    start, step = runs.expand(some)
    body = start + (step & BYTES)
    records = plain_records(data, body, start + (step >> SHIFT))
    if records is None or int(records.key_length.min()) < TYPE_BYTES:
        return None
    words = key_words(data, records.key_start, records.key_length, keys.width)
    if words is None:
        return None
    types = words.view(">u2").reshape(len(body), -1)[:, 0].astype(np.int64)
    counts = _type_counts(types)
    key = None if max(counts) > MOST_TYPE else _numbers(words, records.key_length, types, keys)
    if key is None:
        return None
    return _Piece(key, counts, (records.value_length < 0) & (key != NO_COMMIT))


def _numbers(
    words: NDArray[np.uint64], length: NDArray[np.int64], types: NDArray[np.int64], keys: KnownKeys
) -> NDArray[np.int32] | None:
    """The number of each record's key, NO_COMMIT for those that commit nothing; None if they cannot be numbered."""
    if int(types.max()) <= NEWEST_COMMIT_KEY:
        return keys.numbers(words, length)
    which = np.flatnonzero(types <= NEWEST_COMMIT_KEY)
    key = np.full(len(types), NO_COMMIT, np.int32)
    if which.size:
        found = keys.numbers(words[which], length[which])
        if found is None:
            return None
        key[which] = found
    return key


def _slices(window: BatchWindow, runs: RecordRuns, which: NDArray[np.int64]) -> CommitSlices:
    """Some of a window's records, which are plain."""
    if not which.size:
        return EMPTY
    behind = np.cumsum(runs.count)
    run = np.searchsorted(behind, which, side="right")
    step = runs.step[run]
    start = runs.start[run] + (which - (behind - runs.count)[run]) * (step >> SHIFT)
    found = plain_records(window.data, start + (step & BYTES), start + (step >> SHIFT))
    assert found is not None, "a plain record is plain, whatever stands beside it"
    offset = window.batches.base_offset[runs.batch[run]] + read_signed(window.data, found.offset_at)[0]
    value = found.value_start, found.value_length
    return CommitSlices(
        window.data, found.key_start, found.key_length, *value, offset, np.full(len(which), NO_PRODUCER, np.int64)
    )


def _type_counts(types: NDArray[np.int64]) -> Counter[int]:
    """Number of records of each type; mostly all are of one."""
    if int(types.min()) == (only := int(types.max())):
        return Counter({only: len(types)})
    counts = np.bincount(types)
    return Counter({kind: int(counts[kind]) for kind in np.flatnonzero(counts).tolist()})
