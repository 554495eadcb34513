"""A broker in ZooKeeper mode: its registration, the ISRs it writes, and its handling of the controller's requests.

kafka.server.KafkaServer, ReplicaManager (becomeLeaderOrFollower, maybePropagateIsrChanges), ZkAlterPartitionManager;
up to 3.9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine.rules.controller.alter_partition import RETRY, ROLL_BACK, leader_reaction
from kreplica.engine.rules.controller.controller_election import stale_controller
from kreplica.engine.rules.controller.zookeeper_isr import CHECK_INTERVAL_MS, NOT_WRITTEN, conditional_write, propagates
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.leader_and_isr import takes_leader
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.leadership import Leadership
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.environment import REQUEST_TIMEOUT, TIMED_OUT
from kreplica.engine.simulator.zookeeper.client import ZooKeeperClient
from kreplica.engine.simulator.zookeeper.controller import ZooKeeperController
from kreplica.engine.simulator.zookeeper.service import (
    BROKERS,
    DIRECTORY_EVENTS,
    ISR_CHANGES,
    NODE_EXISTS,
    OK,
    Operation,
    Result,
    StateData,
    ZooKeeper,
    state_data,
    state_path,
)
from kreplica.engine.trace import Kind

REGISTER_AGAIN_AFTER = SECOND
"""Time until a broker checks again whether the znode of its earlier session is gone.

