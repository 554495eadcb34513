"""A fetch that waits for something to read: kafka.server.DelayedFetch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kreplica.engine.simulator.node import Node
from kreplica.engine.trace import Kind

APPENDED = "records were appended"
HIGH_WATERMARK_ROSE = "the high watermark rose"
LEADER_CHANGED = "the leader changed"
"""Causes that wake a parked fetch."""


class ParkingPlace(Protocol):
    """A replica as a parked fetch knows it."""

    partition: str
    parked: list[ParkedFetch]


class ParkedFetch:
    """Waits at some replicas; answered once, by a wake-up or its timeout, whichever comes first.

    Args:
        broker: The broker where it waits.
        reader: The follower or consumer that fetches, for the trace.
        replicas: The replicas whose changes wake it.
        answer: Reads again and answers.
        wait: Longest wait, in microseconds.
        follower: Whether a follower waits: a higher high watermark wakes it only in 2.4 and 2.5 (KAFKA-9952).
    """

    __slots__ = ("_answer", "broker", "done", "follower", "reader", "replicas", "since")

    def __init__(
        self,
        broker: Node,
        reader: str,
        replicas: Sequence[ParkingPlace],
        answer: Callable[[], object],
        wait: int,
        follower: bool,
    ) -> None:
        self.broker = broker
        self.reader = reader
        self.since = broker.clock.now
        self.replicas = replicas
        self.done = False
        self.follower = follower
        self._answer = answer
        for replica in replicas:
            replica.parked.append(self)
        broker.after(wait, self.complete)

    def wake(self, replica: ParkingPlace, why: str) -> None:
        """Answers before the timeout, for a change at a replica."""
        if not self.done:
            rule = "fetching.follower_fetch_waits" if self.follower else "fetching.consumer_fetch_waits"
            self.broker.emit(Kind.FETCH_WOKEN, replica.partition, self.reader, self.since, why, rule)
            self.complete()

    def complete(self) -> None:
        """Answers, unless it has been answered."""
        if self.done:
            return
        self.done = True
        for replica in self.replicas:
            replica.parked.remove(self)
        self._answer()
