"""A producer that sends again, one record a batch, with several requests in flight, idempotent or not.

Requests of one connection arrive in order. When it breaks, what was under way is sent again over the next one, and may
still arrive over the old one, at any time::

    old connection   m1            still to arrive, or lost
    connection       m2 m1         m1 is sent again behind m2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.model import Action, Invariant, Model
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import contains, only, without
from kreplica.engine.rules.transactions.producer_batches import may_send
from kreplica.engine.rules.transactions.producer_state import (
    CACHED_BATCHES,
    NO_OFFSET,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    Batch,
    UnknownProducer,
    duplicate_offset,
    sequence_error,
)

FIVE, ONE = 5, 1
"""Values of max.in.flight.requests.per.connection."""
EPOCH = 0


class RetriesState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        log: 1 + the record at each offset, 0 behind the end.
        sent: Records that were sent for the first time; the next has this number.
        acknowledged: Records that the producer was told are there, as a set.
        again: Records to send again, as a set.
        line, old: Requests under way over the connection, and over those that broke, as in a log.
        faults: Those that are left.
    """

    log: list[int]
    sent: list[int]
    acknowledged: list[int]
    again: list[int]
    line: list[int]
    old: list[int]
    faults: list[int]


def retries_model(name: str, bounds: ClientBounds, in_flight: int, idempotent: bool) -> Model:
    """A model within bounds.

    Args:
        name: Its name.
        bounds: Its bounds.
        in_flight: max.in.flight.requests.per.connection.
        idempotent: enable.idempotence.
    """
    records, room = bounds.records, bounds.records * (bounds.faults + 1)
    some = Field((1 << records) - 1)
    layout = Layout(
        RetriesState,
        {
            "log": Field(records, count=room),
            "sent": Field(records),
            "acknowledged": some,
            "again": some,
            "line": Field(records, count=records),
            "old": Field(records, count=room),
            "faults": Field(bounds.faults),
        },
    )
    begins = RetriesState([0] * room, [0], [0], [0], [0] * records, [0] * room, [bounds.faults])
    return Model(name, layout, begins, _actions(records, in_flight, idempotent), INVARIANTS, compiles=False)


def length(numbers: Sequence[int]) -> int:
    """Count of the numbers before the first 0."""
    return next((place for place, number in enumerate(numbers) if number == 0), len(numbers))


def _take_first(line: list[int]) -> int:
    """Removes the first request of a line; the record."""
    first = line.pop(0)
    line.append(0)
    return first - 1


def _batches(log: Sequence[int]) -> list[Batch]:
    """The batches that the leader remembers."""
    end = length(log)
    return [(log[at] - 1, log[at] - 1, at) for at in range(max(0, end - CACHED_BATCHES), end)]


def append(state: RetriesState, record: int, idempotent: bool) -> bool:
    """Has the leader take a request; False if it refuses it as out of order."""
    batches = _batches(state.log)
    if idempotent:
        epoch = EPOCH if batches else NO_PRODUCER_EPOCH
        if duplicate_offset(epoch, batches, EPOCH, record, record) != NO_OFFSET:
            return True
        last = batches[-1][1] if batches else NO_SEQUENCE
        if sequence_error(epoch, last, EPOCH, record, UnknownProducer.ACCEPT) != ErrorCode.NONE:
            return False
    state.log[length(state.log)] = 1 + record
    return True


def _actions(records: int, in_flight: int, idempotent: bool) -> tuple[Action, ...]:
    def sends(state: RetriesState, _: int) -> bool:
        waiting = state.sent[0] - state.acknowledged[0].bit_count()
        if state.sent[0] == records or not may_send(waiting, in_flight) or state.again[0] != 0:
            return False  # what is to be sent again is first in the partition's queue: RecordAccumulator.reenqueue
        state.line[length(state.line)] = 1 + state.sent[0]
        state.sent[0] += 1
        return True

    def sends_again(state: RetriesState, record: int) -> bool:
        if not contains(state.again[0], record) or (idempotent and state.again[0] & (only(record) - 1) != 0):
            return False  # an idempotent producer keeps the order of sequences: RecordAccumulator.insertInSequenceOrder
        state.again[0] = without(state.again[0], only(record))
        state.line[length(state.line)] = 1 + record
        return True

    def arrives(state: RetriesState, _: int) -> bool:
        if length(state.line) == 0:
            return False
        record = _take_first(state.line)
        if append(state, record, idempotent):
            state.acknowledged[0] |= only(record)
        else:
            state.again[0] |= only(record)
        return True

    def arrives_late(state: RetriesState, _: int) -> bool:
        if length(state.old) == 0:
            return False
        append(state, _take_first(state.old), idempotent)
        return True

    def breaks(state: RetriesState, _: int) -> bool:
        if state.faults[0] == 0 or length(state.line) == 0:
            return False
        state.faults[0] -= 1
        while length(state.line) > 0:
            record = _take_first(state.line)
            state.old[length(state.old)] = 1 + record
            state.again[0] |= only(record)
        return True

    def refuses(state: RetriesState, _: int) -> bool:
        if state.faults[0] == 0 or length(state.line) == 0:
            return False
        state.faults[0] -= 1
        state.again[0] |= only(_take_first(state.line))
        return True

    return (
        Action("send", sends, (1,), "the producer sends the next record", (1,)),
        Action("send-again", sends_again, (records,), "the producer sends record {0} again", (1,)),
        Action("arrive", arrives, (1,), "the leader takes the next request, and answers", (1,)),
        Action("arrive-late", arrives_late, (1,), "the leader takes the next request of a broken connection", (1,)),
        Action("refuse", refuses, (1,), "the leader refuses the next request: to be sent again", (1,)),
        Action("break", breaks, (1,), "the connection breaks; what is under way may still arrive", (1,)),
    )


def no_duplicate(state: RetriesState) -> bool:
    """True if no record is in the log twice."""
    log = state.log[: length(state.log)]
    return len(set(log)) == len(log)


def in_order(state: RetriesState) -> bool:
    """True if records come for the first time in the order in which they were sent."""
    log = list(dict.fromkeys(state.log[: length(state.log)]))
    return log == sorted(log)


INVARIANTS = (
    Invariant("no-duplicate", no_duplicate, "no record is in the log twice"),
    Invariant("in-order", in_order, "records come in the order in which they were sent"),
)
