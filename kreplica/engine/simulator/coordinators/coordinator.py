"""Base of both coordinators: the leader of a partition of an internal topic coordinates the names stored in it.

kafka.coordinator.group.GroupCoordinator and kafka.coordinator.transaction.TransactionCoordinator; their partitions are
``shards`` as in org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, Protocol, Self, TypeVar

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.replica import Replica

APPEND_ERRORS = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""Error sent to a client when a coordinator's append fails.

GroupMetadataManager.appendForGroup and storeOffsets, TransactionStateManager.appendTransactionToLog.
"""


class Closing(Protocol):
    """State that a coordinator holds for each partition that it leads."""

    def close(self) -> None:
        """Ends with the broker's leadership of the partition."""


S = TypeVar("S", bound=Closing)


class Coordinator(ABC, Generic[S]):
    """A coordinator, which its broker tells of the partitions it leads, as one of its ``coordinators``."""

    __slots__ = ("_shards", "broker")

    topic: ClassVar[str]

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._shards: dict[str, S] = {}

    @classmethod
    def of(cls, broker: Broker) -> Self:
        """The coordinator of a broker; every broker of a setup with the topic has one."""
        found = next((one for one in broker.coordinators if isinstance(one, cls)), None)
        assert found is not None, f"{broker.name} has no {cls.__name__}: there is no {cls.topic}"
        return found

    @abstractmethod
    def begin(self, replica: Replica) -> S:
        """A shard for a partition that the broker leads in a new epoch."""

    # -- reports of the broker

    def ended(self) -> None:
        """Forgets everything when the process ends; unsent answers are dropped."""
        for shard in self._shards.values():
            shard.close()
        self._shards = {}

    def leads(self, replica: Replica) -> None:
        """Starts to coordinate a partition that the broker leads in a new epoch."""
        if replica.topic == self.topic:
            self.resigned(replica)
            self._shards[replica.partition] = self.begin(replica)

    def resigned(self, replica: Replica) -> None:
        """Stops coordinating a partition that the broker no longer leads."""
        shard = self._shards.pop(replica.partition, None)
        if shard is not None:
            shard.close()

    # -- the partition of a name

    def home(self, name: str) -> str:
        """The partition whose leader coordinates the name."""
        return self.broker.cluster.home(self.topic, name)

    def shard(self, name: str) -> S | None:
        """The shard of a name, None if it is not here."""
        return self._shards.get(self.home(name))
