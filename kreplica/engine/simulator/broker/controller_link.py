"""Interfaces between brokers, operators and the controller: KRaft and ZooKeeper mode each implement them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kreplica.engine.simulator.broker.leadership import Leadership


class ControllerLink(Protocol):
    """A broker's side of the link to its controller."""

    def joined(self, clean: bool) -> None:
        """Registers the started broker; ``clean`` is whether it had stopped cleanly before."""

    def ended(self) -> None:
        """Notes that the broker's process has ended."""

    def ask_isr(self, leadership: Leadership) -> None:
        """Requests the leader's pending ISR: the answer comes by ``committed`` or ``refused``."""

    def controlled_shutdown(self, then: Callable[[], None]) -> None:
        """Requests a controlled shutdown: the broker's leaderships are moved first, then ``then`` is called."""

    def directory_failed(self, partitions: tuple[str, ...]) -> None:
        """Reports that a log directory with these partitions has failed."""


class ControllerOperations(Protocol):
    """Operations that an operator asks of the controller."""

    def elect_preferred(self, partition: str) -> None:
        """Elects the preferred leader."""

    def elect_unclean(self, partition: str) -> None:
        """Elects a leader uncleanly."""

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """Moves the partition to other replicas."""

    def cancel_reassignment(self, partition: str) -> None:
        """Returns the partition to the replicas it had."""

    def topic_changed(self, topic: str, setting: str) -> None:
        """Reacts to a changed setting of a topic."""
