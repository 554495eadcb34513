"""Keys that were met before, each with a number: which one a record has is looked up for thousands of records at once.

A hash leads to a slot, and in it to one of a few numbers; every record is then held against the key of that number,
byte for byte, so that two keys of one hash are never taken for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.latest_keys import key_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        """How many are known."""
        self.full = False
        """Whether there were more than are numbered."""
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
            words: Keys as rows of words, zeros behind them.
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
        """The rows as wide as those that are kept: zeros behind a key change no hash."""
        width = max(words.shape[1], self._words.shape[1])
        self._words = _widened(self._words, width)
        return _widened(words, width)

    def _look_up(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The number for each hash, and the places of those that have none."""
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
        """Room behind the last key, too: what no number leads to is compared with the last row, which is empty."""
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
