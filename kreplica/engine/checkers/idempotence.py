"""Idempotence: a producer with enable.idempotence=true leaves no duplicate and no reordering in a partition.

Source: KIP-98. It is promised where committed records stay: a log that has lost records has lost the sequences with
them, and a producer's batch may be appended there again. It is not promised where a leader without any state of a
producer appended a later batch first: since 2.5 it accepts any sequence (KIP-360), and the first batch then stays out
of order (KAFKA-14920 corrects that for transactions alone). Nor where a message of a producer with several requests in
flight was lost: a connection keeps their order, the simulated network does not, so that leaders may forget a batch
before it is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

from kreplica.engine.checkers.histories import Histories, Place
from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.checkers.invariants import Finding, Invariant
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_ID
from kreplica.engine.trace import Event, Kind


class Idempotence:
    """A fold that finds duplicated and reordered records of idempotent producers.

    Args:
        in_flight: Number of requests that each of the idempotent producers may have in flight.
        sent: By partition and value: the producer, and its number; filled by the fold that keeps the histories.
        logs: The replicas.
    """

    __slots__ = ("_disturbed", "_in_flight", "_logs", "_sent", "takes")

    def __init__(self, in_flight: Mapping[str, int], sent: Mapping[Place, tuple[str, int]], logs: ReplicaLogs) -> None:
        self._in_flight = in_flight
        self._sent = sent
        self._logs = logs
        self._disturbed: set[str] = set()
        self.takes: dict[str, Callable[[Event], None]] = {Kind.DROPPED: self._dropped}

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        if event.kind == Kind.DROPPED:
            self._dropped(event)

    def _dropped(self, event: Event) -> None:
        if event.values[1] == "Produce":
            self._disturbed.update(name for name in (event.node, event.values[0]) if self._in_flight.get(name, 1) > 1)

    def findings(self, end: int, histories: Histories, spoiled: Set[str]) -> Iterator[Finding]:
        """The breaches at the end of a run.

        Args:
            end: End of the run, in microseconds.
            histories: Results of the clients' histories.
            spoiled: Partitions that have lost committed records, or elect uncleanly.
        """
        where = {str(value): (partition, node) for (partition, value), (node, _) in self._sent.items()}
        late = {where.get(str(value)) for value in _taken_first(self._logs)}
        for invariant, values, found in (
            (Invariant.IDEMPOTENCE_DUPLICATE, histories.duplicated, "more than once"),
            (Invariant.IDEMPOTENCE_ORDER, histories.reordered, "behind one that was sent later"),
        ):
            for value in values:
                partition, node = where.get(value, ("", ""))
                promised = node in self._in_flight and node not in self._disturbed
                if promised and partition not in spoiled and (partition, node) not in late:
                    yield Finding(end, invariant, partition, -1, node, f"{value} once and in its place", found)


def _taken_first(logs: ReplicaLogs) -> Iterator[object]:
    """The values that leaders appended first for a producer and epoch although they are not its first."""
    for partition in logs.partitions:
        known: set[tuple[int, int]] = set()
        for record in logs.remaining(partition)[0].records:
            producer = record.producer_id, record.producer_epoch
            if record.producer_id != NO_PRODUCER_ID and producer not in known:
                known.add(producer)
                if record.sequence > 0:
                    yield record.value
