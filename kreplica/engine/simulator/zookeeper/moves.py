"""Reassignments by a ZooKeeper-mode controller.

kafka.controller.KafkaController.onPartitionReassignment: the merged assignment is written, the new replicas are
started and catch up; once the whole target is in sync the leader moves if it has to, the others leave the ISR, are
deleted, and last the assignment is written, so that another controller can go on if this one fails in between.
"""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.rules.controller.reassignment import (
    Awaited,
    completes,
    original,
    zookeeper_dropped,
    zookeeper_elect_reassigned,
    zookeeper_merged,
    zookeeper_missing,
    zookeeper_move_is_fixed,
)
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.setup import topic_of
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.zookeeper.service import OK, TOPICS, Assigned, Operation, Result, state_path
from kreplica.engine.simulator.zookeeper.states import Change, Decision, ElectedController
from kreplica.engine.trace import Kind

WHY = "its replicas are moved"

Refusal = tuple[str, str]
"""Reason for which a move is refused, and the rule that refuses it."""


class ZooKeeperMoves:
    """Reassignments by one broker's controller."""

    __slots__ = ("controller",)

    def __init__(self, controller: ElectedController) -> None:
        self.controller = controller

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """Begins an operator's reassignment."""
        self.controller.put(self._asked, partition, target)

    def cancel(self, partition: str) -> None:
        """Cancels a reassignment for an operator."""
        self.controller.put(self._cancel, partition)

    def resume(self, then: Callable[[], object]) -> None:
        """Goes on with the moves that an earlier controller began."""
        self._resume(self._moving(), then)

    def brokers_are_back(self, brokers: tuple[int, ...], then: Callable[[], object]) -> None:
        """Goes on with the moves to these brokers. KafkaController.onBrokerStartup."""
        assigned = self.controller.known.assigned
        to_them = [one for one in self._moving() if set(_target(assigned[one])) & set(brokers)]
        self._resume(to_them, then)

    def told(self, state: PartitionState) -> PartitionState:
        """State of a partition as brokers get it: once a move is complete, with the target alone."""
        target = self.controller.known.ending.get(state.partition)
        return state if target is None else state._replace(adding=(), removing=()).on(target)

    def _moving(self) -> list[str]:
        return [one for one, (_, _, adding, removing) in self.controller.known.assigned.items() if adding or removing]

    def _resume(self, moving: list[str], then: Callable[[], object]) -> None:
        if moving:
            self._move(moving[0], lambda: self._resume(moving[1:], then))
        else:
            then()

    def state_changed(self, partition: str) -> None:
        """Handles an event: a partition's state was written. Completes a move whose target is in sync by now.

        KafkaController.processPartitionReassignmentIsrChange.
        """
        done = self.controller.finished

        def look(state: PartitionState) -> None:
            if self._is_complete(state):
                self._complete(state, done)
            else:
                done()

        if self.controller.active and partition in self._moving():
            self._read(partition, look, done)
        else:
            done()

    def _move(self, partition: str, then: Callable[[], object]) -> None:
        """Completes a move, or sends it to all in a new leader epoch. KafkaController.onPartitionReassignment."""

        def look(state: PartitionState) -> None:
            if self._is_complete(state):
                self._complete(state, then)
            else:
                self._raise_epoch(partition, then)

        self._read(partition, look, then)

    def _read(self, partition: str, look: Callable[[PartitionState], None], then: Callable[[], object]) -> None:
        """Reads the ISR in ZooKeeper; before 2.7, when its leader writes it there, again when it changes."""
        watches = not self.controller.broker.cluster.version.alter_partition

        def read(results: tuple[tuple[Result, ...], ...]) -> None:
            state = self.controller.known.took(partition, results[0][0])
            if self.controller.active and state is not None:
                look(state)
            else:
                then()

        self.controller.client.request(((Operation("get", state_path(partition), watch=watches),),), read)

    @staticmethod
    def _is_complete(state: PartitionState) -> bool:
        """True if the whole target is in sync; at once where nothing is left to move, as after a cancellation."""
        sets = (state.places(state.replicas), state.places(state.adding), state.places(state.removing))
        return not (state.adding or state.removing) or completes(*sets, state.isr, Awaited.TARGET)

    def _cancel(self, partition: str) -> None:
        _, replicas, adding, removing = self.controller.known.assigned[partition]
        if adding or removing:
            self._unless(self._fixed(partition), partition, original(replicas, adding))
        else:
            self.controller.finished()

    def _asked(self, partition: str, target: tuple[int, ...]) -> None:
        self._unless(self._fixed(partition) or self._missing(partition, target), partition, target)

    def _unless(self, refused: Refusal | None, partition: str, target: tuple[int, ...]) -> None:
        if refused is None or not self.controller.active:
            self._reassign(partition, target)
            return
        self.controller.emit(Kind.MOVE_REFUSED, partition, *refused)
        self.controller.finished()

    def _fixed(self, partition: str) -> Refusal | None:
        """Returns the refusal of a move while another one has to end first, or None."""
        changeable = self.controller.broker.cluster.version.moves_can_change
        if not zookeeper_move_is_fixed(partition in self._moving(), changeable):
            return None
        return "its move has to end first", "reassignment.zookeeper_move_is_fixed"

    def _missing(self, partition: str, target: tuple[int, ...]) -> Refusal | None:
        """Returns the refusal of a move while a broker is not alive that the version requires alive, or None."""
        known = self.controller.known
        _, replicas, adding, _ = known.assigned[partition]
        live = tuple(broker for broker in known.live if broker not in known.shutting_down)
        must_live = self.controller.broker.cluster.version.moves_must_live
        missing = zookeeper_missing(target, zookeeper_merged(replicas, adding, target)[1], live, must_live)
        return (f"not alive: {', '.join(map(str, missing))}", "reassignment.zookeeper_missing") if missing else None

    def _reassign(self, partition: str, target: tuple[int, ...]) -> None:
        if not self.controller.active:
            self.controller.finished()
            return
        _, replicas, adding, _ = self.controller.known.assigned[partition]
        merged = zookeeper_merged(replicas, adding, target)
        dropped = zookeeper_dropped(replicas, merged[0])

        def assign() -> None:
            self._assign((partition, *merged), lambda: self._move(partition, self.controller.finished))

        self._leave(dropped, partition, assign)

    def _leave(self, brokers: tuple[int, ...], partition: str, then: Callable[[], object]) -> None:
        """Takes replicas out of the ISR and deletes them, one after the other."""
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
        """Sends all replicas the new assignment, in a new leader epoch. updateLeaderEpochAndSendRequest."""

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
        """Tells the leader of the target alone before replicas are removed, so that none of them rejoins the ISR.

        One write moves the leader, or raises its epoch; each removed replica leaves the ISR by a further one.
        """
        known, partition = self.controller.known, state.partition
        target = known.ending[partition] = _target(known.assigned[partition])

        def decide(current: PartitionState) -> Decision | None:
            wanted, online = current.places(target), known.online(current)
            elected = zookeeper_elect_reassigned(wanted, current.isr, online, current.leader)
            return (elected, current.isr) if elected != NO_LEADER else None

        def over() -> None:
            known.states[partition] = self.told(known.states[partition])
            del known.ending[partition]
            then()

        def elected() -> None:
            self._leave(state.removing, partition, lambda: self._assign((partition, target, (), ()), over))

        self._change(partition, decide, "reassignment.zookeeper_elect_reassigned", elected)


def _target(assigned: Assigned) -> tuple[int, ...]:
    """The target replicas of an assignment."""
    _, replicas, _, removing = assigned
    return tuple(broker for broker in replicas if broker not in removing)
