"""The process of a consumer as its parts know it: its membership, its positions, its transactions, its application."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from kreplica.engine.setup import ConsumerSetup
from kreplica.engine.simulator.clients.client import Client
from kreplica.engine.trace import Record


class PollLoop(Client, ABC):
    """A process that polls: its state that its parts read, and what they ask of it.

    ``processing`` is true between two polls, ``failed`` once the application has ended after an exception;
    ``last_poll`` is in microseconds.
    """

    __slots__ = ()

    setup: ConsumerSetup
    processing: bool
    failed: bool
    last_poll: int

    @abstractmethod
    def fail(self, error: str) -> None:
        """Ends the application after an exception of the consumer: it reads no more."""

    # -- of a member of a group

    @abstractmethod
    def partition_counts(self, topics: tuple[str, ...]) -> dict[str, int]:
        """The number of partitions of each topic in the consumer's metadata."""

    @abstractmethod
    def next_bootstrap(self) -> int:
        """Returns another broker to ask each time."""

    @abstractmethod
    def assigned_now(self) -> None:
        """Continues the poll with the partitions that the group has assigned."""

    @abstractmethod
    def commit_before_revocation(self, then: Callable[[], object]) -> None:
        """Commits the processed records before partitions are revoked."""

    @abstractmethod
    def poke(self) -> None:
        """Makes a waiting poll look at a change at once."""

    # -- of positions

    @abstractmethod
    def fetch_more(self) -> None:
        """Fetches while the application waits for records."""

    @abstractmethod
    def records_came(self) -> None:
        """Returns from the waiting poll once a fetch has brought records."""

    # -- of the application

    @abstractmethod
    def stall(self, value: object) -> int:
        """Additional processing time of a value, in microseconds, the first time it is processed."""

    @abstractmethod
    def tell(self, partition: str, offset: int, record: Record, result: str) -> None:
        """Writes the result of a record into the trace."""
