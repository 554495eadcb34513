"""Counterexamples of transactions that are ended late, as traces: transfers from ``debit`` to ``credit``.

The first transaction is committed; of one record it has that of ``credit``. The second has that of ``debit`` first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.clients.traces.change import Change
from kreplica.engine.explorer.models.clients.transactions import (
    A_TRANSACTION,
    COMMIT,
    COMMITTED,
    OPEN,
    TransactionsState,
)
from kreplica.engine.explorer.models.one_partition.trace import events_between
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.trace import ABORT as ABORT_MARKER
from kreplica.engine.trace import ABORTED as TOLD_ABORTED
from kreplica.engine.trace import COMMIT as COMMIT_MARKER
from kreplica.engine.trace import COMMITTED as TOLD_COMMITTED
from kreplica.engine.trace import UNKNOWN, Event, Kind, Record

TRANSFER, COORDINATOR = "transfer", "broker-1"
PARTITIONS = (("debit-0", "broker-2", "d"), ("credit-0", "broker-3", "c"))
"""Each with its leader, and the letter of its values."""


def events_of(initial: TransactionsState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    ends, alone = [0] * len(PARTITIONS), steps[-1].state.fates[1] == 0
    return events_between(initial, steps, partial(_Transfers, ends=ends, alone=alone))


class _Transfers(Change):
    """An action of the producer, or of its coordinator.

    Args:
        number: Of the action, from 1.
        before: The state before it.
        step: The action, and the state after it.
        ends: Log end offset of each partition; is kept up to date.
        alone: Whether the first transaction has one record.
    """

    before: TransactionsState
    after: TransactionsState

    def __init__(self, number: int, before: TransactionsState, step: Taken, ends: list[int], alone: bool) -> None:
        super().__init__(number, before, step)
        self.ends, self.alone = ends, alone

    def events(self) -> list[Event]:
        """The events, in order: of the application, of leaders, and what the producer is told."""
        if self.name == "write":
            return list(self.written())
        if self.name not in ("arrive", "arrive-late"):
            return []
        return [self.message(COORDINATOR, TRANSFER, "EndTxn"), *self.told(), *self.decided()]

    def partition_of(self, place: int) -> int:
        """The partition of the record at a place."""
        return 1 if self.alone and place == 0 else place % A_TRANSACTION

    def value_of(self, place: int) -> str:
        """The value of the record at a place."""
        return f"{PARTITIONS[self.partition_of(place)][2]}{place // A_TRANSACTION + 1}"

    def written(self) -> Iterator[Event]:
        """A record that is sent, appended and acknowledged."""
        (place,) = (at for at, fate in enumerate(self.after.fates) if fate != self.before.fates[at])
        number = self.partition_of(place)
        partition, leader, _ = PARTITIONS[number]
        value, offset = self.value_of(place), self.ends[number]
        yield self.event(Kind.SENT, TRANSFER, partition, value, ACKS_ALL)
        yield self.message(leader, TRANSFER, "Produce")
        yield self.appended(leader, partition, offset, Record(0, value, transactional=True))
        yield from self.acknowledged(TRANSFER, leader, partition, value, offset)
        self.ends[number] += 1

    def decided(self) -> Iterator[Event]:
        """Markers of what the coordinator has ended, or its refusal."""
        changed = [at for at, fate in enumerate(self.before.fates) if fate == OPEN != self.after.fates[at]]
        if not changed and self.name == "arrive-late":
            error = ErrorCode.INVALID_PRODUCER_EPOCH.name
            yield self.event(Kind.TRANSACTION_REFUSED, COORDINATOR, TRANSFER, "EndTxn", error, "")
        for number in sorted({self.partition_of(place) for place in changed}, reverse=True):
            partition, leader, _ = PARTITIONS[number]
            marker = COMMIT_MARKER if self.after.fates[changed[0]] == COMMITTED else ABORT_MARKER
            yield self.message(leader, COORDINATOR, "WriteTxnMarkers")
            yield self.appended(leader, partition, self.ends[number], Record(0, 0, kind=marker))
            self.ends[number] += 1

    def told(self) -> Iterator[Event]:
        """The answer of the coordinator to the end that the producer has asked for."""
        if self.name == "arrive-late":
            return
        current = self.before.current[0]
        places = range(current * A_TRANSACTION, (current + 1) * A_TRANSACTION)
        values = tuple(self.value_of(place) for place in places if self.before.fates[place])
        done = self.after.current[0] == current + 1
        outcome = TOLD_COMMITTED if self.before.asked[current] == COMMIT else TOLD_ABORTED
        yield self.message(TRANSFER, COORDINATOR, "EndTxn answer")
        yield self.event(Kind.TRANSACTION_ENDED, TRANSFER, current + 1, outcome if done else UNKNOWN, values)
