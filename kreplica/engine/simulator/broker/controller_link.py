"""How brokers, operators and the controller speak with each other: one way by KRaft, another by ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker.leadership import Leadership


class ControllerLink(Protocol):
    """A broker's side."""

    def joined(self, clean: bool) -> None:
        """The broker has started; ``clean`` says whether it had stopped cleanly before."""

    def ended(self) -> None:
        """The broker's process is gone."""

    def ask_isr(self, leadership: Leadership) -> None:
        """The leader wants its pending ISR: the answer comes by ``committed`` or ``refused``."""

    def controlled_shutdown(self, then: Callable[[], None]) -> None:
        """The broker wants to stop: its leaders are moved first."""

    def directory_failed(self, partitions: tuple[str, ...]) -> None:
        """A log directory with these partitions has failed."""


class ControllerOperations(Protocol):
    """What an operator asks the controller for."""

    def elect_preferred(self, partition: str) -> None:
        """A preferred leader election."""

    def elect_unclean(self, partition: str) -> None:
        """An unclean election."""

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """Other replicas."""

    def cancel_reassignment(self, partition: str) -> None:
        """The replicas there were."""

    def topic_changed(self, topic: str, setting: str) -> None:
        """A topic has another setting."""
