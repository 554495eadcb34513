"""Brokers as a KRaft controller knows them: registrations, heartbeats, fencing.

org.apache.kafka.controller.ClusterControlManager and BrokerHeartbeatManager. The consequences for partitions are
decided in ``controller``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from kreplica.engine.rules.controller.broker_registration import (
    CONTROLLED_SHUTDOWN,
    FENCED,
    NO_BROKER,
    SHUTDOWN_NOW,
    UNFENCED,
    FencedFirst,
    next_state,
    registration_refused,
    session_stands,
    shut_down_uncleanly,
    stale_broker,
    tracker_place,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.kraft.quorum import Registration, Voter
from kreplica.engine.trace import Kind

Reply = Callable[..., object]

LOOKS_PER_SESSION = 18
"""Number of checks for silent brokers within broker.session.timeout.ms: every 0.5 s by default.

Kafka checks when the first session expires (rescheduleMaybeFenceStaleBrokers), later releases eight times a
session (maybeFenceStaleBroker); this lies between.
"""


class RegisteringController(Voter):
    """A controller as its knowledge of brokers asks it for consequences."""

    __slots__ = ()

    @property
    @abstractmethod
    def log_end(self) -> int:
        """Number of entries in the log, uncommitted ones included."""

    @abstractmethod
    def write_registration(self, registration: Registration) -> None:
        """Appends a broker's registration to the log."""

    @abstractmethod
    def commit(self, then: Callable[[], object], otherwise: Callable[[], object] = lambda: None) -> None:
        """Serves brokers and calls ``then`` once the appended entries are committed, ``otherwise`` if they are not."""

    @abstractmethod
    def leaderships(self, broker: int) -> int:
        """Number of partitions that a broker leads."""

    @abstractmethod
    def broker_leaves(self, broker: int, why: str, unclean_shutdown: bool = False) -> None:
        """Removes a broker from its ISRs."""

    @abstractmethod
    def broker_is_back(self, broker: int) -> None:
        """Lets an unfenced broker lead partitions without a leader."""


