"""Outcome of a run: every fold's verdict in one frozen value.

``observe`` simulates a cluster and judges the run, in one call.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from kreplica.engine.checkers.delays import Measures, Meter
from kreplica.engine.checkers.histories import Histories, HistoryKeeper
from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.checkers.idempotence import Idempotence
from kreplica.engine.checkers.invariants import Finding, Invariant, Invariants
from kreplica.engine.checkers.liveness import Liveness
from kreplica.engine.checkers.overlooked import Overlooked
from kreplica.engine.checkers.reused_sequences import ReusedSequences
from kreplica.engine.checkers.strong_isr import ControllerIsr, StrongIsr
from kreplica.engine.fault_plan import Plan
from kreplica.engine.setup import ConsumerSetup, ProducerSetup, ReaderSetup, Setup, topic_of
from kreplica.engine.simulator import simulate
from kreplica.engine.simulator.clients.idempotent import idempotent_settings
from kreplica.engine.trace import KINDS, Event, Trace, TraceHash
from kreplica.engine.versions.features import with_features
from kreplica.engine.versions.supported import ControllerKind, Version
from kreplica.model.settings import MIN_ISR, UNCLEAN


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a run.

    Args:
        trace_hash: SHA-256 of the trace: the same for the same run, everywhere.
        events: Number of events.
        histories: The clients' histories compared with the logs.
        findings: Breaches of invariants, in order.
        measures: Unavailability, latency, changes.
        setbacks: Number of times that a leader began with a lower high watermark than had been reached.
        counts: Number of events of each kind.
        known: Breaches that Kafka's own code makes in this version (``overlooked``): they are not held against it.
        liveness_judged: Whether the faults ended early enough to judge whether everything has settled.
        unpromised: Records sent with acks=all that this version of Kafka may lose: see ``ReusedSequences``.
    """

    trace_hash: str
    events: int
    histories: Histories
    findings: tuple[Finding, ...]
    measures: Measures
    setbacks: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    known: tuple[Finding, ...] = ()
    liveness_judged: bool = False
    unpromised: tuple[str, ...] = ()

    @property
    def diverged(self) -> tuple[str, ...]:
        """Partitions with two replicas that differ below both high watermarks."""
        return self._partitions(Invariant.DIVERGED)

    @property
    def committed_lost(self) -> tuple[str, ...]:
        """Partitions with a leader that lacked committed records."""
        return self._partitions(Invariant.COMMITTED_LOST)

    def _partitions(self, invariant: Invariant) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found.partition for found in self.findings if found.invariant is invariant))

    @property
    def is_safe(self) -> bool:
        """True if no acknowledged record was lost and no invariant broken."""
        return not self.histories.lost and not self.findings

    @property
    def keeps_promises(self) -> bool:
        """True if acks=all, read_committed and the invariants kept their promises; acks=1 and 0 promise nothing."""
        lost = set(self.histories.lost_with_acks_all).difference(self.unpromised)
        return not (lost or self.histories.aborted_read or self.findings)


def measure(outcome: Outcome, name: str) -> Any:
    """Returns one measure of an outcome, by name.

    Args:
        outcome: Outcome of a run.
        name: A field of ``Histories`` or ``Measures``; ``diverged``, ``committed_lost``, ``setbacks``; an ``Invariant``
            (how often it was broken); ``unavailable_ms``, ``read_only_ms``, ``produce_ms_50``, ``_99``, ``_100``;
            ``count:KIND``, the number of events of a kind.

    Raises:
        KeyError: There is no such measure.
    """
    if name.startswith("count:"):
        return outcome.counts.get(name.removeprefix("count:"), 0)
    if name.startswith("produce_ms_"):
        return outcome.measures.produce_ms(int(name.removeprefix("produce_ms_")))
    if name in _INVARIANTS:
        return sum(found.invariant == name for found in outcome.findings)
    for holder, names in ((outcome.histories, _HISTORIES), (outcome.measures, _MEASURES), (outcome, _OUTCOME)):
        if name in names:
            return getattr(holder, name)
    raise KeyError(name)


_HISTORIES = frozenset(each.name for each in fields(Histories))
_MEASURES = frozenset((*(each.name for each in fields(Measures)), "unavailable_ms", "read_only_ms"))
_OUTCOME = frozenset(("diverged", "committed_lost", "setbacks", "events", "is_safe", "keeps_promises"))
_INVARIANTS = frozenset(Invariant)


