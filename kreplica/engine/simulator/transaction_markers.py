"""Brings the markers of one transaction to the leaders of its partitions.

kafka.coordinator.transaction.TransactionMarkerChannelManager and TransactionMarkerRequestCompletionHandler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.rules.transaction_states import TransactionMetadata, TransactionState
from kreplica.engine.setup import MILLISECOND

if TYPE_CHECKING:
    from kreplica.engine.simulator.transaction_shard import TransactionShard

RETRY_BACKOFF = 100 * MILLISECOND
"""Until a marker that was refused is sent again."""
_OVER = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
"""A later epoch of producer or coordinator has been there: this transaction is somebody else's."""


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
        leader = None if state is None else broker.simulation.brokers.get(state.leader_id)
        if leader is None:
            broker.after(RETRY_BACKOFF, self._send, partition)
            return
        commit = metadata.state is TransactionState.PREPARE_COMMIT
        broker.simulation.network.call(
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
