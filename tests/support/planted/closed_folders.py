"""Folders that refuse to be looked into, also to a user who may do everything."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def close_directory(monkeypatch: pytest.MonkeyPatch, closed: Path, *, listed: bool = False) -> None:
    """Has a directory refused as to a user without rights on it: mode 000, or 444 where it may be listed."""

    def guarded(call: Callable[..., Any], inside_only: bool) -> Callable[..., Any]:
        def refusing(path: Any, *arguments: Any, **options: Any) -> Any:
            inside = isinstance(path, str | os.PathLike) and closed in Path(path).parents
            if inside or (not inside_only and isinstance(path, str | os.PathLike) and Path(path) == closed):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return call(path, *arguments, **options)

        return refusing

    monkeypatch.setattr(os, "stat", guarded(os.stat, True))
    monkeypatch.setattr(os, "open", guarded(os.open, True))
    if not listed:
        monkeypatch.setattr(os, "scandir", guarded(os.scandir, False))
        monkeypatch.setattr(os, "listdir", guarded(os.listdir, False))
