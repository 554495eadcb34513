"""The journal of a plan: ``PLAN.journal`` beside it, one JSON object a line, only ever appended to.

    {"schema": "kreplica/journal/v1", "plan": "sha256:...", "plan_id": ..., "cluster_id": ...}     the header
    {"at": ..., "event": "started",  "operation": "apply", "pid": 4711}
    {"at": ..., "event": "intended", "operation": "apply", "step": 1, "partitions": [["orders", 0], ...]}
    {"at": ..., "event": "finished", "operation": "apply", "step": 1, "results": [{...}, ...]}
    {"at": ..., "event": "stopped",  "operation": "apply", "message": "..."}

A line is on disk before the work it announces begins: after a kill at any moment the partitions that may have been
touched are among those intended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from kreplica.execution.plan_journal import JournalFormat, Operation, present_time


class Event(StrEnum):
    """Kinds of lines."""

    STARTED = "started"
    INTENDED = "intended"
    FINISHED = "finished"
    STOPPED = "stopped"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Result:
    """Result for one partition.

    Args:
        topic: Topic name.
        partition: Partition index.
        leader: Leader seen afterwards, None for none.
        done: Whether the partition is as the step wanted it.
        error: Kafka's error or another problem, empty if none.
        already: Whether somebody else had made the change before.
    """

    topic: str
    partition: int
    leader: int | None
    done: bool
    error: str = ""
    already: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Entry:
    """One line after the header; which fields are filled depends on the event."""

    at: str
    event: Event
    operation: Operation
    step: int | None = None
    partitions: tuple[tuple[str, int], ...] = ()
    results: tuple[Result, ...] = ()
    message: str = ""
    pid: int | None = None


class Journal(Protocol):
    """Record of what an executor intends and of the results."""

    def append(self, entry: Entry) -> None:
        """Notes an entry; it is kept when this returns."""


@dataclass(slots=True)
class MemoryJournal:
    """A journal in memory, for changes without a plan file; lost when the process ends."""

    entries: list[Entry] = field(default_factory=list)

    def append(self, entry: Entry) -> None:
        """Notes an entry."""
        self.entries.append(entry)


JOURNAL = JournalFormat("kreplica/journal/v1", Entry)
"""Format of the journals of plans of elections."""


def entry(event: Event, operation: Operation, **fields: object) -> Entry:
    """Makes an entry with the present time."""
    return Entry(present_time(), event, operation, **fields)  # type: ignore[arg-type]
