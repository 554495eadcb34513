"""Counterexamples as traces: one event or a few for each action, so that a run's diagrams show them.

The time of an event is the number of its action, in milliseconds; the partition is ``p-0`` on ``broker-1`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.one_partition.state import PartitionState, epoch_at, leads, log_end, record_at
from kreplica.engine.rules.replication.replica_set import NO_LEADER, members
from kreplica.engine.trace import FOLLOWER, LEADER, Event, Kind, Record

Before = TypeVar("Before")
"""A model's kind of state."""


class Told(Protocol):
    """An action of a counterexample."""

    def events(self) -> Iterable[Event]:
        """The events that it makes, in order."""


PARTITION = "p-0"
CONTROLLER = "controller"
_MICROSECONDS = 1_000


def events_of(initial: PartitionState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    return events_between(
        initial, steps, lambda number, before, step: Change(number * _MICROSECONDS, before, step.state)
    )


def events_between(
    initial: Before, steps: Sequence[Taken], change: Callable[[int, Before, Taken], Told]
) -> list[Event]:
    """The events of a counterexample, of one action after the other.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
        change: Makes what is told of an action: of its number from 1, the state before it, and the action.
    """
    found: list[Event] = []
    before = initial
    for number, step in enumerate(steps, 1):
        found.extend(change(number, before, step).events())
        before = step.state
    return found


def broker_of(replica: int) -> int:
    """The broker of a replica, as it is called; NO_LEADER for none."""
    return replica if replica == NO_LEADER else replica + 1


def brokers_of(replicas: int) -> tuple[int, ...]:
    """The brokers of a set of replicas."""
    return tuple(map(broker_of, members(replicas)))


def record_name(state: PartitionState, record: int) -> str:
    """The name of a record: m1 is the first that was written."""
    return f"m{(record - 1) // len(state.sent_isr) + 1}"


class Change:
    """Two states, one after the other, and the events between them.

    Args:
        time: Of the events.
        before, after: The states.
    """

    partition = PARTITION

    def __init__(self, time: int, before: PartitionState, after: PartitionState) -> None:
        self.time = time
        self.before = before
        self.after = after

    def events(self) -> list[Event]:
        """The events, in order."""
        found = self.decided()
        for replica in range(len(self.after.leader)):
            found += self.heard(replica)
            found += self.log(replica)
            found += self.high_watermark(replica)
        return found

    def node(self, replica: int) -> str:
        """The node of a replica."""
        return f"broker-{broker_of(replica)}"

    def event(self, kind: Kind, node: str, *values: object) -> Event:
        """An event at a node."""
        return Event(self.time, kind, node, values)

    def message(self, target: str, source: str, name: str) -> Event:
        """A message that arrives."""
        return self.event(Kind.MESSAGE, target, source, self.time, name, ())

    def decided(self) -> list[Event]:
        """The controller's decision."""
        before, after = self.before, self.after
        if (before.begun, before.true_isr) == (after.begun, after.true_isr):
            return []
        leader, epoch, isr = broker_of(after.true_leader[0]), after.begun[0] - 1, brokers_of(after.true_isr[0])
        if before.begun == after.begun:
            asked = [self.message(CONTROLLER, f"broker-{leader}", "AlterPartition")]
            why = "its leader asks for this ISR"
        else:
            asked, why = [], "decided"
        return [*asked, self.event(Kind.PARTITION_CHANGED, CONTROLLER, PARTITION, leader, epoch, isr, (), 0, why, "")]

    def heard(self, replica: int) -> list[Event]:
        """Leadership as a broker hears of it."""
        if self.before.epoch[replica] == self.after.epoch[replica]:
            return []
        node, epoch = f"broker-{broker_of(replica)}", self.after.epoch[replica]
        told = self.message(node, CONTROLLER, "LeaderAndIsr")
        if leads(self.after, replica):
            isr, end = brokers_of(self.after.isr[replica]), log_end(self.after, replica)
            return [told, self.event(Kind.BECAME_LEADER, node, PARTITION, epoch, isr, end)]
        leader = broker_of(self.after.leader[replica])
        return [told, self.event(Kind.BECAME_FOLLOWER, node, PARTITION, epoch, leader)]

    def log(self, replica: int) -> list[Event]:
        """Records that a log gains or loses."""
        node, begin, end = self.node(replica), log_end(self.before, replica), log_end(self.after, replica)
        if end < begin:
            return [self.event(Kind.TRUNCATED, node, self.partition, begin, end, "")]
        if end == begin:
            return []
        name = record_name(self.after, record_at(self.after, replica, begin))
        record = Record(epoch_at(self.after, replica, begin), name)
        if leads(self.after, replica):
            return [self.event(Kind.APPENDED, node, self.partition, begin, end, (record,), LEADER)]
        source = self.node(self.after.leader[replica])
        appended = self.event(Kind.APPENDED, node, self.partition, begin, end, (record,), FOLLOWER)
        return [self.message(node, source, "Fetch answer"), appended]

    def high_watermark(self, replica: int) -> list[Event]:
        """A high watermark that moves."""
        now = self.after.high_watermark[replica]
        if now == self.before.high_watermark[replica]:
            return []
        role = LEADER if leads(self.after, replica) else FOLLOWER
        return [self.event(Kind.HIGH_WATERMARK, self.node(replica), self.partition, now, role)]
