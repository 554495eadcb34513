"""What both coordinators are: the leader of a partition of an internal topic coordinates the names that live in it.

kafka.coordinator.group.GroupCoordinator and kafka.coordinator.transaction.TransactionCoordinator; their partitions are
``shards`` as in org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, Self, TypeVar

from kreplica.engine.rules.replication.error_codes import ErrorCode

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker.broker import Broker
    from kreplica.engine.simulator.broker.replica import Replica

APPEND_ERRORS = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""What a client hears when a coordinator's append fails.

GroupMetadataManager.appendForGroup and storeOffsets, TransactionStateManager.appendTransactionToLog.
"""


class Closing(Protocol):
    """What a coordinator has for each partition that it leads."""

    def close(self) -> None:
        """The broker leads the partition no more."""


S = TypeVar("S", bound=Closing)


class Coordinator(ABC, Generic[S]):
    """Hears from its broker of what it leads, as one of its ``coordinators``."""

    __slots__ = ("_shards", "broker")

    topic: ClassVar[str]

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._shards: dict[str, S] = {}

    @classmethod
    def of(cls, broker: Broker) -> Self:
        """That of a broker; every broker of a setup with the topic has one."""
        found = next((one for one in broker.coordinators if isinstance(one, cls)), None)
        assert found is not None, f"{broker.name} has no {cls.__name__}: there is no {cls.topic}"
        return found

    @abstractmethod
    def begin(self, replica: Replica) -> S:
        """A shard for a partition that the broker leads in a new epoch."""

    # -- what the broker tells

    def ended(self) -> None:
        """The process is gone, and what it knew with it; what it would still answer reaches nobody."""
        for shard in self._shards.values():
            shard.close()
        self._shards = {}

    def leads(self, replica: Replica) -> None:
        """The broker leads a partition in a new epoch."""
        if replica.topic == self.topic:
            self.resigned(replica)
            self._shards[replica.partition] = self.begin(replica)

    def resigned(self, replica: Replica) -> None:
        """The broker leads a partition no more."""
        shard = self._shards.pop(replica.partition, None)
        if shard is not None:
            shard.close()

    # -- where names live

    def home(self, name: str) -> str:
        """The partition whose leader coordinates the name."""
        return self.broker.simulation.home(self.topic, name)

    def shard(self, name: str) -> S | None:
        """The shard of a name, None if it is not here."""
        return self._shards.get(self.home(name))
