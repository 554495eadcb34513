"""A broker's side of transactions: its shards of __transaction_state, markers it is sent, appends it verifies.

kafka.coordinator.transaction.TransactionCoordinator, kafka.server.KafkaApis.handleWriteTxnMarkersRequest and
kafka.server.AddPartitionsToTxnManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kreplica.engine.records import ABORT, COMMIT, Record
from kreplica.engine.rules.acknowledgement import ACKS_ALL
from kreplica.engine.rules.coordinator_partition import TRANSACTIONS_TOPIC
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.rules.init_producer_id import IdAndEpoch
from kreplica.engine.rules.transaction_append import NO_GUARD, verification_answer
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.coordinator import Coordinator
from kreplica.engine.simulator.producer_checks import asks_coordinator
from kreplica.engine.simulator.transaction_shard import TransactionShard

if TYPE_CHECKING:
    from kreplica.engine.simulator.replica import Replica

Reply = Callable[..., object]


class TransactionCoordinator(Coordinator[TransactionShard]):
    """A broker's transaction coordinator, and what its broker does for those of others."""

    __slots__ = ()

    topic = TRANSACTIONS_TOPIC

    def begin(self, replica: Replica) -> TransactionShard:
        """Reads the partition's transactional ids, and coordinates them."""
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

    # -- what other brokers ask

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
        version_2 = self.broker.simulation.version.transaction_version >= 2
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
        leader = None if state is None else broker.simulation.brokers.get(state.leader_id)
        if leader is None:
            then(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        producer = (record.producer_id, record.producer_epoch)
        there = self.of(leader)
        handler: Callable[..., object] = there.add_partitions if version_2 else there.verify
        broker.simulation.network.call(
            broker,
            leader,
            "AddPartitionsToTxn",
            handler,
            (transactional_id, producer, (partition,) if version_2 else partition),
            then,
            lambda _reason: then(ErrorCode.NETWORK_EXCEPTION),
        )