A real one ends (NodeExistsException), and is started again by systemd or the like; this is that start.
"""
ASK_AGAIN_AFTER = 50 * MILLISECOND
"""kafka.server.DefaultAlterPartitionManager: time until a failed request is sent again."""

SHUTDOWN_RETRIES = 3
SHUTDOWN_BACKOFF = 5 * SECOND
"""controlled.shutdown.max.retries and controlled.shutdown.retry.backoff.ms."""


class ZooKeeperLink:
    """One broker's link to the controller of ZooKeeper mode.

    ``controller_epoch`` is the highest epoch that a request has carried, ``controller_id`` the sender of that.
    """

    __slots__ = (
        "_changed",
        "_epochs",
        "_last_change",
        "_last_propagation",
        "_sequence",
        "broker",
        "client",
        "controller",
        "controller_epoch",
        "controller_id",
        "zookeeper",
    )

    def __init__(self, broker: Broker, zookeeper: ZooKeeper) -> None:
        self.broker = broker
        self.zookeeper = zookeeper
        timeout = broker.cluster.integer("zookeeper.session.timeout.ms") * MICROSECONDS
        self.client = ZooKeeperClient(broker, zookeeper, timeout, self._watched, self._expired)
        self.controller = ZooKeeperController(broker, self.client)
        self.controller_epoch = 0
        self.controller_id = -1
        self._changed: dict[str, None] = {}
        self._epochs: dict[str, int] = {}
        self._last_change = 0
        self._last_propagation = 0
        self._sequence = 0

    # -- life

    def joined(self, clean: bool) -> None:  # noqa: ARG002 - ZooKeeper mode does not ask how the last life ended
        """Registers, answers requests from then on, and may become the controller.

        KafkaServer.startup: request processing begins after KafkaZkClient.registerBroker. Requests of the controller
        for the earlier run of the process never reach this one while that run's znode still exists.
        """
        self.broker.listens = False
        self._last_propagation = self._now_ms()
        self.client.connect(self._register)
        if self._notifies():
            self.broker.after(CHECK_INTERVAL_MS * MICROSECONDS, self._propagate)

    def ended(self) -> None:
        """Ends with the process; a clean stop closes the session, otherwise it expires."""
        if self.broker.clean:
            self.client.close()
        self.client.forget()
        self.controller.forget()
        self.controller = ZooKeeperController(self.broker, self.client)
        self.controller_epoch, self.controller_id = 0, -1
        self._changed, self._epochs = {}, {}

    def _register(self) -> None:
        create = Operation("create", f"{BROKERS}/{self.broker.id}", (self.broker.rack,), ephemeral=True)
        self.client.request(((create,),), self._registered)

    def _registered(self, results: tuple[tuple[Result, ...], ...]) -> None:
        result = results[0][0]
        if result.code == NODE_EXISTS:
            self.client.request(((Operation("owner", f"{BROKERS}/{self.broker.id}"),),), self._found)
        else:
            self._joins(result.created)

    def _found(self, results: tuple[tuple[Result, ...], ...]) -> None:
        """Goes by the owner of a znode that was there: KafkaZkClient.CheckedEphemeral.getAfterNodeExists.

        The broker's own session made it where the answer to the first request was lost; otherwise an earlier session
        has not expired yet.
        """
        found = results[0][0]
        if found.code == OK and found.data == self.client.session:
            self._joins(found.created)
        elif found.code == OK:
            self.broker.write_all()  # it ends in order (KafkaServer.startup calls shutdown), and is started again
            self.broker.after(REGISTER_AGAIN_AFTER, self._register_again, self.client.session)
        else:
            self._register()

    def _register_again(self, session: int) -> None:
        if session == self.client.session:
            self._register()

    def _joins(self, broker_epoch: int) -> None:
        self.broker.broker_epoch = broker_epoch
        self.broker.listens = True
        self.controller.put(self.controller.elect)
        self._ask_again()

    def _ask_again(self) -> None:
        """Asks again for the ISRs whose requests were lost with the earlier session."""
        for replica in self.broker.replicas.values():
            if replica.leadership is not None and replica.leadership.pending != replica.leadership.isr:
                self.ask_isr(replica.leadership)

    def _expired(self) -> None:
        """Begins a new session after the old one has expired although the broker lives; it leads on meanwhile."""
        self.controller.forget()
        self.client.connect(self._register)

    def _watched(self, what: str, path: str) -> None:
        self.controller.on_watch(what, path)

    # -- requests of the controller

    def lead_and_follow(
        self,
        controller: int,
        epoch: int,
        broker_epoch: int,
        states: tuple[PartitionState, ...],
        reply: Callable[..., object],
    ) -> None:
        """A LeaderAndIsr request: only a higher leader epoch changes anything (becomeLeaderOrFollower).

        What clients are told comes by UpdateMetadata alone (MetadataCache), once this one is answered.
        """
        if self._refuses(controller, epoch, broker_epoch, reply):
            return
        offline = self.broker.cluster.offline_directories.get(self.broker.id, set())
        for state in states:
            if state.partition not in offline and state.leader_epoch > self._epochs.get(state.partition, -1):
                self._lead_or_follow(state)
        reply(ErrorCode.NONE, tuple(state.partition for state in states if state.partition in offline))

    def _lead_or_follow(self, state: PartitionState) -> None:
        """Ignores a leader that is not alive, and its epoch: ReplicaManager.makeFollowers."""
        alive = state.leader_id == self.broker.id or state.leader_id in self.broker.alive
        if alive:
            self._epochs[state.partition] = state.leader_epoch
        if takes_leader(alive, self.broker.cluster.version.dead_leaders_ignored):
            self.broker.obey(state if alive else state._replace(leader=NO_LEADER))
        else:
            self.broker.host(state)

    def update_metadata(
        self,
        controller: int,
        epoch: int,
        broker_epoch: int,
        alive: tuple[tuple[int, int], ...],
        states: tuple[PartitionState, ...],
        reply: Callable[..., object],
    ) -> None:
        """An UpdateMetadata request: the metadata for clients, and the live brokers."""
        if self._refuses(controller, epoch, broker_epoch, reply):
            return
        self.broker.know_alive(dict(alive))
        for state in states:
            self.broker.image[state.partition] = state
        reply(ErrorCode.NONE)

    def stop_replicas(
        self,
        controller: int,
        epoch: int,
        broker_epoch: int,
        partitions: tuple[str, ...],
        delete: bool,
        reply: Callable[..., object],
    ) -> None:
        """A StopReplica request: these replicas stop fetching, and are deleted where that is requested."""
        if self._refuses(controller, epoch, broker_epoch, reply):
            return
        for partition in partitions:
            replica = self.broker.replicas.get(partition)
            if replica is not None and delete:
                self.broker.drop(replica)
                self._epochs.pop(partition, None)
            elif replica is not None:
                self.broker.stop_following(partition)
        reply(ErrorCode.NONE)

    def _refuses(self, controller: int, epoch: int, broker_epoch: int, reply: Callable[..., object]) -> bool:
        """True if the request is from a deposed controller, or for an earlier broker epoch: it is then answered."""
        if stale_controller(epoch, self.controller_epoch):
            self.broker.emit(Kind.CONTROLLER_STALE, controller, epoch, self.controller_epoch)
            reply(ErrorCode.STALE_CONTROLLER_EPOCH)
            return True
        if self.broker.cluster.version.bounces_are_seen and broker_epoch < self.broker.broker_epoch:
            reply(ErrorCode.STALE_BROKER_EPOCH)
            return True
        self.controller_id, self.controller_epoch = controller, epoch
        return False

    # -- ISRs

    def ask_isr(self, leadership: Leadership) -> None:
        """Requests the leader's pending ISR: from the controller since 2.7, before by writing it to ZooKeeper."""
        if self.broker.cluster.version.alter_partition:
            self._ask_controller(leadership, leadership.pending)
        else:
            self._write_isr(leadership)

    def _proposed(self, leadership: Leadership) -> PartitionState:
        state = leadership.replica.state
        proposed = state._replace(
            leader=leadership.replica.place,
            leader_epoch=leadership.epoch,
            isr=leadership.pending,
            partition_epoch=leadership.partition_epoch,
        )
        return proposed._replace(isr_order=proposed.listed_isr()) if state.isr_order else proposed

    def _settled(self, leadership: Leadership, state: PartitionState) -> None:
        """Notes that the ISR is confirmed: the leader uses it from now on."""
        replica = leadership.replica
        if replica.leadership is leadership and state.partition_epoch >= leadership.partition_epoch:
            replica.state = replica.state._replace(
                isr=state.isr, isr_order=state.isr_order, partition_epoch=state.partition_epoch
            )
            leadership.committed(replica.state)

    # -- written by the leader, before 2.7

    def _write_isr(self, leadership: Leadership) -> None:
        """ReplicationUtils.updateLeaderAndIsr: a write against the version that the leader knows."""
        state = self._proposed(leadership)
        data = state_data(state, self.controller_epoch)
        write = Operation("set", state_path(state.partition), data, state.partition_epoch)
        read = Operation("get", state_path(state.partition))
        self.client.request(((write,), (read,)), self._isr_written, leadership, state, data)

    def _isr_written(
        self,
        results: tuple[tuple[Result, ...], ...],
        leadership: Leadership,
        state: PartitionState,
        sent: StateData,
    ) -> None:
        (written,), (read,) = results
        if leadership.replica.leadership is not leadership:
            return
        expected, found = state.partition_epoch, read.version
        same = read.code == OK and read.data == sent
        version = found if written.code == OK else conditional_write(found, expected, same)
        if version == NOT_WRITTEN:
            why = f"version {expected} expected, {found} found"
            leadership.refused(why, True, "zookeeper_isr.conditional_write")
            return
        state = state._replace(partition_epoch=version)
        if written.code == OK:
            self.broker.emit(
                Kind.PARTITION_CHANGED,
                state.partition,
                state.leader_id,
                state.leader_epoch,
                state.ids(state.isr),
                (),
                version,
                "its leader wrote the ISR",
                "zookeeper_isr.conditional_write",
            )
        self._settled(leadership, state)
        self._changed[state.partition] = None
        self._last_change = self._now_ms()

    def _notifies(self) -> bool:
        version = self.broker.cluster.version
        return version.isr_notification and not version.alter_partition

    def _propagate(self) -> None:
        """ReplicaManager.maybePropagateIsrChanges."""
        self.broker.after(CHECK_INTERVAL_MS * MICROSECONDS, self._propagate)
        now = self._now_ms()
        if propagates(bool(self._changed), now, self._last_change, self._last_propagation):
            changed, self._changed = tuple(self._changed), {}
            self._last_propagation = now
            self._notify(ISR_CHANGES, changed)

    def _notify(self, path: str, data: tuple[Any, ...]) -> None:
        """Creates a sequential znode, whose name no other broker has."""
        self._sequence += 1
        name = f"{path}/isr_change_{self.broker.id}_{self.broker.incarnation}_{self._sequence}"
        self.client.request(((Operation("create", name, data),),), lambda _results: None)

    def _now_ms(self) -> int:
        return self.broker.clock.now // MICROSECONDS

    # -- asked of the controller, since 2.7

    def _ask_controller(self, leadership: Leadership, wanted: int) -> None:
        """AlterPartitionManager: retried after 50 ms as long as the leader still wants the same ISR.

        A request is sent at once, as since 2.8; AlterIsrManagerImpl of 2.7 sends those that wait every 50 ms.
        """
        if leadership.replica.leadership is not leadership or leadership.pending != wanted:
            return
        controller = self._controller_link()
        if controller is None:
            self.broker.after(ASK_AGAIN_AFTER, self._ask_controller, leadership, wanted)
            return

        def answered(error: ErrorCode, state: PartitionState | None) -> None:
            self._isr_answered(leadership, wanted, error, state)

        def failed(_reason: str) -> None:
            self.broker.after(ASK_AGAIN_AFTER, self._ask_controller, leadership, wanted)

        handler = controller.controller.requests.alter_partition
        arguments = (self._proposed(leadership), self.broker.broker_epoch)
        transport = self.broker.cluster.transport
        call = transport.call(self.broker, controller.broker, "AlterPartition", handler, arguments, answered, failed)
        self.broker.after(REQUEST_TIMEOUT, call.fail, TIMED_OUT)  # a controller whose session ends forgets what waits

    def _isr_answered(
        self, leadership: Leadership, wanted: int, error: ErrorCode, state: PartitionState | None
    ) -> None:
        if leadership.replica.leadership is not leadership or leadership.pending != wanted:
            return
        if error == ErrorCode.NONE and state is not None:
            self._settled(leadership, state)
            return
        reaction = leader_reaction(error)
        if reaction == RETRY:
            self.broker.after(ASK_AGAIN_AFTER, self._ask_controller, leadership, wanted)
        else:
            leadership.refused(error.name, reaction == ROLL_BACK, "alter_partition.leader_reaction")

    def _controller_link(self) -> ZooKeeperLink | None:
        """The controller as this broker knows it: the sender of the request with the highest epoch."""
        broker = self.broker.brokers.get(self.controller_id)
        link = None if broker is None else broker.controller_link
        return link if isinstance(link, ZooKeeperLink) else None

    # -- shutting down

    def controlled_shutdown(self, then: Callable[[], None]) -> None:
        """Asks the controller to move the leaders away, with up to three retries while it cannot. KIP-2."""
        self._ask_to_stop(SHUTDOWN_RETRIES, then)

    def _ask_to_stop(self, retries: int, then: Callable[[], None]) -> None:
        controller = self._controller_link()

        def answered(error: ErrorCode, remaining: tuple[str, ...]) -> None:
            if error == ErrorCode.NONE and not remaining:
                then()
            else:
                again("")

        def again(_reason: str) -> None:
            if retries:
                self.broker.after(SHUTDOWN_BACKOFF, self._ask_to_stop, retries - 1, then)
            else:
                then()

        if controller is None:
            again("")
            return
        handler = controller.controller.requests.controlled_shutdown
        transport = self.broker.cluster.transport
        transport.call(
            self.broker, controller.broker, "ControlledShutdown", handler, (self.broker.id,), answered, again
        )

    # -- log directories

    def directory_failed(self, partitions: tuple[str, ...]) -> None:  # noqa: ARG002 - the controller asks which
        """Notifies the controller of a failed log directory; the controller then asks for the offline replicas."""
        self._notify(DIRECTORY_EVENTS, (self.broker.id,))
