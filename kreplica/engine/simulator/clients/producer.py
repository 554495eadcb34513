"""A producer: batches, acknowledgements, retries. org.apache.kafka.clients.producer.KafkaProducer and its Sender."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kreplica.engine.rules.replication.error_codes import INVALID_METADATA, RETRIABLE, ErrorCode
from kreplica.engine.rules.transactions.producer_batches import batch_is_full, delivery_is_over, is_sent_again, may_send
from kreplica.engine.rules.transactions.producer_state import NO_SEQUENCE
from kreplica.engine.setup import ProducerSetup, Send
from kreplica.engine.simulator.broker.broker import Broker, Brokers
from kreplica.engine.simulator.clients.client import Client
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.environment import DISCONNECTED, SentCall
from kreplica.engine.trace import Kind, Record


class Batch:
    """Records for one partition that are sent, retried and answered together.

    ``sequence`` and ``epoch`` are an idempotent producer's; ``waiting`` is true while the batch waits for a retry,
    ``renumbered`` if it was given other sequences while it was in flight.
    """

    __slots__ = ("attempts", "born", "epoch", "partition", "records", "renumbered", "sequence", "values", "waiting")

    def __init__(self, partition: str, born: int) -> None:
        self.partition = partition
        self.born = born
        self.attempts = 0
        self.sequence = self.epoch = NO_SEQUENCE
        self.waiting = self.renumbered = False
        self.values: list[str] = []
        self.records: tuple[Record, ...] = ()


class Producer(Client):
    """Sends the records of its setup. Each partition has a queue and a limit of batches in flight.

    delivery.timeout.ms is checked when a batch is to be sent, or was answered: one in flight is given up with the
    answer, or when the request has timed out. All requests to a broker share a connection, and fail with it.
    """

    __slots__ = ("_connections", "_in_flight", "_next", "_open", "_postponed", "_queues", "acks", "setup")

    def __init__(self, cluster: Cluster, brokers: Brokers, setup: ProducerSetup) -> None:
        super().__init__(cluster, brokers, setup.name, setup.settings)
        self.setup = setup
        self.acks = self.integer("acks")
        self._next = 0
        self._forget()

    def _forget(self) -> None:
        self._queues: dict[str, deque[Batch]] = {}
        self._in_flight: dict[str, int] = {}
        self._open: dict[str, Batch] = {}
        self._connections: dict[str, list[SentCall]] = {}
        self._postponed: dict[str, None] | None = None

    # -- the application

    def on_start(self) -> None:
        """Sends the remaining records."""
        self.refresh(self._schedule)

    def on_end(self) -> None:
        """Loses the unsent records with the process; the application goes on with the records after them."""
        super().on_end()
        self._forget()

    def _schedule(self) -> None:
        if self._next < len(self.setup.sends):
            send = self.setup.sends[self._next]
            self.after(max(0, send.at - self.clock.now), self._send_next, self._next)

    def _send_next(self, number: int) -> None:
        if number != self._next:
            return
        send = self.setup.sends[number]
        self._next += 1
        self.send(send)
        if not self.setup.sync or self.acks == 0:
            self._schedule()

    def send(self, send: Send) -> None:
        """Adds a record to its partition's batch, which is sent when linger.ms is over or it is full."""
        self.emit(Kind.SENT, send.partition, send.value, self.acks)
        batch = self._open.get(send.partition)
        if batch is None:
            batch = self._open[send.partition] = Batch(send.partition, self.clock.now)
            self.after(self.microseconds("linger.ms"), self._close, batch)
        batch.values.append(send.value)
        if batch_is_full(len(batch.values), self.integer("batch.records")):
            self._close(batch)

    # -- the sender

    def _close(self, batch: Batch) -> None:
        if self._open.get(batch.partition) is not batch:
            return
        del self._open[batch.partition]
        batch.records = self.make_records(batch)
        self._queues.setdefault(batch.partition, deque()).append(batch)
        self._drain(batch.partition)

    def make_records(self, batch: Batch) -> tuple[Record, ...]:
        """The batch's records as they are sent; the leader sets its epoch."""
        return tuple(Record(-1, value) for value in batch.values)

    def _drop_expired(self, partition: str) -> None:
        """Gives up batches that waited too long to be sent, or sent again. RecordAccumulator.expiredBatches."""
        queue = self._queues.get(partition)
        while queue and self._is_too_old(queue[0]):
            self._tell_failure(queue.popleft(), ErrorCode.REQUEST_TIMED_OUT)
            if self.setup.sync and self.acks != 0:
                self._schedule()

    def _drain(self, partition: str) -> None:
        self._drop_expired(partition)
        queue = self._queues.get(partition)
        most = self.integer("max.in.flight.requests.per.connection")
        while queue and not queue[0].waiting and may_send(self._in_flight.get(partition, 0), most):
            batch = queue.popleft()
            self._in_flight[partition] = self._in_flight.get(partition, 0) + 1
            self._transmit(batch)

    def _transmit(self, batch: Batch) -> None:
        if self._is_too_old(batch):
            self._give_up(batch, ErrorCode.REQUEST_TIMED_OUT)
            return
        leader = self.leader(batch.partition)
        if leader is None:
            self._retry(batch, ErrorCode.LEADER_NOT_AVAILABLE)
            return
        batch.attempts += 1
        batch.renumbered = False
        timeout = self.microseconds("request.timeout.ms")
        handler, first = self.produce_at(leader)
        call = self.cluster.transport.call(
            self,
            leader,
            "Produce",
            handler,
            (*first, batch.partition, batch.records, self.acks, timeout),
            None if self.acks == 0 else lambda _partition, error, base: self._answered(batch, error, base),
            lambda _reason: self._disconnected(batch, leader.name),
            timeout,
        )
        if self.acks == 0:
            self._succeeded(batch, -1)
        else:
            unanswered = [one for one in self._connections.get(leader.name, ()) if not one.done]
            self._connections[leader.name] = [*unanswered, call]

    def produce_at(self, leader: Broker) -> tuple[Callable[..., object], tuple[str, ...]]:
        """The leader's handler of Produce, and its leading arguments: a transactional producer's id."""
        return leader.produce, ()

    def _answered(self, batch: Batch, error: ErrorCode, base: int) -> None:
        if error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._succeeded(batch, base)
        elif self._may_retry(batch, error):
            self._retry(batch, error)
        else:
            self._give_up(batch, error)

    def _disconnected(self, batch: Batch, broker: str) -> None:
        """Handles a broken connection: with acks=0 no answer is missing, but the metadata is asked for again.

        All requests that wait for an answer on it fail, also if only one of them has timed out:
        org.apache.kafka.clients.NetworkClient.processDisconnection. New batches follow when all have been handled, in
        the next round of the Sender: they never go ahead of one that still waits.
        """
        if self.acks == 0:
            self.refresh(lambda: None)
        elif self._postponed is not None:
            self._answered(batch, ErrorCode.NETWORK_EXCEPTION, -1)
        else:
            self._postponed = {}
            unanswered = self._connections.pop(broker, [])
            if self.cluster.version.fails_oldest_first:
                self._answered(batch, ErrorCode.NETWORK_EXCEPTION, -1)
                for call in unanswered:
                    call.fail(DISCONNECTED)
            else:
                for call in reversed(unanswered):
                    call.fail(DISCONNECTED)
                self._answered(batch, ErrorCode.NETWORK_EXCEPTION, -1)
            postponed, self._postponed = self._postponed, None
            for partition in postponed:
                self._drain(partition)

    def _succeeded(self, batch: Batch, base: int) -> None:
        """Reports success to the application: with acks=0 as soon as the batch has been sent, without an offset."""
        for place, value in enumerate(batch.values):
            self.emit(Kind.ACKNOWLEDGED, batch.partition, value, base + place if base >= 0 else -1, self.acks)
        self._done(batch)

    def _retry(self, batch: Batch, error: ErrorCode) -> None:
        """Puts a batch in front of its partition's queue, which waits for it. RecordAccumulator.reenqueue."""
        self.emit(Kind.RETRIED, batch.partition, tuple(batch.values), error.name)
        batch.waiting = True
        self._in_flight[batch.partition] -= 1
        self._queues.setdefault(batch.partition, deque()).appendleft(batch)
        self.refresh_later(self._goes_again, batch)

    def _goes_again(self, batch: Batch) -> None:
        batch.waiting = False
        self._drain(batch.partition)

    def _is_too_old(self, batch: Batch) -> bool:
        return delivery_is_over(self.clock.now - batch.born, self.microseconds("delivery.timeout.ms"))

    def _may_retry(self, batch: Batch, error: ErrorCode) -> bool:
        return is_sent_again(error in RETRIABLE, self._is_too_old(batch), batch.attempts, self.integer("retries"))

    def _is_exhausted(self, batch: Batch) -> bool:
        return batch.attempts > self.integer("retries")

    def _tell_failure(self, batch: Batch, error: ErrorCode) -> None:
        for value in batch.values:
            self.emit(Kind.SEND_FAILED, batch.partition, value, error.name)

    def _give_up(self, batch: Batch, error: ErrorCode) -> None:
        self._tell_failure(batch, error)
        if error in INVALID_METADATA:  # the next batch asks the new leader: Sender.completeBatch
            self.refresh(lambda: None)
        self._done(batch)

    def _done(self, batch: Batch) -> None:
        self._in_flight[batch.partition] -= 1
        if self._postponed is None:
            self._drain(batch.partition)
        else:
            self._postponed[batch.partition] = None
        if self.setup.sync and self.acks != 0:
            self._schedule()
