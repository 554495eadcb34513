"""Places that hold files: few operations, so that a folder and an object store serve alike.

A file is created whole or not at all, only where none is, and never changed afterwards. There is no renaming.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Protocol

from kreplica.errors import InputError, os_reason
from kreplica.system.durable_files import make_folders, write_whole
from kreplica.system.untrusted_files import read_whole

NOT_ALLOWED = "run kreplica as a user who may read it"
"""Advice where the system lets somebody else read."""


def unreadable(name: str, error: OSError, fix: str = "") -> InputError:
    """Makes the error of a file or a folder that the system does not give.

    Args:
        name: Its path as the user knows it.
        error: The system's.
        fix: What to do, but where only the permission to read it is missing.
    """
    return InputError(name, "", os_reason(error), NOT_ALLOWED if isinstance(error, PermissionError) else fix)


class Storage(Protocol):
    """Files by their paths below a root, with slashes."""

    def names(self, folder: str) -> list[str]:
        """Names of the files and folders in a folder, in order; none if it is not there.

        Raises InputError where it is there and cannot be read.
        """
        ...

    def sizes(self, folder: str) -> dict[str, int]:
        """Bytes of each file below a folder, by its path below the root; those of hidden names are left out.

        Raises InputError where a folder is there and cannot be read.
        """
        ...

    def read(self, path: str, most: int) -> bytes:
        """A file's content. Raises OSError where it is not there, or has more than so many bytes."""
        ...

    def create(self, path: str, content: bytes) -> bool:
        """Makes a file that outlives a crash; False if somebody else made one of that name, whatever is in it."""
        ...

    def age(self, path: str) -> float | None:
        """Seconds since a file was made or renewed; None if it is not there."""
        ...

    def renew(self, path: str) -> bool:
        """Makes a file as young as if it were just made; False if it is not there."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file; nothing happens if it is not there."""
        ...

    def on_disk(self, path: str) -> Path:
        """A file of this machine with that content, for programs that read files: of an object store a copy.

        Copies are there as long as the storage. Raises OSError where there is no such file.
        """
        ...

    def named(self, path: str) -> str:
        """The path as the user knows it, for messages."""
        ...


class LocalStorage:
    """A folder of this machine.

    Args:
        root: The folder; made with its first file.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, folder: str) -> list[str]:
        """As Storage.names; hidden files are drafts of others."""
        try:
            names = os.listdir(self._root / folder)  # noqa: PTH208 - names are all that is wanted
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise unreadable(self.named(folder), error) from None
        return sorted(name for name in names if not name.startswith("."))

    def sizes(self, folder: str) -> dict[str, int]:
        """As Storage.sizes."""
        found: dict[str, int] = {}
        for name in self.names(folder):
            path = f"{folder}/{name}" if folder else name
            try:
                status = (self._root / path).stat()
            except FileNotFoundError:  # gone since its name was read
                continue
            except OSError as error:
                raise unreadable(self.named(path), error) from None
            found |= self.sizes(path) if stat.S_ISDIR(status.st_mode) else {path: status.st_size}
        return found

    def read(self, path: str, most: int) -> bytes:
        """As Storage.read."""
        return read_whole(self._root / path, most, named=False)

    def create(self, path: str, content: bytes) -> bool:
        """As Storage.create: a link to a synced draft fails where the name is taken."""
        target = self._root / path
        if target.exists():
            return False
        make_folders(target.parent)
        try:
            write_whole(target, content, replace=False)
        except FileExistsError:
            return False
        return True

    def age(self, path: str) -> float | None:
        """As Storage.age."""
        try:
            return time.time() - (self._root / path).stat().st_mtime
        except FileNotFoundError:
            return None

    def renew(self, path: str) -> bool:
        """As Storage.renew."""
        try:
            os.utime(self._root / path)
        except FileNotFoundError:
            return False
        return True

    def remove(self, path: str) -> None:
        """As Storage.remove."""
        (self._root / path).unlink(missing_ok=True)

    def on_disk(self, path: str) -> Path:
        """As Storage.on_disk: the file itself."""
        return self._root.absolute() / path

    def named(self, path: str) -> str:
        """As Storage.named."""
        return str(self._root / path)


def put(storage: Storage, path: str, content: bytes) -> None:
    """Makes a file that is named by its content; one that is there is it, and is kept from being cleared away."""
    while not storage.create(path, content):
        if storage.renew(path):
            return
