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

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from kreplica.errors import InputError
from kreplica.execution.journal_file import (
    OpenJournal,
    carried_out,
    decode_line,
    journal_path,
    open_journal_file,
    read_journal_file,
)
from kreplica.execution.plan import Plan

SCHEMA = "kreplica/journal/v1"


class Operation(StrEnum):
    """Operations on a plan."""

    APPLY = "apply"
    ROLLBACK = "rollback"
    CANCEL = "cancel"


class Event(StrEnum):
    """Kinds of lines."""

    STARTED = "started"
    INTENDED = "intended"
    FINISHED = "finished"
    STOPPED = "stopped"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: which plan the journal belongs to."""

    schema: str
    plan: str
    plan_id: str
    cluster_id: str


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


class FileJournal(OpenJournal[Entry]):
    """A plan's open, locked journal; made by ``open_journal``."""

    def write(self, line: object) -> None:
        """Writes a line without what is empty."""
        import msgspec

        found = msgspec.to_builtins(line)
        super().write({name: value for name, value in found.items() if value not in (None, "", [], ())})


def entry(event: Event, operation: Operation, **fields: object) -> Entry:
    """Makes an entry with the present time."""
    return Entry(datetime.now(UTC).isoformat(timespec="milliseconds"), event, operation, **fields)  # type: ignore[arg-type]


@contextmanager
def open_journal(plan_path: Path, plan: Plan, digest: str) -> Iterator[FileJournal]:
    """Opens the journal of a plan, makes it if there is none, and holds its lock for the length of the block.

    Raises:
        ChangeRefusedError: Another process is carrying out the plan.
        InputError: The journal belongs to another plan or cannot be read.
        UsageError: It cannot be written.
    """
    path = journal_path(plan_path)
    with open_journal_file(path, carried_out(path)) as file:
        journal = FileJournal(file, _entries(path, file.found, digest))
        if not file.found:
            journal.write(Header(SCHEMA, digest, plan.plan_id, plan.cluster_id))
        yield journal


def read_journal(plan_path: Path, digest: str) -> tuple[list[Entry], bool]:
    """The entries of a plan's journal, none if there is no journal, and whether a process is carrying out the plan.

    Raises:
        InputError: The journal belongs to another plan or cannot be read.
    """
    path = journal_path(plan_path)
    content, running = read_journal_file(path)
    return _entries(path, content, digest), running


def _entries(path: Path, content: bytes, digest: str) -> list[Entry]:
    lines = content.split(b"\n")[:-1]
    if not lines:
        return []
    header = decode_line(path, 1, lines[0], Header)
    if header.schema != SCHEMA:
        raise InputError(str(path), "line 1", f"expected schema {SCHEMA!r}, found {header.schema!r}")
    if header.plan != digest:
        reason = f"it belongs to plan {header.plan_id} of another content"
        raise InputError(str(path), "line 1", reason, "move it away if that plan is of no interest any more")
    return [decode_line(path, number, line, Entry) for number, line in enumerate(lines[1:], start=2)]
