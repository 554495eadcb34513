"""The active KRaft controller: the metadata log, elections, AlterPartition, and the arrival and loss of brokers.

org.apache.kafka.controller.QuorumController and ReplicationControlManager. Its decisions become entries of the
metadata log, which brokers fetch.

It does what operators and timers ask of it, too: reassignments, elections, settings
(``broker.controller_link.ControllerOperations``). ReplicationControlManager: alterPartitionReassignments, electLeaders,
maybeBalancePartitionLeaders, maybeElectUncleanLeaders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kreplica.engine.rules.controller.alter_partition import (
    answer_to_change,
    ineligible_replicas,
    kraft_alter_partition_error,
)
from kreplica.engine.rules.controller.unclean_election import kraft_rechecks
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.high_watermark import effective_min_isr
from kreplica.engine.rules.replication.quorum import quorum_leader
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, without
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import MILLISECOND, SECOND, topic_of
from kreplica.engine.simulator.broker.broker import Brokers
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.kraft.brokers import KraftBrokers, RegisteringController
from kreplica.engine.simulator.kraft.decisions import (
    Circumstances,
    broker_left,
    directory_assigned,
    elected_uncleanly,
    elr_cleared,
    ends_move,
    isr_accepted,
    isr_made,
    merged,
    move_asked,
    move_begun,
    move_cancelled,
    preferred_elected,
    settled,
)
from kreplica.engine.simulator.kraft.elrs import ElrIndex
from kreplica.engine.simulator.kraft.quorum import (
    BROKER,
    DISK,
    PARTITION,
    Entry,
    IsrRequest,
    MetadataQuorum,
    Registration,
)
from kreplica.engine.trace import Kind
from kreplica.model.settings import MIN_ISR, UNCLEAN

Reply = Callable[..., object]

RULE = "isr.kraft_change"
MOVE_RULE = "reassignment.completes"
METADATA_FETCH_WAIT = 500 * MILLISECOND
"""KafkaRaftClient.MAX_FETCH_WAIT_MS."""


class KraftController(RegisteringController):
    """The state of a voter while it is active: the replayed log, and the controller's own contacts with brokers."""

    __slots__ = ("_elrs", "_machines", "_purgatory", "_waiting", "brokers", "partitions")

    def __init__(self, cluster: Cluster, number: int, quorum: MetadataQuorum, machines: Brokers) -> None:
        super().__init__(cluster, number, quorum)
        self._machines = machines
        self.brokers = KraftBrokers(self)
        self.partitions: dict[str, PartitionState] = {}
        self._elrs = ElrIndex()
        self._waiting: list[tuple[int, Reply]] = []
        self._purgatory: list[Callable[[], object]] = []

    # -- life

    def activate(self, epoch: int) -> None:
        """Replays the log; in the very first epoch creates the topics."""
        self.partitions, self._elrs = {}, ElrIndex()
        self.brokers.forget()
        for entry in self.quorum.entries:
            self._replay(entry)
        if not self.partitions:
            self._create_topics()
        if self.cluster.version.unclean_setting_obeyed:
            recheck = self.recheck_unclean
            self._periodically("unclean.leader.election.interval.ms", MICROSECONDS, epoch, recheck)
        if self.cluster.boolean("auto.leader.rebalance.enable"):
            self._periodically("leader.imbalance.check.interval.seconds", SECOND, epoch, self.balance)
        self.brokers.begin(epoch)

    def deactivate(self) -> None:
        """Tells waiting brokers to look for the active controller: QuorumController.renounce."""
        waiting, self._waiting = self._waiting, []
        for _, reply in waiting:
            reply(ErrorCode.NOT_CONTROLLER, 0, ())
        uncommitted, self._purgatory = self._purgatory, []
        for otherwise in uncommitted:
            otherwise()

    def _periodically(self, setting: str, unit: int, epoch: int, task: Callable[[], None]) -> None:
        def run() -> None:
            if self.is_active() and self.quorum.epoch == epoch:
                task()
                self.after(self.cluster.integer(setting) * unit, run)

        self.after(self.cluster.integer(setting) * unit, run)

    def _create_topics(self) -> None:
        """Writes the setup's topics as they are at the start."""
        for partition, replicas in self.cluster.assignments.items():
            state = PartitionState.at_start(partition, replicas, self.cluster.starts[partition])
            self.write_partition(state, "the topic is created", "")
        for broker in self.cluster.setup.brokers:
            self.brokers.there_from_the_start(broker.id, f"broker-{broker.id}" in self.cluster.setup.down)
        self.commit(lambda: None)

    # -- the log

    def _replay(self, entry: Entry) -> None:
        kind, key = entry.key
        if kind == PARTITION:
            if not entry.clears_elr:
                self._elrs.follow(self.partitions.get(key), entry.value)
            self.partitions[key] = entry.value
        elif kind == DISK:
            self.brokers.disks[key] = entry.value
        else:
            self.brokers.registered[key] = entry.value

    def _write(self, entry: Entry) -> None:
        self._replay(entry)
        self.quorum.entries.append(entry)

    @property
    def log_end(self) -> int:
        """Number of entries in the log, uncommitted ones included."""
        return len(self.quorum.entries)

    def write_registration(self, registration: Registration) -> None:
        """Appends a broker's registration to the log."""
        self._write(Entry((BROKER, registration.broker), registration))

    def write_partition(self, state: PartitionState, why: str, rule: str, clears_elr: bool = False) -> None:
        """Appends a partition's state to the log."""
        self._write(Entry((PARTITION, state.partition), state, clears_elr))
        if state.former:
            brokers = ", ".join(map(str, state.former))
            why = f"{why}; its ELR still names {brokers}, without a replica there"
        self.emit(
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

    def commit(self, then: Callable[[], object], otherwise: Callable[[], object] = lambda: None) -> None:
        """Serves brokers and calls ``then`` once the appended entries are committed.

        Calls ``otherwise`` where it is no longer the active controller before: ControllerPurgatory.failAll.
        """
        waiting = partial(otherwise)
        self._purgatory.append(waiting)

        def committed() -> None:
            self._purgatory = [one for one in self._purgatory if one is not waiting]
            self._serve_metadata()
            then()

        self.quorum.append([], committed)

    def fetch_metadata(self, offset: int, reply: Reply) -> None:
        """Answers a broker with the entries from ``offset`` on, as soon as there are any: error, offset, entries.

        If there are none in time, answers without any: a broker without an answer looks for another controller.
        """
        if not self.is_active():
            reply(ErrorCode.NOT_CONTROLLER, 0, ())
            return
        waiting = offset, reply
        self._waiting.append(waiting)
        self._serve_metadata()
        if waiting in self._waiting:
            self.after(METADATA_FETCH_WAIT, self._answer_without_entries, waiting)

    def _answer_without_entries(self, waiting: tuple[int, Reply]) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)
            offset, reply = waiting
            reply(ErrorCode.NONE, offset, ())

    def _serve_metadata(self) -> None:
        committed = self.quorum.committed
        waiting, self._waiting = self._waiting, []
        for offset, reply in waiting:
            if offset < committed:
                reply(ErrorCode.NONE, committed, tuple(self.quorum.entries[offset:committed]))
            else:
                self._waiting.append((offset, reply))

    # -- partitions

    def leaderships(self, broker: int) -> int:
        """Number of partitions that a broker leads."""
        return sum(state.leader_id == broker for state in self.partitions.values())

    def acceptable(self, state: PartitionState) -> int:
        """The replicas that may lead: their broker is active, their directory online."""
        return without(
            state.places(self.brokers.active()), self.cluster.offline_places(state.partition, state.replicas)
        )

    def broker_leaves(self, broker: int, why: str, unclean_shutdown: bool = False) -> None:
        """Removes a broker from its ISRs: it is fenced, shuts down, or returns from an unclean shutdown."""
        why = f"broker-{broker} leaves: {why}"
        if unclean_shutdown and not self.cluster.by_majority:
            self._leaves_isrs_and_elrs(broker, why, unclean_shutdown)
            return
        for state in tuple(self.partitions.values()):
            self._replica_leaves(state, broker, why)

    def _replica_leaves(self, state: PartitionState, broker: int, why: str) -> None:
        if state.index_of(broker) == NO_LEADER:
            return
        if self.cluster.by_majority:
            self._elect_by_majority(state, broker, why)
            return
        self.settle(broker_left(state, broker, self.circumstances(state)), why)

    def _leaves_isrs_and_elrs(self, broker: int, why: str, unclean_shutdown: bool) -> None:
        """Takes a broker that may have lost records out of ISRs, then out of the ELRs of the index.

        One that is unregistered is looked for there, too, and stays in the ELRs (handleBrokerUnregistered); no run has
        such a step yet, but the answers of Kafka's controllers that this is held to do.

        All is decided before anything is written: what the index names twice gives the same record twice.
        """
        before = self.partitions.copy()
        in_sync = [name for name, state in before.items() if broker in state.ids(state.isr)]
        for name in (*in_sync, *self._elrs.partitions_of(broker)):
            old, again = before[name], self.partitions[name] is not before[name]
            new = broker_left(old, broker, self.circumstances(old), unclean_shutdown, listed=True)
            self.settle(new, f"{why}, as the index of ELRs says once more" if again else why, decided_on=old)

    def broker_is_back(self, broker: int) -> None:
        """Looks at partitions without a leader once a broker is unfenced, which may lead them."""
        for state in tuple(self.partitions.values()):
            if state.leader == NO_LEADER:
                self._change_isr(state, state.isr, f"broker-{broker} is back")

    def _change_isr(self, state: PartitionState, target_isr: int, why: str) -> None:
        """Changes the ISR, and with it the leader."""
        if self.cluster.by_majority:
            self._elect_by_majority(state, NO_LEADER, why)
            return
        self.settle(isr_made(state, target_isr, self.circumstances(state)), why)

    def _elect_by_majority(self, state: PartitionState, gone: int, why: str) -> None:
        """The replicas elect a leader; their votes are not played as messages. All of them stay in the ISR."""
        known = [self._machines[broker].replicas.get(state.partition) for broker in state.replicas]
        unknown = sum(1 << place for place, replica in enumerate(known) if replica is None)
        voting = without(self.acceptable(state), state.places((gone,)) | unknown)
        if state.leader != NO_LEADER and contains(voting, state.leader):
            return
        epochs = [-1 if replica is None else replica.log.last_epoch for replica in known]
        ends = [0 if replica is None else replica.log.end for replica in known]
        leader = quorum_leader(epochs, ends, voting)
        self.settle(state._replace(leader=leader), why, "quorum.quorum_leader")

    def elect_uncleanly(self, state: PartitionState, why: str) -> None:
        """Elects any live replica of a partition without a leader, whatever its topic's setting."""
        if self.cluster.by_majority:
            return
        self.settle(elected_uncleanly(state, self.circumstances(state)), why)

    def circumstances(self, state: PartitionState) -> Circumstances:
        """Facts that decide on a partition besides itself.

        Its min ISR is that of the topic's first partition as it is registered: of the merged assignment until a
        reassignment has ended.
        """
        cluster, topic = self.cluster, topic_of(state.partition)
        registered = self.partitions.get(f"{topic}-0", state)
        active = tuple(
            broker for broker in self.brokers.active_where_placed() if not self._is_offline(state.partition, broker)
        )
        return Circumstances(
            may_lead=active,
            min_isr=effective_min_isr(cluster.topic_integer(topic, MIN_ISR), len(registered.replicas)),
            elr_enabled=cluster.version.elr,
            unclean_enabled=self.unclean_enabled(topic),
            awaited=cluster.version.moves_wait_for,
            rises_on_isr_shrink=cluster.version.epoch_rises_on_shrink,
            last_leader_must_be_back=cluster.version.last_leader_must_be_back,
            last_leader_noted_at_once=cluster.version.last_leader_noted_at_once,
        )

    def _is_offline(self, partition: str, broker: int) -> bool:
        """True if a broker's log directory with its replica of a partition has failed."""
        return self.cluster.offline_places(partition, (broker,)) != 0

    def unclean_enabled(self, topic: str) -> bool:
        """True if a leader may come from outside ISR and ELR.

        ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic.
        """
        return self.cluster.version.unclean_setting_obeyed and self.cluster.topic_boolean(topic, UNCLEAN)

    def settle(self, new: PartitionState, why: str, rule: str = RULE, decided_on: PartitionState | None = None) -> None:
        """Writes a partition's state if anything about it changed, with the epochs that follow from the change.

        Args:
            new: What was decided.
            why, rule: Its reason, and the rule that says so.
            decided_on: The state that it was decided on, if another record may have been written since.
        """
        now = self.partitions[new.partition]
        old = decided_on or now
        new = settled(old, new, self.cluster.version.epoch_rises_on_shrink)
        if new != old:
            new, old = merged(now, old, new) if now is not old else new, now
            if rule != MOVE_RULE and (old.adding or old.removing) and not (new.adding or new.removing):
                why = f"{why}; the reassignment is complete"
            self.write_partition(new, why, rule)
            if new.leader == NO_LEADER and old.leader != NO_LEADER:
                self.emit(Kind.NO_LEADER, new.partition, new.ids(new.isr), why, "elections.kraft_elect")

    def alter_partition(self, broker: int, broker_epoch: int, requests: tuple[IsrRequest, ...], reply: Reply) -> None:
        """Accepts or refuses the ISRs that a leader asks for: error, and partition, error, state for each."""
        known = self.brokers.registered.get(broker)
        if not self.is_active() or known is None:
            reply(ErrorCode.NOT_CONTROLLER, ())
            return
        if known.epoch != broker_epoch:
            reply(ErrorCode.STALE_BROKER_EPOCH, ())
            return
        answers = tuple(self._alter_one(broker, request) for request in requests)
        self.commit(lambda: reply(ErrorCode.NONE, answers), lambda: reply(ErrorCode.NOT_CONTROLLER, ()))

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
        known, other = self.brokers.registered, 0
        if self.cluster.version.broker_epoch_in_isr:
            epochs = dict(zip(request.isr, request.broker_epochs, strict=True))
            stale = (one.broker for one in known.values() if epochs.get(one.broker, -1) not in (-1, one.epoch))
            other = state.places(tuple(stale))
        fenced, shutting_down = self.brokers.fenced(), self.brokers.shutting_down()
        return ineligible_replicas(
            isr, state.places(tuple(known)), state.places(fenced), state.places(shutting_down), other
        )

    def _altered(self, state: PartitionState, isr: int, why: str) -> PartitionState:
        """The state with the ISR that a leader asked for, and with the end of a reassignment it completes."""
        facts = self.circumstances(state)
        if ends_move(state, isr, facts):
            self.settle(isr_accepted(state, isr, facts), "the reassignment is complete", MOVE_RULE)
        elif self.cluster.by_majority:
            self._change_isr(state._replace(recovering=False), isr, why)
        else:
            self.settle(isr_accepted(state, isr, facts), why)
        return self.partitions[state.partition]

    def directory_failed(self, broker: int, partitions: tuple[str, ...], reply: Reply) -> None:
        """Handles a failed log directory: as if the broker were gone, for these partitions."""
        if not self.is_active():
            reply(ErrorCode.NOT_CONTROLLER)
            return
        for name in partitions:
            self._replica_leaves(self.partitions[name], broker, f"broker-{broker}'s log directory failed")
        self.commit(lambda: reply(ErrorCode.NONE), lambda: reply(ErrorCode.NOT_CONTROLLER))

    def directories_assigned(self, broker: int, broker_epoch: int, disk: int, reply: Reply) -> None:
        """Notes that all replicas of a broker are on another disk: each of these partitions is looked at.

        A broker that has not registered those directories yet, since its former life is not over, has none of them
        online: it leaves the ISRs. Both is decided before anything is written, and written one after the other.
        """
        known = self.brokers.registered.get(broker)
        if not self.is_active() or known is None:
            reply(ErrorCode.NOT_CONTROLLER)
            return
        if known.epoch != broker_epoch:
            reply(ErrorCode.STALE_BROKER_EPOCH)
            return
        placed = tuple(state for state in self.partitions.values() if broker in state.replicas)
        self._look_at_directories(broker, placed, known.disk == disk)
        self._write(Entry((DISK, broker), disk))
        self.commit(lambda: reply(ErrorCode.NONE), lambda: reply(ErrorCode.NOT_CONTROLLER))

    def _look_at_directories(self, broker: int, states: tuple[PartitionState, ...], registered: bool) -> None:
        """Looks at partitions whose replicas of a broker are in other directories, registered or not."""
        if self.cluster.by_majority:
            return
        facts = [self.circumstances(state) for state in states]
        keeps_elr = self.cluster.version.assigned_keep_elr
        decided = [directory_assigned(state, known, keeps_elr) for state, known in zip(states, facts, strict=True)]
        for state, new in zip(states, decided, strict=True):
            self.settle(new, f"broker-{broker} says which directory its replica is in", decided_on=state)
        for state, known in () if registered else zip(states, facts, strict=True):
            why = f"broker-{broker} leaves: it has not registered the directory of its replica"
            self.settle(broker_left(state, broker, known), why, decided_on=state)

    # -- operators' requests

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """Begins a reassignment; one whose target is in sync already takes one record. PartitionChangeBuilder.build."""
        state = self.partitions[partition]
        asked, facts = move_asked(state, target), self.circumstances(state)
        if ends_move(asked, asked.isr, facts):
            why = "the reassignment is complete"
        else:
            moves = asked.adding or asked.removing
            why = "a reassignment begins" if moves else "its replicas get another order"
        self.settle(move_begun(state, target, facts), why, MOVE_RULE)
        self.commit(lambda: None)

    def cancel_reassignment(self, partition: str) -> None:
        """Ends a reassignment and keeps the earlier replicas."""
        state = self.partitions[partition]
        new = move_cancelled(state, self.circumstances(state))
        if new is None:
            why = "InvalidReplicaAssignmentException, of the replicas before the move none is in sync"
            self.emit(Kind.MOVE_REFUSED, partition, why, "reassignment.kraft_cancelled")
            return
        self.settle(new, "the reassignment is cancelled", MOVE_RULE)
        self.commit(lambda: None)

    def balance(self) -> None:
        """Elects every preferred leader that may lead."""
        for state in tuple(self.partitions.values()):
            if state.leader != 0:
                self._elect_preferred(state)
        self.commit(lambda: None)

    def elect_preferred(self, partition: str) -> None:
        """Elects one partition's preferred leader."""
        self._elect_preferred(self.partitions[partition])
        self.commit(lambda: None)

    def _elect_preferred(self, state: PartitionState) -> None:
        if self.cluster.by_majority:
            return  # the preferred replica may be behind
        new = preferred_elected(state, self.circumstances(state))
        if new is not None:
            self.settle(new, "the preferred leader", "elections.kraft_elect_preferred")

    def elect_unclean(self, partition: str) -> None:
        """Elects any live replica."""
        state = self.partitions[partition]
        if state.leader == NO_LEADER:
            self.elect_uncleanly(state, "an operator asked for an unclean election")
        self.commit(lambda: None)

    def recheck_unclean(self) -> None:
        """Elects uncleanly where that has been enabled meanwhile: every unclean.leader.election.interval.ms."""
        for state in tuple(self.partitions.values()):
            if kraft_rechecks(state.leader, self.unclean_enabled(topic_of(state.partition))):
                self.elect_uncleanly(state, "unclean elections are enabled")
        self.commit(lambda: None)

    def topic_changed(self, topic: str, setting: str) -> None:
        """Handles a changed setting of a topic: min.insync.replicas clears the ELR (KIP-966)."""
        for state in tuple(self.partitions.values()):
            if topic_of(state.partition) == topic and setting == MIN_ISR and (state.elr or state.last_known_elr):
                new = settled(state, elr_cleared(state), self.cluster.version.epoch_rises_on_shrink)
                self.write_partition(new, f"{setting} changed: the ELR is cleared", RULE, clears_elr=True)
        self.commit(lambda: None)
