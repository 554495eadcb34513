"""Processing of records by groups, compared with their commits: what is passed over, done twice or committed early."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kreplica.engine.trace import Event, Kind

Place = tuple[str, str, int]
"""Group, partition and offset of a record."""
_DONE, _FAILED = "done", "failed"


@dataclass(frozen=True, slots=True)
class ProcessingOutcomes:
    """Outcomes of processing, each a value that an application of a group had read.

    Args:
        passed_over: Committed and never processed: every process that had read it ended before.
        processed_twice: Processed to the end more than once by a group.
        committed_early: Processed only after the group had committed a later offset, or never.
    """

    passed_over: tuple[str, ...] = ()
    processed_twice: tuple[str, ...] = ()
    committed_early: tuple[str, ...] = ()


def processing_outcomes(events: Sequence[Event]) -> ProcessingOutcomes:
    """Judges the processing of a run. Readers without a group, and applications with transactions, have none."""
    transactional = {event.node for event in events if event.kind == Kind.TRANSACTION_BEGUN}
    keeper = _Keeper()
    for event in events:
        take = keeper.takes.get(event.kind)
        if take is not None and event.node not in transactional:
            take(event)
    return keeper.outcomes()


class _Keeper:
    """A fold over what groups read, process and commit; ``held`` has the processes with a record that none handled."""

    def __init__(self) -> None:
        self.values: dict[Place, str] = {}
        self.held: dict[Place, set[str]] = {}
        self.handled: set[Place] = set()
        self.done: Counter[Place] = Counter()
        self.committed: dict[tuple[str, str], int] = {}
        self.early: dict[Place, None] = {}
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.CONSUMED: self._consumed,
            Kind.PROCESSED: self._processed,
            Kind.OFFSET_COMMITTED: self._committed,
            Kind.CRASHED: self._ended,
            Kind.STOPPED: self._ended,
        }

    def _consumed(self, event: Event) -> None:
        partition, offset, value, group = event.values
        if group:
            place = group, partition, offset
            self.values[place] = str(value)
            if place not in self.handled:
                self.held.setdefault(place, set()).add(event.node)

    def _processed(self, event: Event) -> None:
        partition, offset, _, group, result = event.values
        if result != _FAILED:
            self.handled.add((group, partition, offset))
            self.held.pop((group, partition, offset), None)
        if result == _DONE:
            self.done[group, partition, offset] += 1

    def _committed(self, event: Event) -> None:
        group, partition, end, _ = event.values
        self.committed[group, partition] = end
        for place in self.held:
            if place[:2] == (group, partition) and place[2] < end:
                self.early[place] = None

    def _ended(self, event: Event) -> None:
        for nodes in self.held.values():
            nodes.discard(event.node)

    def outcomes(self) -> ProcessingOutcomes:
        """The outcomes, in the order in which the records were read."""
        gone = [place for place, nodes in self.held.items() if not nodes]
        over = (place for place in gone if place[2] < self.committed.get(place[:2], 0))
        twice = (place for place in self.values if self.done[place] > 1)
        return ProcessingOutcomes(
            *(tuple(self.values[place] for place in found) for found in (over, twice, self.early))
        )
