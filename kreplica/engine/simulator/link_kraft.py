"""A broker's side of KRaft: registration, heartbeats, the metadata log, AlterPartition.

kafka.server.BrokerLifecycleManager, BrokerMetadataPublisher, AlterPartitionManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kreplica.engine.rules.alter_partition import RETRY, ROLL_BACK, leader_reaction, leader_takes_answer
from kreplica.engine.rules.broker_registration import CONTROLLED_SHUTDOWN, FENCED
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import MILLISECOND
from kreplica.engine.simulator.kraft_records import BROKER, PARTITION, IsrRequest, Registration
from kreplica.engine.simulator.leadership import Leadership
from kreplica.engine.simulator.metadata_quorum import Entry
from kreplica.engine.simulator.partition_state import PartitionState

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker import Broker
    from kreplica.engine.simulator.controller_kraft import KraftController

RETRY_AFTER = 50 * MILLISECOND
"""Until a request that failed is sent again: what kafka.server.DefaultAlterPartitionManager waits."""
REGISTER_AGAIN_AFTER = 500 * MILLISECOND
"""Until a broker whose last life is not yet fenced registers again; BrokerLifecycleManager's waits grow from 100 ms."""


class KraftLink:
    """See ``ControllerLink``."""

    __slots__ = (
        "_asking",
        "_beating",
        "_broker",
        "_controller",
        "_metadata_offset",
        "_previous_epoch",
        "_queue",
        "_registrations",
        "_then_stop",
    )

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._controller = 0
        self._previous_epoch = -1
        self.ended()

    def ended(self) -> None:
        """The broker's process is gone."""
        self._asking = self._beating = False
        self._metadata_offset = 0
        self._queue: dict[str, Leadership] = {}
        self._registrations: dict[int, Registration] = {}
        self._then_stop: Callable[[], None] | None = None

    def joined(self, clean: bool) -> None:
        """Registers, reads the metadata log, and sends heartbeats from then on."""
        previous = self._previous_epoch if clean else -1
        self._register(previous)
        self._fetch_metadata()

    def controlled_shutdown(self, then: Callable[[], None]) -> None:
        """Says so by heartbeats until the controller lets the broker go."""
        self._then_stop = then
        self._heartbeat()

    def directory_failed(self, partitions: tuple[str, ...]) -> None:
        """Reports it (AssignReplicasToDirs and the offline directories of a heartbeat), until the controller knows."""
        broker = self._broker

        def answered(error: int) -> None:
            if error:
                self._broker.after(RETRY_AFTER, self.directory_failed, partitions)

        self._call(
            "BrokerHeartbeat",
            lambda controller: controller.directory_failed,
            (broker.id, partitions),
            answered,
            lambda _reason: self._broker.after(RETRY_AFTER, self.directory_failed, partitions),
        )

    # -- requests

    def _call(
        self,
        name: str,
        handler: Callable[[KraftController], Callable[..., object]],
        arguments: tuple[Any, ...],
        on_reply: Any,
        on_failure: Any,
    ) -> None:
        """Asks the voter that it takes for the active controller; ``handler`` is what takes the request there."""
        simulation = self._broker.simulation
        voters = simulation.quorum.voters
        voter = voters[self._controller % len(voters)]
        assert voter.controller is not None
        timeout = simulation.integer("controller.quorum.fetch.timeout.ms") * MICROSECONDS
        asked = self._controller

        def replied(error: int, *values: Any) -> None:
            if error == ErrorCode.NOT_CONTROLLER:
                self._not_controller(asked)
            on_reply(error, *values)

        def failed(reason: str) -> None:
            self._not_controller(asked)
            on_failure(reason)

        answers = handler(voter.controller)
        simulation.network.call(self._broker, voter, name, answers, arguments, replied, failed, timeout)

    def _not_controller(self, asked: int) -> None:
        """Asks the next voter from now on, unless another answer has already moved on from this one."""
        if self._controller == asked:
            self._controller += 1

    def _register(self, previous_epoch: int) -> None:
        broker = self._broker

        def answered(error: int, epoch: int, _offset: int) -> None:
            if error == ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                broker.after(REGISTER_AGAIN_AFTER, self._register, previous_epoch)
            elif error:
                self._broker.after(RETRY_AFTER, self._register, previous_epoch)
            else:
                self._previous_epoch = broker.broker_epoch = epoch
                self._heartbeats()

        self._call(
            "BrokerRegistration",
            lambda controller: controller.brokers.register,
            (broker.id, broker.incarnation, previous_epoch),
            answered,
            lambda _reason: self._broker.after(RETRY_AFTER, self._register, previous_epoch),
        )

    def _heartbeats(self) -> None:
        if not self._beating:
            self._heartbeat()
        interval = self._broker.simulation.integer("broker.heartbeat.interval.ms") * MICROSECONDS
        self._broker.after(interval, self._heartbeats)

    def _heartbeat(self) -> None:
        """One heartbeat, sent again until the active controller has it. NodeToControllerRequestThread."""
        broker = self._broker
        self._beating = True

        def answered(error: int, fenced: bool, stops: bool) -> None:
            self._beating = error == ErrorCode.NOT_CONTROLLER or fenced or self._then_stop is not None
            if stops and self._then_stop is not None:
                self._then_stop()
            elif self._beating:
                broker.after(RETRY_AFTER, self._heartbeat)

        self._call(
            "BrokerHeartbeat",
            lambda controller: controller.brokers.heartbeat,
            (broker.id, broker.broker_epoch, self._metadata_offset, False, self._then_stop is not None),
            answered,
            lambda _reason: broker.after(RETRY_AFTER, self._heartbeat),
        )

    # -- the metadata log

    def _fetch_metadata(self) -> None:
        def answered(error: int, offset: int, entries: tuple[Entry, ...]) -> None:
            if error:
                self._broker.after(RETRY_AFTER, self._fetch_metadata)
                return
            self._metadata_offset = offset
            self._replay(entries)
            self._fetch_metadata()

        self._call(
            "Fetch metadata",
            lambda controller: controller.fetch_metadata,
            (self._broker.id, self._metadata_offset),
            answered,
            lambda _reason: self._broker.after(RETRY_AFTER, self._fetch_metadata),
        )

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
        known = self._registrations.values()
        leaving = frozenset(one.broker for one in known if one.state == CONTROLLED_SHUTDOWN)
        self._broker.know_alive({one.broker: one.epoch for one in known if one.state != FENCED}, leaving)
        for state in changed.values():
            self._broker.apply(state)

    # -- the ISR

    def ask_isr(self, leadership: Leadership) -> None:
        """Queues the request: one is on its way at a time."""
        self._queue[leadership.replica.partition] = leadership
        self._send_isrs()

    def _send_isrs(self) -> None:
        if self._asking or not self._queue:
            return
        self._asking = True
        asked, self._queue = self._queue, {}
        requests = tuple(_request(leadership) for leadership in asked.values())

        def answered(error: int, answers: tuple[tuple[str, int, PartitionState | None], ...]) -> None:
            self._asking = False
            if error:
                retry(None)
                return
            for partition, one_error, state in answers:
                self._answered(asked[partition], one_error, state)
            self._send_isrs()

        def retry(_reason: str | None) -> None:
            self._asking = False
            self._queue = {**asked, **self._queue}
            self._broker.after(RETRY_AFTER, self._send_isrs)

        broker = self._broker
        arguments = (broker.id, broker.broker_epoch, requests)
        self._call("AlterPartition", lambda controller: controller.alter_partition, arguments, answered, retry)

    def _answered(self, leadership: Leadership, error: int, state: PartitionState | None) -> None:
        if leadership.replica.leadership is not leadership:
            return
        if error or state is None:
            reaction = leader_reaction(error)
            leadership.refused(ErrorCode(error).name, reaction == ROLL_BACK)
            if reaction == RETRY:
                self._broker.after(RETRY_AFTER, self.ask_isr, leadership)
        elif leader_takes_answer(
            leadership.pending != leadership.isr,
            leadership.epoch,
            leadership.partition_epoch,
            state.leader_epoch,
            state.partition_epoch,
        ):
            self._broker.apply(state)


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
