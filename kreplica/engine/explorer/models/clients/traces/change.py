"""An action of a counterexample, and the events that it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from kreplica.engine.explorer.layout import State
from kreplica.engine.explorer.model import Taken
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.trace import LEADER, Event, Kind, Record

_MICROSECONDS = 1_000


class Change(ABC):
    """An action, and the events that it makes.

    Args:
        number: Of the action, from 1.
        before: The state before it.
        step: The action, and the state after it.
    """

    before: Any
    after: Any

    def __init__(self, number: int, before: State, step: Taken) -> None:
        self.before, self.after = before, step.state
        self.time = _MICROSECONDS * number
        self.name, self.chosen = step.action.name, step.chosen

    @abstractmethod
    def events(self) -> Iterable[Event]:
        """The events that the action makes, in order."""

    def event(self, kind: Kind, node: str, *values: object) -> Event:
        """An event at a node."""
        return Event(self.time, kind, node, values)

    def message(self, target: str, source: str, name: str) -> Event:
        """A message that arrives."""
        return self.event(Kind.MESSAGE, target, source, self.time, name, ())

    def appended(self, leader: str, partition: str, offset: int, record: Record) -> Event:
        """A record that a leader appends."""
        return self.event(Kind.APPENDED, leader, partition, offset, offset + 1, (record,), LEADER)

    def acknowledged(self, client: str, leader: str, partition: str, value: str, offset: int) -> list[Event]:
        """The answer by which a client is told that its record is there."""
        told = self.event(Kind.ACKNOWLEDGED, client, partition, value, offset, ACKS_ALL)
        return [self.message(client, leader, "Produce answer"), told]
