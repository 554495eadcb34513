"""Partitions as a ZooKeeper-mode controller knows and changes them.

kafka.controller.ControllerContext; PartitionStateMachine and ReplicaStateMachine where they write: read the state,
decide, write against the version read, and read and decide again if another writer was faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kreplica.engine.rules.controller.broker_failure import failed_partitions
from kreplica.engine.rules.controller.controller_election import state_written_by_newer
from kreplica.engine.rules.controller.leader_epoch_bump import zookeeper_leader_epoch
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, without
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.zookeeper.client import ZooKeeperClient
from kreplica.engine.simulator.zookeeper.service import (
    BAD_VERSION,
    CONTROLLER_EPOCH,
    OK,
    Assigned,
    Operation,
    Result,
    Transaction,
    state_data,
    state_of,
    state_path,
)
from kreplica.engine.trace import Kind

Decision = tuple[int, int]
"""Index of the leader in the assignment, and the ISR."""


class Change(NamedTuple):
    """A change of several partitions.

    Args:
        decide: Decides on a partition as ZooKeeper has it; None leaves it unchanged.
        why: The reason, for the trace.
        rule: The rule that decides.
        by_leader: Whether a leader proposed it: its epoch then stays.
        then: Called with the changed partitions, in their new state.
    """

    decide: Callable[[PartitionState], Decision | None]
    why: str
    rule: str
    then: Callable[[list[PartitionState]], object]
    by_leader: bool = False


class ElectedController(ABC):
    """A broker's controller as its parts know it: what it knows and may do, and the queue of its events.

    ``epoch_version`` is the version of /controller_epoch that it wrote.
    """

    __slots__ = ()

    broker: Broker
    client: ZooKeeperClient
    known: ZooKeeperStates
    active: bool
    epoch: int
    epoch_version: int

    @property
    @abstractmethod
    def checks_epoch(self) -> bool:
        """True if its writes name the version of the controller epoch."""

    @abstractmethod
    def emit(self, kind: str, *values: Any) -> None:
        """Writes an event into the trace, at the broker that is the controller."""

    @abstractmethod
    def emit_refused(self, partition: str, newer: int) -> None:
        """Emits that a newer controller has written a partition."""

    @abstractmethod
    def put(self, event: Callable[..., object], *arguments: Any) -> None:
        """Queues an event after those that wait."""

    @abstractmethod
    def finished(self) -> None:
        """Goes on to the next event."""

    @abstractmethod
    def moved(self) -> None:
        """Resigns and looks for the new controller: ZooKeeper refused a write of this epoch."""

    @abstractmethod
    def leave_isr(self, broker: int, partitions: Iterable[str], why: str, then: Callable[[], object]) -> None:
        """Takes one broker's replicas of some partitions out of their ISRs, and informs the other replicas."""

    @abstractmethod
    def announce(self, changed: list[PartitionState], removed: int = NO_LEADER) -> None:
        """LeaderAndIsr to the replicas, less a removed broker's, UpdateMetadata to every broker."""

    @abstractmethod
    def update_metadata(self, states: Iterable[PartitionState]) -> None:
        """An UpdateMetadata request to every live broker: the live brokers, and these partitions."""

    @abstractmethod
    def stop_replicas(self, broker: int, partitions: Iterable[str], delete: bool) -> None:
        """A StopReplica request to one broker."""


