"""Requests of a program to the disk, in order: syncs of files and folders, renames and links. And disks that refuse."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class DiskEvent:
    """``sync`` of a file (with its size then) or folder, or ``name``: a file came to stand at a path."""

    what: str
    path: Path
    inode: int
    size: int = 0


def record_disk(monkeypatch: pytest.MonkeyPatch, refuse: Callable[[Path], int] = lambda _: 0) -> list[DiskEvent]:
    """Records until the test ends; nothing is really synced.

    Args:
        monkeypatch: Of the test.
        refuse: The error number that the sync of a path is answered with; 0 for none.
    """
    events: list[DiskEvent] = []

    def fsync(descriptor: int) -> None:
        path, status = Path(f"/proc/self/fd/{descriptor}").readlink(), os.fstat(descriptor)
        if number := refuse(path):
            raise OSError(number, os.strerror(number))
        events.append(DiskEvent("sync", path, status.st_ino, status.st_size))

    def naming(real: Callable[..., None]) -> Callable[..., None]:
        def named(source: str, target: str, **more: object) -> None:
            real(source, target, **more)
            events.append(DiskEvent("name", Path(target), Path(target).stat().st_ino))

        return named

    monkeypatch.setattr(os, "fsync", fsync)
    for name in ("rename", "replace", "link"):
        monkeypatch.setattr(os, name, naming(getattr(os, name)))
    return events


def refuse_folders(number: int = errno.EINVAL) -> Callable[[Path], int]:
    """A file system that syncs no folders."""
    return lambda path: number if path.is_dir() else 0


def is_durable(events: list[DiskEvent], path: Path) -> bool:
    """Whether a file's bytes were on the disk before it came to stand at its path, and its name afterwards."""
    status = path.stat()
    assert stat.S_ISREG(status.st_mode)
    named = [number for number, event in enumerate(events) if event.what == "name" and event.path == path]
    if len(named) != 1:
        return False
    before, after = events[: named[0]], events[named[0] :]
    whole = any(
        event.what == "sync" and event.inode == status.st_ino and event.size == status.st_size for event in before
    )
    return whole and any(event.what == "sync" and event.path == path.parent for event in after)
