"""Times in which a partition took no writes, as its producer saw it: a fold over the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kreplica.engine.setup import SECOND
from kreplica.engine.trace import Event, Kind

Interval = tuple[int, int]

LONG = SECOND
"""A record that is acknowledged later than that was not taken when it was sent."""


class Unwritten:
    """Notes when each record was sent and when it was acknowledged.

    A record that waits behind others of its producer waits with them. One that is never acknowledged waits until its
    send fails, or to the end.
    """

    __slots__ = ("_open", "_spans", "takes")

    def __init__(self) -> None:
        self._open: dict[tuple[str, object], int] = {}
        self._spans: dict[str, list[Interval]] = {}
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.SENT: self._sent,
            Kind.ACKNOWLEDGED: self._over,
            Kind.SEND_FAILED: self._failed,
        }

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    def _sent(self, event: Event) -> None:
        self._open.setdefault((event.values[0], event.values[1]), event.time)

    def _over(self, event: Event) -> None:
        sent = self._open.pop((event.values[0], event.values[1]), None)
        if sent is not None and event.time - sent > LONG:
            self._spans.setdefault(event.values[0], []).append((sent, event.time))

    def _failed(self, event: Event) -> None:
        sent = self._open.pop((event.values[0], event.values[1]), None)
        if sent is not None:
            self._spans.setdefault(event.values[0], []).append((sent, event.time))

    def spans(self, end: int) -> dict[str, list[Interval]]:
        """Intervals in which each partition took no writes, by its name; those that took all of them are left out."""
        for (partition, _), sent in self._open.items():
            if end - sent > LONG:
                self._spans.setdefault(partition, []).append((sent, end))
        self._open.clear()
        return self._spans


def covered(spans: Iterable[Interval]) -> int:
    """Microseconds that intervals cover together."""
    total, last = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, last))
        last = max(last, end)
    return total
