"""Requests for moves and changes of log directories of which no effect shows: waited for, then made again.

A connection that breaks leaves open whether the request came through. So its effect is looked for at first, and only
then is it asked for once more; each request compares what is there with what the plan expects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kreplica.planner.reassignment.moves.order import MoveKey

TAKEN_SECONDS = 20.0
"""Seconds in which a request that was accepted, or not answered, has to show in the cluster."""

MOST_REQUESTS = 3
"""Requests for one move that may go unanswered and without effect before it counts as failed."""

REQUEST_LOST = "the request was not answered, and nothing came of it"


class UnansweredRequests:
    """Requests of one run that were not answered, by move."""

    def __init__(self) -> None:
        self._count: Counter[MoveKey] = Counter()
        self._last: set[MoveKey] = set()

    def ask(self, keys: Iterable[MoveKey]) -> None:
        """Notes that moves are asked for."""
        self._last.difference_update(keys)

    def note(self, keys: Iterable[MoveKey]) -> None:
        """Notes moves whose last request was not answered."""
        found = list(keys)
        self._count.update(found)
        self._last.update(found)

    def may_ask_again(self, key: MoveKey) -> bool:
        """True if the last request was not answered, and not too many before it."""
        return key in self._last and self._count[key] < MOST_REQUESTS
