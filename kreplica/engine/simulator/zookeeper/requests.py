"""Requests to a ZooKeeper-mode controller: ISRs, controlled shutdown, elections, balancing, moves.

kafka.controller.KafkaController. Each is an event of its own; a broker that is not the controller answers so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kreplica.engine.rules.controller.alter_partition import zookeeper_alter_partition_error
from kreplica.engine.rules.controller.balance import zookeeper_balances
from kreplica.engine.rules.controller.controlled_shutdown import zookeeper_controlled_shutdown
from kreplica.engine.rules.controller.elections import (
    zookeeper_elect_preferred,
    zookeeper_first_in_isr,
    zookeeper_leader_for_offline,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains
from kreplica.engine.setup import SECOND
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.zookeeper.moves import ZooKeeperMoves
from kreplica.engine.simulator.zookeeper.states import Change, Decision, ElectedController

FIRST_BALANCE = 5 * SECOND
"""Time until a new controller first looks for an imbalance."""


class ZooKeeperRequests:
    """The requests to one broker's controller."""

    __slots__ = ("_answer_in_hand", "controller", "moves")

    def __init__(self, controller: ElectedController, moves: ZooKeeperMoves) -> None:
        self.controller = controller
        self.moves = moves
        self._answer_in_hand: Callable[[], object] = lambda: None

    def give_up(self) -> None:
        """Answers the request in hand, which ZooKeeper refuses to write; does nothing if it has been answered.

        KafkaController.processAlterPartition, processControlledShutdown.
        """
        self._answer_in_hand()

    def preempt(self, events: Iterable[tuple[Any, ...]]) -> None:
        """Answers those that wait when the session ends. ControllerEvent.preempt: ISRs get no answer."""
        for event, *arguments in events:
            if event == self._controlled_shutdown:
                arguments[-1](ErrorCode.STALE_CONTROLLER_EPOCH, ())

    # -- ISRs, since 2.7

    def alter_partition(self, sent: PartitionState, broker_epoch: int, reply: Callable[..., object]) -> None:
        """Handles a leader's proposal of an ISR. KafkaController.alterPartitions."""
        self.controller.put(self._alter_partition, sent, broker_epoch, reply)

    def _alter_partition(self, sent: PartitionState, broker_epoch: int, reply: Callable[..., object]) -> None:
        controller, known = self.controller, self.controller.known
        state = known.states.get(sent.partition)
        error = self._alter_error(sent, broker_epoch, state)
        if state is None or error != ErrorCode.NONE or sent.isr == state.isr:
            reply(error, state)
            controller.finished()
            return

        def decide(current: PartitionState) -> Decision | None:
            return (current.leader, sent.isr) if current.partition_epoch == sent.partition_epoch else None

        def then(changed: list[PartitionState]) -> None:
            reply(ErrorCode.NONE if changed else ErrorCode.INVALID_UPDATE_VERSION, changed[0] if changed else None)
            controller.update_metadata(changed)
            self.moves.state_changed(sent.partition)

        self._answer_in_hand = lambda: reply(ErrorCode.UNKNOWN_SERVER_ERROR, None)
        change = Change(decide, "its leader asked", "alter_partition.zookeeper_alter_partition_error", then, True)
        known.change((sent.partition,), change)

    def _alter_error(self, sent: PartitionState, broker_epoch: int, state: PartitionState | None) -> ErrorCode:
        known = self.controller.known
        if not self.controller.active:
            return ErrorCode.NOT_CONTROLLER
        if known.live.get(sent.leader_id) != broker_epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        if state is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if sent.replicas != state.replicas:
            return ErrorCode.INVALID_UPDATE_VERSION
        live = tuple(broker for broker in known.live if broker not in known.shutting_down)
        checked = self.controller.broker.cluster.version.ineligible_refused
        ineligible = sent.isr & ~state.places(live) if checked else 0
        return ErrorCode(
            zookeeper_alter_partition_error(
                state.leader,
                state.leader_epoch,
                state.partition_epoch,
                state.isr,
                sent.leader,
                sent.leader_epoch,
                sent.partition_epoch,
                sent.isr,
                ineligible,
            )
        )

    # -- controlled shutdown

    def controlled_shutdown(self, broker: int, reply: Callable[..., object]) -> None:
        """Handles a broker's request to stop; answers what it still leads. KafkaController.doControlledShutdown."""
        self.controller.put(self._controlled_shutdown, broker, reply)

    def _controlled_shutdown(self, broker: int, reply: Callable[..., object]) -> None:
        controller, known = self.controller, self.controller.known
        if not controller.active or broker not in known.live:
            reply(ErrorCode.NOT_CONTROLLER, ())
            controller.finished()
            return
        known.shutting_down[broker] = None
        mine = [partition for partition in known.on(broker) if len(known.states[partition].replicas) > 1]
        led = [partition for partition in mine if known.states[partition].leader_id == broker]
        followed = [partition for partition in mine if partition not in led]

        def decide(state: PartitionState) -> Decision | None:
            shutting_down = state.places(tuple(known.shutting_down))
            place, replicas = state.replicas.index(broker), state.places(state.replicas)
            leader, isr = state.leader, state.isr
            by_order = controller.broker.cluster.version.shutdown_by_isr_order
            live = replicas if by_order else known.up(state)
            decision = zookeeper_controlled_shutdown(place, leader, replicas, isr, live, shutting_down)
            if by_order and decision[0] != leader and leader == place:
                decision = zookeeper_first_in_isr(state.places_in_isr_order(), decision[1]), decision[1]
            return decision if decision != (leader, isr) else None

        def moved(changed: list[PartitionState]) -> None:
            controller.announce(changed)
            if followed:
                controller.stop_replicas(broker, followed, False)
            known.change(followed, Change(decide, why, rule, left))

        def left(changed: list[PartitionState]) -> None:
            controller.announce(changed, broker)
            remaining = tuple(one for one in mine if known.states[one].leader_id == broker)
            reply(ErrorCode.NONE, remaining)
            controller.finished()

        self._answer_in_hand = lambda: reply(ErrorCode.STALE_CONTROLLER_EPOCH, ())
        why, rule = f"broker-{broker} shuts down", "controlled_shutdown.zookeeper_controlled_shutdown"
        known.change(led, Change(decide, why, rule, moved))

    # -- requested elections

    def elect_preferred(self, partition: str) -> None:
        """Elects the preferred leader for an operator."""
        self.controller.put(self._elect_preferred, [partition], "the preferred leader was asked for")

    def _elect_preferred(self, partitions: list[str], why: str) -> None:
        known = self.controller.known

        def decide(state: PartitionState) -> Decision | None:
            elected = zookeeper_elect_preferred(state.isr, known.online(state))
            return (elected, state.isr) if elected not in (NO_LEADER, state.leader) else None

        self._change(partitions, decide, why, "elections.zookeeper_elect_preferred")

    def elect_unclean(self, partition: str) -> None:
        """Elects any live replica for an operator; only for partitions without a leader."""
        self.controller.put(self._elect_unclean, [partition], "an unclean election was asked for")

    def unclean_enabled(self, partitions: list[str]) -> None:
        """Elects leaders after unclean elections have been enabled for these partitions' topic."""
        self.controller.put(self._elect_unclean, partitions, "unclean elections were switched on")

    def _elect_unclean(self, partitions: list[str], why: str) -> None:
        known = self.controller.known

        def decide(state: PartitionState) -> Decision | None:
            online = known.online(state)
            leader, isr = zookeeper_leader_for_offline(state.places(state.replicas), state.isr, online, True)
            return None if contains(known.up(state), state.leader) or leader == NO_LEADER else (leader, isr)

        self._change(partitions, decide, why, "elections.zookeeper_leader_for_offline")

    def _change(
        self, partitions: list[str], decide: Callable[[PartitionState], Decision | None], why: str, rule: str
    ) -> None:
        controller = self.controller

        def then(changed: list[PartitionState]) -> None:
            controller.announce(changed)
            controller.finished()

        if controller.active:
            controller.known.change(partitions, Change(decide, why, rule, then))
        else:
            controller.finished()

    # -- balancing

    def begin_balancing(self) -> None:
        """Looks for an imbalance 5 s after the controller's election, then every 300 s."""
        if self.controller.broker.cluster.boolean("auto.leader.rebalance.enable"):
            self.controller.broker.after(FIRST_BALANCE, self._time_to_balance, self.controller.epoch)

    def _time_to_balance(self, epoch: int) -> None:
        if self.controller.active and self.controller.epoch == epoch:
            self.controller.put(self._balance, epoch)

    def _balance(self, epoch: int) -> None:
        """KafkaController.checkAndTriggerAutoLeaderRebalance."""
        controller = self.controller
        if not controller.active:
            controller.finished()
            return
        cluster = controller.broker.cluster
        every = cluster.integer("leader.imbalance.check.interval.seconds") * SECOND
        controller.broker.after(every, self._time_to_balance, epoch)
        self._elect_preferred(self._imbalanced(), "leaders are brought back")

    def _imbalanced(self) -> list[str]:
        """Partitions led by another than their preferred leader, of brokers above the percentage."""
        known, cluster = self.controller.known, self.controller.broker.cluster
        moving = any(adding or removing for _, _, adding, removing in known.assigned.values())
        if moving and not cluster.version.balances_while_moving:
            return []
        percentage = cluster.integer("leader.imbalance.per.broker.percentage")
        preferred: dict[int, list[str]] = {}
        for partition, state in known.states.items():
            preferred.setdefault(state.replicas[0], []).append(partition)
        found: list[str] = []
        for partitions in preferred.values():
            led_by_others = [partition for partition in partitions if known.states[partition].leader != 0]
            if zookeeper_balances(len(led_by_others), len(partitions), percentage):
                found += led_by_others
        return found
