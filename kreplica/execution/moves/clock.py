"""Time as a run of moves counts and spends it: the machine's, or that of a cluster that is played."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds that only increase."""

    def now(self) -> float:
        """Seconds since some moment."""

    def sleep(self, seconds: float) -> None:
        """Waits so many seconds."""


class MachineClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the machine started, or so."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits so many seconds."""
        time.sleep(seconds)


MACHINE_CLOCK: Clock = MachineClock()
"""The clock of runs on real clusters."""
