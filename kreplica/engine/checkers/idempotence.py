"""Idempotence: a producer with enable.idempotence=true leaves no duplicate and no reordering in a partition.

Source: KIP-98. It is promised where committed records stay: a log that has lost records has lost the sequences with
them, and a producer's batch may be appended there again. It is not promised where a leader without any state of a
producer appended a later batch first: since 2.5 it accepts any sequence (KIP-360), and the first batch then stays out
of order (KAFKA-14920 corrects that for transactions alone). Nor where a message of a producer with several requests in
flight was lost: a connection keeps their order, the simulated network does not, so that leaders may forget a batch
before it is sent again. Nor for batches that were in flight together when a broker that held them stopped cleanly: its
snapshot of producers holds the last batch of each (ProducerStateManager.writeSnapshot, in all versions). When it leads
again, an earlier one that is sent again is out of order to it, and the producer sends them all in its next epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

from kreplica.engine.checkers.histories import Histories, Place
from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.checkers.invariants import Finding, Invariant
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import CACHED_BATCHES, NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kreplica.engine.trace import Event, Kind, Record


class Idempotence:
    """A fold that finds duplicated and reordered records of idempotent producers.

    Args:
        in_flight: Number of requests that each of the idempotent producers may have in flight.
        sent: By partition and value: the producer, and its number; filled by the fold that keeps the histories.
        logs: The replicas.
    """

    __slots__ = ("_disturbed", "_forgotten", "_in_flight", "_logs", "_sent", "_snapshots", "takes")

    def __init__(self, in_flight: Mapping[str, int], sent: Mapping[Place, tuple[str, int]], logs: ReplicaLogs) -> None:
        self._in_flight = in_flight
        self._sent = sent
        self._logs = logs
        self._disturbed: set[str] = set()
        self._snapshots: dict[Place, int] = {}
        self._forgotten: set[Place] = set()
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.DROPPED: self._dropped,
            Kind.STOPPED: self._stopped,
            Kind.APPEND_REFUSED: self._refused,
        }

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    def _dropped(self, event: Event) -> None:
        if event.values[1] == "Produce":
            self._disturbed.update(name for name in (event.node, event.values[0]) if self._in_flight.get(name, 1) > 1)

    def _stopped(self, event: Event) -> None:
        """Notes where the snapshots of a broker end that stops cleanly."""
        for partition, replicas in self._logs.partitions.items():
            if event.node in replicas:
                self._snapshots[partition, event.node] = replicas[event.node].end_offset

    def _refused(self, event: Event) -> None:
        """Notes the records of batches that were in flight together, if the snapshot had only the last of them."""
        partition, producer_id, sequence, error, _ = event.values
        if error != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.name:
            return
        replica = self._logs.replica(partition, event.node)
        placed = enumerate(replica.records, replica.base)
        own = [(offset, record) for offset, record in placed if record.producer_id == producer_id]
        end = self._snapshots.get((partition, event.node), 0)
        batches = tuple(dict.fromkeys(_batch_of(record) for offset, record in own if offset < end))[-CACHED_BATCHES:]
        refused = (batches[-1][0] if batches else NO_PRODUCER_EPOCH, sequence)
        if refused in batches[:-1]:
            first = next(place for place, (_, record) in enumerate(own) if _batch_of(record) == refused)
            self._forgotten.update((partition, str(record.value)) for _, record in own[first:])

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
                forgotten = self._in_flight.get(node, 1) > 1 and (partition, value) in self._forgotten
                if promised and not forgotten and partition not in spoiled and (partition, node) not in late:
                    yield Finding(end, invariant, partition, -1, node, f"{value} once and in its place", found)


def _batch_of(record: Record) -> tuple[int, int]:
    """The producer epoch and first sequence of a record's batch."""
    return record.producer_epoch, record.batch_sequence


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
