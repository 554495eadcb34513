"""The controller of ZooKeeper mode: one of the brokers, elected by an ephemeral znode.

kafka.controller.KafkaController, up to 3.9. Events are handled one after the other, each to its end
(ControllerEventManager); a decision goes into ZooKeeper first and then, by LeaderAndIsr and UpdateMetadata
requests that carry the controller's epoch, to the brokers.

Znodes by which brokers notify the controller: changed ISRs, failed log directories.

kafka.controller.KafkaController.processIsrChangeNotification, processLogDirEventNotification. Each is read, handled
and deleted.

Requests of a ZooKeeper-mode controller to one broker: in order, one at a time, retried until they are answered.

kafka.controller.ControllerChannelManager, RequestSendThread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kreplica.engine.rules.controller.broker_failure import (
    brokers_changed,
    told_of_change,
    zookeeper_remove_from_isr_until_1_0,
)
from kreplica.engine.rules.controller.controller_election import NOT_ELECTED, controller_epoch, is_own_election
from kreplica.engine.rules.controller.elections import zookeeper_first_in_isr, zookeeper_leader_for_offline
from kreplica.engine.rules.controller.isr import zookeeper_remove_from_isr
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains
from kreplica.engine.setup import MILLISECOND, topic_of
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.node import Node
from kreplica.engine.simulator.zookeeper.client import ZooKeeperClient
from kreplica.engine.simulator.zookeeper.moves import ZooKeeperMoves
from kreplica.engine.simulator.zookeeper.requests import ZooKeeperRequests
from kreplica.engine.simulator.zookeeper.service import (
    BROKERS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DIRECTORY_EVENTS,
    ISR_CHANGES,
    NODE_EXISTS,
    OK,
    STATES,
    TOPICS,
    Operation,
    Result,
)
from kreplica.engine.simulator.zookeeper.states import Change, Decision, ElectedController, ZooKeeperStates
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN


class ZooKeeperNotifications:
    """Handling of notifications by one broker's controller."""

    __slots__ = ("controller",)

    def __init__(self, controller: ZooKeeperController) -> None:
        self.controller = controller

    def read(self, path: str) -> None:
        """Handles an event: reads the new notifications under ``path``, and watches again."""
        if self.controller.active:
            reads = ((Operation("children", path, watch=True),),)
            self.controller.client.request(reads, self._open, path)
        else:
            self.controller.finished()

    def _open(self, results: tuple[tuple[Result, ...], ...], path: str) -> None:
        names = [f"{path}/{name}" for name, _ in results[0][0].data]
        if not names:
            self.controller.finished()
            return
        reads = tuple((Operation("get", name),) for name in names)
        deletes = tuple((Operation("delete", name),) for name in names)
        self.controller.client.request(reads + deletes, self._opened, path, len(names))

    def _opened(self, results: tuple[tuple[Result, ...], ...], path: str, count: int) -> None:
        said: list[Any] = [item for (result,) in results[:count] for item in result.data]
        if path == ISR_CHANGES:
            self._isrs_changed(list(dict.fromkeys(said)))
        else:
            self._directories_failed(list(dict.fromkeys(said)))

    def _isrs_changed(self, partitions: list[str]) -> None:
        """Reads the ISRs and sends them to every broker."""
        change = Change(lambda _state: None, "", "", lambda _changed: self._refreshed(partitions))
        self.controller.known.change(partitions, change)

    def _refreshed(self, partitions: list[str]) -> None:
        known = self.controller.known.states
        self.controller.update_metadata([known[partition] for partition in partitions])
        self.controller.finished()

    def _directories_failed(self, brokers: list[int]) -> None:
        """Asks brokers, by LeaderAndIsr, which of their replicas are offline. onBrokerLogDirFailure."""
        for broker in brokers:
            self.controller.ask_for_offline(broker)
        self.controller.finished()


RETRY_AFTER = 100 * MILLISECOND
"""Time until a failed request is sent again: kafka.controller.RequestSendThread."""


