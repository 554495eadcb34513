"""Liveness: once faults have ended, the cluster serves again within a bounded time.

Source: the liveness mode of TigerBeetle's simulator (stop the faults, heal a core, require progress), and the liveness
properties of Vanlightly/kafka-tlaplus. An ISR that never shrinks, a replica that never joins
and a leader that never comes back lose nothing, so that no safety invariant sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kreplica.engine.checkers.history_of_logs import ReplicaLog, ReplicaLogs
from kreplica.engine.checkers.invariants import Finding, Invariant
from kreplica.engine.checkers.strong_isr import ControllerIsr
from kreplica.engine.fault_plan import (
    AnyAction,
    BreakConnection,
    Cut,
    DirectoryFailure,
    Plan,
    Reassign,
    RefuseRequest,
)
from kreplica.engine.plans.text import detail_of, name_of
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.settings import MICROSECONDS, Value
from kreplica.engine.setup import SECOND, ProducerSetup, Setup
from kreplica.engine.simulator.clients.client import METADATA_TIMEOUT
from kreplica.engine.simulator.environment import REQUEST_TIMEOUT
from kreplica.engine.trace import PLAN, Event, Kind
from kreplica.engine.versions.supported import ControllerKind, Version
from kreplica.model.wording.words import ids


def recovery_bound(settings: Mapping[str, Value], version: Version) -> int:
    """The longest time from the last fault until everything has settled, in microseconds: the sum of the timers.

    A request whose answer was lost is sent again, a session expires, a controller is elected, a follower gives its
    connection up and fetches again, the ISR is checked every half replica.lag.time.max.ms.
    """

    def of(*names: str) -> int:
        return sum(int(settings[name]) for name in names) * MICROSECONDS

    if version.controller is ControllerKind.KRAFT:
        quorum = ("controller.quorum.fetch.timeout.ms", "controller.quorum.election.timeout.ms")
        control = METADATA_TIMEOUT + of("broker.session.timeout.ms", *quorum)
    else:
        control = REQUEST_TIMEOUT + of("zookeeper.session.timeout.ms")
    fetching = of("replica.socket.timeout.ms", "replica.fetch.backoff.ms", "replica.fetch.wait.max.ms")
    return control + fetching + 3 * of("replica.lag.time.max.ms") // 2 + of("request.timeout.ms") + SECOND


class _Sent(NamedTuple):
    time: int
    node: str
    partition: str


class Liveness:
    """A fold that judges whether a cluster has recovered by the end of a run.

    Judged if the faults ended early enough (``recovery_bound``). A broker that stays down or cut off from the others,
    or a log directory that stays offline, is no obstacle: the others go on without it. Then

    * a partition has a leader if a member of its ISR (its ELR where that is empty) is available;
    * its ISR holds the available replicas and no other;
    * with enough of them, earlier writes are committed, and what producers send from then on is acknowledged.

    Not judged: what a client sends once the plan has requests of it refused, which may come at any time; partitions led
    by a broker that is cut off from a ZooKeeper-mode controller, since both keep their sessions and wait for each
    other, as in Kafka; a KRaft quorum without its majority; in ZooKeeper mode since 2.7 a leader that was answered
    INVALID_UPDATE_VERSION, as long as it leads in that epoch. The answer to the controller's own write was lost: the
    ISR stands in ZooKeeper, the controller does not know it (tryProcessAlterPartition), and the leader waits for
    metadata that tells which one holds (Partition.handleAlterPartitionError), while it ignores LeaderAndIsr in its own
    leader epoch (ReplicaManager.becomeLeaderOrFollower): until 3.9 only an election ends that.

    Up to 2.1 a controller misses a broker that is gone and back before it looks (KIP-380, KAFKA-7235), and tells the
    new process nothing: partitions that it leads are not judged, and as a follower it may stay outside the ISR.

    Args:
        setup: The simulated cluster and its clients.
        version: Kafka's rules and defaults.
        plan: The faults, with their durations.
        min_isr: min.insync.replicas by partition.
        logs: The replicas.
        isr: The states that the controller has written.
    """

    __slots__ = (
        "_actions",
        "_controller",
        "_cuts",
        "_down",
        "_gone",
        "_last",
        "_moved",
        "_open",
        "_plain",
        "_refused",
        "_untold",
        "_waiting",
        "bound",
        "isr",
        "logs",
        "min_isr",
        "setup",
        "takes",
        "version",
    )

    def __init__(
        self,
        setup: Setup,
        version: Version,
        plan: Plan,
        min_isr: Mapping[str, int],
        logs: ReplicaLogs,
        isr: ControllerIsr,
    ) -> None:
        self.setup = setup
        self.version = version
        self.min_isr = min_isr
        self.logs = logs
        self.isr = isr
        self.bound = recovery_bound({**version.defaults, **setup.settings}, version)
        self._actions: dict[tuple[object, ...], AnyAction] = {
            (name_of(step.do), detail_of(step.do)): step.do for step in plan
        }
        self._plain = frozenset(client.name for client in setup.clients if isinstance(client, ProducerSetup))
        self._last = 0
        self._down: set[str] = set(setup.down)
        self._cuts: list[Cut] = []
        self._gone: set[tuple[str, str]] = set()
        self._moved: set[str] = set()
        self._refused: set[str] = set()
        self._waiting: set[tuple[str, str]] = set()
        self._controller = ""
        self._untold: set[str] = set()
        self._open: dict[str, _Sent] = {}
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.FAULT: self._fault,
            Kind.CRASHED: self._ended,
            Kind.STOPPED: self._ended,
            Kind.STARTED: self._started,
            Kind.RESUMED: self._happened,
            Kind.CONTROLLER_ELECTED: self._controller_elected,
            Kind.ISR_REFUSED: self._isr_refused,
            Kind.BECAME_LEADER: self._became_leader,
            Kind.BROKER_UNFENCED: self._broker_unfenced,
            Kind.SENT: self._sent,
            Kind.ACKNOWLEDGED: self._acknowledged,
            Kind.CLIENT_FAILED: self._client_failed,
        }

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    # -- faults

    def _fault(self, event: Event) -> None:
        action = self._actions.get(event.values)
        if event.node != PLAN or action is None:
            return
        over = event.time + int(getattr(action, "duration", 0))
        if isinstance(action, Cut) and over > self.setup.duration and self._is_between_brokers(action):
            self._cuts.append(action)
            over = event.time
        elif isinstance(action, DirectoryFailure):
            there = self.logs.partitions.items()
            own = {partition for partition, replicas in there if action.node in replicas}
            self._gone.update((partition, action.node) for partition in own & set(action.partitions or own))
        elif isinstance(action, Reassign):
            self._moved.add(action.partition)
        elif isinstance(action, BreakConnection):
            over += action.delay
        elif isinstance(action, RefuseRequest):
            self._refused.update(self._plain if action.source == "*" else (action.source,))
        self._last = max(self._last, over)

    def _is_between_brokers(self, cut: Cut) -> bool:
        names = {f"broker-{broker.id}" for broker in self.setup.brokers}
        return {cut.source, cut.target} <= names and not cut.one_way

    def _happened(self, event: Event) -> None:
        self._last = max(self._last, event.time)

    def _ended(self, event: Event) -> None:
        self._happened(event)
        self._down.add(event.node)

    def _started(self, event: Event) -> None:
        self._happened(event)
        self._down.discard(event.node)
        if not self.version.bounces_are_seen:
            self._untold.add(event.node)

    def _controller_elected(self, event: Event) -> None:
        self._controller = event.node
        self._untold.clear()

    def _broker_unfenced(self, event: Event) -> None:
        self._untold.discard(f"broker-{event.values[0]}")

    def _isr_refused(self, event: Event) -> None:
        by_zookeeper = self.version.controller is ControllerKind.ZOOKEEPER
        if by_zookeeper and event.values[2] == ErrorCode.INVALID_UPDATE_VERSION.name:
            self._waiting.add((event.values[0], event.node))

    def _became_leader(self, event: Event) -> None:
        self._waiting.discard((event.values[0], event.node))

    # -- clients

    def _sent(self, event: Event) -> None:
        partition, value, acks = event.values
        if acks and event.node in self._plain - self._refused:
            self._open.setdefault(value, _Sent(event.time, event.node, partition))

    def _acknowledged(self, event: Event) -> None:
        self._open.pop(event.values[1], None)

    def _client_failed(self, event: Event) -> None:
        self._open = {value: sent for value, sent in self._open.items() if sent.node != event.node}

    # -- the verdict

    def findings(self, end: int) -> tuple[Finding, ...]:
        """Returns what has not recovered at the end of the run; nothing if it is too early to judge."""
        if not self.is_judged(end):
            return ()
        settled = end - self.bound
        return tuple(
            Finding(end, invariant, partition, -1, node, expected, found)
            for partition in self.isr.leaders
            for invariant, node, expected, found in self._missing(partition, settled, end)
        )

    def is_judged(self, end: int) -> bool:
        """True if the faults of the run ended early enough."""
        return self._last <= end - self.bound and self._is_controlled()

    def _is_controlled(self) -> bool:
        if self.setup.settings.get("replication") == "majority":
            return False  # a majority commits and elects: the ISR decides nothing
        if self.version.controller is ControllerKind.KRAFT:
            down = sum(node.startswith("controller-") for node in self._down)
            return 2 * down < self.setup.controllers
        return True

    def _missing(self, partition: str, settled: int, end: int) -> Iterator[tuple[Invariant, str, str, str]]:
        leader = f"broker-{self.isr.leaders[partition]}"
        log = self.logs.leader(partition)
        if not self._is_governed(leader) or leader in self._untold:
            return
        if log is None or log.node != leader or not self._is_there(partition, leader):
            able = [broker for broker in self.isr.electable(partition) if self._may_lead(partition, f"broker-{broker}")]
            if able:
                told = f"a leader among {ids(able)}, since {self.bound // SECOND} s without a fault"
                yield Invariant.STAYS_UNAVAILABLE, leader, told, "nobody leads"
            return
        if (partition, leader) in self._waiting:
            return
        isr = set(self.isr.states[partition][0])
        for broker in isr:
            if self._is_left_behind(partition, log, f"broker-{broker}"):
                told = f"an ISR without broker-{broker}, which has not fetched for {self.bound // SECOND} s"
                yield Invariant.ISR_DOES_NOT_SETTLE, leader, told, f"ISR {ids(sorted(isr))}"
        for broker in self._replicas(partition):
            if broker not in isr and self._serves(partition, leader, f"broker-{broker}"):
                told = f"an ISR with broker-{broker}, which fetches"
                yield Invariant.ISR_DOES_NOT_SETTLE, leader, told, f"ISR {ids(sorted(isr))}"
        if len(isr) >= self.min_isr.get(partition, 1):
            yield from self._not_taken(partition, log, settled, end)

    def _not_taken(
        self, partition: str, log: ReplicaLog, settled: int, end: int
    ) -> Iterator[tuple[Invariant, str, str, str]]:
        old = sum(record.timestamp <= settled for record in log.records)
        if log.base + old > log.high_watermark:
            told = f"a high watermark of at least {log.base + old}"
            yield Invariant.WRITES_NOT_TAKEN, log.node, told, str(log.high_watermark)
        if not all(self._is_governed(f"broker-{broker.id}") for broker in self.setup.brokers):
            return  # a client may ask that broker, whose metadata is outdated, for the leader
        for value, sent in self._open.items():
            # before that the ISR may lack members that are back: what was given up then was not promised
            in_time = self._last + self.bound <= sent.time <= end - self._patience() and sent.node not in self._down
            if sent.partition == partition and in_time:
                yield Invariant.WRITES_NOT_TAKEN, sent.node, f"{value} acknowledged", "no acknowledgement"

    def _patience(self) -> int:
        settings = {**self.version.defaults, **self.setup.settings}
        return int(settings["request.timeout.ms"]) * MICROSECONDS + SECOND

    def _replicas(self, partition: str) -> tuple[int, ...]:
        """The replicas; none for a partition that was moved, since a KRaft trace does not show its new replicas."""
        if partition not in self._moved:
            for topic in self.setup.topics:
                if partition in topic.partitions:
                    return topic.partitions[partition]
        return ()

    def _is_left_behind(self, partition: str, leader: ReplicaLog, node: str) -> bool:
        """True if a member of the ISR has to leave: one that is cut off may stay while it has all (KAFKA-7152)."""
        if not self._is_there(partition, node):
            return True
        behind = self.logs.replica(partition, node).end_offset < leader.end_offset
        return behind and not self._serves(partition, leader.node, node)

    def _is_there(self, partition: str, node: str) -> bool:
        return node not in self._down and (partition, node) not in self._gone

    def _may_lead(self, partition: str, node: str) -> bool:
        return self._is_there(partition, node) and self._is_governed(node)

    def _is_governed(self, node: str) -> bool:
        """True if the controller reaches the node: in ZooKeeper mode it is a broker, which may be cut off from it."""
        return self._controller == node or not self._is_cut(self._controller, node)

    def _is_cut(self, one: str, other: str) -> bool:
        return any({cut.source, cut.target} == {one, other} for cut in self._cuts)

    def _serves(self, partition: str, leader: str, node: str) -> bool:
        """True if a replica is available, knows its leader and reaches it."""
        return self._is_there(partition, node) and node not in self._untold and not self._is_cut(leader, node)
