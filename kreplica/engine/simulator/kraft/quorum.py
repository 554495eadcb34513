"""The KRaft quorum, as one log that a majority keeps: the active controller, and the committed entries.

A published model (Vanlightly's v3.5 and KIP-966) treats the quorum as one replicated state machine, and so does this:
voters are processes that can crash, pause and be cut off, an active controller needs a majority to be elected
and to commit, and loses its uncommitted entries when another takes over. The messages of Raft are not played.

Also the entries of the metadata log about brokers and partitions, and a leader's request for an ISR.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kreplica.engine.rules.replication.quorum import has_majority, quorum_commit_latency, resigns_without_fetches
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.node import Node
from kreplica.engine.trace import Kind


class Entry(NamedTuple):
    """One record of the metadata log: its subject, and the new state of that.

    Args:
        key: Its kind, and a name or id.
        value: The new state.
        clears_elr: Whether it takes an ELR away as ClearElrRecord does; the controller's index of ELRs stays as it is.
    """

    key: tuple[str, Any]
    value: Any
    clears_elr: bool = False


class Voter(Node, ABC):
    """A controller process, as the quorum knows it."""

    __slots__ = ("last_contact", "quorum")

    def __init__(self, cluster: Cluster, number: int, quorum: MetadataQuorum) -> None:
        super().__init__(cluster, f"controller-{number}")
        self.quorum = quorum
        self.last_contact = 0

    def on_start(self) -> None:
        """Checks from time to time for an active controller."""
        self.last_contact = self.clock.now
        self.after(0, self._look)

    def on_end(self) -> None:
        """Resigns as the controller."""
        self.quorum.resigned(self)

    def is_active(self) -> bool:
        """True if this is the active controller."""
        return self.quorum.active is self

    @abstractmethod
    def activate(self, epoch: int) -> None:
        """Begins to act as the controller, with the log as it is."""

    @abstractmethod
    def deactivate(self) -> None:
        """Ends to act as the controller."""

    def _look(self) -> None:
        self.quorum.look(self)
        self.after(self.quorum.fetch_timeout // 4, self._look)


class MetadataQuorum:
    """The voters and their log. ``committed`` is the number of entries that brokers may see."""

    __slots__ = ("active", "cluster", "committed", "entries", "epoch", "fetch_timeout", "voters")

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.voters: Sequence[Voter] = ()
        self.active: Voter | None = None
        self.epoch = 0
        self.entries: list[Entry] = []
        self.committed = 0
        self.fetch_timeout = cluster.integer("controller.quorum.fetch.timeout.ms") * MICROSECONDS

    def append(self, entries: list[Entry], then: Callable[[], object]) -> None:
        """Appends the active controller's entries, and calls ``then`` once they are committed.

        Without a majority they are not: ``then`` is called when one is back, never if another controller takes over.
        """
        self.entries.extend(entries)
        self._commit(len(self.entries), self.epoch, then)

    def _commit(self, end: int, epoch: int, then: Callable[[], object]) -> None:
        active = self.active
        if active is None or epoch != self.epoch:
            return
        followers = self._reached_by(active)
        if not has_majority(len(self.voters), len(followers) + 1):
            active.after(self.fetch_timeout // 4, self._commit, end, epoch, then)
            return
        transport = self.cluster.transport
        trips = [
            2 * transport.latency + transport.link(active, other).delay + transport.link(other, active).delay
            for other in followers
        ]
        trips += [trips[-1]] * (len(self.voters) - 1 - len(trips)) if trips else []
        active.after(quorum_commit_latency(tuple(trips)), self._committed, end, epoch, then)

    def _committed(self, end: int, epoch: int, then: Callable[[], object]) -> None:
        if epoch == self.epoch:
            self.committed = max(self.committed, end)
            then()

    def look(self, voter: Voter) -> None:
        """A voter's periodic check: stands for election if it has been without an active controller for too long."""
        now = self.cluster.clock.now
        if self.active is voter:
            self._look_at_followers(voter, now)
            return
        active = self.active
        if active is not None and not active.paused and self.cluster.transport.reachable(voter, active):
            voter.last_contact = now
            return
        spread = self.cluster.integer("controller.quorum.election.timeout.ms") * MICROSECONDS
        patience = self.fetch_timeout + self.cluster.streams.stream(f"election {voter.name}").randrange(spread)
        if self.epoch and now - voter.last_contact < patience:
            return
        if has_majority(len(self.voters), len(self._reached_by(voter)) + 1):
            self._elect(voter)

    def _look_at_followers(self, active: Voter, now: int) -> None:
        if has_majority(len(self.voters), len(self._reached_by(active)) + 1):
            active.last_contact = now
        elif resigns_without_fetches(now - active.last_contact, self.fetch_timeout):
            self.resigned(active, "quorum.resigns_without_fetches")

    def _elect(self, voter: Voter) -> None:
        if self.active is not None:
            self.resigned(self.active, "quorum.has_majority")
        self.epoch += 1
        self.active = voter
        del self.entries[self.committed :]
        voter.last_contact = self.cluster.clock.now
        voter.emit(Kind.CONTROLLER_ELECTED, self.epoch, "quorum.has_majority")
        voter.activate(self.epoch)

    def resigned(self, voter: Voter, rule: str = "") -> None:
        """Notes that the active controller has ended, or has resigned by a rule."""
        if self.active is not voter:
            return
        self.active = None
        voter.deactivate()
        voter.emit(Kind.CONTROLLER_RESIGNED, self.epoch, rule)

    def _reached_by(self, voter: Voter) -> list[Voter]:
        transport = self.cluster.transport
        return [
            other
            for other in self.voters
            if other is not voter and not other.paused and transport.reachable(voter, other)
        ]


PARTITION = "partition"
BROKER = "broker"
DISK = "disk"
"""Subject of an entry of the metadata log; of a disk, the one on which partitions say that a broker's replicas are."""


class Registration(NamedTuple):
    """A broker's registration in the metadata log.

    Args:
        broker, epoch: Its id and epoch.
        incarnation: Number of its life.
        state: Whether it is fenced, or shuts down.
        offset: What it has to have read to leave that state.
        disk: Its disk, which names the log directories that it registers: one that was lost has another number.
    """

    broker: int
    epoch: int
    incarnation: int
    state: int
    offset: int
    disk: int = 0


class IsrRequest(NamedTuple):
    """One partition of an AlterPartition request."""

    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    recovering: bool
