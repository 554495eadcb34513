"""Reassignments by a ZooKeeper-mode controller.

kafka.controller.KafkaController.onPartitionReassignment: the merged assignment is written, the new replicas are
started and catch up; once everybody wanted is in sync the leader moves if it has to, the others leave the ISR, are
deleted, and last the assignment says so, so that a controller that fails in between can be followed by another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.rules.reassignment import (
    Awaited,
    completes,
    original,
    zookeeper_dropped,
    zookeeper_elect_reassigned,
    zookeeper_merged,
    zookeeper_missing,
)
from kreplica.engine.rules.replica_set import NO_LEADER
from kreplica.engine.setup import topic_of
from kreplica.engine.simulator.partition_state import PartitionState
from kreplica.engine.simulator.zookeeper import OK, Operation, Result
from kreplica.engine.simulator.zookeeper_paths import TOPICS, Assigned, state_path
from kreplica.engine.simulator.zookeeper_states import Change, Decision
from kreplica.engine.trace import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from kreplica.engine.simulator.controller_zookeeper import ZooKeeperController

WHY = "its replicas are moved"


class ZooKeeperMoves:
    """The moves of one broker's controller."""

    __slots__ = ("controller",)

    def __init__(self, controller: ZooKeeperController) -> None:
        self.controller = controller

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """An operator moves a partition."""
        self.controller.put(self._asked, partition, target)

    def cancel(self, partition: str) -> None:
        """An operator takes a move back."""
        self.controller.put(self._cancel, partition)

    def resume(self, then: Callable[[], object]) -> None:
        """Goes on with what an earlier controller began."""
        moving = [one for one, (_, _, adding, removing) in self.controller.known.assigned.items() if adding or removing]
        self._resume(moving, then)

    def _resume(self, moving: list[str], then: Callable[[], object]) -> None:
        if moving:
            self._watch(moving[0], lambda: self._resume(moving[1:], then))
        else:
            then()

    def state_changed(self, partition: str) -> None:
        """An event: the state of a partition that is moved has been written. PartitionReassignmentIsrChange."""
        assigned = self.controller.known.assigned.get(partition)
        if self.controller.active and assigned is not None and (assigned[2] or assigned[3]):
            self._watch(partition, self.controller.finished)
        else:
            self.controller.finished()

    def _watch(self, partition: str, then: Callable[[], object]) -> None:
        """Looks at the ISR in ZooKeeper; before 2.7, where its leader writes it there, again when it changes."""
        watches = not self.controller.broker.simulation.version.alter_partition

        def read(results: tuple[tuple[Result, ...], ...]) -> None:
            self.controller.known.took(partition, results[0][0])
            self.look_at(partition, then)

        self.controller.client.request(((Operation("get", state_path(partition), watch=watches),),), read)

    def look_at(self, partition: str, then: Callable[[], object]) -> None:
        """Completes a move whose target replicas are all in sync by now."""
        state = self.controller.known.states[partition]
        sets = (state.places(state.replicas), state.places(state.adding), state.places(state.removing))
        if self.controller.active and completes(*sets, state.isr, Awaited.TARGET):
            self._complete(state, then)
        else:
            then()

    def _cancel(self, partition: str) -> None:
        _, replicas, adding, removing = self.controller.known.assigned[partition]
        if adding or removing:
            self._reassign(partition, original(replicas, adding))
        else:
            self.controller.finished()

    def _asked(self, partition: str, target: tuple[int, ...]) -> None:
        """Begins a move where those are alive that the version asks for."""
        controller = self.controller
        known = controller.known
        _, replicas, adding, _ = known.assigned[partition]
        live = tuple(broker for broker in known.live if broker not in known.shutting_down)
        must_live = controller.broker.simulation.version.moves_must_live
        missing = zookeeper_missing(target, zookeeper_merged(replicas, adding, target)[1], live, must_live)
        if controller.active and missing:
            why = f"not alive: {', '.join(map(str, missing))}"
            controller.emit(Kind.MOVE_REFUSED, partition, why, "reassignment.zookeeper_missing")
            controller.finished()
        else:
            self._reassign(partition, target)

    def _reassign(self, partition: str, target: tuple[int, ...]) -> None:
        if not self.controller.active:
            self.controller.finished()
            return
        _, replicas, adding, _ = self.controller.known.assigned[partition]
        merged = zookeeper_merged(replicas, adding, target)
        dropped = zookeeper_dropped(replicas, merged[0])

        def started() -> None:
            self._raise_epoch(partition, lambda: self._watch(partition, self.controller.finished))

        self._leave(dropped, partition, lambda: self._assign((partition, *merged), started))

    def _leave(self, brokers: tuple[int, ...], partition: str, then: Callable[[], object]) -> None:
        """Replicas leave the ISR and are deleted, one after the other."""
        if not brokers:
            then()
            return
        broker, controller = brokers[0], self.controller

        def left() -> None:
            controller.stop_replicas(broker, (partition,), True)
            self._leave(brokers[1:], partition, then)

        controller.leave_isr(broker, (partition,), WHY, left)

    def _assign(self, assigned: Assigned, then: Callable[[], object]) -> None:
        """Writes an assignment, in ZooKeeper before anywhere else."""
        known, topic = self.controller.known, topic_of(assigned[0])
        every = {**known.assigned, assigned[0]: assigned}
        data = tuple(one for partition, one in every.items() if topic_of(partition) == topic)
        write = (*known.guard(), Operation("set", f"{TOPICS}/{topic}", data))
        self.controller.client.request((write,), self._assigned, assigned, then)

    def _assigned(
        self, results: tuple[tuple[Result, ...], ...], assigned: Assigned, then: Callable[[], object]
    ) -> None:
        if results[0][-1].code != OK:
            self.controller.moved()
            return
        self.controller.known.assigned[assigned[0]] = assigned
        then()

    def _raise_epoch(self, partition: str, then: Callable[[], object]) -> None:
        """Tells all replicas of the new assignment, in a new leader epoch. updateLeaderEpochAndSendRequest."""

        def decide(state: PartitionState) -> Decision | None:
            return state.leader, state.isr

        self._change(partition, decide, "leader_epoch_bump.zookeeper_leader_epoch", then)

    def _change(
        self, partition: str, decide: Callable[[PartitionState], Decision | None], rule: str, then: Callable[[], object]
    ) -> None:
        def announce(changed: list[PartitionState]) -> None:
            self.controller.announce(changed)
            then()

        self.controller.known.change((partition,), Change(decide, WHY, rule, announce))

    def _complete(self, state: PartitionState, then: Callable[[], object]) -> None:
        """The leader hears of the target alone before anything is taken away, so that it lets nobody back in.

        Kafka shrinks the ISR with a further write for each replica that goes, and a leader epoch each.
        """
        known = self.controller.known
        target = tuple(broker for broker in state.replicas if broker not in state.removing)
        known.assigned[state.partition] = completed = (state.partition, target, (), ())

        def decide(current: PartitionState) -> Decision | None:
            everybody = current.places(current.replicas)
            elected = zookeeper_elect_reassigned(everybody, current.isr, known.online(current), current.leader)
            return (elected, current.isr) if elected != NO_LEADER else None

        def elected() -> None:
            for broker in state.removing:
                self.controller.stop_replicas(broker, (state.partition,), True)
            self._assign(completed, then)

        self._change(state.partition, decide, "reassignment.zookeeper_elect_reassigned", elected)
