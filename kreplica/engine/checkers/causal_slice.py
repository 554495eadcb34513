"""The causal slice of a run: why a record was lost, doubled or cannot be read, by the few events that made it so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kreplica.engine.checkers.histories import aborted_places
from kreplica.engine.checkers.history_of_logs import ReplicaLog
from kreplica.engine.checkers.record_copies import CopyGone, follow_copies
from kreplica.engine.trace import LEADER, Event, Kind, fields_of, rule_of, sentence

MOST_ALIKE = 3
"""Number of retries and reads of one record that are listed: the first ones."""

MOST_FAULTS = 6
"""Number of link and disk faults that are listed: the last ones."""

_PROCESS_FAULTS = frozenset(("crash", "start", "stop", "kill", "power-loss", "pause", "resume", "nothing"))
"""Faults that show in the events of the process itself."""

_ENDS = frozenset((Kind.CRASHED, Kind.STOPPED, Kind.PAUSED, Kind.DISK_LOST))


class Fate(StrEnum):
    """Fate of a record at the end of a run."""

    LOST = "lost"
    DOUBLED = "doubled"
    UNSEEN = "unseen"
    STANDS = "stands"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Cause:
    """One event of the slice.

    Args:
        number: Index in the trace, from 0.
        time: Virtual time, in microseconds.
        text: The event as a sentence.
        note: Its meaning for the record; empty where the sentence says it.
        rule: ``module.function`` of ``kreplica.engine.rules``; empty where no rule decided.
    """

    number: int
    time: int
    text: str
    note: str
    rule: str


@dataclass(frozen=True, slots=True)
class CausalSlice:
    """Explanation of a record's fate.

    Args:
        value: The record's value.
        partition: The partition it was sent to, as ``topic-0``.
        fate: Its fate.
        conclusion: The fate in a sentence.
        causes: The events that led to it, in order.
    """

    value: str
    partition: str
    fate: Fate
    conclusion: str
    causes: tuple[Cause, ...]


def sent_values(events: Iterable[Event]) -> dict[str, str]:
    """Every record that a client sent, with its partition."""
    return {str(event.values[1]): str(event.values[0]) for event in events if event.kind == Kind.SENT}


def causal_slice(events: Sequence[Event], value: str) -> CausalSlice:
    """Walks back from a record's fate through the events that caused it.

    Args:
        events: A whole trace.
        value: The value that a client sent.

    Raises:
        KeyError: No client sent it.
    """
    slicer = _Slicer(events, sent_values(events)[value], value)
    slicer.collect()
    numbers = sorted(slicer.notes)
    return CausalSlice(
        value,
        slicer.partition,
        slicer.fate,
        slicer.conclusion(),
        tuple(
            Cause(number, event.time, sentence(event), slicer.notes[number], rule_of(event))
            for number, event in ((number, events[number]) for number in numbers)
        ),
    )


class _Slicer:
    """Collects the events of one record's slice by their numbers, with a note for each."""

    def __init__(self, events: Sequence[Event], partition: str, value: str) -> None:
        self.events = events
        self.partition = partition
        self.value = value
        self.copies = follow_copies(events, partition, (value,))
        self.notes: dict[int, str] = {}
        told = [event for event in events if event.kind in (Kind.ACKNOWLEDGED, Kind.SENT) and self._is_of_it(event)]
        self.acknowledged = any(event.kind == Kind.ACKNOWLEDGED or event.values[2] == 0 for event in told)
        self.sent_at = next(number for number, event in enumerate(events) if event is told[0])
        self.fate = self._fate()

    # -- fate

    def _fate(self) -> Fate:
        replica = self._final()
        places = self._places()
        if not places and not self._remaining_copies():
            return Fate.LOST if self.acknowledged else Fate.GONE
        if len(places) > 1:
            return Fate.DOUBLED
        leads = replica is not None and replica is self.copies.logs.leader(self.partition)
        above = replica is not None and leads and places and places[0] >= replica.high_watermark
        return Fate.UNSEEN if above and self.acknowledged else Fate.STANDS

    def _final(self) -> ReplicaLog | None:
        known = self.partition in self.copies.logs.partitions
        return self.copies.logs.remaining(self.partition)[0] if known else None

    def _places(self) -> list[int]:
        """Offsets of the record in the log that counts at the end, aborted transactions left out."""
        replica = self._final()
        if replica is None:
            return []
        aborted = {replica.base + place for place in aborted_places(replica)}
        return sorted(self.copies.held[self.value].get(replica.node, set()) - aborted)

    def _remaining_copies(self) -> list[str]:
        if self.partition not in self.copies.logs.partitions:
            return []
        remaining = {replica.node for replica in self.copies.logs.remaining(self.partition)}
        return [node for node in self.copies.copies(self.value) if node in remaining]

    def conclusion(self) -> str:
        """The fate in a sentence."""
        value, replica, left = self.value, self._final(), ", ".join(self.copies.copies(self.value))
        if self.fate in (Fate.LOST, Fate.GONE):
            told = "although it was acknowledged" if self.fate is Fate.LOST else "and was not acknowledged"
            copies = f"; {left}, which leads no more, still has it" if left else ""
            return f"{value} is {self.fate}, {told}: {self._since_when()}{copies}"
        assert replica is not None
        places = self._places()
        if not places:
            return f"{value} stands on {left}, in an aborted transaction or at a replica that leads no more"
        stands = f"{value} stands at offset {', '.join(map(str, places))} of {self.partition} on {left}"
        if self.fate is Fate.DOUBLED:
            return f"{stands}: {len(places)} times"
        if self.fate is Fate.UNSEEN:
            return f"{stands}, not below the high watermark {replica.high_watermark} of {replica.node}: nobody reads it"
        return stands

    def _since_when(self) -> str:
        number = self.copies.lost_at.get(self.value)
        if number is not None:
            return f"from {self.events[number].time / 1000:.3f} ms on no leader's log has it"
        return "no leader's log has had it" if self.value in self.copies.first_at else "no log has had it"

    # -- walking back

    def collect(self) -> None:
        """Finds every event of the slice."""
        self._clients()
        self._replication()
        for gone in self.copies.gone:
            self._copy_gone(gone)
        lost_at = self.copies.lost_at.get(self.value)
        if lost_at is not None:
            self._add(lost_at, f"from here on no leader's log has {self.value}")
            if self.events[lost_at].kind == Kind.BECAME_LEADER:
                self._election(lost_at)
        if self.value not in self.copies.first_at:
            self._never_appended()
        if self.fate is Fate.UNSEEN:
            self._high_watermark_stands()
        if self.fate is Fate.DOUBLED:
            self._between_appends()
        if self.fate is not Fate.STANDS:
            self._faults(max(self.notes))

    def _add(self, number: int | None, note: str = "") -> None:
        if number is not None:
            self.notes[number] = self.notes.get(number) or note

    def _is_of_it(self, event: Event) -> bool:
        named = fields_of(event)
        if named.get("partition") != self.partition:
            return False
        return named.get("value") == self.value or self.value in (named.get("values") or ())

    def _clients(self) -> None:
        for kind in (Kind.SENT, Kind.ACKNOWLEDGED, Kind.SEND_FAILED, Kind.RETRIED, Kind.CONSUMED):
            found = [number for number, event in self._of(kind) if self._is_of_it(event)]
            for number in found[:MOST_ALIKE]:
                self._add(number)

    def _of(self, *kinds: str) -> Iterable[tuple[int, Event]]:
        return ((number, event) for number, event in enumerate(self.events) if event.kind in kinds)

    def _replication(self) -> None:
        """Collects the record's copies, the positions by which the leader learned of them, and the commit."""
        copies: dict[str, int] = {}
        known: set[tuple[str, int]] = set()
        committed = False
        for number, event in self._of(Kind.APPENDED, Kind.FOLLOWER_POSITION, Kind.HIGH_WATERMARK):
            if event.values[0] != self.partition:
                continue
            if event.kind == Kind.APPENDED:
                for offset, record in enumerate(event.values[3], start=event.values[1]):
                    if str(record.value) == self.value and (event.node not in copies or event.values[4] == LEADER):
                        copies[event.node] = offset
                        self._add(number, f"{self.value} at offset {offset} of {event.node}")
                continue
            offset_of_it = copies.get(event.node)
            if offset_of_it is None:
                continue
            if event.kind == Kind.FOLLOWER_POSITION:
                key = (event.node, event.values[1])
                if event.values[2] > offset_of_it and key not in known:
                    known.add(key)
                    self._add(number, f"the leader knows that broker-{event.values[1]} has {self.value}")
            elif event.values[2] == LEADER and event.values[1] > offset_of_it and not committed:
                committed = True
                self._add(number, f"{self.value} is committed")

    def _copy_gone(self, gone: CopyGone) -> None:
        left = f"left: {', '.join(gone.left)}" if gone.left else "no copy is left"
        self._add(gone.number, f"{gone.node} loses {self.value}; {left}")
        since = self._last(gone.number, lambda event: self._appends_at(event, gone.node)) or 0
        for kinds in ((Kind.CRASHED, Kind.STOPPED), (Kind.STARTED,), (Kind.BECAME_FOLLOWER,)):
            self._add(self._last(gone.number, self._at(gone.node, kinds), since))
        watermark = self._last(gone.number, self._at(gone.node, (Kind.HIGH_WATERMARK, Kind.RECOVERED)))
        if watermark is not None:
            offset = self.events[watermark].values[1 if self.events[watermark].kind == Kind.HIGH_WATERMARK else 3]
            self._add(watermark, f"the high watermark of {gone.node} then: {offset}")
        following = self._last(gone.number, self._at(gone.node, (Kind.BECAME_FOLLOWER,)), since)
        if following is not None:
            epoch, leader = self.events[following].values[1:3]
            leads = self._last(following, self._leads(f"broker-{leader}", epoch))
            if leads is not None:
                self._election(leads)

    def _election(self, leads: int) -> None:
        """Collects an election's causes: the controller's decision, the end of the former leader, the ISR then."""
        leader, epoch = self.events[leads].node, self.events[leads].values[1]
        if leads < self.sent_at:
            return
        self._add(leads, "" if self._has_copy(leader, leads) else f"{leader} leads without {self.value}")
        decided = self._last(leads, lambda event: self._is_change(event) and event.values[2] == epoch)
        self._add(decided)
        before = self._last(leads, lambda event: event.kind == Kind.BECAME_LEADER and event.values[0] == self.partition)
        if decided is None or before is None:
            return
        former = self.events[before].node
        self._add(self._last(decided, lambda event: event.kind in _ENDS and event.node == former, before))
        self._add(self._last(decided, lambda event: _counts_out(event, former), before))
        known = self._last(decided, self._is_change, 0)
        self._add(known, "the ISR as it was then")

    def _never_appended(self) -> None:
        """Collects the events of a request that no leader appended: deliveries, losses, a leader's decision."""
        for number, event in enumerate(self.events[self.sent_at :], start=self.sent_at):
            if event.kind == Kind.MESSAGE and event.values[2] == "Produce" and _carries(event.values[3], self.value):
                self._add(number, f"{event.node} gets {self.value} and does not append it")
            elif event.kind in (Kind.DUPLICATE, Kind.APPEND_REFUSED) and event.values[0] == self.partition:
                self._add(number) if len(self.notes) < 2 * MOST_FAULTS else None
        self._add(self._last(self.sent_at, self._is_change), "who led as it was sent")
        self._add(self._last(self.sent_at, lambda event: event.kind in _ENDS and event.node.startswith("broker-")))
        self._add(self._next(self.sent_at, self._is_change))

    def _high_watermark_stands(self) -> None:
        replica, end = self._final(), len(self.events)
        assert replica is not None
        self._add(self._last(end, self._at(replica.node, (Kind.HIGH_WATERMARK,))), "no high watermark is above it")
        for follower in sorted({event.values[1] for _, event in self._of(Kind.FOLLOWER_POSITION)}):
            self._add(self._last(end, self._learns(replica.node, follower)))
        self._add(self._last(end, self._is_change), "the ISR as it is")

    def _between_appends(self) -> None:
        """Collects the causes of a repeated send: the end of a leader, lost answers, forgotten producer state."""
        appends = [number for number, event in self._of(Kind.APPENDED) if self._is_leaders_append(event)]
        for number in range(appends[0], appends[-1]):
            event = self.events[number]
            ended = event.kind in _ENDS or (event.kind == Kind.BECAME_LEADER and event.values[0] == self.partition)
            lost = event.kind == Kind.DROPPED and str(event.values[1]).startswith("Produce")
            forgotten = event.kind == Kind.PRODUCER_EXPIRED and event.values[0] == self.partition
            if ended or lost or forgotten or event.kind == Kind.PRODUCER_ID:
                self._add(number)

    def _faults(self, before: int) -> None:
        told = [
            number
            for number, event in self._of(Kind.FAULT)
            if number < before and event.values[0] not in _PROCESS_FAULTS
        ]
        for number in told[-MOST_FAULTS:]:
            self._add(number)

    # -- looking back

    def _last(self, before: int, fits: Callable[[Event], bool], after: int = -1) -> int | None:
        """The last event before a number, and after another, that fits."""
        return next((number for number in range(before - 1, after, -1) if fits(self.events[number])), None)

    def _at(self, node: str, kinds: tuple[str, ...]) -> Callable[[Event], bool]:
        def fits(event: Event) -> bool:
            named = not event.values or event.kind in _ENDS or event.values[0] == self.partition
            return event.node == node and event.kind in kinds and named

        return fits

    def _next(self, after: int, fits: Callable[[Event], bool]) -> int | None:
        return next((number for number in range(after + 1, len(self.events)) if fits(self.events[number])), None)

    def _has_copy(self, node: str, number: int) -> bool:
        """True if a node's log had the record at that event: appended before, and not truncated since."""
        appended = self._last(number, lambda event: self._appends_at(event, node))
        cut = max((gone.number for gone in self.copies.gone if gone.node == node and gone.number < number), default=-1)
        return appended is not None and appended > cut

    def _learns(self, node: str, follower: int) -> Callable[[Event], bool]:
        return lambda event: (
            event.kind == Kind.FOLLOWER_POSITION
            and event.node == node
            and event.values[:2] == (self.partition, follower)
        )

    def _leads(self, node: str, epoch: int) -> Callable[[Event], bool]:
        return lambda event: (
            event.kind == Kind.BECAME_LEADER and event.node == node and event.values[:2] == (self.partition, epoch)
        )

    def _is_change(self, event: Event) -> bool:
        return event.kind == Kind.PARTITION_CHANGED and event.values[0] == self.partition

    def _appends_at(self, event: Event, node: str) -> bool:
        return event.kind == Kind.APPENDED and event.node == node and self._has_it(event)

    def _is_leaders_append(self, event: Event) -> bool:
        return event.values[4] == LEADER and self._has_it(event)

    def _has_it(self, event: Event) -> bool:
        return bool(event.values[0] == self.partition) and any(
            str(record.value) == self.value for record in event.values[3]
        )


def _counts_out(event: Event, broker: str) -> bool:
    """True if the controller or ZooKeeper declares in this event that a broker is not alive."""
    if event.kind == Kind.SESSION_EXPIRED:
        return bool(event.values[0] == broker)
    return event.kind == Kind.BROKER_FENCED and f"broker-{event.values[0]}" == broker


def _carries(arguments: Iterable[object], value: str) -> bool:
    """True if the arguments of a request hold a record with that value."""
    return any(
        isinstance(one, tuple) and any(str(getattr(record, "value", None)) == value for record in one)
        for one in arguments
    )