class KraftBrokers:
    """The brokers as an active controller knows them.

    ``registered`` is replayed from the metadata log, as is ``disks``: the disk on which partitions say that each
    broker's replicas are, 0 where it is left out. The controller alone knows when it last heard of a broker
    (``contacts``, in microseconds), and up to which offset the broker had read the log at its last heartbeat
    (``metadata_offsets``).
    """

    __slots__ = ("contacts", "controller", "disks", "metadata_offsets", "registered")

    def __init__(self, controller: RegisteringController) -> None:
        self.controller = controller
        self.registered: dict[int, Registration] = {}
        self.disks: dict[int, int] = {}
        self.contacts: dict[int, int] = {}
        self.metadata_offsets: dict[int, int] = {}

    def forget(self) -> None:
        """Forgets everything: the log is going to be replayed."""
        self.registered, self.disks, self.contacts, self.metadata_offsets = {}, {}, {}, {}

    def begin(self, epoch: int) -> None:
        """Counts brokers as heard of just now, and starts to check for silent ones. ClusterControlManager.activate."""
        every = self.controller.cluster.version.failover_renews_fenced
        heard = (known.broker for known in self.registered.values() if every or known.state != FENCED)
        self.contacts = dict.fromkeys(heard, self._now)
        self.controller.after(0, self._look_for_silent, epoch)

    def there_from_the_start(self, broker: int, down: bool) -> None:
        """Adds a broker that has existed since before the first epoch; it registers as soon as it runs."""
        self.controller.write_registration(Registration(broker, -1, 0, FENCED if down else UNFENCED, 0))
        if not down:
            self.contacts[broker] = self._now

    @property
    def _now(self) -> int:
        return self.controller.cluster.clock.now

    def active(self) -> tuple[int, ...]:
        """Brokers that are neither fenced nor shutting down."""
        return self._in_state(UNFENCED)

    def active_where_placed(self) -> tuple[int, ...]:
        """Active brokers whose replicas are in directories that they registered. BrokerRegistration.hasOnlineDir."""
        return tuple(broker for broker in self.active() if self.registered[broker].disk == self.disks.get(broker, 0))

    def fenced(self) -> tuple[int, ...]:
        """Fenced brokers: they are out of every ISR."""
        return self._in_state(FENCED)

    def shutting_down(self) -> tuple[int, ...]:
        """Brokers in controlled shutdown that still lead partitions, or whose state other brokers have not read yet."""
        return self._in_state(CONTROLLED_SHUTDOWN)

    def _in_state(self, state: int) -> tuple[int, ...]:
        return tuple(known.broker for known in self.registered.values() if known.state == state)

    # -- requests

    def register(self, broker: int, incarnation: int, previous_epoch: int, disk: int, reply: Reply) -> None:
        """Registers a broker that has started: error, broker epoch, offset of the registration."""
        controller, known = self.controller, self.registered.get(broker)
        if not controller.is_active():
            reply(ErrorCode.NOT_CONTROLLER, -1, -1)
            return
        if known is not None and known.epoch >= 0:
            if registration_refused(self._has_session(known), known.incarnation == incarnation):
                reply(ErrorCode.DUPLICATE_BROKER_REGISTRATION, -1, -1)
                return
            self._former_life_ends(known, previous_epoch)
        epoch = controller.log_end + 1
        state = known.state if known is not None and known.epoch < 0 else FENCED
        controller.write_registration(Registration(broker, epoch, incarnation, state, epoch, disk))
        self.contacts.pop(broker, None)
        if state == UNFENCED:
            self.contacts[broker] = self._now
        controller.emit(Kind.BROKER_REGISTERED, broker, epoch)
        controller.commit(lambda: reply(ErrorCode.NONE, epoch, epoch), lambda: reply(ErrorCode.NOT_CONTROLLER, -1, -1))

    def _former_life_ends(self, known: Registration, previous_epoch: int) -> None:
        """Removes a restarted broker from its ISRs and ELRs. ReplicationControlManager.handleBrokerShutdown."""
        version = self.controller.cluster.version
        if shut_down_uncleanly(previous_epoch, known.epoch, version.elr):
            self.controller.broker_leaves(known.broker, "it was not shut down cleanly", unclean_shutdown=True)
        elif version.restarted_leave_isrs:
            self.controller.broker_leaves(known.broker, "it was started anew")

    def heartbeat(
        self,
        broker: int,
        epoch: int,
        metadata_offset: int,
        wants_fence: bool,
        wants_shutdown: bool,
        reply: Reply,
    ) -> None:
        """Handles a heartbeat: error, whether the broker is fenced, whether it should shut down now."""
        known = self.registered.get(broker)
        if not self.controller.is_active() or known is None:
            reply(ErrorCode.NOT_CONTROLLER, True, False)
            return
        if known.epoch != epoch:
            reply(ErrorCode.STALE_BROKER_EPOCH, True, False)
            return
        self.contacts[broker] = self._now
        self.metadata_offsets[broker] = metadata_offset
        state = self._next_state(known, metadata_offset, wants_fence, wants_shutdown)
        self._enter(known, state)
        fenced, stops = self.registered[broker].state == FENCED, state == SHUTDOWN_NOW
        self.controller.commit(
            lambda: reply(ErrorCode.NONE, fenced, stops), lambda: reply(ErrorCode.NOT_CONTROLLER, True, False)
        )

    # -- states

    def _next_state(self, known: Registration, metadata_offset: int, wants_fence: bool, wants_shutdown: bool) -> int:
        others = [self.metadata_offsets.get(other, 0) for other in self.active() if other != known.broker]
        return next_state(
            known.state,
            wants_fence,
            wants_shutdown,
            metadata_offset,
            known.offset,
            self.controller.leaderships(known.broker),
            known.offset,
            min(others, default=self.controller.log_end),
        )

    def _enter(self, known: Registration, state: int) -> None:
        if state == known.state:
            return
        if state == UNFENCED:
            self._unfence(known)
        elif state == CONTROLLED_SHUTDOWN:
            self._begin_shutdown(known)
        else:
            self._fence(known, "it asked for it", "broker_registration.next_state")

    def _unfence(self, known: Registration) -> None:
        self.controller.write_registration(known._replace(state=UNFENCED))
        self.controller.emit(Kind.BROKER_UNFENCED, known.broker, "broker_registration.next_state")
        self.controller.broker_is_back(known.broker)

    def _begin_shutdown(self, known: Registration) -> None:
        """Begins a controlled shutdown; ``offset`` is then the log end after the last of its leaderships was moved."""
        shutting_down = known._replace(state=CONTROLLED_SHUTDOWN)
        self.controller.write_registration(shutting_down)
        self.controller.broker_leaves(known.broker, "it shuts down")
        self.controller.write_registration(shutting_down._replace(offset=self.controller.log_end))

    def _fence(self, known: Registration, why: str, rule: str) -> None:
        if known.state == FENCED:
            return
        self.controller.write_registration(known._replace(state=FENCED))
        self.controller.emit(Kind.BROKER_FENCED, known.broker, why, rule)
        self.controller.broker_leaves(known.broker, "it is fenced")

    # -- sessions

    @property
    def _session(self) -> int:
        return self.controller.cluster.integer("broker.session.timeout.ms") * MICROSECONDS

    def _has_session(self, known: Registration) -> bool:
        """True if a broker was heard of within its session, so may live. BrokerHeartbeatManager.hasValidSession."""
        contact, keep = self.contacts.get(known.broker), self.controller.cluster.version.fenced_keep_sessions
        return contact is not None and session_stands(known.state == FENCED, self._now, contact, self._session, keep)

    def _look_for_silent(self, epoch: int) -> None:
        """Fences brokers whose session has expired, one after the other."""
        controller = self.controller
        if not controller.is_active() or controller.quorum.epoch != epoch:
            return
        stale = first_stale = self._stale()
        while stale is not None:
            self._fence(stale, "its session is over", "broker_registration.stale_broker")
            stale = self._stale()
        if first_stale is not None:
            controller.commit(lambda: None)
        controller.after(self._session // LOOKS_PER_SESSION, self._look_for_silent, epoch)

    def _stale(self) -> Registration | None:
        known = tuple(self.registered[broker] for broker in self.contacts)
        contacts = tuple(self.contacts.values())
        unfenced = sum(1 << number for number, one in enumerate(known) if one.state != FENCED)
        found = stale_broker(self._now, contacts, unfenced, self._session, self._places(known))
        return None if found == NO_BROKER else known[found]

    def _places(self, known: tuple[Registration, ...]) -> tuple[int, ...]:
        """By broker, the number by which silent ones are put in order: the smallest is fenced first."""
        first = self.controller.cluster.version.fenced_first
        if first is FencedFirst.LONGEST_SILENT:
            return tuple(self.contacts.values())
        return tuple(tracker_place(one.broker, one.epoch, len(known), first) for one in known)
