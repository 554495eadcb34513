"""Waiting for what comes about in its own time: bounded, and said by name when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], what: str | Callable[[], str], seconds: float = 60.0, pause: float = 0.1
) -> None:
    """Asks again and again until the condition holds; fails with ``what`` where it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what if isinstance(what, str) else what()}")
        time.sleep(pause)
