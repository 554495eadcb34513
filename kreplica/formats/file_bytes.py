"""Sources of bytes: the only input of the decoders, which open nothing themselves.

Files are read, not mapped: a mapped file that its broker truncates meanwhile would end the process (SIGBUS), and the
pages of a mapped gigabyte count as the process's memory.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kreplica.errors import InputError, KreplicaError
from kreplica.formats.damage import Damage
from kreplica.formats.find_files import unreadable
from kreplica.system.guard import attempt
from kreplica.system.untrusted_files import open_file

PAGE_BYTES = 4096
"""Bytes tried one page at a time where a disk refuses a longer read: a page, as Linux reads them."""


LARGEST_SMALL_FILE = 256 * 2**20
"""A checkpoint of 250,000 partitions has 16 MiB."""


class ByteSource(Protocol):
    """Bytes that can be read at any position."""

    @property
    def name(self) -> str:
        """The name in messages."""

    @property
    def size(self) -> int:
        """Its length in bytes when it was opened."""

    def read(self, position: int, size: int) -> bytes:
        """Up to ``size`` bytes from ``position`` on; fewer at the end."""

    def unreadable(self) -> tuple[Damage, ...]:
        """Ranges among the bytes read so far that the disk did not return: they read as zeros."""


@dataclass(frozen=True, slots=True)
class BufferBytes:
    """Bytes in memory."""

    content: bytes
    name: str = ""

    @property
    def size(self) -> int:
        """Their number."""
        return len(self.content)

    def read(self, position: int, size: int) -> bytes:
        """As ``ByteSource.read``."""
        return self.content[position : position + size]

    def unreadable(self) -> tuple[Damage, ...]:
        """Empty: memory has no unreadable ranges."""
        return ()


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file as it was when it was opened; what is appended later is not seen.

    Pages that a failing disk cannot read (EIO) are zeros: the rest of the file remains readable.
    """

    name: str
    size: int
    descriptor: int
    refused: set[int] = field(default_factory=set, compare=False)

    @classmethod
    def open(cls, path: Path) -> FileBytes:
        """Opens a file; ``close`` ends it.

        Raises:
            InputError: It cannot be opened.
        """
        try:
            descriptor = open_file(path)
        except OSError as error:
            raise unreadable(path, error) from None
        return cls(str(path), os.fstat(descriptor).st_size, descriptor)

    def read(self, position: int, size: int) -> bytes:
        """As ``ByteSource.read``.

        Raises:
            InputError: The disk refused.
        """
        end = position + min(size, max(0, self.size - position))
        content = self._tried(position, end)
        if content is not None and position + len(content) == end:
            return content
        # A read that meets a bad page in the middle returns the bytes before it; only the next read is refused.
        begun = content or b""
        return b"".join([begun, *self._pages(position + len(begun), end)])

    def _tried(self, position: int, end: int) -> bytes | None:
        """The bytes of one read; None where the disk fails at its first byte."""
        try:
            return os.pread(self.descriptor, end - position, position)
        except OSError as error:
            if error.errno != errno.EIO:
                raise unreadable(Path(self.name), error, f"byte {position}") from None
        return None

    def _pages(self, position: int, end: int) -> Iterator[bytes]:
        while position < end:
            page = position // PAGE_BYTES
            behind = min(end, (page + 1) * PAGE_BYTES)
            content = self._tried(position, behind)
            if content is None:
                self.refused.add(page)
                content = bytes(behind - position)
            if not content:  # it was truncated meanwhile
                return
            yield content
            position += len(content)

    def unreadable(self) -> tuple[Damage, ...]:
        """As ``ByteSource.unreadable``: a place for each stretch of pages."""
        starts = sorted(page for page in self.refused if page - 1 not in self.refused)
        ends = sorted(page + 1 for page in self.refused if page + 1 not in self.refused)
        stretches = [
            (start * PAGE_BYTES, min(end * PAGE_BYTES, self.size)) for start, end in zip(starts, ends, strict=True)
        ]
        why = "the disk cannot read it"
        return tuple(
            Damage(self.name, start, why, end - start, f"{end - start} bytes", "an input/output error")
            for start, end in stretches
        )

    def close(self) -> None:
        """Closes the file."""
        os.close(self.descriptor)

    def __enter__(self) -> FileBytes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class FoundBytes:
    """A file found in a directory: where it cannot be read it ends, which is damage.

    Args:
        path: The file.
        source: Its bytes; None if it could not be opened.
        failures: Why nothing more is read.
    """

    path: Path
    source: FileBytes | None
    failures: list[Damage] = field(default_factory=list, compare=False)

    @classmethod
    def open(cls, path: Path) -> FoundBytes:
        """Opens a file, or notes why it cannot be opened; ``close`` ends it."""
        opened = attempt(lambda: FileBytes.open(path))
        if isinstance(opened, FileBytes):
            return cls(path, opened)
        return cls(path, None, [not_read(path, opened)])

    @property
    def name(self) -> str:
        """As ``ByteSource.name``."""
        return str(self.path)

    @property
    def size(self) -> int:
        """As ``ByteSource.size``; 0 for a file that could not be opened."""
        return 0 if self.source is None else self.source.size

    def read(self, position: int, size: int) -> bytes:
        """As ``ByteSource.read``; nothing from where it cannot be read, as at the end of the file."""
        source = self.source
        if source is None or self.failures:
            return b""
        content = attempt(lambda: source.read(position, size))
        if isinstance(content, bytes):
            return content
        self.failures.append(not_read(self.path, content, position))
        return b""

    def unreadable(self) -> tuple[Damage, ...]:
        """As ``ByteSource.unreadable``."""
        return (*(() if self.source is None else self.source.unreadable()), *self.failures)

    def close(self) -> None:
        """Closes the file."""
        if self.source is not None:
            self.source.close()

    def __enter__(self) -> FoundBytes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def not_listed(refused: Iterable[InputError]) -> list[Damage]:
    """Directories found among others that cannot be listed, as damage."""
    return [not_read(Path(failure.source), failure) for failure in refused]


def not_read(path: Path, failure: KreplicaError, position: int = 0) -> Damage:
    """The reason why one of many files or directories is not read, as damage."""
    return Damage(str(path), position, f"it cannot be read: {failure.why or failure.what}", 0)


@dataclass(frozen=True, slots=True)
class SmallFile:
    """A file that is read as a whole.

    Args:
        content: Its bytes, zeros in place of those that a failing disk did not return.
        unreadable: The ranges of those zeros.
    """

    content: bytes
    unreadable: tuple[Damage, ...] = ()

    @property
    def lost(self) -> bool:
        """True if the disk returned nothing of it."""
        return bool(self.unreadable) and sum(each.skipped for each in self.unreadable) >= len(self.content)


def read_small_file(path: Path) -> SmallFile:
    """Reads a file whole.

    Raises:
        InputError: It cannot be read, or is far larger than such a file can be.
    """
    with FileBytes.open(path) as source:
        if source.size > LARGEST_SMALL_FILE:
            raise InputError(str(path), "", f"more than {LARGEST_SMALL_FILE} bytes, which no such file has")
        return SmallFile(source.read(0, source.size), source.unreadable())


def read_found_file(path: Path) -> SmallFile:
    """Reads a file found in a directory: if it cannot be read that is damage, and the others are read all the same."""
    found = attempt(lambda: read_small_file(path))
    if isinstance(found, SmallFile):
        return found
    return SmallFile(b"", (not_read(path, found),))
