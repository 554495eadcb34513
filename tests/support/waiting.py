"""Waiting for what comes about in its own time: bounded, and said by name when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], what: str | Callable[[], str], seconds: float = 60.0, pause: float | None = None
) -> None:
    """Asks again and again until the condition holds; fails with ``what`` where it does not in time.

    The pause between grows from 0.1 to 0.3 s unless it is given: asking takes the brokers time that they could work in.
    """
    deadline, growing = time.monotonic() + seconds, 0.1
    while not condition():
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what if isinstance(what, str) else what()}")
        time.sleep(growing if pause is None else pause)
        growing = min(1.2 * growing, 0.3)
