"""Unavailability, produce latency, changes of leaders and ISRs: folds over the trace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.trace import Event, Kind


@dataclass(frozen=True, slots=True)
class Span:
    """Period from ``begin`` to ``end``, in microseconds, in which a partition was in the state ``why``."""

    partition: str
    begin: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Measures:
    """Measurements of a run.

    Args:
        no_leader: Spans in which no running broker led a partition, from its first leader on.
        read_only: Spans in which the ISR was smaller than min.insync.replicas: acks=all was refused.
        produce_us: Microseconds from send to acknowledgement, ascending.
        leader_changes: Number of times that another broker than before became the leader.
        isr_changes: Number of times that the controller, or before 2.7 the leader, wrote another ISR.
    """

    no_leader: tuple[Span, ...] = ()
    read_only: tuple[Span, ...] = ()
    produce_us: tuple[int, ...] = ()
    leader_changes: int = 0
    isr_changes: int = 0

    @property
    def unavailable_ms(self) -> float:
        """Milliseconds without a leader, over all partitions."""
        return _milliseconds(self.no_leader)

    @property
    def read_only_ms(self) -> float:
        """Milliseconds below min.insync.replicas, over all partitions."""
        return _milliseconds(self.read_only)

    def produce_ms(self, percent: int) -> float | None:
        """The latency, in milliseconds, that ``percent`` percent of the sends did not exceed; None without any.

        Nearest rank: the smallest latency that at least that many sends did not exceed.
        """
        if not self.produce_us:
            return None
        rank = -(-percent * len(self.produce_us) // 100)
        return self.produce_us[max(rank, 1) - 1] / MICROSECONDS


def _milliseconds(spans: tuple[Span, ...]) -> float:
    return sum(span.end - span.begin for span in spans) / MICROSECONDS


class Meter:
    """A fold that measures unavailability, latency and changes.

    Args:
        min_isr: min.insync.replicas of each partition; without one, nothing is read-only.
        leaderless: Partitions without a leader at the beginning; the others are measured from their first leader on.
    """

    __slots__ = ("_began", "_changes", "_isr", "_last", "_leader", "_sent", "measured", "min_isr", "spans", "takes")

    def __init__(self, min_isr: Mapping[str, int], leaderless: Collection[str] = ()) -> None:
        self.min_isr = dict(min_isr)
        self.spans: dict[str, list[Span]] = {"no leader": [], "read only": []}
        self.measured: list[int] = []
        self._leader: dict[str, tuple[int, str]] = {}
        self._last: dict[str, str] = {}
        self._isr: dict[str, tuple[int, ...]] = {}
        self._began: dict[tuple[str, str], int] = {("no leader", partition): 0 for partition in leaderless}
        self._sent: dict[tuple[str, object], int] = {}
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.SENT: self._send,
            Kind.ACKNOWLEDGED: self._acknowledged,
            Kind.BECAME_LEADER: self._became_leader,
            Kind.RESIGNED: self._resigned,
            Kind.BECAME_FOLLOWER: self._resigned,
            Kind.PARTITION_CHANGED: self._partition_changed,
            Kind.CRASHED: self._ended,
            Kind.STOPPED: self._ended,
        }
        self._changes = [0, 0]

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    def measures(self, end: int) -> Measures:
        """Returns the measurements up to ``end``, the end of the run in microseconds."""
        for (why, partition), begin in self._began.items():
            self.spans[why].append(Span(partition, begin, end, why))
        self._began.clear()
        return Measures(
            no_leader=tuple(span for span in self.spans["no leader"] if span.end > span.begin),
            read_only=tuple(span for span in self.spans["read only"] if span.end > span.begin),
            produce_us=tuple(sorted(self.measured)),
            leader_changes=self._changes[0],
            isr_changes=self._changes[1],
        )

    def _send(self, event: Event) -> None:
        self._sent.setdefault((event.values[0], event.values[1]), event.time)

    def _acknowledged(self, event: Event) -> None:
        sent = self._sent.pop((event.values[0], event.values[1]), None)
        if sent is not None:
            self.measured.append(event.time - sent)

    def _became_leader(self, event: Event) -> None:
        partition, epoch, isr, _ = event.values
        if epoch < self._leader.get(partition, (-1, ""))[0]:
            return  # a former leader that learned of it late
        self._changes[0] += self._last.get(partition, event.node) != event.node
        self._leader[partition] = (epoch, event.node)
        self._last[partition] = event.node
        self._isr.setdefault(partition, tuple(isr))
        self._end(event.time, "no leader", partition)
        self._judge_isr(event.time, partition, tuple(isr))

    def _resigned(self, event: Event) -> None:
        self._leaderless(event.time, event.values[0], event.node)

    def _ended(self, event: Event) -> None:
        for partition in list(self._leader):
            self._leaderless(event.time, partition, event.node)

    def _leaderless(self, time: int, partition: str, node: str) -> None:
        epoch, leader = self._leader.get(partition, (-1, ""))
        if leader == node:
            self._leader[partition] = (epoch, "")
            self._began.setdefault(("no leader", partition), time)

    def _partition_changed(self, event: Event) -> None:
        partition, isr = event.values[0], tuple(event.values[3])
        self._changes[1] += self._isr.get(partition, isr) != isr
        self._isr[partition] = isr
        self._judge_isr(event.time, partition, isr)

    def _judge_isr(self, time: int, partition: str, isr: tuple[int, ...]) -> None:
        if len(isr) < self.min_isr.get(partition, 0):
            self._began.setdefault(("read only", partition), time)
        else:
            self._end(time, "read only", partition)

    def _end(self, time: int, why: str, partition: str) -> None:
        begin = self._began.pop((why, partition), None)
        if begin is not None:
            self.spans[why].append(Span(partition, begin, time, why))
