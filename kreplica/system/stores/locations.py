"""Places as a user names them: a path, ``file://`` and ``s3://BUCKET/PREFIX``."""

from __future__ import annotations

import errno
import os
import stat
from bisect import bisect_left
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from kreplica.errors import UsageError
from kreplica.system.stores.s3 import SCHEME, S3Place, S3Storage
from kreplica.system.stores.storage import LocalStorage, Storage
from kreplica.system.untrusted_files import read_whole

Place: TypeAlias = Path | S3Place
COPIES_AT_ONCE = 16
_FILE = "file://"
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def place_of(text: str | os.PathLike[str] | S3Place) -> Place:
    """The place that a text names.

    Raises:
        UsageError: It is none that kreplica can read or write.
    """
    if isinstance(text, S3Place):
        return text
    name = os.fspath(text)
    if not name:  # Path makes the current folder of it, which a variable that is not set hardly means
        raise UsageError("a path is empty", "", "name a folder, . for this one")
    if name.startswith(SCHEME):
        return S3Place.of(name)
    if name.startswith(_FILE):
        parts = urlsplit(name)
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise UsageError(f"{name} is no file of this machine", "", "file:///DIR, or the path alone")
        return Path(unquote(parts.path))
    scheme, colon, _ = name.partition("://")
    if colon and scheme.isalnum():
        raise UsageError(f"{name} is no place that kreplica reads or writes", "", "a path, file:///DIR or s3://BUCKET")
    return Path(name)


def storage_at(place: Place) -> Storage:
    """The storage of a place."""
    return S3Storage(place) if isinstance(place, S3Place) else LocalStorage(place)


def read_at(place: Place | str, most: int, *, named: bool = False) -> bytes:
    """The content of a file.

    Args:
        place: The file; a text is a path of this machine.
        most: Bytes that it may have.
        named: True if the user named it; False if it was found in a directory.

    Raises:
        OSError: It is not there, cannot be read, or is larger.
    """
    if isinstance(place, S3Place):
        return S3Storage(place.parent).read(place.name, most)
    return read_whole(place, most, named=named)


def names_at(place: Place, first: str = "", end: str = "") -> list[str]:
    """Names of the files and folders in a folder, hidden ones left out, in order.

    Args:
        place: The folder.
        first: Names before it may be left out, where they cost requests.
        end: Names from it on may be left out in the same way.

    Raises:
        FileNotFoundError: There is no such folder.
        NotADirectoryError: It is a file.
        OSError: It cannot be read.
    """
    if isinstance(place, S3Place):
        storage = S3Storage(place)
        names = storage.names("", first, end)
        if not names and (not (first or end) or not storage.names("")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))
        return names
    names = sorted(os.listdir(place))  # noqa: PTH208 - a Path for each of many costs more than all the rest
    del names[bisect_left(names, ".") : bisect_left(names, "/")]  # those that begin with a dot
    return names


def is_folder(place: Place) -> bool:
    """True for a folder; in an object store, for what has something below it.

    Raises:
        OSError: Nobody can tell, as where the folder around it may not be looked into.
    """
    return bool(S3Storage(place).names("")) if isinstance(place, S3Place) else is_directory(place)


def is_directory(path: Path) -> bool:
    """True for a folder of this machine. ``Path.is_dir`` says no since Python 3.14 where nobody can tell.

    Raises:
        OSError: Nobody can tell.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise
    except ValueError:  # a name with a zero byte
        return False


def is_file(place: Place) -> bool:
    """True for a file."""
    if isinstance(place, S3Place):
        try:
            return bool(place.name) and S3Storage(place.parent).size(place.name) >= 0
        except FileNotFoundError:
            return False
    return os.path.isfile(place)  # noqa: PTH113 - reading tells why one cannot be looked at