class Judge:
    """All folds over one run: subscribes them to the trace in the order they need.

    Args:
        setup: The simulated cluster; it has the consumers' isolation.level and min.insync.replicas.
        version: Kafka's defaults.
        trace: Fed live.
        plan: The plan that is played. Liveness is judged once its faults are over.
    """

    __slots__ = (
        "_counts",
        "_hash",
        "_histories",
        "_idempotence",
        "_invariants",
        "_liveness",
        "_meter",
        "_reused_sequences",
        "_strong_isr",
        "_takes",
        "_unclean",
        "logs",
    )

    def __init__(self, setup: Setup, version: Version, trace: Trace, plan: Plan = ()) -> None:
        self.logs = ReplicaLogs()
        self._hash = TraceHash()
        self._invariants = Invariants(self.logs)
        self._histories = HistoryKeeper(self.logs, _read_committed(setup, version))
        min_isr = _min_isr(setup, version)
        self._meter = Meter(min_isr, _leaderless(setup))
        self._idempotence = Idempotence(_idempotent(setup, version), self._histories.sent, self.logs)
        self._reused_sequences = ReusedSequences(version, self.logs)
        self._unclean = _unclean(setup, version)
        self._counts: dict[str, int] = {}
        isr = ControllerIsr(version.controller is ControllerKind.ZOOKEEPER)
        overlooked = Overlooked(version, self._invariants.committed)
        self._strong_isr = StrongIsr(self.logs, isr, self._invariants.committed, self._unclean, overlooked)
        self._liveness = Liveness(setup, version, plan, min_isr, self.logs, isr)
        folds = (
            self._invariants,
            overlooked,
            self._strong_isr,
            isr,
            self._histories,
            self._idempotence,
            self._reused_sequences,
            self._meter,
            self._liveness,
            self.logs,
        )
        self._takes = {kind: tuple(fold.takes[kind] for fold in folds if kind in fold.takes) for kind in KINDS}
        trace.subscribe(self)

    def __call__(self, event: Event) -> None:
        """Takes an event in: one call for all folds, each of which sees only the kinds it asked for."""
        kind = event.kind
        self._hash(event)
        self._counts[kind] = self._counts.get(kind, 0) + 1
        for take in self._takes[kind]:
            take(event)

    def outcome(self, end: int) -> Outcome:
        """The verdicts of a run that ended at ``end`` microseconds."""
        histories = self._histories.histories()
        return Outcome(
            trace_hash=self._hash.hexdigest(),
            events=self._hash.events,
            histories=histories,
            findings=self._findings(end, histories),
            known=tuple(self._strong_isr.known),
            measures=self._meter.measures(end),
            setbacks=self._invariants.setbacks,
            counts=self._counts,
            liveness_judged=self._liveness.is_judged(end),
            unpromised=self._reused_sequences.values,
        )

    def _findings(self, end: int, histories: Histories) -> tuple[Finding, ...]:
        broken = (*self._invariants.findings, *self._strong_isr.findings)
        spoiled = {one.partition for one in broken}
        spoiled.update(partition for partition in self.logs.partitions if topic_of(partition) in self._unclean)
        twice = self._idempotence.findings(end, histories, spoiled)
        return tuple(sorted((*broken, *twice, *self._liveness.findings(end)), key=lambda one: one.time))


def _idempotent(setup: Setup, version: Version) -> dict[str, int]:
    """The producers with enable.idempotence=true and no transactional id, with their limit of requests in flight."""
    producers = (client for client in setup.clients if isinstance(client, ProducerSetup))
    found = {each.name: idempotent_settings(setup, version, each.settings) for each in producers}
    return {
        name: int(settings["max.in.flight.requests.per.connection"])
        for name, settings in found.items()
        if settings is not None
    }


def _leaderless(setup: Setup) -> tuple[str, ...]:
    """The partitions that have no leader at the beginning, or one that is down."""
    down = {-1, *(broker.id for broker in setup.brokers if f"broker-{broker.id}" in setup.down)}
    return tuple(
        f"{topic.name}-{number}"
        for topic in setup.topics
        for number, start in topic.starts.items()
        if start.leader in down
    )


def _read_committed(setup: Setup, version: Version) -> frozenset[str]:
    name = "isolation.level"
    default = {**version.defaults, **setup.settings}[name]
    readers = (client for client in setup.clients if isinstance(client, ReaderSetup | ConsumerSetup))
    return frozenset(each.name for each in readers if each.settings.get(name, default) == "read_committed")


def _unclean(setup: Setup, version: Version) -> frozenset[str]:
    """Topics with unclean elections or commits by majority: some of their replicas lack committed records."""
    defaults = {**version.defaults, **setup.settings}
    majority = defaults["replication"] == "majority"
    return frozenset(topic.name for topic in setup.topics if majority or topic.settings.get(UNCLEAN, defaults[UNCLEAN]))


def _min_isr(setup: Setup, version: Version) -> dict[str, int]:
    """min.insync.replicas by partition; at most the number of replicas, as brokers count (since 3.7, KAFKA-15583)."""
    default = {**version.defaults, **setup.settings}[MIN_ISR]
    return {
        name: min(int(topic.settings.get(MIN_ISR, default)), len(replicas))
        for topic in setup.topics
        for name, replicas in topic.partitions.items()
    }


def observe(
    setup: Setup, plan: Plan, version: Version, seed: int = 0, keep: bool = True
) -> tuple[Outcome, list[Event]]:
    """Simulates a cluster and judges the run.

    Args:
        setup: The cluster and its clients; levels of features may stand among its settings.
        plan: Faults and operations.
        version: Kafka's rules and defaults.
        seed: Same seed, same run.
        keep: Whether the events are kept; the outcome is the same without.

    Raises:
        UsageError: The plan names something that does not exist, or the version lacks a feature that the setup sets.
    """
    version = with_features(version, setup.settings)
    trace = Trace(keep)
    judge = Judge(setup, version, trace, plan)
    simulate(setup, plan, version, seed, trace)
    return judge.outcome(setup.duration), trace.events
