"""Read, process, write in transactions: results and the offsets of their sources are committed together or not at all.

An application that reads by a group and writes by a transactional producer:
org.apache.kafka.clients.producer.KafkaProducer.sendOffsetsToTransaction, since 0.11 (KIP-98); with the consumer's
generation in the request since 2.5 (KIP-447).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from kreplica.engine.rules.groups.group_membership import NO_MEMBER, UNKNOWN_GENERATION
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import RETRIABLE, ErrorCode
from kreplica.engine.simulator.clients.consumer_application import DONE, Handed, result_of
from kreplica.engine.simulator.clients.membership import Membership
from kreplica.engine.simulator.clients.poll_loop import PollLoop
from kreplica.engine.simulator.clients.positions import Positions
from kreplica.engine.simulator.clients.requests import Handler, ask_transaction_coordinator
from kreplica.engine.simulator.coordinators.transactions import TransactionCoordinator
from kreplica.engine.trace import ABORTED, COMMITTED, UNKNOWN, Kind, Record
from kreplica.model.internal_topics import OFFSETS_TOPIC

_FENCED = frozenset(
    (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
)
"""Another process has the transactional id, or the coordinator has aborted the transaction."""


class Transactions:
    """The transactions of one process, one a poll. ``producer`` is its id and epoch, None before initTransactions."""

    __slots__ = (
        "_added",
        "_consumer",
        "_membership",
        "_number",
        "_positions",
        "_queue",
        "_sequences",
        "_then",
        "_values",
        "producer",
    )

    def __init__(self, consumer: PollLoop, membership: Membership, positions: Positions) -> None:
        self._consumer = consumer
        self._membership = membership
        self._positions = positions
        self.producer: tuple[int, int] | None = None
        self._number = 0
        self._sequences: dict[str, int] = {}
        self._added: set[str] = set()
        self._queue: deque[Handed] = deque()
        self._values: list[str] = []
        self._then: Callable[[], object] = lambda: None

    @property
    def transactional_id(self) -> str:
        """transactional.id; if none is set, one for each process, as KIP-447 allows."""
        consumer = self._consumer
        return str(consumer.settings["transactional.id"]) or f"{self._membership.group}-{consumer.name}"

    # -- requests

    def _ask(self, name: str, handler: Handler, arguments: tuple[Any, ...], then: Callable[..., object]) -> None:
        """Asks the transaction coordinator; ``then`` is not called with the errors of a fenced producer."""

        def answered(error: ErrorCode, *values: int) -> None:
            if error in _FENCED:
                self._fenced(error)
            else:
                then(error, *values)

        ask_transaction_coordinator(self._consumer, self.transactional_id, name, handler, arguments, answered)

    def _fenced(self, error: ErrorCode) -> None:
        self._consumer.emit(Kind.PRODUCER_FENCED, error.name)
        self._told(UNKNOWN)
        self._consumer.fail(error.name)

    # -- initTransactions

    def start(self, then: Callable[[], object]) -> None:
        """InitProducerId: ends the open transaction of an earlier run of this process."""

        def given(_error: ErrorCode, producer_id: int, epoch: int) -> None:
            self._take(producer_id, epoch)
            then()

        timeout = self._consumer.microseconds("transaction.timeout.ms")
        self._ask("InitProducerId", lambda there: there.init_producer_id, (None, timeout), given)

    def _take(self, producer_id: int, epoch: int) -> None:
        if self.producer != (producer_id, epoch):
            self.producer = (producer_id, epoch)
            self._sequences = {}

    # -- one transaction

    def run(self, records: list[Handed], then: Callable[[], object]) -> None:
        """Processes the records of one poll and writes the results, with their offsets, in one transaction."""
        self._number += 1
        self._added = set()
        self._values = []
        self._queue = deque(records)
        self._then = then
        self._consumer.emit(Kind.TRANSACTION_BEGUN, self._number)
        self._next()

    def _next(self) -> None:
        consumer = self._consumer
        if not self._queue:
            self._add(consumer.cluster.home(OFFSETS_TOPIC, self._membership.group), self._send_offsets)
            return
        application = consumer.setup.application
        consumer.after(application.processing + consumer.stall(self._queue[0][2].value), self._write)

    def _write(self) -> None:
        target = self._consumer.setup.application.writes_to
        if self._consumer.cluster.version.transaction_version >= 2:
            self._send(target)  # its leader adds the partition
        else:
            self._add(target, lambda: self._send(target))

    def _add(self, partition: str, then: Callable[[], object]) -> None:
        """AddPartitionsToTxn, or AddOffsetsToTxn for __consumer_offsets (the group coordinator's, with version 2)."""
        if partition in self._added:
            then()
            return

        def answered(error: ErrorCode) -> None:
            if error:
                self._abort()
                return
            self._added.add(partition)
            then()

        name = "AddOffsetsToTxn" if partition.startswith(OFFSETS_TOPIC) else "AddPartitionsToTxn"
        self._ask(name, lambda there: there.add_partitions, (self.producer, (partition,)), answered)

    def _send(self, target: str) -> None:
        consumer, (partition, offset, record) = self._consumer, self._queue[0]
        leader, value, sequence = consumer.leader(target), result_of(record), self._sequences.get(target, 0)
        assert self.producer is not None

        def again(_reason: str = "") -> None:
            self._consumer.refresh_later(self._send, target)

        def answered(_partition: str, error: ErrorCode, base: int) -> None:
            if error in RETRIABLE:
                again()
            elif error in _FENCED:
                self._fenced(error)
            elif error:
                self._abort()
            else:
                self._sequences[target] = sequence + 1
                self._values.append(value)
                consumer.emit(Kind.ACKNOWLEDGED, target, value, base, ACKS_ALL)
                consumer.tell(partition, offset, record, DONE)
                self._queue.popleft()
                self._next()

        if leader is None:
            again()
            return
        consumer.emit(Kind.SENT, target, value, ACKS_ALL)
        written = Record(-1, value, *self.producer, sequence=sequence, transactional=True, batch_sequence=sequence)
        timeout = consumer.microseconds("request.timeout.ms")
        consumer.cluster.transport.call(
            consumer,
            leader,
            "Produce",
            TransactionCoordinator.of(leader).produce,
            (self.transactional_id, target, (written,), ACKS_ALL, timeout),
            answered,
            again,
            timeout,
        )

    def _send_offsets(self) -> None:
        """TxnOffsetCommit to the group coordinator; since 2.5 as the member of its generation."""
        consumer, membership = self._consumer, self._membership
        generation, member = membership.generation, membership.member_id
        if not consumer.cluster.version.stable_offsets:
            generation, member = UNKNOWN_GENERATION, NO_MEMBER
        elif generation == UNKNOWN_GENERATION:
            self._abort()
            return
        sent = membership.generation

        def answered(error: ErrorCode) -> None:
            if not error:
                self._end(True)
                return
            consumer.emit(Kind.COMMIT_FAILED, membership.group, error.name, membership.commit_rule)
            if sent == membership.generation:
                membership.refused(error)
            self._abort()

        arguments = (member, generation, self.producer, self._positions.offsets())
        membership.ask("TxnOffsetCommit", lambda one: one.commit_in_transaction, arguments, answered)

    # -- its end

    def _abort(self) -> None:
        """Aborts; the consumer returns to its committed offsets."""
        self._queue.clear()
        self._positions.keep(())
        self._end(False)

    def _end(self, commit: bool) -> None:
        version_2 = self._consumer.cluster.version.transaction_version >= 2

        def ended(error: ErrorCode, producer_id: int, epoch: int) -> None:
            if error:  # nothing was added to it yet, or it has ended: there is nothing to end
                self._told(UNKNOWN)
            else:
                if version_2:
                    self._take(producer_id, epoch)
                self._told(COMMITTED if commit else ABORTED)
            if not self._consumer.failed:
                self._then()

        self._ask("EndTxn", lambda there: there.end, (self.producer, commit), ended)

    def _told(self, outcome: str) -> None:
        self._consumer.emit(Kind.TRANSACTION_ENDED, self._number, outcome, tuple(self._values))