class ControllerChannel:
    """The queue of requests to one broker; dropped with its contents when broker or controller end."""

    __slots__ = ("_open", "_queue", "_sending", "source", "target")

    def __init__(self, source: Node, target: Node) -> None:
        self.source = source
        self.target = target
        self._queue: deque[tuple[str, Callable[..., object], tuple[Any, ...], Callable[..., object]]] = deque()
        self._sending = False
        self._open = True

    def send(
        self, name: str, handler: Callable[..., object], arguments: tuple[Any, ...], then: Callable[..., object]
    ) -> None:
        """Sends a request once those before it are answered; ``then`` gets its answer."""
        self._queue.append((name, handler, arguments, then))
        if not self._sending:
            self._next()

    def close(self) -> None:
        """Stops sending."""
        self._open = False
        self._queue.clear()

    def _next(self) -> None:
        self._sending = self._open and len(self._queue) > 0
        if self._sending:
            name, handler, arguments, _ = self._queue[0]
            transport = self.source.cluster.transport
            transport.call(self.source, self.target, name, handler, arguments, self._answered, self._failed)

    def _answered(self, *values: Any) -> None:
        if not self._open:
            return
        then = self._queue.popleft()[3]
        then(*values)
        self._next()

    def _failed(self, _reason: str) -> None:
        if self._open:
            self.source.after(RETRY_AFTER, self._next)


Event = tuple[Any, ...]
"""A method of the controller and its arguments; each ends by calling ``finished``."""


