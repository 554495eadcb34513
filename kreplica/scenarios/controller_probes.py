"""What scenarios on controllers look at: folds over the events of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.trace import Event, Kind, fields_of


def controllers(events: Sequence[Event]) -> tuple[str, ...]:
    """Who became the controller, one after the other."""
    return tuple(event.node for event in events if event.kind == Kind.CONTROLLER_ELECTED)


def controller_epochs(events: Sequence[Event]) -> tuple[int, ...]:
    """Their epochs."""
    return tuple(fields_of(event)["epoch"] for event in events if event.kind == Kind.CONTROLLER_ELECTED)


def last_states(events: Sequence[Event]) -> tuple[str, ...]:
    """The last decision on each partition that was decided on, as ``t-0: 2 of 2,3``, by partition."""
    found: dict[str, str] = {}
    for event in events:
        if event.kind == Kind.PARTITION_CHANGED and event.time > 0:
            fields = fields_of(event)
            found[fields["partition"]] = f"{fields['leader']} of {','.join(map(str, fields['isr']))}"
    return tuple(f"{partition}: {found[partition]}" for partition in sorted(found))


def changed_between(begin: int, end: int) -> Callable[[Sequence[Event]], tuple[str, ...]]:
    """The partitions that a controller changed from ``begin`` to ``end`` microseconds, by name."""

    def changed(events: Sequence[Event]) -> tuple[str, ...]:
        decided = (event for event in events if event.kind == Kind.PARTITION_CHANGED and begin <= event.time < end)
        return tuple(sorted({fields_of(event)["partition"] for event in decided}))

    return changed


def milliseconds_between(first: Callable[[Event], bool], then: Callable[[Event], bool]) -> Callable[..., Any]:
    """How long it took from the first event of one kind to the first of another after it; None if none came."""

    def measured(events: Sequence[Event]) -> float | None:
        begun = next((event.time for event in events if first(event)), None)
        if begun is None:
            return None
        done = next((event.time for event in events if event.time >= begun and then(event)), None)
        return None if done is None else (done - begun) / MICROSECONDS

    return measured


def is_kind(kind: str, node: str = "", after: int = 0, **wanted: object) -> Callable[[Event], bool]:
    """Whether an event is of that kind, at that node, not before ``after`` microseconds, with these values."""

    def matches(event: Event) -> bool:
        if event.kind != kind or event.time < after or (node and event.node != node):
            return False
        return wanted.items() <= fields_of(event).items()

    return matches


def acknowledged_between(begin: int, end: int) -> Callable[[Sequence[Event]], int]:
    """How many records were acknowledged from ``begin`` to ``end`` microseconds."""

    def counted(events: Sequence[Event]) -> int:
        return sum(event.kind == Kind.ACKNOWLEDGED and begin <= event.time < end for event in events)

    return counted


def written_by_leader(events: Sequence[Event]) -> tuple[str, ...]:
    """How many records each broker took as a leader, as ``broker-1: 10``, by broker."""
    counts: dict[str, int] = {}
    for event in events:
        if event.kind == Kind.APPENDED and fields_of(event)["role"] == "leader":
            counts[event.node] = counts.get(event.node, 0) + len(fields_of(event)["records"])
    return tuple(f"{node}: {counts[node]}" for node in sorted(counts))
