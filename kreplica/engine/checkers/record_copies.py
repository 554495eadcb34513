"""Copies of single records through a run: replicas that gain or lose one, and the moment no leader's log has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.trace import Event, Kind

_LOSES = frozenset((Kind.TRUNCATED, Kind.RECOVERED, Kind.DISK_LOST, Kind.LOG_START))
_LEADS = frozenset((Kind.BECAME_LEADER, Kind.BECAME_FOLLOWER, Kind.RESIGNED, Kind.CRASHED, Kind.STOPPED, Kind.STARTED))


@dataclass(frozen=True, slots=True)
class CopyGone:
    """A copy that a replica had and has lost.

    Args:
        number: Index of the event, from 0.
        value: The record's value.
        node: The node whose log it was in.
        left: The nodes that still have a copy.
    """

    number: int
    value: str
    node: str
    left: tuple[str, ...]


class RecordCopies:
    """A fold that follows the copies of some records of one partition.

    Args:
        partition: As ``topic-0``.
        values: The records' values.

    ``first_at`` is the event that appended a record first, ``held`` the offsets at which each node has it, ``gone``
    the copies that were truncated, ``lost_at`` the event from which on no leader's log, or without a leader no log at
    all, has a record that one had.
    """

    __slots__ = ("_here", "_number", "first_at", "gone", "held", "logs", "lost_at", "partition")

    def __init__(self, partition: str, values: Iterable[str]) -> None:
        self.partition = partition
        self.logs = ReplicaLogs()
        self.held: dict[str, dict[str, set[int]]] = {value: {} for value in values}
        self.first_at: dict[str, int] = {}
        self.gone: list[CopyGone] = []
        self.lost_at: dict[str, int] = {}
        self._here: dict[str, bool] = {}
        self._number = -1

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        self._number += 1
        self.logs(event)
        if event.kind == Kind.APPENDED and event.values[0] == self.partition:
            self._appended(event)
        elif event.kind in _LOSES:
            self._cut(event.node)
        elif event.kind not in _LEADS:
            return
        self._look()

    def copies(self, value: str) -> tuple[str, ...]:
        """The nodes whose log has the record now."""
        return tuple(sorted(node for node, offsets in self.held[value].items() if offsets))

    def _appended(self, event: Event) -> None:
        for offset, record in enumerate(event.values[3], start=event.values[1]):
            nodes = self.held.get(str(record.value))
            if nodes is not None:
                nodes.setdefault(event.node, set()).add(offset)
                self.first_at.setdefault(str(record.value), self._number)

    def _cut(self, node: str) -> None:
        replica = self.logs.partitions.get(self.partition, {}).get(node)
        if replica is None:
            return
        for value, nodes in self.held.items():
            before = nodes.get(node, set())
            kept = {offset for offset in before if replica.base <= offset < replica.end_offset}
            if before and not kept:
                nodes[node] = kept
                self.gone.append(CopyGone(self._number, value, node, self.copies(value)))
            elif before:
                nodes[node] = kept

    def _look(self) -> None:
        if self.partition not in self.logs.partitions:
            return
        remaining = [replica.node for replica in self.logs.remaining(self.partition)]
        for value, nodes in self.held.items():
            here = any(nodes.get(node) for node in remaining)
            if self._here.get(value, False) and not here:
                self.lost_at[value] = self._number
            elif here:
                self.lost_at.pop(value, None)
            self._here[value] = here


def follow_copies(events: Iterable[Event], partition: str, values: Sequence[str]) -> RecordCopies:
    """Follows the copies of some records through all events."""
    copies = RecordCopies(partition, values)
    for event in events:
        copies(event)
    return copies