class ZooKeeperController(ElectedController):
    """A broker's controller, active at one broker at a time: ``active`` with ``epoch``.

    ``epoch_version`` is the version of /controller_epoch that it wrote, which fences its writes once another controller
    has raised it.
    """

    __slots__ = (
        "_busy",
        "_events",
        "active",
        "broker",
        "channels",
        "client",
        "epoch",
        "epoch_version",
        "known",
        "moves",
        "notifications",
        "requests",
    )

    def __init__(self, broker: Broker, client: ZooKeeperClient) -> None:
        self.broker = broker
        self.client = client
        self.active = False
        self.epoch = 0
        self.epoch_version = -1
        self.known = ZooKeeperStates(self)
        self.channels: dict[int, ControllerChannel] = {}
        self._events: deque[Event] = deque()
        self._busy = False
        self.moves = ZooKeeperMoves(self)
        self.requests = ZooKeeperRequests(self, self.moves)
        self.notifications = ZooKeeperNotifications(self)

    @property
    def checks_epoch(self) -> bool:
        """True if its writes name the version of the controller epoch."""
        return self.broker.cluster.version.controller_epoch_checked

    def emit(self, kind: str, *values: Any) -> None:
        """Writes an event into the trace, at the broker that is the controller."""
        self.broker.emit(kind, *values)

    # -- events

    def put(self, event: Callable[..., object], *arguments: Any) -> None:
        """Queues an event after those that wait."""
        self._events.append((event, *arguments))
        if not self._busy:
            self.finished()

    def finished(self) -> None:
        """Goes on to the next event."""
        self._busy = bool(self._events)
        if self._events:
            event, *arguments = self._events.popleft()
            event(*arguments)

    def forget(self) -> None:
        """Drops all state: the process has ended, or the session has expired (ControllerEventManager.clearAndPut)."""
        self.resign()
        self.requests.give_up()
        self.requests.preempt(self._events)
        self._events.clear()
        self._busy = False

    def resign(self) -> None:
        """Resigns as the controller. KafkaController.onControllerResignation."""
        if self.active:
            self.emit(Kind.CONTROLLER_RESIGNED, self.epoch, "controller_election.controller_epoch")
        self.active = False
        for channel in self.channels.values():
            channel.close()
        self.channels = {}
        self.known = ZooKeeperStates(self)

    def moved(self) -> None:
        """Resigns and looks for the new controller: ZooKeeper refused a write of this epoch."""
        self.requests.give_up()
        self.resign()
        self.elect()

    def emit_refused(self, partition: str, newer: int) -> None:
        """Emits that a newer controller has written a partition."""
        self.emit(Kind.CONTROLLER_REFUSED, partition, self.epoch, newer)

    def on_watch(self, what: str, path: str) -> None:
        """Handles a watch event: KafkaController's handlers."""
        if path == CONTROLLER:
            self.put(self.elect if what == "deleted" else self._controller_changed)
        elif path == BROKERS:
            self.put(self._brokers_changed)
        elif path in (ISR_CHANGES, DIRECTORY_EVENTS):
            self.put(self.notifications.read, path)
        elif path.startswith(STATES):
            self.put(self.moves.state_changed, path.removeprefix(f"{STATES}/"))

    # -- election

    def elect(self, tried: int = NOT_ELECTED) -> None:
        """Becomes the controller if there is none. KafkaController.elect, processReelect.

        An event may say that /controller is gone and be handled when this broker has created it anew: one that is
        active reads first, and resigns only if the znode is not its own (maybeResign).

        Args:
            tried: The epoch that it has tried to write already.
        """
        reads = ((Operation("get", CONTROLLER, watch=True),), (Operation("get", CONTROLLER_EPOCH),))
        self.client.request(reads, self._looked, tried)

    def _controller_changed(self) -> None:
        """KafkaController.processControllerChange: watches again, and resigns if another broker is the controller."""
        self.client.request(((Operation("get", CONTROLLER, watch=True),),), self._looked_again)

    def _looked_again(self, results: tuple[tuple[Result, ...], ...]) -> None:
        if not self._is_own(results[0][0]):
            self.resign()
        self.finished()

    def _is_own(self, found: Result) -> bool:
        return found.code == OK and found.data == (self.broker.id,)

    def _looked(self, results: tuple[tuple[Result, ...], ...], tried: int) -> None:
        (found,), (epoch,) = results
        if self.active and self._is_own(found):
            self.finished()
            return
        self.resign()
        if found.code == OK:
            if is_own_election(found.data[0], epoch.data[0], self.broker.id, tried):
                self._take_over(tried, epoch.version)
            else:
                self.finished()
            return
        wanted = controller_epoch(epoch.data[0], epoch.version, epoch.version, False)
        assert wanted != NOT_ELECTED
        transaction = (
            Operation("create", CONTROLLER, (self.broker.id,), ephemeral=True),
            Operation("set", CONTROLLER_EPOCH, (wanted,), epoch.version),
        )
        self.client.request((transaction,), self._elected, wanted)

    def _elected(self, results: tuple[tuple[Result, ...], ...], wanted: int) -> None:
        create, raised = results[0]
        if create.code == NODE_EXISTS or raised.code != OK:
            self.elect(wanted)  # another broker was faster, or the first answer was lost: look again, and watch
        else:
            self._take_over(wanted, raised.version)

    def _take_over(self, epoch: int, epoch_version: int) -> None:
        self.active, self.epoch, self.epoch_version = True, epoch, epoch_version
        self.emit(Kind.CONTROLLER_ELECTED, self.epoch, "controller_election.controller_epoch")
        self._failover()

    def _failover(self) -> None:
        """Reads everything, then restores order. KafkaController.onControllerFailover."""
        reads = (
            (Operation("children", BROKERS, watch=True),),
            (Operation("children", ISR_CHANGES, watch=True),),
            (Operation("children", DIRECTORY_EVENTS, watch=True),),
            (Operation("children", TOPICS),),
        )
        self.client.request(reads, self._found)

    def _found(self, results: tuple[tuple[Result, ...], ...]) -> None:
        brokers, changes, events, topics = (result[0] for result in results)
        self.known.live = {int(name): created for name, created in brokers.data}
        stale = [f"{ISR_CHANGES}/{name}" for name, _ in changes.data]
        stale += [f"{DIRECTORY_EVENTS}/{name}" for name, _ in events.data]
        reads = tuple((Operation("delete", path),) for path in stale)
        reads += tuple((Operation("get", f"{TOPICS}/{name}"),) for name, _ in topics.data)
        self.client.request(reads, self._read_topics, len(stale))

    def _read_topics(self, results: tuple[tuple[Result, ...], ...], skipped: int) -> None:
        for (topic,) in results[skipped:]:
            self.known.assigned.update({assigned[0]: assigned for assigned in topic.data})
        partitions = list(self.known.assigned)
        reads = tuple((Operation("get", f"{STATES}/{partition}"),) for partition in partitions)
        self.client.request(reads, self._read_states, partitions)

    def _read_states(self, results: tuple[tuple[Result, ...], ...], partitions: list[str]) -> None:
        for partition, (result,) in zip(partitions, results, strict=True):
            self.known.took(partition, result)
        for broker in self.known.live:
            self._open_channel(broker)
        self.known.note_unled()
        self.update_metadata(self.known.states.values())
        self.lead_and_follow(self.known.states.values())
        dead = [broker for broker in self._assigned_brokers() if broker not in self.known.live]
        cleans = self.broker.cluster.version.failover_cleans_isrs
        self._leave_isrs(dead if cleans else [], lambda: self._elect_offline(self._in_charge))

    def _in_charge(self) -> None:
        self.requests.begin_balancing()
        self.moves.resume(self.finished)

    def _assigned_brokers(self) -> list[int]:
        return sorted({broker for assigned in self.known.assigned.values() for broker in assigned[1]})

    # -- brokers come and go

    def _brokers_changed(self) -> None:
        if not self.active:
            self.finished()
            return
        self.client.request(((Operation("children", BROKERS, watch=True),),), self._compare_brokers)

    def _compare_brokers(self, results: tuple[tuple[Result, ...], ...]) -> None:
        registered = {int(name): created for name, created in results[0][0].data}
        new, gone, bounced = brokers_changed(self.known.live, registered)
        if not self.broker.cluster.version.bounces_are_seen:
            for broker in bounced:
                self.known.live[broker] = registered[broker]
            bounced = ()
        for _ in bounced:
            self.put(self._brokers_changed)  # it counts as new in the next round
        self._brokers_gone(gone + bounced, lambda: self._brokers_new(new, registered, self.finished))

    def _brokers_gone(self, gone: tuple[int, ...], then: Callable[[], object]) -> None:
        """KafkaController.onBrokerFailure: new leaders first, then the replicas leave the ISRs."""
        for broker in gone:
            self.emit(Kind.BROKER_FENCED, broker, "its znode is gone", "broker_failure.brokers_changed")
            del self.known.live[broker]
            self.known.shutting_down.pop(broker, None)
            self.channels.pop(broker).close()
        if not gone:
            then()
            return
        self.update_metadata(())
        self._elect_offline(lambda: self._leave_isrs(list(gone), then))

    def _brokers_new(self, new: tuple[int, ...], registered: dict[int, int], then: Callable[[], object]) -> None:
        """KafkaController.onBrokerStartup: they get the full metadata, and may lead partitions without a leader."""
        for broker in new:
            self.known.note_unled()
            self.known.live[broker] = registered[broker]
            self.known.offline = {one: None for one in self.known.offline if one[1] != broker}
            self._open_channel(broker)
            self.emit(Kind.BROKER_UNFENCED, broker, "broker_failure.brokers_changed")
        if not new:
            then()
            return
        self.update_metadata(self.known.states.values())
        self.lead_and_follow(state for state in self.known.states.values() if set(state.replicas) & set(new))
        self._elect_offline(lambda: self.moves.brokers_are_back(new, then))

    def _open_channel(self, broker: int) -> None:
        node = self.broker.brokers[broker]
        self.channels[broker] = ControllerChannel(self.broker, node)

    def _elect_offline(self, then: Callable[[], object]) -> None:
        """Elects leaders for all partitions without one. PartitionStateMachine.triggerOnlinePartitionStateChange."""

        why, rule = "its leader is gone", "elections.zookeeper_leader_for_offline"

        def decide(state: PartitionState) -> Decision | None:
            unclean = self._elects_uncleanly(state.partition)
            everybody, online = state.places(state.replicas), self.known.online(state)
            leader, isr = zookeeper_leader_for_offline(everybody, state.isr, online, unclean)
            if leader == NO_LEADER:
                self.emit(Kind.NO_LEADER, state.partition, state.ids(state.isr), "no replica may lead", rule)
                return None
            if self.broker.cluster.version.offline_by_isr_order and contains(state.isr, leader):
                leader = zookeeper_first_in_isr(state.places_in_isr_order(), isr)
            return leader, isr

        self.known.note_unled()
        self.known.change(tuple(self.known.unled), Change(decide, why, rule, self._announced(then)))

    def _elects_uncleanly(self, partition: str) -> bool:
        """True if a replica out of sync may lead: up to 0.8.1 always, the setting came with 0.8.2 (KAFKA-1028)."""
        cluster = self.broker.cluster
        return cluster.version.offline_by_isr_order or cluster.topic_boolean(topic_of(partition), UNCLEAN)

    def _leave_isrs(self, brokers: list[int], then: Callable[[], object]) -> None:
        """Takes brokers' replicas out of the ISRs, one broker after the other. ReplicaStateMachine, OfflineReplica."""
        if not brokers:
            then()
            return
        broker, rest = brokers[0], brokers[1:]
        why = f"broker-{broker} is offline"
        self.leave_isr(broker, self.known.on(broker), why, lambda: self._leave_isrs(rest, then))

    def leave_isr(self, broker: int, partitions: Iterable[str], why: str, then: Callable[[], object]) -> None:
        """Takes one broker's replicas of some partitions out of their ISRs, and informs the other replicas."""
        version = self.broker.cluster.version

        def decide(state: PartitionState) -> Decision | None:
            if broker not in state.replicas:
                return None  # removed by a move meanwhile: NonExistentReplica, which cannot become OfflineReplica
            place = state.replicas.index(broker)
            if not contains(state.isr, place):
                return None
            if version.keeps_last_in_sync:
                return zookeeper_remove_from_isr(place, state.leader, state.isr)
            unclean = self._elects_uncleanly(state.partition)
            return zookeeper_remove_from_isr_until_1_0(place, state.leader, state.isr, unclean)

        rule = "isr.zookeeper_remove_from_isr"
        if not version.keeps_last_in_sync:
            rule = "broker_failure.zookeeper_remove_from_isr_until_1_0"
        self.known.change(partitions, Change(decide, why, rule, self._announced(then, broker)))

    # -- requests to brokers

    def _announced(
        self, then: Callable[[], object], removed: int = NO_LEADER
    ) -> Callable[[list[PartitionState]], None]:
        """Sends brokers the changed partitions, then goes on."""

        def announce(changed: list[PartitionState]) -> None:
            self.announce(changed, removed)
            then()

        return announce

    def announce(self, changed: list[PartitionState], removed: int = NO_LEADER) -> None:
        """LeaderAndIsr to the replicas, less a removed broker's, UpdateMetadata to every broker."""
        if changed:
            told = [self.moves.told(state) for state in changed]
            self.lead_and_follow(told, removed)
            self.update_metadata(told)

    def lead_and_follow(self, states: Iterable[PartitionState], removed: int = NO_LEADER) -> None:
        """One LeaderAndIsr request to each live broker with replicas among them."""
        told: dict[int, list[PartitionState]] = {}
        for state in states:
            live = state.places(tuple(self.known.live))
            for broker in state.ids(told_of_change(state.places(state.replicas), live, state.places((removed,)))):
                told.setdefault(broker, []).append(state)
        for broker, chosen in told.items():
            self._send(broker, "LeaderAndIsr", "lead_and_follow", tuple(chosen))

    def update_metadata(self, states: Iterable[PartitionState]) -> None:
        """An UpdateMetadata request to every live broker: the live brokers, and these partitions."""
        alive, known = tuple(self.known.live.items()), tuple(states)
        for broker in self.channels:
            self._send(broker, "UpdateMetadata", "update_metadata", alive, known)

    def stop_replicas(self, broker: int, partitions: Iterable[str], delete: bool) -> None:
        """A StopReplica request to one broker."""
        if broker in self.channels:
            self._send(broker, "StopReplica", "stop_replicas", tuple(partitions), delete)

    def ask_for_offline(self, broker: int) -> None:
        """Asks a broker which of its replicas are offline: LeaderAndIsr with all of them."""
        if broker in self.channels:
            states = tuple(self.known.states[partition] for partition in self.known.on(broker))
            self._send(broker, "LeaderAndIsr", "lead_and_follow", states)

    def _send(self, broker: int, name: str, handler: str, *arguments: Any) -> None:
        channel = self.channels[broker]
        link = self.broker.brokers[broker].controller_link
        sent = (self.broker.id, self.epoch, self.known.live[broker], *arguments)
        channel.send(name, getattr(link, handler), sent, lambda *answer: self._answered(broker, *answer))

    def _answered(self, broker: int, _error: ErrorCode, failed: tuple[str, ...] = ()) -> None:
        """Handles a broker's answer: replicas that it cannot serve are offline."""
        new = [partition for partition in failed if (partition, broker) not in self.known.offline]
        if new and self.active:
            self.put(self._replicas_offline, broker, new)

    def _replicas_offline(self, broker: int, partitions: list[str]) -> None:
        """KafkaController.processLeaderAndIsrResponseReceived: as if the broker were gone, for these partitions."""
        if not self.active:
            self.finished()
            return
        for partition in partitions:
            self.known.offline[partition, broker] = None
        why = f"broker-{broker}'s log directory failed"
        self._elect_offline(lambda: self.leave_isr(broker, partitions, why, self.finished))
