"""Time of a run that passes at once, wherever somebody waits."""

from __future__ import annotations


class PlayedClock:
    """A ``kreplica.execution.moves.clock.Clock`` of which a test reads, and may set, the seconds."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
