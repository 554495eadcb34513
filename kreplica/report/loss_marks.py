"""Events at which records are lost, cut or doubled, to be marked in a picture of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kreplica.engine.checkers.record_copies import RecordCopies, follow_copies
from kreplica.engine.trace import LEADER, Event, Kind, fields_of
from kreplica.report.moments import few

MOST_RECORDS = 200
"""Records that are followed; of more the first ones."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The effect of an event on records that matter.

    Args:
        number: Of the event, from 0.
        partition: Of the records.
        text: In a few words.
        loss: Whether from here on no leader has them.
        values: The records.
    """

    number: int
    partition: str
    text: str
    loss: bool
    values: tuple[str, ...]


def loss_marks(events: Sequence[Event], lost: Sequence[str], doubled: Sequence[str] = ()) -> tuple[Mark, ...]:
    """The marks of a run, in order.

    Args:
        events: A whole trace.
        lost: Acknowledged records that are lost.
        doubled: Records that can be read more than once.
    """
    marks: list[Mark] = []
    for partition, values in _by_partition(events, lost).items():
        copies = follow_copies(events, partition, values)
        marks += _cuts(copies, values)
        marks += _losses(events, copies, values)
    for partition, values in _by_partition(events, doubled).items():
        marks += _doubled(events, partition, frozenset(values))
    return tuple(sorted(marks, key=lambda mark: mark.number))


def _by_partition(events: Sequence[Event], values: Sequence[str]) -> dict[str, list[str]]:
    wanted = frozenset(values[:MOST_RECORDS])
    found: dict[str, dict[str, None]] = {}
    for event in events:
        if event.kind == Kind.SENT and str(event.values[1]) in wanted:
            found.setdefault(str(event.values[0]), {})[str(event.values[1])] = None
    return {partition: list(named) for partition, named in found.items()}


def _cuts(copies: RecordCopies, values: Sequence[str]) -> list[Mark]:
    by_event: dict[tuple[int, str], list[str]] = {}
    for gone in copies.gone:
        by_event.setdefault((gone.number, gone.node), []).append(gone.value)
    order = {value: place for place, value in enumerate(values)}
    return [
        Mark(number, copies.partition, f"{few(sorted(cut, key=order.__getitem__))} gone from {node}", False, tuple(cut))
        for (number, node), cut in by_event.items()
    ]


def _losses(events: Sequence[Event], copies: RecordCopies, values: Sequence[str]) -> list[Mark]:
    by_event: dict[int, list[str]] = {}
    for value in values:
        number = copies.lost_at.get(value)
        if number is None:
            number = _told_at(events, copies.partition, value)
        by_event.setdefault(number, []).append(value)
    return [
        Mark(number, copies.partition, f"LOST HERE: {few(lost)}, no leader has it from now on", True, tuple(lost))
        for number, lost in by_event.items()
    ]


def _told_at(events: Sequence[Event], partition: str, value: str) -> int:
    """Marks where a record that no leader ever had was acknowledged, or sent."""
    told = {Kind.ACKNOWLEDGED, Kind.SENT}
    numbers = [
        number
        for number, event in enumerate(events)
        if event.kind in told and event.values[0] == partition and str(event.values[1]) == value
    ]
    return numbers[-1]


def _doubled(events: Sequence[Event], partition: str, values: frozenset[str]) -> list[Mark]:
    seen: set[str] = set()
    marks = []
    for number, event in enumerate(events):
        if event.kind != Kind.APPENDED or event.values[0] != partition or fields_of(event)["role"] != LEADER:
            continue
        here = [str(record.value) for record in event.values[3] if str(record.value) in values]
        again = tuple(value for value in here if value in seen)
        seen.update(here)
        if again:
            marks.append(Mark(number, partition, f"TWICE: {few(again)} is appended again", False, again))
    return marks
