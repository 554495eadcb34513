"""A log: records by offset, the leader epochs they came in, and how much of them is on the disk itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from kreplica.engine.records import Record
from kreplica.engine.rules.leader_epoch_cache import (
    assign_epoch,
    truncate_epochs_from_end,
    truncate_epochs_from_start,
)


class Log:
    """Records from ``start`` (inclusive) to ``end`` (exclusive).

    ``epochs`` and ``starts`` are its leader epochs; ``flushed`` is the offset before which everything is on the disk.
    """

    __slots__ = ("end", "epochs", "flushed", "records", "start", "starts")

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self.flushed = 0
        self.records: list[Record] = []
        self.epochs: list[int] = []
        self.starts: list[int] = []

    @property
    def last_epoch(self) -> int:
        """The latest leader epoch, -1 without any."""
        return self.epochs[-1] if self.epochs else -1

    def append(self, records: Sequence[Record]) -> None:
        """Appends records whose epochs do not fall."""
        epochs = self.epochs
        if not epochs or records[-1].epoch != epochs[-1]:
            for place, record in enumerate(records):
                assign_epoch(epochs, self.starts, record.epoch, self.end + place)
        self.records.extend(records)
        self.end += len(records)

    def assign_epoch(self, epoch: int) -> None:
        """Notes that a leader epoch begins at the end, before any record of it."""
        assign_epoch(self.epochs, self.starts, epoch, self.end)

    def read(self, offset: int, before: int, most: int) -> tuple[Record, ...]:
        """Up to ``most`` records from ``offset`` on, none at or after ``before``."""
        place = offset - self.start
        return tuple(self.records[place : min(place + most, before - self.start)])

    def offset_at(self, time: int) -> int | None:
        """The first offset whose record is from that time or later, None if there is none."""
        place = bisect_left(self.records, time, key=attrgetter("timestamp"))
        return self.start + place if place < len(self.records) else None

    def truncate(self, end: int) -> None:
        """Cuts everything at and after ``end``."""
        assert self.start <= end <= self.end, (self.start, end, self.end)
        del self.records[end - self.start :]
        self.end = end
        self.flushed = min(self.flushed, end)
        self.truncate_epochs(end)

    def truncate_epochs(self, end: int) -> None:
        """Forgets leader epochs that begin at or after ``end``: one may have begun there without a record."""
        truncate_epochs_from_end(self.epochs, self.starts, end)

    def begin_at(self, start: int) -> None:
        """Drops everything and begins anew at ``start``."""
        self.records = []
        self.epochs = []
        self.starts = []
        self.start = self.end = self.flushed = start

    def delete_before(self, start: int) -> None:
        """Drops the records before ``start``: retention, or DeleteRecords."""
        if start <= self.start:
            return
        del self.records[: start - self.start]
        self.start = start
        self.end = max(self.end, start)
        truncate_epochs_from_start(self.epochs, self.starts, start)

    def flush(self) -> None:
        """Brings everything to the disk."""
        self.flushed = self.end
