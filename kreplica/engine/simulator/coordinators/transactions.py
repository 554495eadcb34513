"""A broker's side of transactions: its shards of __transaction_state, markers it writes, appends it verifies.

kafka.coordinator.transaction.TransactionCoordinator, kafka.server.KafkaApis.handleWriteTxnMarkersRequest and
kafka.server.AddPartitionsToTxnManager.

The transactional ids of one partition of __transaction_state, while a broker leads it.

kafka.coordinator.transaction.TransactionCoordinator and TransactionStateManager. Every promise is in the log before it
is answered, with acks=all; a new leader reads the log and goes on, with the markers too.

Brings the markers of one transaction to the leaders of its partitions.

kafka.coordinator.transaction.TransactionMarkerChannelManager and TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.end_transaction import (
    complete_transaction,
    end_transaction,
    end_transaction_version_2,
)
from kreplica.engine.rules.transactions.init_producer_id import IdAndEpoch, fence_producer_epoch, init_producer_id
from kreplica.engine.rules.transactions.transaction_append import NO_GUARD, verification_answer
from kreplica.engine.rules.transactions.transaction_partitions import add_partitions, verify_partition
from kreplica.engine.rules.transactions.transaction_states import (
    PREPARED,
    Decision,
    TransactionMetadata,
    TransactionState,
    may_follow,
    preparing,
    reloaded,
    write_failed,
)
from kreplica.engine.rules.transactions.transaction_timeouts import transaction_timed_out, transactional_id_expired
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.engine.simulator.broker.leadership import asks_coordinator
from kreplica.engine.simulator.broker.replica import Replica
from kreplica.engine.simulator.coordinators.coordinator import APPEND_ERRORS, Coordinator
from kreplica.engine.trace import ABORT, COMMIT, Kind, Record
from kreplica.model.internal_topics import TRANSACTIONS_TOPIC

RETRY_BACKOFF = 100 * MILLISECOND
"""Time until a refused marker is sent again."""
_OVER = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
"""A later epoch of producer or coordinator exists: another one has taken over this transaction."""


class TransactionMarkers:
    """The markers of one transaction, until every leader has written its own.

    ``left`` are the partitions that have none yet.
    """

    __slots__ = ("_metadata", "_shard", "_transactional_id", "left")

    def __init__(self, shard: TransactionShard, transactional_id: str, metadata: TransactionMetadata) -> None:
        self._shard = shard
        self._transactional_id = transactional_id
        self._metadata = metadata
        self.left = list(metadata.partitions)

    def send(self) -> None:
        """Sends all of them; with no partition the transaction is complete at once."""
        if not self.left:
            self._shard.markers_written(self._transactional_id)
        for partition in tuple(self.left):
            self._send(partition)

    def _send(self, partition: str) -> None:
        shard, metadata = self._shard, self._metadata
        if shard.closed or partition not in self.left:
            return
        broker = shard.broker
        state = broker.image.get(partition)
        leader = None if state is None else broker.brokers.get(state.leader_id)
        if leader is None:
            broker.after(RETRY_BACKOFF, self._send, partition)
            return
        commit = metadata.state is TransactionState.PREPARE_COMMIT
        broker.cluster.transport.call(
            broker,
            leader,
            "WriteTxnMarkers",
            shard.coordinator.of(leader).write_marker,
            (partition, metadata.producer_id, metadata.producer_epoch, shard.epoch, commit),
            lambda error: self._answered(partition, error),
            lambda _reason: self._answered(partition, ErrorCode.NETWORK_EXCEPTION),
        )

    def _answered(self, partition: str, error: ErrorCode) -> None:
        if error in _OVER or partition not in self.left:
            return
        if error:
            self._shard.broker.after(RETRY_BACKOFF, self._send, partition)
            return
        self.left.remove(partition)
        if not self.left and not self._shard.closed:
            self._shard.markers_written(self._transactional_id)


ShardReply = Callable[..., object]
Then = Callable[[ErrorCode], object]

_EXPIRY_INTERVAL = 3600 * SECOND
"""transaction.remove.expired.transaction.cleanup.interval.ms."""


class TransactionRecord(NamedTuple):
    """A record of __transaction_state: transactional id, and metadata as plain values; without metadata a tombstone."""

    transactional_id: str
    values: tuple[Any, ...] = ()

    def __str__(self) -> str:
        """Id, state, producer id and epoch, as logs show it."""
        if not self.values:
            return f"{self.transactional_id} forgotten"
        metadata = _metadata(self.values)
        state = metadata.state.name.lower()
        return f"{self.transactional_id} {state} {metadata.producer_id}/{metadata.producer_epoch}"


class TransactionShard:
    """Coordinates the transactional ids of one partition in one leader epoch, which is the coordinator's epoch.

    ``known`` is the metadata of each, with a transition that is being written as ``pending``.
    """

    __slots__ = ("broker", "closed", "coordinator", "epoch", "known", "replica")

    def __init__(self, coordinator: TransactionCoordinator, replica: Replica) -> None:
        self.coordinator = coordinator
        self.broker = coordinator.broker
        self.replica = replica
        self.epoch = replica.state.leader_epoch
        self.closed = False
        self.known: dict[str, TransactionMetadata] = {}
        self._load()
        self.broker.after(self._scan_interval(), self._scan)
        self.broker.after(_EXPIRY_INTERVAL, self._expire)

    @property
    def version(self) -> int:
        """The transaction version of clients and brokers."""
        return self.broker.cluster.version.transaction_version

    @property
    def now(self) -> int:
        """The time, in microseconds."""
        return self.broker.clock.now

    def close(self) -> None:
        """Ends with the broker's leadership of the partition: requests in progress are dropped."""
        self.closed = True
        self.known = {}

    def _load(self) -> None:
        for record in self.replica.log.records:
            transactional_id, values = record.value
            if values:
                self.known[transactional_id] = reloaded(_metadata(values), self.version)
            else:
                self.known.pop(transactional_id, None)
        for transactional_id, metadata in self.known.items():
            if metadata.state in PREPARED:
                self.broker.after(0, self._send_markers, transactional_id)

    # -- requests

    def init_producer_id(
        self, transactional_id: str, expected: IdAndEpoch | None, timeout: int, reply: ShardReply
    ) -> None:
        """InitProducerId: answered with error, producer id and epoch.

        Args:
            transactional_id: The producer's transactional id.
            expected: The producer's id and epoch, None for a new one.
            timeout: Timeout of its transactions, in microseconds.
            reply: Called once.
        """
        cluster = self.broker.cluster
        if transactional_id not in self.known:
            fresh = TransactionMetadata(cluster.new_producer_id(), timeout, last_update=self.now)
            self.known[transactional_id] = fresh
        metadata = self.known[transactional_id]
        decision = init_producer_id(metadata, expected, timeout, cluster.new_producer_id(), self.now)
        rule = "init_producer_id.init_producer_id"
        target = decision.target
        if target is None:
            self._refuse(transactional_id, "InitProducerId", decision.error, rule)
            reply(self._told(decision.error), -1, -1)
        elif target.state is TransactionState.PREPARE_EPOCH_FENCE:
            self._abort(
                transactional_id, target, lambda error: reply(error or ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
            )
        else:
            given = (target.producer_id, target.producer_epoch)
            self._write(transactional_id, target, rule, lambda error: reply(error, *((-1, -1) if error else given)))

    def add_partitions(
        self, transactional_id: str, producer: IdAndEpoch, partitions: tuple[str, ...], reply: ShardReply
    ) -> None:
        """AddPartitionsToTxn: answered with the error once the partitions are in the log."""
        known = self.known.get(transactional_id)
        decision = add_partitions(known, *producer, partitions, self.now, self.version >= 2)
        self._follow(transactional_id, "AddPartitionsToTxn", decision, "transaction_partitions.add_partitions", reply)

    def verify(self, transactional_id: str, producer: IdAndEpoch, partition: str, reply: ShardReply) -> None:
        """AddPartitionsToTxn that only verifies, from a leader: answered with the error."""
        abortable = self.broker.cluster.version.tells_abortable
        error = verify_partition(self.known.get(transactional_id), *producer, partition, abortable)
        if error:
            self._refuse(transactional_id, "verification", error, "transaction_partitions.verify_partition")
        reply(error)

    def end(self, transactional_id: str, producer: IdAndEpoch, commit: bool, reply: ShardReply) -> None:
        """EndTxn: answered with error, producer id and epoch once the decision is in the log."""

        def told(error: ErrorCode) -> None:
            metadata = self.known.get(transactional_id)
            if error or metadata is None:
                reply(error, -1, -1)
                return
            done = complete_transaction(metadata, self.now) if metadata.state in PREPARED else metadata
            reply(error, done.producer_id, done.producer_epoch)

        decision = self._ended(transactional_id, producer, commit, from_client=True)
        self._follow(transactional_id, "EndTxn", decision, self._end_rule(), told)

    def _ended(self, transactional_id: str, producer: IdAndEpoch, commit: bool, from_client: bool) -> Decision:
        known = self.known.get(transactional_id)
        if self.version < 2:
            return end_transaction(known, *producer, commit, from_client, self.now)
        fresh, version = self.broker.cluster.new_producer_id(), self.broker.cluster.version
        single, rotates = version.single_epoch_rise, version.fence_rotates
        return end_transaction_version_2(known, *producer, commit, from_client, fresh, single, rotates, self.now)

    def _end_rule(self) -> str:
        return f"end_transaction.end_transaction{'_version_2' if self.version >= 2 else ''}"

    def _abort(self, transactional_id: str, fence: TransactionMetadata, then: Then) -> None:
        """Fences the producer and aborts its open transaction."""
        self.known[transactional_id] = preparing(self.known[transactional_id], fence)
        producer = (fence.producer_id, fence.producer_epoch)
        decision = self._ended(transactional_id, producer, False, from_client=False)
        self._follow(transactional_id, "the abort", decision, self._end_rule(), then)

    def _follow(self, transactional_id: str, request: str, decision: Decision, rule: str, then: Then) -> None:
        if decision.target is not None:
            self._write(transactional_id, decision.target, rule, then)
            return
        if decision.error:
            self._refuse(transactional_id, request, decision.error, rule)
        then(self._told(decision.error))

    def _refuse(self, transactional_id: str, request: str, error: ErrorCode, rule: str) -> None:
        self.broker.emit(Kind.TRANSACTION_REFUSED, transactional_id, request, self._told(error).name, rule)

    def _told(self, error: ErrorCode) -> ErrorCode:
        if error is ErrorCode.PRODUCER_FENCED and not self.broker.cluster.version.fenced_is_final:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        return error

    # -- the log

    def _write(self, transactional_id: str, target: TransactionMetadata, rule: str, then: Then) -> None:
        """Writes a transition to the log; it takes effect once that is committed."""
        metadata = self.known[transactional_id]
        assert may_follow(metadata.state, target.state, self.version), (metadata.state, target.state)
        fencing = metadata.pending is TransactionState.PREPARE_EPOCH_FENCE
        single = self.broker.cluster.version.single_epoch_rise
        self.known[transactional_id] = preparing(metadata, target, single)

        def written(error: ErrorCode, _base: int) -> None:
            if self.closed:
                then(ErrorCode.NOT_COORDINATOR)
            elif error:
                self.known[transactional_id] = write_failed(self.known[transactional_id], fencing)
                then(APPEND_ERRORS.get(error, error))
            else:
                self._holds(transactional_id, target, rule)
                then(ErrorCode.NONE)
                if target.state in PREPARED:
                    self._send_markers(transactional_id)

        self._append(TransactionRecord(transactional_id, _values(target)), written)

    def _append(self, value: TransactionRecord, answer: Callable[[ErrorCode, int], object]) -> None:
        timeout = self.broker.integer("request.timeout.ms") * MICROSECONDS
        self.broker.append_as_leader(self.replica.partition, (Record(-1, value),), ACKS_ALL, timeout, answer)

    def _holds(self, transactional_id: str, target: TransactionMetadata, rule: str) -> None:
        self.known[transactional_id] = target
        state, producer = target.state.name.lower(), (target.producer_id, target.producer_epoch)
        self.broker.emit(Kind.TRANSACTION_STATE, transactional_id, state, *producer, target.partitions, rule)

    # -- markers

    def _send_markers(self, transactional_id: str) -> None:
        if self.closed:
            return
        metadata = self.known[transactional_id]
        self.known[transactional_id] = preparing(metadata, complete_transaction(metadata, self.now))
        TransactionMarkers(self, transactional_id, metadata).send()

    def markers_written(self, transactional_id: str) -> None:
        """Completes the transaction, whose markers are all written, once the log has that state."""
        metadata = self.known.get(transactional_id)
        if self.closed or metadata is None:
            return
        target = complete_transaction(metadata, self.now)

        def written(error: ErrorCode, _base: int) -> None:
            if self.closed:
                return
            if error:
                self.broker.after(RETRY_BACKOFF, self.markers_written, transactional_id)
            else:
                self._holds(transactional_id, target, "end_transaction.complete_transaction")

        self._append(TransactionRecord(transactional_id, _values(target)), written)

    # -- periodic checks

    def _scan_interval(self) -> int:
        name = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        return self.broker.integer(name) * MICROSECONDS

    def _scan(self) -> None:
        """Aborts transactions that exceed their timeout, with an epoch that fences their producers."""
        if self.closed:
            return
        for transactional_id, metadata in tuple(self.known.items()):
            if transaction_timed_out(metadata, self.now):
                self._abort(transactional_id, fence_producer_epoch(metadata), lambda _error: None)
        self.broker.after(self._scan_interval(), self._scan)

    def _expire(self) -> None:
        if self.closed:
            return
        expiration = self.broker.integer("transactional.id.expiration.ms") * MICROSECONDS
        for transactional_id, metadata in tuple(self.known.items()):
            if transactional_id_expired(metadata, self.now, expiration):
                self._forget(transactional_id)
        self.broker.after(_EXPIRY_INTERVAL, self._expire)

    def _forget(self, transactional_id: str) -> None:
        def written(error: ErrorCode, _base: int) -> None:
            if not error and self.known.pop(transactional_id, None) is not None:
                self.broker.emit(Kind.TRANSACTION_FORGOTTEN, transactional_id)

        self._append(TransactionRecord(transactional_id), written)


_FIELDS = tuple(each.name for each in fields(TransactionMetadata) if each.name not in ("pending", "failed_fence"))
"""Fields that are written: neither the transition in progress nor the state left by a failed one."""


def _values(metadata: TransactionMetadata) -> tuple[Any, ...]:
    """A record's value: plain values in the order of the fields."""
    values = (getattr(metadata, name) for name in _FIELDS)
    return tuple(int(value) if isinstance(value, TransactionState) else value for value in values)


def _metadata(values: tuple[Any, ...]) -> TransactionMetadata:
    named = dict(zip(_FIELDS, values, strict=True))
    return TransactionMetadata(**{**named, "state": TransactionState(named["state"])})


Reply = Callable[..., object]


class TransactionCoordinator(Coordinator[TransactionShard]):
    """A broker's transaction coordinator, and its broker's side of the requests of other coordinators."""

    __slots__ = ()

    topic = TRANSACTIONS_TOPIC

    def begin(self, replica: Replica) -> TransactionShard:
        """Reads the partition's transactional ids, and starts to coordinate them."""
        return TransactionShard(self, replica)

    # -- requests of producers

    def init_producer_id(self, transactional_id: str, expected: IdAndEpoch | None, timeout: int, reply: Reply) -> None:
        """InitProducerId: error, producer id, epoch."""
        shard = self.shard(transactional_id)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, -1, -1)
        else:
            shard.init_producer_id(transactional_id, expected, timeout, reply)

    def add_partitions(
        self, transactional_id: str, producer: IdAndEpoch, partitions: tuple[str, ...], reply: Reply
    ) -> None:
        """AddPartitionsToTxn: the error."""
        shard = self.shard(transactional_id)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
        else:
            shard.add_partitions(transactional_id, producer, partitions, reply)

    def end(self, transactional_id: str, producer: IdAndEpoch, commit: bool, reply: Reply) -> None:
        """EndTxn: error, producer id, epoch."""
        shard = self.shard(transactional_id)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, -1, -1)
        else:
            shard.end(transactional_id, producer, commit, reply)

    # -- requests of other brokers

    def verify(self, transactional_id: str, producer: IdAndEpoch, partition: str, reply: Reply) -> None:
        """AddPartitionsToTxn that only verifies: the error."""
        shard = self.shard(transactional_id)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
        else:
            shard.verify(transactional_id, producer, partition, reply)

    def write_marker(
        self, partition: str, producer_id: int, epoch: int, coordinator_epoch: int, commit: bool, reply: Reply
    ) -> None:
        """WriteTxnMarkers for one partition: the error, once the marker is committed."""
        kind = COMMIT if commit else ABORT
        marker = Record(-1, coordinator_epoch, producer_id, epoch, kind=kind, transactional=True)
        timeout = self.broker.integer("request.timeout.ms") * MICROSECONDS
        self.broker.append_as_leader(partition, (marker,), ACKS_ALL, timeout, lambda error, _base: reply(error))

    # -- appends

    def produce(
        self, transactional_id: str, partition: str, records: tuple[Record, ...], acks: int, timeout: int, reply: Reply
    ) -> None:
        """A transactional Produce: the first of a transaction on this partition is verified with the coordinator."""
        replica = self.broker.replicas.get(partition)

        def append(guard: int) -> None:
            self.broker.append_as_leader(
                partition, records, acks, timeout, lambda error, base: reply(partition, error, base), guard
            )

        if replica is None or replica.leadership is None or not asks_coordinator(replica, records[0]):
            append(NO_GUARD)
            return
        version_2 = self.broker.cluster.version.transaction_version >= 2
        guard = replica.producers.verify(records[0], version_2).guard

        def verified(error: ErrorCode) -> None:
            if error:
                reply(partition, verification_answer(error, version_2), -1)
            else:
                append(guard)

        self._ask_coordinator(transactional_id, partition, records[0], version_2, verified)

    def _ask_coordinator(
        self,
        transactional_id: str,
        partition: str,
        record: Record,
        version_2: bool,
        then: Callable[[ErrorCode], object],
    ) -> None:
        broker = self.broker
        state = broker.image.get(self.home(transactional_id))
        leader = None if state is None else broker.brokers.get(state.leader_id)
        if leader is None:
            then(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        producer = (record.producer_id, record.producer_epoch)
        there = self.of(leader)
        handler: Callable[..., object] = there.add_partitions if version_2 else there.verify
        broker.cluster.transport.call(
            broker,
            leader,
            "AddPartitionsToTxn",
            handler,
            (transactional_id, producer, (partition,) if version_2 else partition),
            then,
            lambda _reason: then(ErrorCode.NETWORK_EXCEPTION),
        )
