"""A broker's side of KRaft: registration, heartbeats, the metadata log, AlterPartition.

kafka.server.BrokerLifecycleManager, BrokerMetadataPublisher, AlterPartitionManager.

A broker's lifecycle at a KRaft controller: it registers, sends heartbeats, and asks for controlled shutdown.

kafka.server.BrokerLifecycleManager, since 2.8: one request in flight, and a time for the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kreplica.engine.rules.controller.alter_partition import RETRY, ROLL_BACK, leader_reaction, leader_takes_answer
from kreplica.engine.rules.controller.broker_registration import (
    CONTROLLED_SHUTDOWN,
    FENCED,
    SHUTDOWN_PATIENCE_MS,
    heartbeat_wait,
    resend_wait,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import MILLISECOND
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.leadership import Leadership
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.kraft.quorum import BROKER, PARTITION, Entry, IsrRequest, Registration

RETRY_AFTER = 50 * MILLISECOND
"""Time until a failed request is sent again: that of kafka.server.DefaultAlterPartitionManager."""
ASSIGNED_AFTER = 100 * MILLISECOND
"""Time until a broker says which directories its replicas are in: AssignmentsManager.STANDARD_BACKOFF."""


class KraftLifecycle:
    """A broker's side of its registration.

    ``_running`` is true once the broker has been unfenced in this run of its process, ``_at_once`` if a heartbeat is
    to follow as soon as the present one is answered, ``_due`` the number of the valid timer: a later one replaces it.
    ``_held_back`` is true while the broker is not ready to be unfenced.
    """

    __slots__ = (
        "_at_once",
        "_due",
        "_failures",
        "_held_back",
        "_in_flight",
        "_link",
        "_previous_epoch",
        "_registered",
        "_running",
        "_then_stop",
        "_told_to_wait",
    )

    def __init__(self, link: KraftLink) -> None:
        self._link = link
        self._previous_epoch = -1
        self.ended()

    def ended(self) -> None:
        """Forgets the registration when the broker's process ends."""
        self._at_once = self._in_flight = self._registered = self._running = self._told_to_wait = False
        self._held_back = False
        self._due = self._failures = 0
        self._then_stop: Callable[[], None] | None = None

    @property
    def _broker(self) -> Broker:
        return self._link.broker

    def begin(self, clean: bool) -> None:
        """Registers; heartbeats follow. ``clean`` is whether the process had stopped cleanly before."""
        if not clean:
            self._previous_epoch = -1
        self._communicate()

    def begin_controlled_shutdown(self, then: Callable[[], None]) -> None:
        """Asks for a controlled shutdown; stops when it is granted, or when the time for it is over.

        A broker that has not been unfenced yet leads nothing, and stops at once.
        """
        if not self._running:
            then()
            return
        self._then_stop = then
        self._broker.after(SHUTDOWN_PATIENCE_MS * MILLISECOND, then)
        self._communicate()

    # -- timing

    def _communicate(self) -> None:
        if self._in_flight:
            self._at_once = True
            return
        self._in_flight = True
        self._send()

    def _send(self) -> None:
        if self._registered:
            self._heartbeat()
        else:
            self._register()

    def _next_in(self, wait_ms: int) -> None:
        wait = 0 if self._at_once else wait_ms * MILLISECOND
        self._at_once = False
        self._due += 1
        self._broker.after(wait, self._is_due, self._due)

    def _is_due(self, number: int) -> None:
        if number == self._due:
            self._communicate()

    def _succeeded(self, wait_ms: int) -> None:
        self._in_flight, self._failures = False, 0
        self._next_in(wait_ms)

    def _refused(self, error: int) -> None:
        if error == ErrorCode.NOT_CONTROLLER:
            self._not_sent("")
            return
        broker = self._broker
        session = broker.integer("broker.session.timeout.ms")
        interval = broker.integer("broker.heartbeat.interval.ms")
        wait = resend_wait(self._failures, session, interval, broker.cluster.version.resends)
        self._in_flight = self._at_once = False
        self._failures += 1
        self._next_in(wait)

    def _not_sent(self, _reason: str) -> None:
        self._broker.after(RETRY_AFTER, self._send)

    # -- requests

    def _register(self) -> None:
        broker = self._broker

        def answered(error: int, epoch: int, _offset: int) -> None:
            if error:
                self._refused(error)
                return
            self._previous_epoch = broker.broker_epoch = epoch
            self._registered = True
            if self._link.has_other_disk:
                self._hold_back()
            self._succeeded(0)

        self._link.call(
            "BrokerRegistration",
            lambda controller: controller.brokers.register,
            (broker.id, broker.incarnation, self._previous_epoch, self._link.disk),
            answered,
            self._not_sent,
        )

    def _hold_back(self) -> None:
        """Is unfenced sooner or later than the directories are assigned: what is done at a start takes its time."""
        chance = self._broker.cluster.streams.stream(f"unfencing {self._broker.name}")
        self._held_back = True
        self._broker.after(chance.randrange(2 * ASSIGNED_AFTER), self._let_go)

    def _let_go(self) -> None:
        self._held_back = False
        self._communicate()

    def _heartbeat(self) -> None:
        broker, wants_shutdown = self._broker, self._then_stop is not None

        def answered(error: int, fenced: bool, stops: bool) -> None:
            if error:
                self._refused(error)
            elif stops and self._then_stop is not None:
                self._then_stop()
            else:
                self._told(fenced)

        self._link.call(
            "BrokerHeartbeat",
            lambda controller: controller.brokers.heartbeat,
            (broker.id, broker.broker_epoch, self._link.metadata_offset, self._held_back, wants_shutdown),
            answered,
            self._not_sent,
        )

    def _told(self, fenced: bool) -> None:
        """Handles an answer that does not grant the shutdown."""
        self._running = self._running or not fenced
        wants_shutdown, interval = self._then_stop is not None, self._broker.integer("broker.heartbeat.interval.ms")
        wait = heartbeat_wait(self._running, wants_shutdown, self._told_to_wait, interval)
        self._told_to_wait = self._told_to_wait or wants_shutdown
        self._succeeded(wait)


