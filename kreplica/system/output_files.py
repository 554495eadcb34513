"""Files that a user names for what is written: never one that is there already, unless it is to be replaced."""

from __future__ import annotations

from pathlib import Path

from kreplica.errors import UsageError, os_reason
from kreplica.system.durable_files import write_whole


def require_free(path: Path, *, replace: bool) -> None:
    """Refuses a name that cannot be written to, before the work whose result is to stand there.

    Args:
        path: Where to.
        replace: Whether a file that is there is to be replaced.

    Raises:
        UsageError: A file is there and stays, or there is no such folder.
    """
    try:
        if not replace and path.exists():
            raise _taken(path)
        path.parent.stat()
    except OSError as error:
        raise _unwritable(path, error) from None


def write_output(path: Path, content: bytes, *, replace: bool) -> None:
    """Writes a file; a crash leaves the old one or the new one, never a part.

    Args:
        path: Where to.
        content: All of it.
        replace: Whether a file that is there is replaced.

    Raises:
        UsageError: A file is there and stays, or the path cannot be written.
    """
    try:
        write_whole(path, content, replace=replace)
    except FileExistsError:
        raise _taken(path) from None
    except OSError as error:
        raise _unwritable(path, error) from None


def _taken(path: Path) -> UsageError:
    return UsageError(f"{path} is there already", "it is not overwritten unasked", "give --force")


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {path}", os_reason(error))
