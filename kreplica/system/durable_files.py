"""Files that outlive a crash: the one way to write a file whole or not at all, and to bring names and bytes to disk.

    write   a draft beside the file, or in a folder of its own
    sync    its bytes (fsync)
    rename  to its place: a reader sees the old file or the new one
    sync    the folder, without which the new name may be gone after a loss of power

Some file systems, over a network most of all, sync no folders, and a folder in which one may only write cannot be
opened to be synced: the file is written all the same.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from itertools import takewhile
from pathlib import Path

NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of a file system that has no sync for this kind of file."""

NO_FOLDER_SYNC = (*NO_SYNC, errno.EBADF, errno.EACCES, errno.EPERM)
"""Errors of a folder that cannot be opened or synced; the same as in PostgreSQL's fd.c."""


def sync(descriptor: int) -> None:
    """Brings a file's bytes to the disk, as far as its file system does so.

    Raises:
        OSError: The disk cannot take them.
    """
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder outlive a loss of power.

    Raises:
        OSError: The disk cannot take them.
    """
    if os.name == "nt":  # Windows opens no folders and needs no such sync
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC:
            raise


def make_folders(path: Path, mode: int = 0o777) -> None:
    """Makes a folder and those above it that are not there; their names are on the disk then.

    Raises:
        OSError: One cannot be made.
    """
    absent = list(takewhile(lambda folder: not folder.exists(), (path, *path.parents)))
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    for folder in absent:
        sync_folder(folder.parent)


def write_new(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Writes a file that is not there yet; its bytes are on the disk then, its name may be not.

    Raises:
        OSError: It exists, or cannot be written; nothing of it is left.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            sync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def move(written: Path, target: Path) -> None:
    """Moves a file, or a folder, to its place, and does not return before its name and new folders are on disk.

    Raises:
        OSError: It cannot be moved.
    """
    make_folders(target.parent)
    written.replace(target)
    sync_folder(target.parent)


def sync_all(folder: Path) -> None:
    """Brings what another program wrote into a folder to the disk.

    Raises:
        OSError: The disk cannot take it.
    """
    for path in folder.iterdir():
        if path.is_dir():
            sync_all(path)
        else:
            with path.open("rb") as file:
                sync(file.fileno())
    sync_folder(folder)


def write_whole(path: Path, content: bytes, *, replace: bool, mode: int = 0o666) -> None:
    """Writes a file; a crash, a full disk or an interruption leaves the old one or the new one, never a part.

    Args:
        path: Where to; of a link what it leads to. A pipe or a device is written to as it is.
        content: All of it.
        replace: Whether a file that is there is replaced; it keeps its permissions.
        mode: Permissions of a new file, less the umask.

    Raises:
        FileExistsError: It exists, and is not to be replaced.
        OSError: It cannot be written.
    """
    there = _status(path)
    if there is not None and replace and not stat.S_ISREG(there.st_mode):
        path.write_bytes(content)
        return
    if there is not None and not replace:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if there is not None:
        mode = stat.S_IMODE(there.st_mode)
    path = path.resolve() if replace else path
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        write_new(draft, content, mode)
        if replace and there is not None:
            draft.chmod(mode)  # without the umask
        if replace:
            draft.replace(path)
        else:
            _name_if_free(draft, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
    sync_folder(path.parent)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _name_if_free(draft: Path, path: Path) -> None:
    """Gives a file its name unless that is taken; a link fails then where a rename would replace."""
    try:
        os.link(draft, path)
    except FileExistsError:
        if draft.stat().st_nlink < 2:  # over NFS it may be asked for twice, as the first answer was lost: open(2)
            raise
    except OSError:  # a file system without hard links
        if path.exists() or path.is_symlink():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        draft.rename(path)
