"""What came of a run: every fold's verdict in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from kreplica.engine.histories import Histories, HistoryKeeper
from kreplica.engine.invariants import Finding, Invariant, Invariants
from kreplica.engine.measures import Measures, Meter
from kreplica.engine.replica_logs import ReplicaLogs
from kreplica.engine.setup import ConsumerSetup, ReaderSetup, Setup
from kreplica.engine.strong_isr import ControllerIsr, StrongIsr
from kreplica.engine.trace import KINDS, Event, Trace, TraceHash
from kreplica.engine.versions import ControllerKind, Version
from kreplica.model.settings import MIN_ISR, UNCLEAN


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Args:
        trace_hash: SHA-256 of the trace: the same for the same run, everywhere.
        events: How many events there were.
        histories: What clients were told against what the logs hold.
        findings: Breaches of invariants, in order.
        measures: Unavailability, latency, changes.
        setbacks: How often a leader began with a lower high watermark than had been reached.
        counts: How often each kind of event occurred.
    """

    trace_hash: str
    events: int
    histories: Histories
    findings: tuple[Finding, ...]
    measures: Measures
    setbacks: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def diverged(self) -> tuple[str, ...]:
        """Partitions of which two replicas differ below both high watermarks."""
        return self._partitions(Invariant.DIVERGED)

    @property
    def committed_lost(self) -> tuple[str, ...]:
        """Partitions of which a leader lacked committed records."""
        return self._partitions(Invariant.COMMITTED_LOST)

    def _partitions(self, invariant: Invariant) -> tuple[str, ...]:
        return tuple(dict.fromkeys(found.partition for found in self.findings if found.invariant is invariant))

    @property
    def is_safe(self) -> bool:
        """Whether nothing acknowledged was lost and no invariant broken."""
        return not self.histories.lost and not self.findings


def measure(outcome: Outcome, name: str) -> Any:
    """One thing that came out, by name.

    Args:
        outcome: Of a run.
        name: A field of ``Histories`` or ``Measures``; ``diverged``, ``committed_lost``, ``setbacks``; an ``Invariant``
            (how often it was broken); ``unavailable_ms``, ``read_only_ms``, ``produce_ms_50``, ``_99``, ``_100``;
            ``count:KIND``, how many events of a kind there were.

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
_OUTCOME = frozenset(("diverged", "committed_lost", "setbacks", "events", "is_safe"))
_INVARIANTS = frozenset(Invariant)


class Judge:
    """All folds over one run: subscribes them to the trace in the order they need.

    Args:
        setup: What is simulated; it says who reads committed data only and what min.insync.replicas is.
        version: Its defaults.
        trace: Fed live.
    """

    __slots__ = ("_counts", "_hash", "_histories", "_invariants", "_meter", "_strong_isr", "_takes", "logs")

    def __init__(self, setup: Setup, version: Version, trace: Trace) -> None:
        self.logs = ReplicaLogs()
        self._hash = TraceHash()
        self._invariants = Invariants(self.logs)
        self._histories = HistoryKeeper(self.logs, _read_committed(setup, version))
        self._meter = Meter(_min_isr(setup, version))
        self._counts: dict[str, int] = {}
        isr = ControllerIsr(version.controller is ControllerKind.ZOOKEEPER)
        self._strong_isr = StrongIsr(self.logs, isr, self._invariants.committed, _unclean(setup, version))
        folds = (self._invariants, self._strong_isr, isr, self._histories, self._meter, self.logs)
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
        return Outcome(
            trace_hash=self._hash.hexdigest(),
            events=self._hash.events,
            histories=self._histories.histories(),
            findings=tuple(sorted((*self._invariants.findings, *self._strong_isr.findings), key=lambda one: one.time)),
            measures=self._meter.measures(end),
            setbacks=self._invariants.setbacks,
            counts=self._counts,
        )


def _read_committed(setup: Setup, version: Version) -> frozenset[str]:
    name = "isolation.level"
    default = {**version.defaults, **setup.settings}[name]
    readers = (client for client in setup.clients if isinstance(client, ReaderSetup | ConsumerSetup))
    return frozenset(each.name for each in readers if each.settings.get(name, default) == "read_committed")


def _unclean(setup: Setup, version: Version) -> frozenset[str]:
    """The topics that elect uncleanly."""
    default = {**version.defaults, **setup.settings}[UNCLEAN]
    return frozenset(topic.name for topic in setup.topics if topic.settings.get(UNCLEAN, default))


def _min_isr(setup: Setup, version: Version) -> dict[str, int]:
    """What acks=all asks for; at most the number of replicas, as brokers count it (since 3.7, KAFKA-15583)."""
    default = {**version.defaults, **setup.settings}[MIN_ISR]
    return {
        name: min(int(topic.settings.get(MIN_ISR, default)), len(replicas))
        for topic in setup.topics
        for name, replicas in topic.partitions.items()
    }
