"""The active KRaft controller: registrations, fencing, elections, AlterPartition, reassignments.

org.apache.kafka.controller.QuorumController, ReplicationControlManager, ClusterControlManager. What it decides becomes
entries of the metadata log, which brokers fetch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kreplica.engine.rules.alter_partition import answer_to_change, ineligible_replicas, kraft_alter_partition_error
from kreplica.engine.rules.broker_registration import (
    CONTROLLED_SHUTDOWN,
    FENCED,
    SHUTDOWN_NOW,
    UNFENCED,
    next_state,
    registration_refused,
    session_expired,
    shut_down_uncleanly,
)
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.rules.high_watermark import effective_min_isr
from kreplica.engine.rules.isr import kraft_change
from kreplica.engine.rules.leader_epoch_bump import kraft_leader_epoch, partition_epoch
from kreplica.engine.rules.reassignment import completes
from kreplica.engine.rules.replica_set import NO_LEADER, contains, everybody, only, without
from kreplica.engine.rules.unclean_election import recovering_after
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.kraft_operations import KraftOperations
from kreplica.engine.simulator.kraft_records import BROKER, PARTITION, IsrRequest, Registration
from kreplica.engine.simulator.metadata_quorum import Entry, MetadataQuorum, Voter
from kreplica.engine.simulator.partition_state import PartitionState, topic_of
from kreplica.engine.trace import Kind
from kreplica.model.settings import MIN_ISR, UNCLEAN

if TYPE_CHECKING:
    from kreplica.engine.simulator.simulation import Simulation

Reply = Callable[..., object]

RULE = "isr.kraft_change"


class KraftController:
    """What a voter is while it is active. Its state is the log, replayed; contacts with brokers are its own."""

    __slots__ = (
        "_waiting",
        "brokers",
        "contacts",
        "metadata_offsets",
        "operations",
        "partitions",
        "quorum",
        "simulation",
        "voter",
    )

    def __init__(self, simulation: Simulation, quorum: MetadataQuorum, voter: Voter) -> None:
        self.simulation = simulation
        self.quorum = quorum
        self.voter = voter
        self.brokers: dict[int, Registration] = {}
        self.partitions: dict[str, PartitionState] = {}
        self.contacts: dict[int, int] = {}
        self.metadata_offsets: dict[int, int] = {}
        self.operations = KraftOperations(self)
        self._waiting: list[tuple[int, Reply]] = []

    # -- life

    def activate(self, epoch: int) -> None:
        """Replays the log; in the very first epoch creates the topics."""
        self.brokers, self.partitions = {}, {}
        for entry in self.quorum.entries:
            self._replay(entry)
        now = self.simulation.scheduler.now
        self.contacts = dict.fromkeys(self.brokers, now)
        self.metadata_offsets = {}
        if not self.partitions:
            self._create_topics()
        self._periodically("unclean.leader.election.interval.ms", MICROSECONDS, epoch, self.operations.recheck_unclean)
        if self.simulation.boolean("auto.leader.rebalance.enable"):
            self._periodically("leader.imbalance.check.interval.seconds", 1_000_000, epoch, self.operations.balance)
        self.voter.after(0, self._look_for_silent, epoch)

    def deactivate(self) -> None:
        """Tells whoever waits to look for the active controller."""
        waiting, self._waiting = self._waiting, []
        for _, reply in waiting:
            reply(ErrorCode.NOT_CONTROLLER, 0, ())

    def is_active(self) -> bool:
        """Whether this is the one that decides."""
        return self.quorum.active is self.voter

    def _periodically(self, setting: str, unit: int, epoch: int, task: Callable[[], None]) -> None:
        def run() -> None:
            if self.is_active() and self.quorum.epoch == epoch:
                task()
                self.voter.after(self.simulation.integer(setting) * unit, run)

        self.voter.after(self.simulation.integer(setting) * unit, run)

    def _create_topics(self) -> None:
        """The setup's topics as they are at the start: everybody in sync, the first replica leads."""
        for partition, replicas in self.simulation.assignments.items():
            self.write_partition(
                PartitionState(partition, replicas, 0, 0, everybody(len(replicas)), 0), "the topic is created", ""
            )
        for broker in self.simulation.brokers.values():
            self._write(Entry((BROKER, broker.id), Registration(broker.id, -1, 0, UNFENCED, 0)))
            self.contacts[broker.id] = self.simulation.scheduler.now
        self.commit(lambda: None)

    # -- the log

    def _replay(self, entry: Entry) -> None:
        kind, key = entry.key
        if kind == PARTITION:
            self.partitions[key] = entry.value
        else:
            self.brokers[key] = entry.value

    def _write(self, entry: Entry) -> None:
        self._replay(entry)
        self.quorum.entries.append(entry)

    def write_partition(self, state: PartitionState, why: str, rule: str) -> None:
        """Appends a partition's state to the log."""
        self._write(Entry((PARTITION, state.partition), state))
        self.voter.emit(
            Kind.PARTITION_CHANGED,
            state.partition,
            state.leader_id,
            state.leader_epoch,
            state.ids(state.isr),
            state.ids(state.elr),
            state.partition_epoch,
            why,
            rule,
        )

    def commit(self, then: Callable[[], object]) -> None:
        """Serves brokers and calls ``then`` once what was appended is committed."""

        def committed() -> None:
            self._serve_metadata()
            then()

        self.quorum.append([], committed)

    def fetch_metadata(self, broker: int, offset: int, reply: Reply) -> None:
        """Answers a broker with the entries from ``offset`` on, as soon as there are any: error, offset, entries."""
        if not self.is_active():
            reply(ErrorCode.NOT_CONTROLLER, 0, ())
            return
        self.metadata_offsets[broker] = offset
        self._waiting.append((offset, reply))
        self._serve_metadata()

    def _serve_metadata(self) -> None:
        committed = self.quorum.committed
        waiting, self._waiting = self._waiting, []
        for offset, reply in waiting:
            if offset < committed:
                reply(ErrorCode.NONE, committed, tuple(self.quorum.entries[offset:committed]))
            else:
                self._waiting.append((offset, reply))

    # -- brokers

    def register(self, broker: int, incarnation: int, previous_epoch: int, reply: Reply) -> None:
        """Registers a broker that has started: error, broker epoch, offset of the registration."""
        if not self.is_active():
            reply(ErrorCode.NOT_CONTROLLER, -1, -1)
            return
        known = self.brokers.get(broker)
        if known is not None and known.epoch >= 0:
            valid = known.state != FENCED and not self._is_silent(broker)
            if registration_refused(valid, known.incarnation == incarnation):
                reply(ErrorCode.DUPLICATE_BROKER_REGISTRATION, -1, -1)
                return
            elr = self.simulation.version.elr
            if shut_down_uncleanly(previous_epoch, known.epoch, elr):
                self._take_out(broker, "it was not shut down cleanly", unclean_shutdown=True)
        epoch = len(self.quorum.entries) + 1
        state = UNFENCED if known is not None and known.epoch < 0 else FENCED
        self._write(Entry((BROKER, broker), Registration(broker, epoch, incarnation, state, epoch)))
        self.contacts[broker] = self.simulation.scheduler.now
        self.voter.emit(Kind.BROKER_REGISTERED, broker, epoch)
        self.commit(lambda: reply(ErrorCode.NONE, epoch, epoch))

    def heartbeat(
        self,
        broker: int,
        epoch: int,
        metadata_offset: int,
        wants_fence: bool,
        wants_shutdown: bool,
        reply: Reply,
    ) -> None:
        """Hears from a broker: error, whether it is fenced, whether it should shut down now."""
        known = self.brokers.get(broker)
        if not self.is_active() or known is None:
            reply(ErrorCode.NOT_CONTROLLER, True, False)
            return
        if known.epoch != epoch:
            reply(ErrorCode.STALE_BROKER_EPOCH, True, False)
            return
        self.contacts[broker] = self.simulation.scheduler.now
        self.metadata_offsets[broker] = metadata_offset
        state = self._next_state(known, metadata_offset, wants_fence, wants_shutdown)
        self._enter(known, state)
        if state == CONTROLLED_SHUTDOWN:  # its leaders may be moved by now
            state = self._next_state(self.brokers[broker], metadata_offset, wants_fence, wants_shutdown)
            self._enter(self.brokers[broker], state)
        fenced, stops = self.brokers[broker].state == FENCED, state == SHUTDOWN_NOW
        self.commit(lambda: reply(ErrorCode.NONE, fenced, stops))

    def _next_state(self, known: Registration, metadata_offset: int, wants_fence: bool, wants_shutdown: bool) -> int:
        leaderships = sum(state.leader_id == known.broker for state in self.partitions.values())
        others = [
            self.metadata_offsets.get(other.broker, 0)
            for other in self.brokers.values()
            if other.state == UNFENCED and other.broker != known.broker
        ]
        lowest = min(others, default=self.quorum.committed)
        offset = known.offset
        return next_state(
            known.state, wants_fence, wants_shutdown, metadata_offset, offset, leaderships, offset, lowest
        )

    def _enter(self, known: Registration, state: int) -> None:
        if state == known.state:
            return
        if state == UNFENCED:
            self._unfence(known)
        elif state == CONTROLLED_SHUTDOWN:
            self._write(Entry((BROKER, known.broker), known._replace(state=CONTROLLED_SHUTDOWN)))
            self._take_out(known.broker, "it shuts down")
            shut = self.brokers[known.broker]
            self._write(Entry((BROKER, known.broker), shut._replace(offset=len(self.quorum.entries))))
        else:
            self._fence(known, "it asked for it")

    def _unfence(self, known: Registration) -> None:
        self._write(Entry((BROKER, known.broker), known._replace(state=UNFENCED)))
        self.voter.emit(Kind.BROKER_UNFENCED, known.broker)
        for state in tuple(self.partitions.values()):
            if state.leader == NO_LEADER and known.broker in state.replicas:
                self.change(state, state.isr, f"broker-{known.broker} is back")

    def _fence(self, known: Registration, why: str) -> None:
        if known.state == FENCED:
            return
        self._write(Entry((BROKER, known.broker), known._replace(state=FENCED)))
        self.voter.emit(Kind.BROKER_FENCED, known.broker, why)
        self._take_out(known.broker, "it is fenced")

    def _take_out(self, broker: int, why: str, unclean_shutdown: bool = False) -> None:
        for state in tuple(self.partitions.values()):
            place = only(state.replicas.index(broker)) if broker in state.replicas else 0
            if (state.isr & place) or (unclean_shutdown and state.elr & place):
                lossy = place if unclean_shutdown else 0
                self.change(state, without(state.isr, place), f"broker-{broker} leaves: {why}", place, lossy)

    def _is_silent(self, broker: int) -> bool:
        now = self.simulation.scheduler.now
        session = self.simulation.integer("broker.session.timeout.ms") * MICROSECONDS
        return session_expired(now, self.contacts.get(broker, now), session)

    def _look_for_silent(self, epoch: int) -> None:
        if not self.is_active() or self.quorum.epoch != epoch:
            return
        silent = [known for known in self.brokers.values() if known.state != FENCED and self._is_silent(known.broker)]
        for known in sorted(silent, key=lambda one: self.contacts[one.broker]):
            self._fence(known, "its session is over")
        if silent:
            self.commit(lambda: None)
        session = self.simulation.integer("broker.session.timeout.ms") * MICROSECONDS
        self.voter.after(session // 18, self._look_for_silent, epoch)

    # -- partitions

    def acceptable(self, state: PartitionState) -> int:
        """The replicas that may lead: their broker is active, their directory online."""
        active = tuple(known.broker for known in self.brokers.values() if known.state == UNFENCED)
        return without(state.places(active), self.simulation.offline_places(state))

    def change(
        self, state: PartitionState, target_isr: int, why: str, excluded: int = 0, unclean_shutdown: int = 0
    ) -> None:
        """Another ISR, and with it who leads: PartitionChangeBuilder.build."""
        simulation = self.simulation
        acceptable = without(self.acceptable(state), excluded)
        topic = topic_of(state.partition)
        leader, isr, elr, last_known = kraft_change(
            state.leader,
            state.isr,
            state.elr,
            state.last_known_elr,
            target_isr,
            acceptable,
            effective_min_isr(simulation.topic_integer(topic, MIN_ISR), len(state.replicas)),
            simulation.version.elr,
            simulation.topic_boolean(topic, UNCLEAN),
            unclean_shutdown,
        )
        unclean = leader not in (NO_LEADER, state.leader) and not contains(state.isr | state.elr, leader)
        self.settle(state, leader, isr, elr, last_known, recovering_after(unclean, state.recovering, False), why)

    def settle(
        self,
        state: PartitionState,
        leader: int,
        isr: int,
        elr: int,
        last_known_elr: int,
        recovering: bool,
        why: str,
        rule: str = RULE,
    ) -> PartitionState:
        """Writes a partition down if anything about it changed."""
        moved = leader != state.leader
        epoch = kraft_leader_epoch(
            state.leader_epoch, moved, state.isr, isr, 0, 0, self.simulation.version.epoch_rises_on_shrink
        )
        new = state._replace(
            leader=leader,
            leader_epoch=epoch,
            isr=isr,
            elr=elr,
            last_known_elr=last_known_elr,
            recovering=recovering,
        )
        if new != state:
            new = new._replace(partition_epoch=partition_epoch(state.partition_epoch, True))
            self.write_partition(new, why, rule)
            if new.leader == NO_LEADER and moved:
                self.voter.emit(Kind.NO_LEADER, new.partition, new.ids(new.isr), why)
        return new

    def alter_partition(self, broker: int, broker_epoch: int, requests: tuple[IsrRequest, ...], reply: Reply) -> None:
        """Takes or refuses the ISRs that a leader asks for: error, and partition, error, state for each."""
        known = self.brokers.get(broker)
        if not self.is_active() or known is None:
            reply(ErrorCode.NOT_CONTROLLER, ())
            return
        if known.epoch != broker_epoch:
            reply(ErrorCode.STALE_BROKER_EPOCH, ())
            return
        answers = tuple(self._alter_one(broker, request) for request in requests)
        self.commit(lambda: reply(ErrorCode.NONE, answers))

    def _alter_one(self, broker: int, request: IsrRequest) -> tuple[str, int, PartitionState | None]:
        state = self.partitions.get(request.partition)
        if state is None or broker not in state.replicas:
            return request.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        sender, isr = state.replicas.index(broker), state.places(request.isr)
        error = kraft_alter_partition_error(
            state.leader,
            state.leader_epoch,
            state.partition_epoch,
            state.everybody,
            state.recovering,
            sender,
            request.leader_epoch,
            request.partition_epoch,
            isr,
            request.recovering,
            self._ineligible(state, isr, request),
        )
        if error:
            return request.partition, error, None
        new = self._altered(state, isr, f"broker-{broker} asked for it")
        return request.partition, answer_to_change(sender, new.leader), new

    def _ineligible(self, state: PartitionState, isr: int, request: IsrRequest) -> int:
        known = self.brokers.values()
        other = 0
        if self.simulation.version.broker_epoch_in_isr:
            epochs = dict(zip(request.isr, request.broker_epochs, strict=True))
            other = state.places(tuple(b.broker for b in known if epochs.get(b.broker, -1) not in (-1, b.epoch)))
        return ineligible_replicas(
            isr,
            state.places(tuple(b.broker for b in known)),
            state.places(tuple(b.broker for b in known if b.state == FENCED)),
            state.places(tuple(b.broker for b in known if b.state == CONTROLLED_SHUTDOWN)),
            other,
        )

    def _altered(self, state: PartitionState, isr: int, why: str) -> PartitionState:
        """The ISR a leader asked for, and with it the end of a reassignment."""
        adding, removing = state.places(state.adding), state.places(state.removing)
        if completes(state.everybody, adding, removing, isr, waits_for_target=True):
            return self.operations.complete(state, isr)
        self.change(state._replace(isr=state.isr, recovering=False), isr, why)
        return self.partitions[state.partition]

    def directory_failed(self, broker: int, partitions: tuple[str, ...], reply: Reply) -> None:
        """Hears of a failed log directory: as if the broker were gone, for these partitions."""
        if not self.is_active():
            reply(ErrorCode.NOT_CONTROLLER)
            return
        for name in partitions:
            state = self.partitions[name]
            place = only(state.replicas.index(broker))
            self.change(state, without(state.isr, place), f"broker-{broker}'s log directory failed", place)
        self.commit(lambda: reply(ErrorCode.NONE))
