"""What one replica knows of producers and transactions, from its own log. kafka's ProducerStateManager.

Leader and follower keep it alike with every append, so that a new leader knows what the old one knew; after a
truncation or a restart it is what the log, and the snapshot of a clean stop, still say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.records import ABORT, DATA, Record
from kreplica.engine.rules.isolation import AbortedTransaction
from kreplica.engine.rules.last_stable_offset import (
    first_unstable_offset,
    last_stable_offset,
    still_unreplicated,
    transaction_index_lso,
)
from kreplica.engine.rules.producer_state import (
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
from kreplica.engine.rules.transaction_append import Verification, start_verification


class ProducerStates:
    """The producers of one replica.

    Args:
        cached: How many batches of each are remembered.

    ``states`` by producer id; ``index`` is the transaction index; ``verifications`` are only a leader's.
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
        """What is known of a producer."""
        return self.states.get(producer_id, EMPTY_STATE)

    @property
    def is_empty(self) -> bool:
        """Whether no producer with an id has ever written, as far as is known."""
        return not self.states and not self._unreplicated

    # -- what the log takes

    def appended(self, base: int, records: Sequence[Record], now: int) -> None:
        """Follows an append at ``base``: one batch of a client, or several from a leader."""
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
            # the rest of a batch that came in two parts
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
        self.states[record.producer_id] = after_marker(
            known, record.producer_epoch, int(record.value), now, self.markers_keep_producer
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

    # -- what the log loses

    def rebuild(self, start: int, records: Sequence[Record], now: int) -> None:
        """Knows what a log says that begins at ``start``, after a truncation or a crash."""
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
        """Takes the snapshot of a clean stop: of each producer the last batch alone."""
        self._snapshot = (end, {number: only_last_batch(state) for number, state in self.states.items()})

    def expire(self, now: int, expiration: int) -> tuple[int, ...]:
        """Forgets the producers that were idle for so long; says which."""
        gone = tuple(
            number
            for number, state in self.states.items()
            if producer_expired(state.transaction_start, state.timestamp, now, expiration)
        )
        for number in gone:
            del self.states[number]
        return gone

    # -- how far transactions are decided

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
    """First and last place of each producer's batch among records."""
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
