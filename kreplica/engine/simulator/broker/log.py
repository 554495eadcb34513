"""A log: records by offset, their leader epochs, and how much of them is flushed to the disk.

One replica's state of producers and transactions, from its own log. kafka's ProducerStateManager.

Leader and follower keep it alike with every append, so that a new leader knows what the old one knew; after a
truncation or a restart it is rebuilt from the log and the snapshot of a clean stop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from kreplica.engine.rules.replication.durability import flush_does_something
from kreplica.engine.rules.replication.isolation import AbortedTransaction
from kreplica.engine.rules.replication.leader_epoch_cache import (
    assign_epoch,
    assign_epoch_until_2_0,
    truncate_epochs_from_end,
    truncate_epochs_from_start,
)
from kreplica.engine.rules.transactions.last_stable_offset import (
    first_unstable_offset,
    last_stable_offset,
    still_unreplicated,
    transaction_index_lso,
)
from kreplica.engine.rules.transactions.producer_state import (
    EMPTY_STATE,
    NO_OFFSET,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    ProducerState,
    after_data,
    after_marker,
    only_last_batch,
    producer_expired,
)
from kreplica.engine.rules.transactions.transaction_append import Verification, start_verification
from kreplica.engine.trace import ABORT, DATA, Record


class Log:
    """Records from ``start`` (inclusive) to ``end`` (exclusive).

    Args:
        noted_at_election: Whether leader epochs are kept as by releases whose leaders note them when they are elected.

    ``epochs`` and ``starts`` are its leader epochs; all records before the offset ``flushed`` are on the disk. Those
    before ``recovery_point`` are for what the broker knows.
    """

    __slots__ = ("_noted_at_election", "end", "epochs", "flushed", "records", "recovery_point", "start", "starts")

    def __init__(self, noted_at_election: bool) -> None:
        self._noted_at_election = noted_at_election
        self.start = 0
        self.end = 0
        self.flushed = 0
        self.recovery_point = 0
        self.records: list[Record] = []
        self.epochs: list[int] = []
        self.starts: list[int] = []

    @property
    def last_epoch(self) -> int:
        """The latest leader epoch, -1 without any."""
        return self.epochs[-1] if self.epochs else -1

    def append(self, records: Sequence[Record]) -> None:
        """Appends records whose epochs do not decrease."""
        epochs = self.epochs
        if not epochs or records[-1].epoch != epochs[-1]:
            for place, record in enumerate(records):
                self._assign(record.epoch, self.end + place)
        self.records.extend(records)
        self.end += len(records)

    def assign_epoch(self, epoch: int) -> None:
        """Notes that a leader epoch begins at the log end, before any record of it."""
        self._assign(epoch, self.end)

    def _assign(self, epoch: int, start: int) -> None:
        assign = assign_epoch if self._noted_at_election else assign_epoch_until_2_0
        assign(self.epochs, self.starts, epoch, start)

    def read(self, offset: int, before: int, most: int) -> tuple[Record, ...]:
        """Up to ``most`` records from ``offset`` on, none at or after ``before``."""
        place = offset - self.start
        return tuple(self.records[place : min(place + most, before - self.start)])

    def offset_at(self, time: int) -> int | None:
        """The first offset whose record is from that time or later, None if there is none."""
        place = bisect_left(self.records, time, key=attrgetter("timestamp"))
        return self.start + place if place < len(self.records) else None

    def truncate(self, end: int) -> None:
        """Truncates the log to ``end``."""
        assert self.start <= end <= self.end, (self.start, end, self.end)
        del self.records[end - self.start :]
        self.end = end
        self.flushed = min(self.flushed, end)
        self.recovery_point = min(self.recovery_point, end)
        self.truncate_epochs(end)

    def truncate_epochs(self, end: int) -> None:
        """Forgets leader epochs that begin at or after ``end``: one may have begun there without a record."""
        truncate_epochs_from_end(self.epochs, self.starts, end)

    def begin_at(self, start: int) -> None:
        """Drops everything and starts anew at ``start``."""
        self.records = []
        self.epochs = []
        self.starts = []
        self.start = self.end = self.flushed = self.recovery_point = start

    def delete_before(self, start: int) -> None:
        """Drops the records before ``start``: retention, or DeleteRecords."""
        if start <= self.start:
            return
        del self.records[: start - self.start]
        self.start = start
        self.end = max(self.end, start)
        truncate_epochs_from_start(self.epochs, self.starts, start)

    def flush(self) -> None:
        """Flushes everything to the disk, unless the broker takes it for flushed."""
        if flush_does_something(self.end, self.recovery_point):
            self.flushed = self.recovery_point = self.end


class ProducerStates:
    """States of the producers of one replica.

    Args:
        cached: Number of batches remembered for each producer.

    ``states`` by producer id; ``index`` is the transaction index; only a leader has ``verifications``.
    """

    __slots__ = (
        "_guards",
        "_snapshot",
        "_times",
        "_unreplicated",
        "cached",
        "index",
        "markers_keep_producer",
        "states",
        "verifications",
    )

    def __init__(self, cached: int, markers_keep_producer: bool = True) -> None:
        self.cached = cached
        self.markers_keep_producer = markers_keep_producer
        self.states: dict[int, ProducerState] = {}
        self.index: list[AbortedTransaction] = []
        self.verifications: dict[int, Verification] = {}
        self._unreplicated: tuple[tuple[int, int], ...] = ()
        self._times: list[tuple[int, int]] = []
        self._snapshot: tuple[int, dict[int, ProducerState]] | None = None
        self._guards = 0

    def state(self, producer_id: int) -> ProducerState:
        """The known state of a producer."""
        return self.states.get(producer_id, EMPTY_STATE)

    @property
    def is_empty(self) -> bool:
        """True if no producer with an id is known to have written."""
        return not self.states and not self._unreplicated

    # -- appends

    def appended(self, base: int, records: Sequence[Record], now: int) -> None:
        """Follows an append at ``base``: one batch of a client, or several fetched from a leader."""
        if all(record.producer_id == NO_PRODUCER_ID for record in records):
            return
        self._times.append((base, now))
        for first, last in _batches(records):
            record = records[first]
            if record.producer_id == NO_PRODUCER_ID:
                continue
            if record.kind == DATA:
                self._data(record, base + first, records[last].sequence, now)
            else:
                self._marker(record, base + first, now)

    def _data(self, record: Record, offset: int, last_sequence: int, now: int) -> None:
        known = self.state(record.producer_id)
        if record.sequence == NO_SEQUENCE:  # a coordinator's write in a transaction: an offset commit
            start = known.transaction_start if known.transaction_start != NO_OFFSET else offset
            kept = known.batches if known.epoch == record.producer_epoch else ()
            self.states[record.producer_id] = ProducerState(
                record.producer_epoch, kept, known.coordinator_epoch, start, now
            )
            return
        batch = (record.sequence, last_sequence, offset)
        last = known.batches[-1] if known.batches else None
        if last is not None and known.epoch == record.producer_epoch and record.sequence != record.batch_sequence:
            # the rest of a batch that was fetched in two parts
            known = ProducerState(
                known.epoch, known.batches[:-1], known.coordinator_epoch, known.transaction_start, known.timestamp
            )
            batch = (last[0], last_sequence, last[2])
        self.states[record.producer_id] = after_data(
            known, record.producer_epoch, batch, record.transactional, now, self.cached
        )
        if record.transactional:
            self.verifications.pop(record.producer_id, None)

    def _marker(self, record: Record, offset: int, now: int) -> None:
        known = self.state(record.producer_id)
        takes_place_at = offset if self.cached == 1 else NO_OFFSET
        self.states[record.producer_id] = after_marker(
            known, record.producer_epoch, int(record.value), now, self.markers_keep_producer, takes_place_at
        )
        self.verifications.pop(record.producer_id, None)
        if known.transaction_start == NO_OFFSET:
            return
        self._unreplicated = (*self._unreplicated, (known.transaction_start, offset))
        if record.kind == ABORT:
            lso = transaction_index_lso(self._open_starts(), offset)
            self.index.append(AbortedTransaction(record.producer_id, known.transaction_start, offset, lso))

    def _open_starts(self) -> Iterator[int]:
        return (state.transaction_start for state in self.states.values() if state.transaction_start != NO_OFFSET)

    # -- truncation and expiry

    def rebuild(self, start: int, records: Sequence[Record], now: int) -> None:
        """Rebuilds the states from the records of a log that begins at ``start``, after a truncation or a crash."""
        times = [(base, time) for base, time in self._times if base < start + len(records)]
        self.states, self.index, self.verifications, self._unreplicated, self._times = {}, [], {}, (), []
        at = start
        if self._snapshot is not None and start <= self._snapshot[0] <= start + len(records):
            at, self.states = self._snapshot[0], dict(self._snapshot[1])
        else:
            self._snapshot = None
        bases = sorted({at, *(base for base, _ in times if base > at)})
        known = dict(times)
        for base, following in zip(bases, [*bases[1:], start + len(records)], strict=True):
            self.appended(base, records[base - start : following - start], known.get(base, now))

    def snapshot(self, end: int) -> None:
        """Takes the snapshot of a clean stop: only the last batch of each producer."""
        self._snapshot = (end, {number: only_last_batch(state) for number, state in self.states.items()})

    def expire(self, now: int, expiration: int) -> tuple[int, ...]:
        """Forgets the producers that were idle for ``expiration``, and returns their ids."""
        gone = tuple(
            number
            for number, state in self.states.items()
            if producer_expired(state.transaction_start, state.timestamp, now, expiration)
        )
        for number in gone:
            del self.states[number]
        return gone

    # -- the last stable offset

    def stable_offset(self, high_watermark: int, log_start: int) -> int:
        """The last stable offset at this high watermark."""
        if self._unreplicated:
            self._unreplicated = still_unreplicated(self._unreplicated, high_watermark)
        unstable = first_unstable_offset(self._open_starts(), self._unreplicated)
        return last_stable_offset(unstable, high_watermark, log_start)

    # -- verification

    def verify(self, record: Record, version_2: bool) -> Verification:
        """Begins a verification for a batch, or joins the one under way."""
        self._guards += 1
        known = self.verifications.get(record.producer_id)
        verification = start_verification(known, self._guards, record.sequence, record.producer_epoch, version_2)
        self.verifications[record.producer_id] = verification
        return verification


def _batches(records: Sequence[Record]) -> Iterator[tuple[int, int]]:
    """First and last index of each producer's batch among records."""
    first = 0
    for place in range(1, len(records) + 1):
        if place == len(records) or not _same_batch(records[place - 1], records[place]):
            yield first, place - 1
            first = place


def _same_batch(one: Record, other: Record) -> bool:
    return (
        one.kind == other.kind == DATA
        and one.producer_id == other.producer_id
        and one.producer_epoch == other.producer_epoch
        and one.batch_sequence == other.batch_sequence != NO_SEQUENCE
    )
