"""Records that an idempotent producer of 1.0 to 2.4 may lose although they were acknowledged with acks=all.

org.apache.kafka.clients.producer.internals.TransactionManager.startSequencesAtBeginning, 1.0 to 2.4: after
UNKNOWN_PRODUCER_ID, where no record of the producer is known to be in the log, its batches begin again at sequence 0 in
the same epoch. The answer may have come from a leader that was deposed and lacks those records: its successor has them,
takes the new batch for the earlier one with the same sequences, and answers with that one's offset. Since 2.5 such a
producer goes on in its next epoch (KIP-360, KAFKA-8805).
"""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_ID, UnknownProducer
from kreplica.engine.trace import Event, Kind
from kreplica.engine.versions.supported import Version


class ReusedSequences:
    """A fold that finds records acknowledged in place of an earlier one of their producer.

    Args:
        version: Kafka's rules; it finds none before 1.0 and from 2.5 on, where nothing excuses a loss.
        logs: The replicas.
    """

    __slots__ = ("_logs", "_senders", "_values", "takes")

    def __init__(self, version: Version, logs: ReplicaLogs) -> None:
        self._logs = logs
        self._senders: dict[tuple[str, object], str] = {}
        self._values: dict[str, None] = {}
        self.takes: dict[str, Callable[[Event], None]] = {}
        if not (version.raises_own_epoch or version.unknown_producer is UnknownProducer.OUT_OF_ORDER):
            self.takes = {Kind.SENT: self._sent, Kind.ACKNOWLEDGED: self._acknowledged}

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    @property
    def values(self) -> tuple[str, ...]:
        """The values of these records, in the order of their acknowledgements."""
        return tuple(self._values)

    def _sent(self, event: Event) -> None:
        partition, value, _ = event.values
        self._senders.setdefault((partition, value), event.node)

    def _acknowledged(self, event: Event) -> None:
        partition, value, offset, acks = event.values
        leader = self._logs.leader(partition)
        if acks != ACKS_ALL or leader is None or offset < leader.base:
            return
        for there in leader.between(offset, offset + 1):
            own = self._senders.get((partition, there.value)) == event.node and there.producer_id != NO_PRODUCER_ID
            if own and there.value != value:
                self._values[str(value)] = None
