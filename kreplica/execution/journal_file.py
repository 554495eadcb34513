"""The file of a journal: lines of JSON beside a plan, only ever appended to, with one writer at a time.

A line is on disk when ``append`` returns. A kill in the middle of a line leaves a tail without a line feed, which is
cut off when the file is opened; any other line that does not fit is an error. The open file is locked (flock); the
kernel frees the lock when its holder dies, so none is ever stale.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from kreplica.errors import ChangeRefusedError, InputError, KreplicaError, UsageError, os_reason
from kreplica.system.durable_files import move, sync, sync_folder
from kreplica.system.output_files import require_free
from kreplica.system.untrusted_files import (
    MalformedError,
    decode_json,
    input_limit,
    open_file,
    read_to_end,
    refuse_special,
)

Line = TypeVar("Line")

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
        raise UsageError(f"cannot write {path}", os_reason(error)) from None
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
        raise UsageError(f"cannot write {path}", os_reason(error)) from None
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


class OpenJournal(Generic[Line]):
    """An open, locked journal of lines of one kind."""

    unwritable: ClassVar[type[KreplicaError]] = ChangeRefusedError
    """Kind of error where a line cannot be written."""

    def __init__(self, file: JournalFile, entries: list[Line]) -> None:
        self._file = file
        self.entries = entries

    def append(self, entry: Line) -> None:
        """Writes an entry; it is on disk when this returns.

        Raises:
            KreplicaError: ``unwritable``: the disk does not take it.
        """
        self.write(entry)
        self.entries.append(entry)

    def write(self, line: object) -> None:
        """Writes a line that is no entry; arguments and errors as of ``append``."""
        import msgspec

        try:
            self._file.append(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            why = os_reason(error)
            raise self.unwritable("the journal cannot be written", why, "free space") from None


def read_journal_file(path: Path) -> tuple[bytes, bool]:
    """Reads a journal's file, of which the last line may be cut off, and whether a process has it open to write.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with os.fdopen(open_file(path), "rb") as file:
            running = not try_lock(file.fileno(), shared=True)
            return read_to_end(file, input_limit()), running
    except FileNotFoundError:
        return b"", False
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None


def decode_line(path: Path, number: int, line: bytes, kind: type[Line], name: str = "a journal") -> Line:
    """Decodes a line.

    Args:
        path: The journal's file.
        number: The line's number, from 1 on.
        line: Its content.
        kind: Type of the line.
        name: The journal's, for the message of a refusal.

    Raises:
        InputError: It is no such line.
    """
    try:
        found: Line = decode_json(line, kind)
    except MalformedError as error:
        raise InputError(str(path), f"line {number}", f"not a line of {name}: {error}") from None
    return found


def journal_path(plan_path: Path) -> Path:
    """Path of a plan's journal."""
    return plan_path.with_name(f"{plan_path.name}.journal")


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
            lock(file.fileno(), carried_out(path))
            move(path, aside)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot set {path} aside", os_reason(error)) from None
    return aside


def clear_journal(plan_path: Path, *, force: bool) -> None:
    """Makes sure that a new plan has no journal of another one beside it.

    Args:
        plan_path: Where the plan is to be written.
        force: Set a journal that is there aside.

    Raises:
        ChangeRefusedError: A process is carrying out the plan of that name.
        UsageError: There is one, or it cannot be renamed.
    """
    if force:
        set_aside(plan_path)
    else:
        _require_no_journal(plan_path)


def require_new_plan(plan_path: Path, *, force: bool) -> None:
    """Refuses the name of a plan that is there or was begun, before a cluster is read and a plan is made.

    Args:
        plan_path: Where the plan is to be written.
        force: Whether a plan and a journal that are there are to make room.

    Raises:
        UsageError: There is one, or there is no such folder.
    """
    if not force:
        _require_no_journal(plan_path)
    require_free(plan_path, replace=force)


def _require_no_journal(plan_path: Path) -> None:
    if journal_path(plan_path).exists():
        raise UsageError(f"{journal_path(plan_path)} is there already", "a plan of that name was begun", "give --force")


def carried_out(path: Path) -> ChangeRefusedError:
    """Makes the error of a plan that another process is carrying out, by the path of its journal."""
    return ChangeRefusedError(
        "the plan is being carried out", f"another process holds {path}", "wait for it to finish, or end it"
    )
