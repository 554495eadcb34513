"""Environment variables for the children of this process, for as long as they are started."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Variables for every Python that is started here, so that none imports modules from the current folder.

PYTHONPATH holds all the same. Programs of the user's own (``${command:NAME}``) are left as they are.
"""


@contextmanager
def environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Sets environment variables (None unsets) for the block."""
    with restored(values):
        _set(values)
        yield


@contextmanager
def restored(names: Iterable[str]) -> Iterator[None]:
    """Makes these variables after the block what they were before it, whatever sets them meanwhile."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