class ZooKeeperStates:
    """State known to the controller: assignments, states, live brokers.

    ``live`` are broker ids and epochs, ``shutting_down`` those of them that are in controlled shutdown, ``offline``
    replicas on failed log directories, ``unled`` the partitions in state OfflinePartition: their leader is gone, and no
    other has been elected. ``ending`` are the targets of moves that are complete but for the removal of replicas.
    Dictionaries without values are ordered sets.
    """

    __slots__ = ("assigned", "controller", "ending", "live", "offline", "shutting_down", "states", "unled")

    def __init__(self, controller: ElectedController) -> None:
        self.controller = controller
        self.assigned: dict[str, Assigned] = {}
        self.states: dict[str, PartitionState] = {}
        self.ending: dict[str, tuple[int, ...]] = {}
        self.live: dict[int, int] = {}
        self.shutting_down: dict[int, None] = {}
        self.offline: dict[tuple[str, int], None] = {}
        self.unled: dict[str, None] = {}

    def online(self, state: PartitionState) -> int:
        """Replicas that may be elected: broker live and not about to shut down, log directory online.

        ControllerContext.isReplicaOnline.
        """
        return without(self.up(state), state.places(tuple(self.shutting_down)))

    def up(self, state: PartitionState) -> int:
        """The same with brokers in controlled shutdown: they lead until they are gone (includeShuttingDownBrokers)."""
        here = (b for b in state.replicas if b in self.live and (state.partition, b) not in self.offline)
        return state.places(tuple(here))

    def on(self, broker: int) -> list[str]:
        """The partitions with a replica on a broker."""
        names = tuple(self.assigned)
        numbers = failed_partitions(tuple(assigned[1] for assigned in self.assigned.values()), (broker,))
        return [names[number] for number in numbers]

    def note_unled(self) -> None:
        """Finds the partitions whose leader is not online now."""
        for partition, state in self.states.items():
            if not contains(self.up(state), state.leader):
                self.unled[partition] = None

    def took(self, partition: str, result: Result) -> PartitionState | None:
        """Notes the contents of a state znode."""
        if result.code != OK:
            return None
        keeps_order = self.controller.broker.cluster.version.shutdown_by_isr_order
        state = self.states[partition] = state_of(self.assigned[partition], result.data, result.version, keeps_order)
        return state

    def change(self, partitions: Iterable[str], change: Change, changed: list[PartitionState] | None = None) -> None:
        """Changes partitions, with one decision each; decides again for those that another writer changed meanwhile."""
        wanted, done = list(partitions), changed or []
        if not wanted:
            change.then(done)
            return
        reads: tuple[Transaction, ...] = tuple((Operation("get", state_path(one)),) for one in wanted)
        self.controller.client.request(reads, self._read, wanted, change, done)

    def _read(
        self, results: tuple[tuple[Result, ...], ...], wanted: list[str], change: Change, done: list[PartitionState]
    ) -> None:
        decided: list[PartitionState] = []
        for partition, (result,) in zip(wanted, results, strict=True):
            if result.code == OK and state_written_by_newer(result.data[0], self.controller.epoch):
                self.controller.emit_refused(partition, result.data[0])
                continue
            state = self.took(partition, result)
            decision = None if state is None else change.decide(state)
            if state is not None and decision is not None:
                epoch = zookeeper_leader_epoch(state.leader_epoch, change.by_leader)
                made = state._replace(leader=decision[0], isr=decision[1], leader_epoch=epoch)
                decided.append(made._replace(isr_order=made.listed_isr()) if state.isr_order else made)
        if not decided:
            change.then(done)
            return
        writes = tuple(self._write(state) for state in decided)
        self.controller.client.request(writes, self._written, decided, change, done)

    def _write(self, state: PartitionState) -> Transaction:
        data = state_data(state, self.controller.epoch)
        write = Operation("set", state_path(state.partition), data, state.partition_epoch)
        return (*self.guard(), write)

    def guard(self) -> Transaction:
        """The check that fences a deposed controller's writes, since 2.1 (KAFKA-6082): of /controller_epoch's version.

        Before, it could still write a partition whose version it knew.
        """
        if not self.controller.checks_epoch:
            return ()
        return (Operation("check", CONTROLLER_EPOCH, version=self.controller.epoch_version),)

    def _written(
        self,
        results: tuple[tuple[Result, ...], ...],
        decided: list[PartitionState],
        change: Change,
        done: list[PartitionState],
    ) -> None:
        again: list[str] = []
        for state, result in zip(decided, results, strict=True):
            if len(result) > 1 and result[0].code == BAD_VERSION:  # of the check; bad versions of states are read again
                self.controller.moved()
                return
            if result[-1].code == OK:
                done.append(self._noted(state._replace(partition_epoch=result[-1].version), change))
            else:
                again.append(state.partition)
        self.change(again, change, done)

    def _noted(self, state: PartitionState, change: Change) -> PartitionState:
        self.states[state.partition] = state
        if contains(self.up(state), state.leader):
            self.unled.pop(state.partition, None)
        self.controller.emit(
            Kind.PARTITION_CHANGED,
            state.partition,
            state.leader_id,
            state.leader_epoch,
            state.ids(state.isr),
            (),
            state.partition_epoch,
            change.why,
            change.rule,
        )
        return state
