"""The journal of a plan: ``PLAN.journal`` beside it, one JSON object a line, only ever appended to.

    {"schema": "kreplica/journal/v1", "plan": "sha256:...", "plan_id": ..., "cluster_id": ...}     the header
    {"at": ..., "event": "started",  "operation": "apply", "pid": 4711}
    {"at": ..., "event": "intended", "operation": "apply", "step": 1, "partitions": [["orders", 0], ...]}
    {"at": ..., "event": "finished", "operation": "apply", "step": 1, "results": [{...}, ...]}
    {"at": ..., "event": "stopped",  "operation": "apply", "message": "..."}

A line is on disk before the work it announces begins: after a kill at any moment the partitions that may have been
touched are among those intended. A partial last line left by a kill is cut off; any other line that does not
fit is an error. The open journal is locked: one executor at a time.

A line is on disk when ``append`` returns. A kill in the middle of a line leaves a tail without a line feed, which is
cut off when the file is opened. The open file is locked (flock); the kernel frees the lock when its holder dies, so
none is ever stale.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from kreplica.errors import ChangeRefusedError, InputError, KreplicaError, UsageError
from kreplica.execution.plan import Plan
from kreplica.system.durable_files import sync, sync_folder
from kreplica.system.untrusted_files import (
    MalformedError,
    decode_json,
    input_limit,
    open_file,
    read_to_end,
    refuse_special,
)

READ_SECONDS = 1.0
"""Seconds that a reader of a journal may take."""


class JournalFile:
    """An open, locked file; made by ``open_journal_file``. ``found`` are the whole lines that were there."""

    __slots__ = ("_number", "found")

    def __init__(self, number: int, found: bytes) -> None:
        self._number = number
        self.found = found

    def append(self, line: bytes) -> None:
        """Appends a line, or nothing: half a line that is no longer the last one would make the journal unreadable.

        Raises:
            OSError: It cannot be written; the file is as it was.
        """
        view, before = memoryview(line), os.fstat(self._number).st_size
        try:
            while view:
                view = view[os.write(self._number, view) :]
            sync(self._number)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._number, before)
            raise


@contextmanager
def open_journal_file(path: Path, held: KreplicaError) -> Iterator[JournalFile]:
    """Opens a journal's file, makes it if there is none, and holds its lock for the length of the block.

    Args:
        path: The journal's file.
        held: Error to raise where another process writes it.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise UsageError(f"cannot write {path}", error.strerror or str(error)) from None
    try:
        found = _locked(path, number, held)
        yield JournalFile(number, found)
    finally:
        os.close(number)


def lock(number: int, held: KreplicaError) -> None:
    """Takes the lock, waiting for readers, which hold it only for a moment.

    Raises:
        KreplicaError: ``held``: another process keeps it.
    """
    deadline = time.monotonic() + READ_SECONDS
    while not try_lock(number, shared=False):
        if time.monotonic() > deadline:
            raise held
        time.sleep(READ_SECONDS / 20)


def try_lock(number: int, *, shared: bool) -> bool:
    """Takes the lock if it is free (readers share it); returns whether it was taken."""
    import fcntl

    try:
        fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked(path: Path, number: int, held: KreplicaError) -> bytes:
    try:
        refuse_special(os.fstat(number))
        lock(number, held)
        found = _whole_lines(number)
        if not found:
            sync_folder(path.absolute().parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}", error.strerror or str(error)) from None
    return found


def _whole_lines(number: int) -> bytes:
    content = _read(number)
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.ftruncate(number, len(whole))
        sync(number)
    return whole


def _read(number: int) -> bytes:
    os.lseek(number, 0, os.SEEK_SET)
    with os.fdopen(number, "rb", closefd=False) as file:
        return read_to_end(file, input_limit())


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


class FileJournal:
    """An open, locked journal; made by ``open_journal``."""

    def __init__(self, file: JournalFile, entries: list[Entry]) -> None:
        self._file = file
        self.entries = entries

    def append(self, entry: Entry) -> None:
        """Writes an entry; it is on disk when this returns."""
        _write(self._file, entry)
        self.entries.append(entry)


def journal_path(plan_path: Path) -> Path:
    """Path of a plan's journal."""
    return plan_path.with_name(f"{plan_path.name}.journal")


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
    with open_journal_file(path, _carried_out(path)) as file:
        if not file.found:
            _write(file, Header(SCHEMA, digest, plan.plan_id, plan.cluster_id))
        yield FileJournal(file, _entries(path, file.found, digest))


def read_journal(plan_path: Path, digest: str) -> tuple[list[Entry], bool]:
    """The entries of a plan's journal, none if there is no journal, and whether a process is carrying out the plan.

    Raises:
        InputError: The journal belongs to another plan or cannot be read.
    """
    path = journal_path(plan_path)
    try:
        with os.fdopen(open_file(path), "rb") as file:
            running = not try_lock(file.fileno(), shared=True)
            content = read_to_end(file, input_limit())
    except FileNotFoundError:
        return [], False
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error)) from None
    return _entries(path, content, digest), running


def set_aside(plan_path: Path) -> Path | None:
    """Renames the journal of a plan that is to be replaced, so that its record is kept.

    Returns:
        Its new name, None if there was no journal.

    Raises:
        ChangeRefusedError: A process is carrying out the plan.
        UsageError: It cannot be renamed.
    """
    path = journal_path(plan_path)
    aside = path.with_name(f"{path.name}.{datetime.now(UTC):%Y%m%dT%H%M%S.%f}")
    try:
        with os.fdopen(open_file(path), "rb") as file:
            lock(file.fileno(), _carried_out(path))
            path.rename(aside)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot set {path} aside", error.strerror or str(error)) from None
    return aside


def _carried_out(path: Path) -> ChangeRefusedError:
    return ChangeRefusedError(
        "the plan is being carried out", f"another process holds {path}", "wait for it to finish, or end it"
    )


def _entries(path: Path, content: bytes, digest: str) -> list[Entry]:
    lines = content.split(b"\n")[:-1]
    if not lines:
        return []
    header = _decoded(path, 1, lines[0], Header)
    assert isinstance(header, Header)
    if header.schema != SCHEMA:
        raise InputError(str(path), "line 1", f"expected schema {SCHEMA!r}, found {header.schema!r}")
    if header.plan != digest:
        reason = f"it belongs to plan {header.plan_id} of another content"
        raise InputError(str(path), "line 1", reason, "move it away if that plan is of no interest any more")
    return [_entry(path, number, line) for number, line in enumerate(lines[1:], start=2)]


def _entry(path: Path, number: int, line: bytes) -> Entry:
    found = _decoded(path, number, line, Entry)
    assert isinstance(found, Entry)
    return found


def _decoded(path: Path, number: int, line: bytes, kind: type) -> object:
    try:
        return decode_json(line, kind)
    except MalformedError as error:
        raise InputError(str(path), f"line {number}", f"not a line of a journal: {error}") from None


def _line(line: Header | Entry) -> bytes:
    import msgspec

    filled = {name: value for name, value in msgspec.to_builtins(line).items() if value not in (None, "", [], ())}
    return msgspec.json.encode(filled) + b"\n"


def _write(file: JournalFile, line: Header | Entry) -> None:
    try:
        file.append(_line(line))
    except OSError as error:
        raise ChangeRefusedError("the journal cannot be written", error.strerror or str(error), "free space") from None
