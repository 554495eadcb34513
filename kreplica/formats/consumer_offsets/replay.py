"""The last commit of each group and partition, as a group coordinator has them after reading `__consumer_offsets`.

Only the last record of each key is kept while reading, so memory grows with the number of keys, not with the history.
Offsets of a transaction wait until its marker: COMMIT applies them as records at their own offsets, so that
one loses against a later commit of the same key; ABORT drops them. A tombstone takes the key out of open transactions
too (org.apache.kafka.coordinator.group.OffsetMetadataManager).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.consumer_offsets.commits import NEWEST_COMMIT_KEY, key_types
from kreplica.formats.consumer_offsets.fast_replay import PlainCommits
from kreplica.formats.consumer_offsets.latest import (
    CommitSlices,
    LatestCommits,
    copied,
    joined,
    last_of_each,
    last_of_each_key,
)
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.segments.columns import RecordColumns
from kreplica.formats.segments.control_records import ABORT, COMMIT
from kreplica.formats.segments.numbers import integers_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.segments.windows import BatchWindow

HELD_PIECES = 64
NO_PRODUCER = -1


class OffsetReplay:
    """Reads records in the order of the log; ``applied`` and ``pending`` are the state then."""

    def __init__(self, as_of: AsOf | None = None) -> None:
        self.types: Counter[int] = Counter()
        """Number of records of each key type; -1 for those without a type."""
        self.first_markers: dict[int, int] = {}
        """Type of the first marker of each producer: ends transactions that an earlier stretch of the log left open."""
        self._as_of = as_of or AsOf()
        self._latest = LatestCommits()
        self._tombstones = LatestCommits()
        self._plain = PlainCommits()
        self._open: dict[int, list[CommitSlices]] = {}

    def add_window(self, window: BatchWindow) -> Counter[int]:
        """Takes the next window if it is plain and all of it counts: a third of the time that ``add`` takes.

        Returns:
            Number of its records of each key type; empty if nothing was taken: they are to be decoded and added.
        """
        found = None if self._as_of.given else self._plain.add(window)
        if found is None:
            return Counter()
        self.types += found.types
        self._tombstones.add(found.tombstones)
        return found.types

    def add(self, records: RecordColumns) -> None:
        """Takes the next records."""
        records = self._as_of.select(records)
        if not len(records):
            return
        types, batches = key_types(records), records.batches
        commits, control = (types >= 0) & (types <= NEWEST_COMMIT_KEY), None
        if batches.control.any():
            control = batches.control[records.batch]
            types, commits = types[~control], commits & ~control
        self._count(types)
        self._tombstones.add(_latest(records, np.flatnonzero(commits & (records.value_length < 0))))
        if not batches.transactional.any():
            self._latest.add(_latest(records, np.flatnonzero(commits)))
            return
        transactional = batches.transactional[records.batch]
        self._latest.add(_latest(records, np.flatnonzero(commits & ~transactional)))
        ends = transactional & control if control is not None else np.zeros(len(records), np.bool_)
        self._resolve(records, commits & transactional, ends)

    def add_stretch(self, other: OffsetReplay) -> None:
        """Adds the result of replaying the next stretch of the same log."""
        self.types += other.types
        for producer, marker in other.first_markers.items():
            self._end(producer, marker)
        self._latest.add(other.applied())
        self._tombstones.add(other._tombstones.all())
        for producer, pieces in other._open.items():
            self._open.setdefault(producer, []).extend(pieces)

    def settle(self) -> None:
        """Frees every window and keeps only the last commits."""
        self.applied()
        self._tombstones.all()

    def applied(self) -> CommitSlices:
        """The last record of each key that counts, tombstones too, in the order of the log; owns its bytes."""
        self._latest.add(self._plain.take())
        return self._latest.all()

    def pending(self) -> CommitSlices:
        """Commits of transactions that are still open, the last of each producer and key."""
        removed = self._removed()
        left = []
        for pieces in self._open.values():
            piece = last_of_each(joined(pieces))
            places = zip(piece.keys(), piece.record_offset.tolist(), strict=True)
            left.append(piece.take(np.array([removed.get(key, -1) < at for key, at in places], np.bool_)))
        found = joined(left)
        return found.take(np.argsort(found.record_offset, kind="stable"))

    def _removed(self) -> dict[bytes, int]:
        """Offset of the last tombstone of each key; only computed for open transactions."""
        if not self._open:
            return {}
        tombstones = self._tombstones.all()
        return dict(zip(tombstones.keys(), tombstones.record_offset.tolist(), strict=True))

    def _count(self, types: NDArray[np.int64]) -> None:
        counts = np.bincount(types + 1) if len(types) else np.zeros(0, np.int64)
        self.types.update({value - 1: count for value, count in enumerate(counts.tolist()) if count})

    def _resolve(self, records: RecordColumns, commits: NDArray[np.bool_], control: NDArray[np.bool_]) -> None:
        """Ends transactions, begun in these records or before, at their markers."""
        producer = records.batches.producer_id[records.batch]
        marker = np.where(control, _marker_types(records), -1)
        for place in _first_of_each(producer, np.flatnonzero(marker >= 0)):
            ended = int(producer[place])
            self.first_markers.setdefault(ended, int(marker[place]))
            self._end(ended, int(marker[place]))
        which = np.flatnonzero(commits)
        outcome = _next_marker(producer, marker, which)
        self._latest.add(_latest(records, which[outcome == COMMIT]))
        self._keep_open(_slices(records, which[outcome == -1]))

    def _end(self, producer: int, marker: int) -> None:
        pieces = self._open.pop(producer, [])
        if marker == COMMIT:
            for piece in pieces:
                self._latest.add(piece)

    def _keep_open(self, piece: CommitSlices) -> None:
        for producer in np.unique(piece.producer_id).tolist():
            pieces = self._open.setdefault(producer, [])
            pieces.append(copied(last_of_each(piece.take(piece.producer_id == producer))))
            if len(pieces) > HELD_PIECES:
                self._open[producer] = [copied(last_of_each(joined(pieces)))]


def _slices(records: RecordColumns, which: NDArray[Any]) -> CommitSlices:
    some = records.take(which)
    producer = np.full(len(some), NO_PRODUCER, np.int64)
    if some.batches.transactional.any():
        transactional = some.batches.transactional[some.batch]
        producer = np.where(transactional, some.batches.producer_id[some.batch], NO_PRODUCER)
    return CommitSlices(
        some.data, some.key_start, some.key_length, some.value_start, some.value_length, some.offset, producer
    )


def _latest(records: RecordColumns, which: NDArray[np.int64]) -> CommitSlices:
    """The last record of each key among some of the records."""
    start, length = records.key_start, records.key_length
    if len(which) < len(records):
        start, length = start[which], length[which]
    return _slices(records, which[last_of_each_key(records.data, start, length)])


def _marker_types(records: RecordColumns) -> NDArray[np.int64]:
    """ABORT or COMMIT of a control record of a transaction; -1 for any other."""
    found = integers_at(records.data, ">i2", records.key_start + 2)
    return np.where((records.key_length >= 4) & ((found == ABORT) | (found == COMMIT)), found, -1)


def _first_of_each(producer: NDArray[np.int64], places: NDArray[np.int64]) -> list[int]:
    _, first = np.unique(producer[places], return_index=True)
    found: list[int] = places[first].tolist()
    return found


def _next_marker(producer: NDArray[np.int64], marker: NDArray[np.int64], which: NDArray[np.int64]) -> NDArray[np.int64]:
    """Type of the next marker of the same producer after each of the records; -1 where there is none yet."""
    places = np.union1d(which, np.flatnonzero(marker >= 0))
    order = places[np.argsort(producer[places], kind="stable")]
    following = np.where(marker[order] >= 0, np.arange(len(order)), len(order))
    following = np.minimum.accumulate(following[::-1])[::-1]
    inside = following < len(order)
    ended_by = order[np.where(inside, following, 0)]
    same = inside & (producer[ended_by] == producer[order])
    outcome = np.full(len(producer), -1, np.int64)
    outcome[order] = np.where(same, marker[ended_by], -1)
    return outcome[which]
