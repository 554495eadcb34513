"""Waiting for what comes about in its own time: bounded, and said by name when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], what: str, seconds: float = 60.0, pause: float = 0.1) -> None:
    """Asks again and again until the condition holds; fails with ``what`` where it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain for {what}"
        time.sleep(pause)
