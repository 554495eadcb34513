"""The journal of a plan of replicas: ``PLAN.journal`` beside it, one JSON object a line, only ever appended to.

    {"schema": "kreplica/journal/v2", "plan": "sha256:...", "plan_id": ..., "cluster_id": ...}       the header
    {"at": ..., "event": "started",   "operation": "apply", "pid": 4711}
    {"at": ..., "event": "throttling", "operation": "apply", "rates": [{...}], "lists": [{...}]}
    {"at": ..., "event": "intended",  "operation": "apply", "moves": [{...}, ...]}
    {"at": ..., "event": "finished",  "operation": "apply", "results": [{...}, ...]}
    {"at": ..., "event": "intended",  "operation": "apply", "directories": [{...}, ...]}
    {"at": ..., "event": "finished",  "operation": "apply", "directory_results": [{...}, ...]}
    {"at": ..., "event": "released",  "operation": "apply", "rates": [{...}], "lists": [{...}]}
    {"at": ..., "event": "cordoning", "operation": "apply", "cordons": [{...}]}
    {"at": ..., "event": "electing",  "operation": "apply", "elections": [{...}]}
    {"at": ..., "event": "elected",   "operation": "apply", "elections": [{...}]}
    {"at": ..., "event": "stopped",   "operation": "apply", "message": "..."}

A line is on disk before the request that it announces: after a kill at any moment the partitions that may be moving,
and the throttles that may be set, are among those it names, with what was there before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from kreplica.execution.plan import PartitionKey
from kreplica.execution.plan_journal import JournalFormat, Operation, PlanJournal, present_time
from kreplica.planner.reassignment.directories.changed_directory import ReplicaKey


class Event(StrEnum):
    """Kinds of lines."""

    STARTED = "started"
    THROTTLING = "throttling"
    INTENDED = "intended"
    FINISHED = "finished"
    RELEASED = "released"
    CORDONING = "cordoning"
    ELECTING = "electing"
    ELECTED = "elected"
    STOPPED = "stopped"
    COMPLETED = "completed"


class Outcome(StrEnum):
    """Ends of a partition's move, or of a try to begin it."""

    DONE = "done"
    ALREADY = "already"
    FAILED = "failed"
    LEFT_OUT = "left-out"
    NOT_BEGUN = "not-begun"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class MoveNote:
    """A request for one partition: its replicas before, in order, and those asked for; none to cancel its move."""

    topic: str
    partition: int
    before: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def key(self) -> PartitionKey:
        """Topic and partition."""
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class MoveResult:
    """The end of one partition's move, and why where it was not made."""

    topic: str
    partition: int
    outcome: Outcome
    reason: str = ""

    @property
    def key(self) -> PartitionKey:
        """Topic and partition."""
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class DirectoryNote:
    """A request for one replica: its log directory before, and the one asked for, the same to take a move back."""

    topic: str
    partition: int
    broker: int
    before: str
    target: str

    @property
    def replica(self) -> ReplicaKey:
        """Topic, partition and broker."""
        return self.topic, self.partition, self.broker


@dataclass(frozen=True, slots=True)
class DirectoryResult:
    """The end of one replica's change of its log directory, and why where it was not made."""

    topic: str
    partition: int
    broker: int
    outcome: Outcome
    reason: str = ""

    @property
    def replica(self) -> ReplicaKey:
        """Topic, partition and broker."""
        return self.topic, self.partition, self.broker


@dataclass(frozen=True, slots=True)
class RateNote:
    """A broker's rate that is set, and its own value before; None where it had none of its own.

    Args:
        broker: The broker.
        name: Name of the setting.
        value: Bytes a second that are set.
        before: Its own value before.
        origin: Where the value came from that held before; empty where no limit held.
    """

    broker: int
    name: str
    value: int
    before: str | None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class ListNote:
    """Entries (partition and broker) that are added to a topic's list, and its own value before; None if none."""

    topic: str
    name: str
    entries: tuple[tuple[int, int], ...]
    before: str | None


@dataclass(frozen=True, slots=True)
class CordonNote:
    """A broker that is cordoned, and its own value of ``cordoned.log.dirs`` before; None where it had none."""

    broker: int
    before: str | None


@dataclass(frozen=True, slots=True)
class ElectionNote:
    """An election of a preferred leader after the moves.

    Args:
        topic: Topic name.
        partition: Partition index.
        from_leader: Leader before, None where nobody led.
        to_leader: The preferred leader.
        leader: Leader afterwards; None where nobody leads, or before its end.
        error: Why the preferred leader does not lead; empty if it does, or before its end.
    """

    topic: str
    partition: int
    from_leader: int | None
    to_leader: int | None
    leader: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line after the header; which fields are filled depends on the event."""

    at: str
    event: Event
    operation: Operation
    moves: tuple[MoveNote, ...] = ()
    results: tuple[MoveResult, ...] = ()
    rates: tuple[RateNote, ...] = ()
    lists: tuple[ListNote, ...] = ()
    elections: tuple[ElectionNote, ...] = ()
    cordons: tuple[CordonNote, ...] = ()
    directories: tuple[DirectoryNote, ...] = ()
    directory_results: tuple[DirectoryResult, ...] = ()
    message: str = ""
    pid: int | None = None


MOVE_JOURNAL = JournalFormat("kreplica/journal/v2", Entry)
"""Format of the journals of plans of replicas."""

MoveJournal: TypeAlias = PlanJournal[Entry]


def entry(event: Event, operation: Operation, **fields: object) -> Entry:
    """Makes an entry with the present time."""
    return Entry(present_time(), event, operation, **fields)  # type: ignore[arg-type]
