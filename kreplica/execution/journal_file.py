"""The file under a journal: lines that are only ever appended to, by one process at a time.

A line is on the disk when ``append`` returns. A kill in the middle of a line leaves a tail without its line feed; that
was followed by nothing and is cut off when the file is opened. The open file is locked (flock), which the kernel frees
when its holder dies: no stale lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kreplica.durable_files import sync, sync_folder
from kreplica.errors import KreplicaError, UsageError
from kreplica.untrusted_files import input_limit, read_to_end, refuse_special

READ_SECONDS = 1.0
"""How long a reader of a journal may take."""


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
        path: Where it lies.
        held: Raised where another process writes it.

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
    """Takes the lock; one who only reads the journal holds it for a moment, and is waited for.

    Raises:
        KreplicaError: ``held``: another process keeps it.
    """
    deadline = time.monotonic() + READ_SECONDS
    while not try_lock(number, shared=False):
        if time.monotonic() > deadline:
            raise held
        time.sleep(READ_SECONDS / 20)


def try_lock(number: int, *, shared: bool) -> bool:
    """Takes the lock if nobody has it; readers share it. Whether it was taken."""
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
