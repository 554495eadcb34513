"""Clients' sends, acknowledgements and reads compared with the logs at the end, in the manner of Jepsen's histories.

A send that failed or timed out is indeterminate: its record may be in the log or not, both are correct. Records are
distinguished by their values, which are unique in a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kreplica.engine.checkers.history_of_logs import ReplicaLog, ReplicaLogs
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.setup import KAFKAS_OWN
from kreplica.engine.trace import ABORT, COMMIT, DATA, Event, Kind

Place = tuple[str, object]
"""A partition and a value in it."""


@dataclass(frozen=True, slots=True)
class Histories:
    """Results of the clients' histories at the end of a run; values in the order in which they were sent or read.

    Args:
        sent: Number of records sent.
        acknowledged: Number of them acknowledged; with acks=0 all of them, by the client itself.
        acknowledged_under_faults: Number of acknowledgements after the first fault.
        failed: Number of failed sends: indeterminate.
        lost: Acknowledged, but missing from the leader's log; without a leader, from every replica's.
        lost_with_acks_all: The lost records that were sent with acks=all.
        unseen: Acknowledged and in the log, but not below the high watermark: no consumer can read it.
        duplicated: Readable more than once in one partition.
        reordered: Stored after a record that the same producer sent later.
        aborted_read: Read by a read_committed consumer although its transaction was aborted.
        stale_read: Read from a replica whose log differed from the leader's at that offset and time.
        lost_read: Read, and gone from the leader's log at the end.
        read_twice: Read more than once by a group, or by a consumer without one.
        skipped: Readable, but passed over by a group or consumer that read the records before and after it.
        non_monotonic: Reads of a consumer at or before an offset that it had already read.
        own_unread: Acknowledged to an application whose own consumer passed over it.
    """

    sent: int = 0
    acknowledged: int = 0
    acknowledged_under_faults: int = 0
    failed: int = 0
    lost: tuple[str, ...] = ()
    lost_with_acks_all: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    duplicated: tuple[str, ...] = ()
    reordered: tuple[str, ...] = ()
    aborted_read: tuple[str, ...] = ()
    stale_read: tuple[str, ...] = ()
    lost_read: tuple[str, ...] = ()
    read_twice: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    non_monotonic: tuple[str, ...] = ()
    own_unread: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reads:
    """Records that a group, or a consumer without one, has read of a partition."""

    places: dict[int, object] = field(default_factory=dict)
    times: Counter[object] = field(default_factory=Counter)


class HistoryKeeper:
    """A fold that keeps the clients' histories; feed it before the ``ReplicaLogs`` it looks at.

    Args:
        logs: The replicas.
        read_committed: Names of the consumers with isolation.level=read_committed.
    """

    __slots__ = (
        "_committed_reads",
        "_fault_seen",
        "_gone",
        "_last_read",
        "_reads",
        "_under_faults",
        "_unpromised",
        "acknowledged",
        "failed",
        "logs",
        "noted",
        "read_committed",
        "sent",
        "takes",
    )

    def __init__(self, logs: ReplicaLogs, read_committed: frozenset[str] = frozenset()) -> None:
        self.logs = logs
        self.read_committed = read_committed
        self.sent: dict[Place, tuple[str, int]] = {}
        self.acknowledged: dict[Place, str] = {}
        self.failed: dict[Place, str] = {}
        self.noted: dict[str, list[str]] = {"stale_read": [], "non_monotonic": []}
        self._committed_reads: list[tuple[str, int, object]] = []
        self._reads: dict[tuple[str, str], _Reads] = {}
        self._last_read: dict[tuple[str, str], int] = {}
        self._fault_seen = False
        self._under_faults = 0
        self._unpromised: set[Place] = set()
        self._gone: set[Place] = set()
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.SENT: self._sent,
            Kind.ACKNOWLEDGED: self._acknowledged,
            Kind.SEND_FAILED: self._failed,
            Kind.CONSUMED: self._consumed,
            Kind.STARTED: self._forget_positions,
            Kind.LOG_START: self._deleted,
            Kind.FAULT: self._faulty,
        }

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    def _sent(self, event: Event) -> None:
        place = event.values[0], event.values[1]
        self.sent.setdefault(place, (event.node, len(self.sent)))
        if event.values[2] != ACKS_ALL:
            self._unpromised.add(place)
        if event.values[2] == 0:  # with acks=0 the client reports success at once
            self.acknowledged.setdefault(place, event.node)

    def _deleted(self, event: Event) -> None:
        """Notes records that a leader deletes as deleted on purpose; followers only repeat their leader's deletions."""
        partition, log_start = event.values
        replica = self.logs.replica(partition, event.node)
        if replica.leader_epoch >= 0:
            self._gone.update((partition, record.value) for record in replica.between(replica.base, log_start))

    def _faulty(self, _: Event) -> None:
        self._fault_seen = True

    def _acknowledged(self, event: Event) -> None:
        self._under_faults += self._fault_seen
        self.acknowledged.setdefault((event.values[0], event.values[1]), event.node)

    def _failed(self, event: Event) -> None:
        self.failed.setdefault((event.values[0], event.values[1]), event.node)

    def _forget_positions(self, event: Event) -> None:
        for key in [key for key in self._last_read if key[0] == event.node]:
            del self._last_read[key]

    def _consumed(self, event: Event) -> None:
        partition, offset, value, group = event.values
        reads = self._reads.setdefault((group or event.node, partition), _Reads())
        reads.places[offset] = value
        reads.times[value] += 1
        if offset <= self._last_read.get((event.node, partition), -1):
            self.noted["non_monotonic"].append(str(value))
        self._last_read[event.node, partition] = offset
        if event.node in self.read_committed:
            self._committed_reads.append((partition, offset, value))
        if self._is_stale(partition, offset, value):
            self.noted["stale_read"].append(str(value))

    def _is_stale(self, partition: str, offset: int, value: object) -> bool:
        leader = self.logs.leader(partition)
        if leader is None or offset < leader.base:
            return False
        there = leader.between(offset, offset + 1)
        return not there or there[0].value != value

    def histories(self) -> Histories:
        """The verdicts, at the end of the run."""
        # internal topics hold the records of coordinators, not of clients
        applications = [partition for partition in self.logs.partitions if not partition.startswith(KAFKAS_OWN)]
        finals = {partition: _final(self.logs, partition) for partition in applications}
        aborted = {(name, *place) for name, final in finals.items() for place in final.aborted}
        left = (place for place in self.acknowledged if place not in self._gone)
        lost = [place for place in left if not _held(finals.get(place[0]), place[1])]
        return Histories(
            sent=len(self.sent),
            acknowledged=len(self.acknowledged),
            acknowledged_under_faults=self._under_faults,
            failed=len(self.failed),
            lost=_texts(lost),
            lost_with_acks_all=_texts(place for place in lost if place not in self._unpromised),
            unseen=_texts(place for place in self.acknowledged if _above(finals.get(place[0]), place[1])),
            duplicated=_in_order(value for final in finals.values() for value in final.duplicated()),
            reordered=_in_order(value for name, final in finals.items() for value in self._reordered(name, final)),
            aborted_read=_in_order(str(value) for *place, value in self._committed_reads if (*place, value) in aborted),
            stale_read=_in_order(self.noted["stale_read"]),
            lost_read=_in_order(value for value in self._lost_reads(finals)),
            read_twice=_in_order(
                str(value) for reads in self._reads.values() for value, count in reads.times.items() if count > 1
            ),
            skipped=_in_order(value for key in self._reads for value in self._skipped(key, finals)),
            non_monotonic=_in_order(self.noted["non_monotonic"]),
            own_unread=_in_order(self._own_unread()),
        )

    def _reordered(self, partition: str, final: _Final) -> Iterable[str]:
        newest: dict[str, int] = {}
        for value in dict.fromkeys(final.readable):
            producer, number = self.sent.get((partition, value), ("", -1))
            if number < newest.get(producer, -1):
                yield str(value)
            newest[producer] = max(number, newest.get(producer, -1))

    def _lost_reads(self, finals: dict[str, _Final]) -> Iterable[str]:
        for (_, partition), reads in self._reads.items():
            final = finals.get(partition)
            gone = (value for value in reads.times if not _held(final, value))
            yield from (str(value) for value in gone if (partition, value) not in self._gone)

    def _skipped(self, key: tuple[str, str], finals: dict[str, _Final]) -> Iterable[str]:
        reads, final = self._reads[key], finals.get(key[1])
        if final is None or not reads.places:
            return
        first, last = min(reads.places), max(reads.places)
        for offset, value in final.places:
            if first < offset < last and value not in reads.times and (key[1], value) not in self._gone:
                yield str(value)

    def _own_unread(self) -> Iterable[str]:
        """Acknowledged records that the application's own consumer passed over.

        An application's clients share their names up to the last hyphen: ``shop-writer`` and ``shop-reader``.
        """
        own = {reader.rpartition("-")[0]: reads for (reader, _), reads in self._reads.items()}
        for (_, value), producer in self.acknowledged.items():
            application = producer.rpartition("-")[0]
            if application and application in own and value not in own[application].times:
                yield str(value)


