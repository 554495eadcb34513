"""Counterexamples of producers that send again, as traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.clients.retries import RetriesState, length
from kreplica.engine.explorer.models.clients.traces.change import Change
from kreplica.engine.explorer.models.one_partition.trace import events_between
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import members
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_ID
from kreplica.engine.trace import Event, Kind, Record

WRITER, BROKER, ORDERS = "writer", "broker-1", "orders-0"
"""The producer, the leader, and its partition."""


def events_of(initial: RetriesState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    return events_between(initial, steps, _Retries)


def _value_of(record: int) -> str:
    return f"m{record + 1}"


class _Retries(Change):
    """An action of the producer, or of its leader."""

    before: RetriesState
    after: RetriesState

    def __init__(self, number: int, before: RetriesState, step: Taken) -> None:
        super().__init__(number, before, step)
        self.end = length(before.log)
        self.grows = length(self.after.log) > self.end

    def events(self) -> list[Event]:
        """The events, in order: of the application, of the leader, and what the producer is told."""
        if self.name == "send":
            return [self.event(Kind.SENT, WRITER, ORDERS, _value_of(self.before.sent[0]), ACKS_ALL)]
        return [*self.taken(), *self.told()]

    def taken(self) -> Iterator[Event]:
        """A request that the leader takes, or knows to be in its log."""
        line = {"arrive": self.before.line, "arrive-late": self.before.old}.get(self.name)
        if line is None:
            return
        record = line[0] - 1
        yield self.message(BROKER, WRITER, "Produce")
        if self.grows:
            yield self.appended(BROKER, ORDERS, self.end, Record(0, _value_of(record)))
        elif 1 + record in self.before.log[: self.end]:
            yield self.event(Kind.DUPLICATE, BROKER, ORDERS, NO_PRODUCER_ID, record, self.before.log.index(1 + record))

    def told(self) -> Iterator[Event]:
        """Answers that the producer is told, or that its connection is gone."""
        for record in members(self.after.acknowledged[0] & ~self.before.acknowledged[0]):
            at = self.end if self.grows else self.after.log.index(1 + record)
            yield from self.acknowledged(WRITER, BROKER, ORDERS, _value_of(record), at)
        for record in members(self.after.again[0] & ~self.before.again[0]):
            if self.name != "break":
                yield self.message(WRITER, BROKER, "Produce answer")
            yield self.event(Kind.RETRIED, WRITER, ORDERS, (_value_of(record),), self.error().name)

    def error(self) -> ErrorCode:
        """The error for which the producer sends again."""
        errors = {"break": ErrorCode.NETWORK_EXCEPTION, "refuse": ErrorCode.NOT_ENOUGH_REPLICAS}
        return errors.get(self.name, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
