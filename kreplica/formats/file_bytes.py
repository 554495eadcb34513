"""Where bytes come from: the rim of the decoders, which themselves open nothing.

Files are read, not mapped: a mapped file that its broker truncates meanwhile would end the process (SIGBUS), and the
pages of a mapped gigabyte count as the process's memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kreplica.formats.files import unreadable


class ByteSource(Protocol):
    """Bytes that can be read at any position."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def size(self) -> int:
        """Its length in bytes when it was opened."""

    def read(self, position: int, size: int) -> bytes:
        """Up to ``size`` bytes from ``position`` on; fewer at the end."""


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


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file as it was when it was opened; what is appended later is not seen."""

    name: str
    size: int
    descriptor: int

    @classmethod
    def open(cls, path: Path) -> FileBytes:
        """Opens a file; ``close`` ends it.

        Raises:
            InputError: It cannot be opened.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise unreadable(path, error) from None
        return cls(str(path), os.fstat(descriptor).st_size, descriptor)

    def read(self, position: int, size: int) -> bytes:
        """As ``ByteSource.read``.

        Raises:
            InputError: The disk refused.
        """
        try:
            return os.pread(self.descriptor, min(size, max(0, self.size - position)), position)
        except OSError as error:
            raise unreadable(Path(self.name), error, f"byte {position}") from None

    def close(self) -> None:
        """Gives the file back."""
        os.close(self.descriptor)

    def __enter__(self) -> FileBytes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
