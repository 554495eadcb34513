"""The change of one partition's replicas."""

from __future__ import annotations

from dataclasses import dataclass

from kreplica.execution.plan import PartitionKey


@dataclass(frozen=True, slots=True)
class ReplicaChange:
    """One partition's change of replicas.

    Args:
        topic: Topic name.
        partition: Partition index.
        from_replicas: Replicas before, the preferred leader first.
        to_replicas: Replicas afterwards, the preferred leader first.
        size: Bytes of the leader's copy; None where no source told.
        directories: Broker and log directory of added replicas, where the directory is chosen.
    """

    topic: str
    partition: int
    from_replicas: tuple[int, ...]
    to_replicas: tuple[int, ...]
    size: int | None = None
    directories: tuple[tuple[int, str], ...] = ()

    @property
    def key(self) -> PartitionKey:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def adding(self) -> tuple[int, ...]:
        """Brokers that get a replica, in order of the new replicas."""
        return tuple(broker for broker in self.to_replicas if broker not in self.from_replicas)

    @property
    def removing(self) -> tuple[int, ...]:
        """Brokers that lose their replica, in order of the old replicas."""
        return tuple(broker for broker in self.from_replicas if broker not in self.to_replicas)

    @property
    def total_bytes(self) -> int:
        """Bytes that are copied; 0 where the size is not known."""
        return (self.size or 0) * len(self.adding)

    def inverse(self) -> ReplicaChange:
        """The change that undoes it; the broker chooses the directories."""
        return ReplicaChange(self.topic, self.partition, self.to_replicas, self.from_replicas, self.size)
