"""A broker as its replicas, leaderships and fetchers know it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kreplica.engine.simulator.node import Node


class ReplicaHost(Node, ABC):
    """The process that hosts replicas: its state that they read, and what they ask of it.

    Partitions go by name: the host has at most one replica of each. ``lag_time_max`` and ``disk_delay`` are in
    microseconds.
    """

    __slots__ = ()

    id: int
    broker_epoch: int
    alive: dict[int, int]
    lag_time_max: int
    disk_delay: int

    @abstractmethod
    def integer(self, name: str) -> int:
        """A setting of this broker."""

    @abstractmethod
    def halt(self) -> None:
        """Ends by itself: at once, or by System.exit (since 0.10.0.1)."""

    # -- of a leader

    @abstractmethod
    def eligible(self, replicas: tuple[int, ...], broker_epochs: list[int]) -> int:
        """The replicas that may be in the ISR as far as this broker knows, as a set of indexes in ``replicas``."""

    @abstractmethod
    def ask_isr(self, partition: str) -> None:
        """Requests the pending ISR of a partition that it leads."""

    @abstractmethod
    def leads(self, partition: str) -> None:
        """Tells the coordinators of a partition that this broker now leads it."""

    @abstractmethod
    def resigned(self, partition: str) -> None:
        """Tells the coordinators of a partition that this broker no longer leads it."""

    # -- of a follower

    @abstractmethod
    def follow(self, partition: str) -> None:
        """Starts to fetch from the partition's leader."""

    @abstractmethod
    def stop_following(self, partition: str) -> None:
        """Stops fetching the partition."""
