"""Looks at a large cluster: between two readings of the whole the controller is asked for what is in flight alone.

Reading 200,000 partitions takes a second or more of a processor here, and 8 MB of a broker, each time. While a move in
flight has not ended there is nothing to begin, so the whole need not be known; before anything begins it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from kreplica.errors import KreplicaError
from kreplica.execution.moves.clock import Clock
from kreplica.execution.plan import PartitionKey
from kreplica.sources.kafka.reassignments import Move

MOST_SECONDS = 10.0
"""Longest time between two readings of the whole cluster while something is in flight."""

_SHARE = 10
"""Times as long as a reading takes the next one is put off: a tenth of the time goes into them."""

CHEAP_SECONDS = 0.25
"""A reading that takes less is made at every look."""


class OngoingCluster(Protocol):
    """A cluster that tells what goes on of some partitions."""

    def ongoing(self, partitions: Collection[PartitionKey]) -> Mapping[PartitionKey, Move]:
        """Reassignments of these partitions; those that have none are left out."""


class Looks:
    """Decides whether the whole cluster has to be read.

    Args:
        cluster: The cluster.
        clock: Time as the run counts it.
    """

    def __init__(self, cluster: OngoingCluster, clock: Clock) -> None:
        self._cluster, self._clock = cluster, clock
        self._at, self._cost = clock.now(), 0.0
        self._moves: Mapping[PartitionKey, Move] | None = None

    def read_since(self, began: float) -> None:
        """Notes that the whole cluster has been read, and when that began."""
        self._at, self._moves = self._clock.now(), None
        self._cost = self._at - began

    def may_wait(self, in_flight: Collection[PartitionKey]) -> bool:
        """True if all of that still goes on as it did, and the whole was read not long ago.

        Args:
            in_flight: Partitions that are moving.
        """
        put_off = min(MOST_SECONDS, _SHARE * self._cost)
        if not in_flight or self._cost < CHEAP_SECONDS or self._clock.now() - self._at >= put_off:
            return False
        try:
            moves = self._cluster.ongoing(in_flight)
        except KreplicaError:  # the reading of the whole says what is wrong
            return False
        before, self._moves = self._moves, moves
        return moves.keys() == set(in_flight) and before in (None, moves)