class KraftLink:
    """See ``ControllerLink``."""

    __slots__ = (
        "_assigns",
        "_controller",
        "_controllers",
        "_disks",
        "_in_flight",
        "_late_until",
        "_lifecycle",
        "_queue",
        "_registrations",
        "broker",
        "metadata_offset",
    )

    def __init__(self, broker: Broker, controllers: Sequence[KraftController]) -> None:
        self.broker = broker
        self._controllers = controllers
        self._controller = 0
        self._lifecycle = KraftLifecycle(self)
        self.ended()

    def ended(self) -> None:
        """Drops the requests when the broker's process ends."""
        self._assigns = False
        self._disks: dict[int, int] = {}
        self._in_flight: dict[str, Leadership] = {}
        self.metadata_offset = self._late_until = 0
        self._queue: dict[str, Leadership] = {}
        self._registrations: dict[int, Registration] = {}
        self._lifecycle.ended()

    def joined(self, clean: bool) -> None:
        """Registers, reads the metadata log, and sends heartbeats from then on."""
        self._lifecycle.begin(clean)
        self._fetch_metadata()

    def controlled_shutdown(self, then: Callable[[], None]) -> None:
        """Asks by heartbeats until the controller lets the broker stop."""
        self._lifecycle.begin_controlled_shutdown(then)

    def directory_failed(self, partitions: tuple[str, ...]) -> None:
        """Reports it (AssignReplicasToDirs and the offline directories of a heartbeat), until the controller has it."""
        broker = self.broker

        def answered(error: int) -> None:
            if error:
                self.broker.after(RETRY_AFTER, self.directory_failed, partitions)

        self.call(
            "BrokerHeartbeat",
            lambda controller: controller.directory_failed,
            (broker.id, partitions),
            answered,
            lambda _reason: self.broker.after(RETRY_AFTER, self.directory_failed, partitions),
        )

    @property
    def disk(self) -> int:
        """The disk of its log directories, for a controller that knows of directories (KIP-858, since 3.7)."""
        return self.broker.disk if self.broker.cluster.version.failed_directories_told else 0

    @property
    def has_other_disk(self) -> bool:
        """True if its replicas are not in the directories that the metadata log names, as far as it has read that."""
        return self._disks.get(self.broker.id, 0) != self.disk

    def _assign_directories(self) -> None:
        """Says that its replicas are in directories that partitions do not name, until the controller has it.

        org.apache.kafka.server.AssignmentsManager. The broker epoch is the one that the metadata log tells: that of the
        broker's former life, if it is not registered anew yet. It is unfenced before or after this, both were seen on
        4.2.0 and 4.3.1; one that is unfenced before leads nothing by that, nor by this.
        """
        broker, known = self.broker, self._registrations.get(self.broker.id)
        if not self.has_other_disk:
            self._assigns = False
            return

        def answered(error: int) -> None:
            if error:
                broker.after(ASSIGNED_AFTER, self._assign_directories)
            else:
                self._assigns = False

        self.call(
            "AssignReplicasToDirs",
            lambda controller: controller.directories_assigned,
            (broker.id, known.epoch if known else -1, self.disk),
            answered,
            lambda _reason: broker.after(ASSIGNED_AFTER, self._assign_directories),
        )

    # -- requests

    def call(
        self,
        name: str,
        handler: Callable[[KraftController], Callable[..., object]],
        arguments: tuple[Any, ...],
        on_reply: Callable[..., object],
        on_failure: Callable[[str], object],
    ) -> None:
        """Asks the voter that it considers the active controller; ``handler`` is its method for the request."""
        cluster = self.broker.cluster
        controller = self._controllers[self._controller % len(self._controllers)]
        timeout = cluster.integer("controller.quorum.fetch.timeout.ms") * MICROSECONDS
        asked = self._controller

        def replied(error: int, *values: Any) -> None:
            if error == ErrorCode.NOT_CONTROLLER:
                self._not_controller(asked)
            on_reply(error, *values)

        def failed(reason: str) -> None:
            self._not_controller(asked)
            on_failure(reason)

        answers = handler(controller)
        cluster.transport.call(self.broker, controller, name, answers, arguments, replied, failed, timeout)

    def _not_controller(self, asked: int) -> None:
        """Asks the next voter from now on, unless another answer has already moved on from this one."""
        if self._controller == asked:
            self._controller += 1

    # -- the metadata log

    def _fetch_metadata(self) -> None:
        def answered(error: int, offset: int, entries: tuple[Entry, ...]) -> None:
            if error:
                self.broker.after(RETRY_AFTER, self._fetch_metadata)
                return
            late = self._late_until - self.broker.clock.now
            if late > 0:
                self.broker.after(late, self._fetch_metadata)
                return
            self.metadata_offset = offset
            if entries:
                self._replay(entries)
            self._fetch_metadata()

        self.call(
            "Fetch metadata",
            lambda controller: controller.fetch_metadata,
            (self.metadata_offset,),
            answered,
            lambda _reason: self.broker.after(RETRY_AFTER, self._fetch_metadata),
        )

    def apply_nothing_for(self, duration: int) -> None:
        """Leaves the metadata log unread for a time, as a loader does that is not done with what it had before.

        Args:
            duration: In microseconds.
        """
        if self.broker.up:
            self._late_until = max(self._late_until, self.broker.clock.now + duration)

    def _replay(self, entries: tuple[Entry, ...]) -> None:
        """Applies a batch as a publisher does: of a partition that changed more than once only the last state."""
        changed: dict[str, PartitionState] = {}
        for entry in entries:
            kind, key = entry.key
            if kind == PARTITION:
                changed.pop(key, None)
                changed[key] = entry.value
            elif kind == BROKER:
                self._registrations[key] = entry.value
            else:
                self._disks[key] = entry.value
        known = self._registrations.values()
        leaving = frozenset(one.broker for one in known if one.state == CONTROLLED_SHUTDOWN)
        self.broker.know_alive({one.broker: one.epoch for one in known if one.state != FENCED}, leaving)
        for state in changed.values():
            self.broker.apply(state)
        if self.has_other_disk and not self._assigns:
            self._assigns = True
            self.broker.after(ASSIGNED_AFTER, self._assign_directories)

    # -- the ISR

    def ask_isr(self, leadership: Leadership) -> None:
        """Queues the request: one is in flight at a time, and one of a partition waits for its answer at a time.

        A leader that has learnt of another state since its first request may want another ISR before the answer comes:
        kafka.server.DefaultAlterPartitionManager.submit refuses it.
        """
        partition = leadership.replica.partition
        if leadership in (self._queue.get(partition), self._in_flight.get(partition)):
            leadership.refused(ErrorCode.OPERATION_NOT_ATTEMPTED.name, True, "alter_partition.leader_reaction")
            return
        self._queue[partition] = leadership
        self._send_isrs()

    def _ask_again(self, leadership: Leadership, proposed: tuple[int, int]) -> None:
        if _proposal(leadership) == proposed:
            self.ask_isr(leadership)

    def _send_isrs(self) -> None:
        # requests of an ended leadership are left out: the controller would refuse them, and no one reads the answer
        asked = {name: one for name, one in self._queue.items() if one.replica.leadership is one}
        if self._in_flight or not asked:
            return
        self._in_flight, self._queue = asked, {}
        requests = tuple(_request(leadership) for leadership in asked.values())
        proposed = {name: _proposal(leadership) for name, leadership in asked.items()}

        def answered(error: int, answers: tuple[tuple[str, int, PartitionState | None], ...]) -> None:
            if error:
                retry(None)
                return
            self._in_flight = {}
            for partition, one_error, state in answers:
                self._answered(asked[partition], proposed[partition], one_error, state)
            self._send_isrs()

        def retry(_reason: str | None) -> None:
            self._in_flight, self._queue = {}, {**asked, **self._queue}
            self.broker.after(RETRY_AFTER, self._send_isrs)

        broker = self.broker
        arguments = (broker.id, broker.broker_epoch, requests)
        self.call("AlterPartition", lambda controller: controller.alter_partition, arguments, answered, retry)

    def _answered(
        self, leadership: Leadership, proposed: tuple[int, int], error: int, state: PartitionState | None
    ) -> None:
        """Takes an answer, unless the leader has learnt of another state since it asked, or waits for another ISR.

        kafka.cluster.Partition.submitAlterPartition.
        """
        if leadership.replica.leadership is not leadership or _proposal(leadership) != proposed:
            return
        if error or state is None:
            reaction = leader_reaction(error)
            leadership.refused(ErrorCode(error).name, reaction == ROLL_BACK, "alter_partition.leader_reaction")
            if reaction == RETRY:
                self.broker.after(RETRY_AFTER, self._ask_again, leadership, proposed)
        elif leader_takes_answer(
            leadership.pending != leadership.isr,
            leadership.epoch,
            leadership.partition_epoch,
            state.leader_epoch,
            state.partition_epoch,
        ):
            self.broker.apply(state)


def _proposal(leadership: Leadership) -> tuple[int, int]:
    return leadership.pending, leadership.partition_epoch


def _request(leadership: Leadership) -> IsrRequest:
    state = leadership.replica.state
    isr = state.ids(leadership.pending)
    own = leadership.replica.broker
    epochs = dict(zip(leadership.replicas, leadership.broker_epochs, strict=True)) | {own.id: own.broker_epoch}
    return IsrRequest(
        leadership.replica.partition,
        leadership.epoch,
        leadership.partition_epoch,
        isr,
        tuple(epochs[broker] for broker in isr),
        False,
    )