@dataclass(frozen=True, slots=True)
class _Final:
    """Contents of a partition at the end: the records in the log, and those of them that can be read."""

    held: frozenset[object]
    visible: frozenset[object]
    hidden: frozenset[object]
    readable: tuple[object, ...]
    places: tuple[tuple[int, object], ...]
    aborted: frozenset[tuple[int, object]]
    base: int

    def duplicated(self) -> Iterable[str]:
        """Values that can be read more than once."""
        return (str(value) for value, count in Counter(self.readable).items() if count > 1)


def _final(logs: ReplicaLogs, partition: str) -> _Final:
    replicas = logs.remaining(partition)
    longest = replicas[0]
    aborted = aborted_places(longest)
    places = tuple(
        (longest.base + place, record.value)
        for place, record in enumerate(longest.records)
        if record.kind == DATA and place not in aborted
    )
    readable = longest.high_watermark if longest is logs.leader(partition) else longest.end_offset
    visible = frozenset(value for offset, value in places if offset < readable)
    return _Final(
        held=frozenset(record.value for replica in replicas for record in replica.records),
        visible=visible,
        hidden=frozenset(value for _, value in places if value not in visible),
        readable=tuple(value for _, value in places),
        places=places,
        aborted=frozenset((longest.base + place, longest.records[place].value) for place in aborted),
        base=longest.log_start,
    )


def aborted_places(replica: ReplicaLog) -> set[int]:
    """Indexes in the replica's records of those whose transaction an abort marker ended."""
    is_open: dict[int, list[int]] = {}
    aborted: set[int] = set()
    for place, record in enumerate(replica.records):
        if record.kind in (COMMIT, ABORT):
            ended = is_open.pop(record.producer_id, [])
            aborted.update(ended if record.kind == ABORT else ())
        elif record.transactional:
            is_open.setdefault(record.producer_id, []).append(place)
    return aborted


def _held(final: _Final | None, value: object) -> bool:
    return final is not None and value in final.held


def _above(final: _Final | None, value: object) -> bool:
    return final is not None and value in final.hidden


def _texts(places: Iterable[Place]) -> tuple[str, ...]:
    return tuple(str(value) for _, value in places)


def _in_order(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
