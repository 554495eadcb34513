"""A replica that changes its log directory and stays on its broker. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

ReplicaKey: TypeAlias = tuple[str, int, int]
"""Topic, partition and broker."""


@dataclass(frozen=True, slots=True)
class ChangedDirectory:
    """A replica that stays on its broker and changes its log directory.

    Args:
        topic, partition, broker: The replica.
        source: The directory that it leaves.
        destination: The directory that it goes to.
        size: Its bytes.
    """

    topic: str
    partition: int
    broker: int
    source: str
    destination: str
    size: int

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def replica(self) -> ReplicaKey:
        """Topic, partition and broker."""
        return self.topic, self.partition, self.broker

    def inverse(self) -> ChangedDirectory:
        """The change that undoes it."""
        return replace(self, source=self.destination, destination=self.source)
