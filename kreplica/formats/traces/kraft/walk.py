"""A metadata log walked record by record: its changes explained, its faults named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kreplica.engine.traces.kraft import agrees
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.engine.versions.version import Version
from kreplica.formats.metadata_log.directories import first_directory
from kreplica.formats.metadata_log.image import BrokerState, MetadataImage, PartitionChange, PartitionState
from kreplica.formats.metadata_log.log import MetadataEntry
from kreplica.formats.segments.control_records import LEADER_CHANGE
from kreplica.formats.traces.kraft.broker_records import BrokerRecord, broker_fault, broker_record, leaving_before
from kreplica.formats.traces.kraft.facts import ANY_UNWRITTEN, Unwritten, brokers_of, engine_state, facts_of
from kreplica.formats.traces.kraft.operations import Opening, explain_run, overdue
from kreplica.formats.traces.kraft.releases import Releases
from kreplica.formats.traces.kraft.rows import TraceChange
from kreplica.formats.traces.kraft.steps import Found, Leaving, Step, differences, directory_lost, wrong_directories
from kreplica.formats.traces.kraft.timers import Timers
from kreplica.model.settings import ELR_FEATURE, MIN_ISR

_CHANGE = "PARTITION_CHANGE_RECORD"
_QUIET = frozenset({"NO_OP_RECORD"})


@dataclass(slots=True)
class Walk:
    """A log while it is judged.

    Args:
        image: The cluster, to which each entry has been applied before it is taken.
        releases: Which release the controllers run.
        rows: Every change and every fault so far, in order.
        counts: Number of changes by rule.
        brokers: Brokers as they were before the entry that is taken.
        timers: What the timestamps tell of timers.
    """

    image: MetadataImage
    releases: Releases
    rows: list[TraceChange] = field(default_factory=list)
    counts: Counter[TraceRule] = field(default_factory=Counter)
    brokers: dict[int, BrokerState] = field(default_factory=dict)
    timers: Timers = field(default_factory=Timers)
    _possible: frozenset[Unwritten] = ANY_UNWRITTEN
    _steps: list[Step] = field(default_factory=list)
    _opening: Opening | None = None
    _clears_elr: bool = False
    _next: int | None = None
    _unplaced: int = 0

    def faults(self, rows: Iterable[TraceChange]) -> None:
        """Takes faults that were found elsewhere."""
        self.rows += rows

    def take(self, entry: MetadataEntry, changes: Sequence[PartitionChange]) -> None:
        """Judges an entry that has just been applied, with the changes it made."""
        self._gap(entry)
        version = self.releases.version(self.image)
        if entry.record.type == _CHANGE and changes:
            self._steps += [self._step(change, version) for change in changes]
        else:
            self._other(entry, changes, version)
        if self.image.unplaced > self._unplaced:
            self._unplaced = self.image.unplaced
            self._fault(entry, "it is of a topic, partition or broker that no record before it made")
        self.releases.take(entry, self.image)
        self._note_time(entry, changes)

    def end(self) -> None:
        """Judges what the log ends with."""
        self._close(None, self.releases.version(self.image), cut=True)

    def _note_time(self, entry: MetadataEntry, changes: Sequence[PartitionChange]) -> None:
        """Takes the time of an entry that has been judged, and what begins with it."""
        if entry.record.type == LEADER_CHANGE:
            self.timers.new_controller(entry.timestamp, self.image.brokers)
            return
        self.timers.passed(entry.offset, entry.timestamp)
        for change in changes:
            self.timers.changed(change)
        record = broker_record(entry)
        if record is not None and (record.unfences or record.shuts_down or record.directories is not None):
            self.timers.heard_of(record.broker, entry.timestamp)

    # -- runs of changes

    def _step(self, change: PartitionChange, version: Version) -> Step:
        topic = self.image.topics[change.topic_id]
        assert change.before is not None, "a partition that changes was there"
        facts = facts_of(self.image, version, topic, change.partition, change.before)
        return Step(change, facts, brokers_of(self.image), self.brokers, self.timers.in_sync(change))

    def _other(self, entry: MetadataEntry, changes: Sequence[PartitionChange], version: Version) -> None:
        record = broker_record(entry)
        known = None if record is None else self.brokers.get(record.broker)
        closing = None if record is None else leaving_before(record, known, version)
        led = entry.record.type == LEADER_CHANGE
        closed = self._close(closing, version, cut=led)
        if record is not None:
            self._broker(entry, record, known, closed, version)
            self._session(entry, record, known, closed)
        if led:
            self._possible = ANY_UNWRITTEN
        self._judge(entry, changes)
        self._note_setting(entry)
        self.brokers = dict(self.image.brokers) if record is not None else self.brokers

    def _close(self, closing: Leaving | None, version: Version, *, cut: bool) -> Sequence[Step]:
        """Judges the changes since the last other record; returns those that go with this one."""
        steps, opening = self._steps, self._opening
        self._steps, self._opening = [], None
        if opening is None and closing is None and not steps:
            return ()
        run, self._possible = explain_run(steps, opening, closing, cut, self._possible)
        for number, (step, found) in enumerate(zip(run.steps, run.found, strict=True), start=1):
            soon = None if cut else self._shrank_too_soon(step, found.rule)
            self._change(step.change, found.rule, _reason(step, found, run.steps[number:]) or soon)
        if opening is not None and not cut:
            # the record that comes now may have unfenced another broker, which could not lead when this one was back
            before = replace(self.image, brokers=self.brokers)
            self._overdue(before, opening, steps[run.opened :], version)
        if closing is not None:
            self._overdue(self.image, Opening(closing.broker, closing), (), version)
        return steps[len(steps) - run.closed :]

    def _shrank_too_soon(self, step: Step, rule: TraceRule | None) -> str | None:
        """The fault in the time of an ISR that its leader shrank.

        A member whose log directory failed leaves at once. Where a run is cut off, it may be a broker that leaves.
        """
        failed = any(directory_lost(step, broker) for broker in step.before.isr)
        if rule is not TraceRule.isr_shrunk or failed:
            return None
        return self.timers.shrink_fault(step.change, step.began)

    def _overdue(self, image: MetadataImage, opening: Opening, later: Sequence[Step], version: Version) -> None:
        earlier: dict[tuple[str, int], PartitionState] = {}
        for step in later:
            earlier.setdefault((step.change.topic_id, step.change.partition), step.before)
        for topic, partition in overdue(image, version, earlier, opening, self._possible):
            what = "leaves" if opening.leaving is not None else "is back"
            reason = f"broker {opening.broker} {what}, and no record changes this partition"
            self._row(self.image.next_offset - 1, None, topic, partition, reason=reason)

    # -- other records

    def _gap(self, entry: MetadataEntry) -> None:
        if self._next is not None and entry.offset != self._next:
            self._fault(entry, f"offset {self._next} expected: records between are missing")
        self._next = entry.offset + 1

    def _session(
        self, entry: MetadataEntry, record: BrokerRecord, known: BrokerState | None, closed: Sequence[Step]
    ) -> None:
        """Judges a broker whose session has to be over: one that is fenced while it led, or is started anew.

        One that leads nothing is fenced as soon as it asks to stop (BrokerHeartbeatManager.calculateNextBrokerState).
        """
        if known is None or known.fenced or known.shutting_down:
            return
        led = any(step.before.leader == record.broker for step in closed)
        anew = record.registers and record.epoch != known.epoch
        if anew or (record.fences and led):
            what = "is fenced" if record.fences else "is registered by another process"
            fault = self.timers.session_fault(record.broker, entry.offset, entry.timestamp, what)
            if fault is not None:
                self._fault(entry, fault)

    def _broker(
        self,
        entry: MetadataEntry,
        record: BrokerRecord,
        known: BrokerState | None,
        closed: Sequence[Step],
        version: Version,
    ) -> None:
        fault = broker_fault(record, known, entry.offset - len(closed), version)
        if fault is not None:
            self._fault(entry, fault)
        if record.unfences:
            self._opening = Opening(record.broker, None)
        elif record.shuts_down:
            self._opening = Opening(record.broker, Leaving(record.broker, TraceRule.broker_stops))

    def _judge(self, entry: MetadataEntry, changes: Sequence[PartitionChange]) -> None:
        for change in changes:
            if change.before is None:
                self._change(change, TraceRule.created, self._creation_fault(change))
            elif change.after is None:
                self._change(change, TraceRule.removed, None)
            elif entry.record.type == "CLEAR_ELR_RECORD":
                reason = None if self._clears_elr else f"no change of {MIN_ISR} or {ELR_FEATURE} before it"
                self._change(change, TraceRule.elr_cleared, reason)
            else:
                self._change(change, None, "a partition that is there is created again")

    def _creation_fault(self, change: PartitionChange) -> str | None:
        after, brokers = change.after, brokers_of(self.image)
        assert after is not None, "a created partition is there"
        if len({*after.replicas}) != len(after.replicas) or not {*after.replicas} <= {*brokers.registered}:
            return f"replicas {','.join(map(str, after.replicas))} are not distinct registered brokers"
        active = [one for one in after.replicas if one not in brokers.fenced and one not in brokers.shutting_down]
        expected = PartitionState(
            after.replicas, active, (), (), (), (), after.directories, active[0] if active else -1, 0, 0, 0
        )
        name = f"{change.topic}-{change.partition}"
        if not agrees(engine_state(name, expected), engine_state(name, after)):
            isr = ",".join(map(str, active))
            return f"leader {expected.leader}, ISR {isr} and epochs of 0 expected of a new partition"
        directories = [first_directory(self.image.brokers.get(one)) for one in after.replicas]
        if after.directories and list(after.directories) != directories:
            return f"directories {', '.join(directories)} expected, found {', '.join(after.directories)}"
        return None

    def _note_setting(self, entry: MetadataEntry) -> None:
        data = entry.record.data
        if data is None:
            return  # of a version that is not known
        if entry.record.type in ("CONFIG_RECORD", "FEATURE_LEVEL_RECORD"):
            self._clears_elr = self._clears_elr or data["name"] in (MIN_ISR, ELR_FEATURE)
        elif entry.record.type not in ("CLEAR_ELR_RECORD", *_QUIET):
            self._clears_elr = False

    # -- rows

    def _change(self, change: PartitionChange, rule: TraceRule | None, reason: str | None) -> None:
        if reason is None and rule is not None:
            self.counts[rule] += 1
        self._row(change.offset, change.timestamp, change.topic, change.partition, rule, reason)

    def _fault(self, entry: MetadataEntry, reason: str) -> None:
        self._row(entry.offset, entry.timestamp, None, None, reason=f"{entry.record.type}: {reason}")

    def _row(
        self,
        offset: int,
        timestamp: int | None,
        topic: str | None,
        partition: int | None,
        rule: TraceRule | None = None,
        reason: str | None = None,
    ) -> None:
        self.rows.append(TraceChange(offset, timestamp, topic, partition, None if reason else rule, reason))


def _reason(step: Step, found: Found, later: Sequence[Step]) -> str | None:
    """Reason for which a change is refused; None if it is not."""
    after = step.after
    if after.leader >= 0 and after.leader not in after.replicas:
        return f"leader {after.leader} is none of the replicas {','.join(map(str, after.replicas))}"
    if found.rule is not None:
        return wrong_directories(step, assigned=found.rule is TraceRule.directory_assigned, later=later)
    if found.nearest is None:
        return "no rule makes this change"
    return f"{found.nearest.rule.value} comes nearest: {differences(found.nearest, step.states[1])}"


def refused(rows: Sequence[TraceChange]) -> Iterator[TraceChange]:
    """The rows that no rule explains."""
    return (row for row in rows if row.refused is not None)
