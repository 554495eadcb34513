"""A trace told by what mattered: messages that did something, and what happened where they arrived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kreplica.engine.trace import Event, Kind


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened at a node.

    Args:
        time: In microseconds.
        node: Where.
        message: The message whose arrival brought it about, if one did.
        events: What happened, in order; at least one.
    """

    time: int
    node: str
    message: Event | None
    events: tuple[Event, ...]


_MESSAGES = frozenset((Kind.MESSAGE, Kind.DROPPED))
QUIET = frozenset((Kind.FOLLOWER_POSITION, Kind.BROKER_REGISTERED, Kind.ZNODE_WRITTEN, Kind.ZNODE_DELETED))
"""Kinds that say little by themselves: a moment of nothing else is left out."""


def moments(events: Iterable[Event], quiet: frozenset[str] = QUIET) -> tuple[Moment, ...]:
    """The moments of a trace in order.

    Left out are messages without effect (idle fetches, heartbeats), the first start of every process, and every retry
    of a record but the first.

    Args:
        events: A trace.
        quiet: Kinds that alone make no moment.
    """
    found: list[Moment] = []
    message: Event | None = None
    group: list[Event] = []
    for event in _without_repeats(events):
        if group and (event.time, event.node) != (group[0].time, group[0].node):
            _close(found, message, group, quiet)
            message, group = None, []
        if event.kind in _MESSAGES:
            _close(found, message, group, quiet)
            message, group = (event if event.kind == Kind.MESSAGE else None), []
            continue
        if message is not None and (event.time, event.node) != (message.time, message.node):
            message = None
        group.append(event)
    _close(found, message, group, quiet)
    return tuple(found)


def _without_repeats(events: Iterable[Event]) -> Iterator[Event]:
    seen: set[tuple[str, str, object]] = set()
    for event in events:
        if event.kind in (Kind.STARTED, Kind.RETRIED):
            key = (event.kind, event.node, event.values[1] if event.kind == Kind.RETRIED else None)
            first = key not in seen
            seen.add(key)
            if first == (event.kind == Kind.STARTED):
                continue
        yield event


def _close(found: list[Moment], message: Event | None, group: list[Event], quiet: frozenset[str]) -> None:
    if any(event.kind not in quiet for event in group):
        found.append(Moment(group[0].time, group[0].node, message, tuple(group)))


def between(told: Sequence[Moment], first: int, last: int) -> tuple[Moment, ...]:
    """The moments from one time to another, both included, in microseconds."""
    return tuple(moment for moment in told if first <= moment.time <= last)


def lanes(told: Iterable[Moment]) -> tuple[str, ...]:
    """The nodes that take part: clients, then brokers, then controllers and ZooKeeper; each by name."""
    names: dict[str, None] = {}
    for moment in told:
        names[moment.node] = None
        if moment.message is not None:
            names[str(moment.message.values[0])] = None
    return tuple(sorted((name for name in names if name != FAULTS), key=_rank))


FAULTS = "plan"
"""The node of events that the plan of faults makes and no process."""


def _rank(name: str) -> tuple[int, str, int]:
    head, _, number = name.rpartition("-")
    order = {"broker": 1, "controller": 2}.get(head, 3 if name == "zookeeper" else 0)
    return (order, head or name, int(number)) if order in (1, 2) and number.isdecimal() else (order, name, 0)


def brief(event: Event) -> str:
    """An event in a few words, for diagrams."""
    told = _BRIEF.get(event.kind)
    return told(event.values) if told is not None else str(event.kind).replace("-", " ")


def brief_moment(moment: Moment) -> str:
    """What happened in a moment, in a few words."""
    return ", ".join(dict.fromkeys(brief(event) for event in moment.events if event.kind not in QUIET))


def _ids(values: Iterable[Any]) -> str:
    return ",".join(map(str, values)) or "none"


def _values(records: Iterable[Any]) -> str:
    told = [str(record[1]) for record in records]
    return ",".join(told) if len(told) <= 3 else f"{told[0]}…{told[-1]}"


_BRIEF: dict[str, Callable[[tuple[Any, ...]], str]] = {
    Kind.FAULT: lambda v: f"{v[0]} {v[1]}".strip(),
    Kind.CRASHED: lambda v: "power lost" if v[0] else "crashed",
    Kind.RECOVERED: lambda v: f"recovered, LEO {v[1]}, HW {v[3]}",
    Kind.APPENDED: lambda v: f"{_values(v[3])}: LEO {v[2]}",
    Kind.TRUNCATED: lambda v: f"truncated {v[1]} to {v[2]}",
    Kind.HIGH_WATERMARK: lambda v: f"HW {v[1]}",
    Kind.LOG_START: lambda v: f"log start {v[1]}",
    Kind.LAST_STABLE_OFFSET: lambda v: f"LSO {v[1]}",
    Kind.BECAME_LEADER: lambda v: f"leads, epoch {v[1]}, ISR {_ids(v[2])}",
    Kind.BECAME_FOLLOWER: lambda v: f"follows {v[2]}, epoch {v[1]}",
    Kind.RESIGNED: lambda _: "no longer leads",
    Kind.FETCH_REFUSED: lambda v: f"refused: {v[2]}",
    Kind.ISR_ASKED: lambda v: f"asks for ISR {_ids(v[1])}",
    Kind.ISR_REFUSED: lambda v: f"ISR refused: {v[2]}",
    Kind.CONTROLLER_ELECTED: lambda v: f"controller, epoch {v[0]}",
    Kind.BROKER_FENCED: lambda v: f"broker-{v[0]} out",
    Kind.BROKER_UNFENCED: lambda v: f"broker-{v[0]} in",
    Kind.PARTITION_CHANGED: lambda v: f"leader {v[1]}, epoch {v[2]}, ISR {_ids(v[3])}",
    Kind.NO_LEADER: lambda _: "no leader",
    Kind.SENT: lambda v: f"sends {v[1]}",
    Kind.RETRIED: lambda v: f"again {_ids(v[1]) if isinstance(v[1], tuple) else v[1]}",
    Kind.ACKNOWLEDGED: lambda v: f"{v[1]} acknowledged",
    Kind.SEND_FAILED: lambda v: f"{v[1]} failed: {v[2]}",
    Kind.CONSUMED: lambda v: f"reads {v[2]}",
}
