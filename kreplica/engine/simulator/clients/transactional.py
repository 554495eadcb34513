"""A transactional producer and its application: one transaction after the other, committed or aborted.

org.apache.kafka.clients.producer.internals.TransactionManager, since 0.11 (KIP-98). With transaction version 1 it adds
partitions to the transaction itself, and keeps its epoch; with version 2 (4.0, KIP-890) leaders add them, and every
end of a transaction brings the next epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine.rules.groups.group_membership import NO_MEMBER, UNKNOWN_GENERATION
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import ProducerSetup, Send, Transaction, TransactionalSetup
from kreplica.engine.simulator.broker.broker import Broker, Brokers
from kreplica.engine.simulator.clients.idempotent import IdempotentProducer, Line
from kreplica.engine.simulator.clients.producer import Batch
from kreplica.engine.simulator.clients.requests import TRY_AGAIN, Handler, ask_transaction_coordinator
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.coordinators.groups import GroupCoordinator
from kreplica.engine.simulator.coordinators.transactions import TransactionCoordinator
from kreplica.engine.trace import ABORTED, COMMITTED, UNKNOWN, Kind
from kreplica.model.internal_topics import OFFSETS_TOPIC


class TransactionalProducer(IdempotentProducer):
    """Executes the transactions of its setup, starting after those of an earlier run of the process.

    ``over`` is true once it was fenced: the application has to start anew.
    """

    __slots__ = ("_added", "_asking", "_at", "_current", "_failed", "_left", "_plan", "_started", "_values", "over")

    transactional = True

    def __init__(self, cluster: Cluster, brokers: Brokers, setup: TransactionalSetup) -> None:
        self._plan = setup
        self._at = 0
        self._current = Transaction(())
        super().__init__(cluster, brokers, ProducerSetup(setup.name, (), setup.settings))

    def _forget(self) -> None:
        super()._forget()
        self.over = False
        self._left = -1
        self._failed = self._started = False
        self._added: set[str] = set()
        self._asking: set[str] = set()
        self._values: list[str] = []

    # -- the coordinator

    @property
    def transactional_id(self) -> str:
        """transactional.id."""
        return str(self.settings["transactional.id"])

    @property
    def version(self) -> int:
        """The transaction version."""
        return self.cluster.version.transaction_version

    def _ask(self, name: str, handler: Handler, arguments: tuple[Any, ...], then: Callable[..., object]) -> None:
        """Asks the coordinator; a fenced producer ignores the answer."""

        def answered(*values: Any) -> None:
            if not self.over:
                then(*values)

        ask_transaction_coordinator(self, self.transactional_id, name, handler, arguments, answered)

    def _fenced(self, error: ErrorCode) -> None:
        """Ends for good: another producer has the transactional id, or this one has lost its own."""
        if self.over:
            return
        self.emit(Kind.PRODUCER_FENCED, error.name)
        self.over = True
        if self._left >= 0:
            self._told(UNKNOWN)

    # -- initTransactions

    def on_start(self) -> None:
        """Registers its transactional id, and then starts."""
        self.after(max(0, self._plan.start - self.clock.now), self.refresh, self.ask_id)

    def ask_id(self) -> None:
        """InitProducerId: gets a producer id and fences every other producer with this transactional id."""
        self._init(None, self._next_transaction)

    def _init(self, expected: tuple[int, int] | None, then: Callable[[], object]) -> None:
        def given(error: ErrorCode, producer_id: int, epoch: int) -> None:
            if error:
                self._fenced(error)
            else:
                self.take_id(producer_id, epoch)
                then()

        timeout = self.microseconds("transaction.timeout.ms")
        self._ask("InitProducerId", lambda there: there.init_producer_id, (expected, timeout), given)

    # -- a transaction

    def _next_transaction(self) -> None:
        if self._at >= len(self._plan.transactions):
            return
        transaction = self._plan.transactions[self._at]
        self._at += 1
        begins = min((send.at for send in transaction.sends), default=transaction.end)
        self.after(max(0, begins - self.clock.now), self._begin, transaction)

    def _begin(self, transaction: Transaction) -> None:
        self._current = transaction
        self._added, self._asking, self._values = set(), set(), []
        self._failed = self._started = False
        self._left = len(transaction.sends)
        self.emit(Kind.TRANSACTION_BEGUN, self._at)
        for send in transaction.sends:
            self.after(max(0, send.at - self.clock.now), self._send_in, send)
        self.after(max(0, transaction.end - self.clock.now), self._maybe_end)

    def _send_in(self, send: Send) -> None:
        if self.over or self._left < 0:
            return
        self._left -= 1
        if self._failed:  # the application sees the failure with its next call
            self._maybe_end()
            return
        self._values.append(send.value)
        self._started = self._started or self.version >= 2
        self.send(send)

    def _drain(self, partition: str) -> None:
        if self.over or not self._is_added(partition):
            return
        super()._drain(partition)

    def _is_added(self, partition: str) -> bool:
        """True if the partition is in the transaction; with version 1 the producer adds it."""
        if self.version >= 2 or partition in self._added:
            return True
        if partition not in self._asking and self._queues.get(partition):
            self._asking.add(partition)
            producer = (self.producer_id, self.producer_epoch)

            def answered(error: ErrorCode) -> None:
                if error:
                    self._lost(error)
                    return
                self._added.add(partition)
                self._started = True
                self._drain(partition)

            self._ask("AddPartitionsToTxn", lambda there: there.add_partitions, (producer, (partition,)), answered)
        return False

    def produce_at(self, leader: Broker) -> tuple[Callable[..., object], tuple[str, ...]]:
        """The leader's handler and the transactional id, by which the leader verifies with the coordinator."""
        return TransactionCoordinator.of(leader).produce, (self.transactional_id,)

    def _tell_failure(self, batch: Batch, error: ErrorCode) -> None:
        self._lost(error)
        super()._tell_failure(batch, error)

    def _lost(self, error: ErrorCode) -> None:
        """Aborts the transaction after a failed part, or ends for good where Kafka's client cannot abort."""
        final = error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if not self.cluster.version.fenced_is_final:
            final = final or error is ErrorCode.INVALID_PRODUCER_EPOCH
        if final:
            self._fenced(error)
        else:
            self._failed = True
            self.after(0, self._maybe_end)

    def _done(self, batch: Batch) -> None:
        super()._done(batch)
        self._maybe_end()

    # -- its end

    def _maybe_end(self) -> None:
        """Ends the transaction once every record is sent and answered."""
        if self.over or self._left != 0:
            return
        if self._failed:
            for queue in self._queues.values():
                while queue:
                    self._drop(queue.popleft())
        busy = any(self._queues.values()) or any(line.pending for line in self._lines.values()) or bool(self._open)
        if busy or self.clock.now < self._current.end:
            return
        self._left = -1
        if self._current.commit and self._current.offsets and not self._failed:
            self._commit_offsets()
        else:
            self._end_transaction(self._current.commit and not self._failed)

    def _commit_offsets(self) -> None:
        """AddOffsetsToTxn; with transaction version 2 Kafka's group coordinator asks the same of the coordinator."""
        producer = (self.producer_id, self.producer_epoch)
        partition = self.cluster.home(OFFSETS_TOPIC, self._current.group)

        def added(error: ErrorCode) -> None:
            if error:
                self._not_committed(error)
            else:
                self._started = True
                self._send_offsets(partition)

        self._ask("AddOffsetsToTxn", lambda there: there.add_partitions, (producer, (partition,)), added)

    def _send_offsets(self, partition: str) -> None:
        """TxnOffsetCommit, retried until the group coordinator's answer is not a retriable error."""
        leader, current = self.leader(partition), self._current

        def again(_reason: str = "") -> None:
            self.refresh_later(self._send_offsets, partition)

        def answered(error: ErrorCode) -> None:
            if error in TRY_AGAIN:
                again()
            elif error:
                self._not_committed(error)
            else:
                self._end_transaction(True)

        if leader is None:
            again()
            return
        self.cluster.transport.call(
            self,
            leader,
            "TxnOffsetCommit",
            GroupCoordinator.of(leader).commit_in_transaction,
            (
                current.group,
                NO_MEMBER,
                UNKNOWN_GENERATION,
                (self.producer_id, self.producer_epoch),
                tuple((source, offset, -1) for source, offset in current.offsets),
            ),
            answered,
            again,
            self.microseconds("request.timeout.ms"),
        )

    def _not_committed(self, error: ErrorCode) -> None:
        """Aborts the transaction because its offsets were refused."""
        self._left = 0
        self._lost(error)

    def _drop(self, batch: Batch) -> None:
        for value in batch.values:
            self.emit(Kind.SEND_FAILED, batch.partition, value, ErrorCode.TRANSACTION_ABORTABLE.name)

    def _end_transaction(self, commit: bool) -> None:
        """EndTxn, unless the coordinator does not know the transaction: TransactionManager.nextRequest."""
        if not self._started:
            self._told(COMMITTED if commit else ABORTED)
            self._after_end()
            return
        producer = (self.producer_id, self.producer_epoch)

        def ended(error: ErrorCode, producer_id: int, epoch: int) -> None:
            if error:
                self._told(UNKNOWN)
                self._fenced(error)
                return
            if self.version >= 2:
                self.take_id(producer_id, epoch)
            self._told(COMMITTED if commit else ABORTED)
            self._after_end()

        self._ask("EndTxn", lambda there: there.end, (producer, commit), ended)

    def _after_end(self) -> None:
        """Continues; after a failure with version 1 in a new epoch, so that late batches are recognized (KIP-360)."""
        renew = self._failed and self.version < 2 and self.cluster.version.raises_own_epoch
        if renew:
            self._init((self.producer_id, self.producer_epoch), self._next_transaction)
        else:
            self._next_transaction()

    def _told(self, outcome: str) -> None:
        self._left = -1
        self.emit(Kind.TRANSACTION_ENDED, self._at, outcome, tuple(self._values))
        self._values = []

    def _resolve(self, line: Line) -> bool:
        """Ends the producer, before 2.5, if it cannot know what is in the log: it has no other epoch to go on in."""
        if not line.pending and not line.is_known and not self.cluster.version.raises_own_epoch:
            self._fenced(ErrorCode.REQUEST_TIMED_OUT)
            return False
        return super()._resolve(line)

    def _next_epoch(self, line: Line) -> None:
        """Fails the transaction: only the coordinator raises a transactional producer's epoch."""
        line.restart(self.producer_id, self.producer_epoch)
        self._failed = True
