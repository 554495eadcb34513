"""A trace told by what mattered: messages that did something, and what happened where they arrived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kreplica.engine.trace import PLAN, Event, Kind


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
QUIET = frozenset(
    (Kind.FOLLOWER_POSITION, Kind.FETCH_WOKEN, Kind.BROKER_REGISTERED, Kind.ZNODE_WRITTEN, Kind.ZNODE_DELETED)
)
"""Kinds that say little by themselves: a moment of nothing else is left out."""


_ZNODES = frozenset((Kind.ZNODE_WRITTEN, Kind.ZNODE_DELETED))
_NOTIFICATIONS = ("/isr_change_notification/", "/log_dir_event_notification/")


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


def is_quiet(event: Event, quiet: frozenset[str] = QUIET) -> bool:
    """Whether an event says little by itself; notifications are the znodes that say something."""
    if event.kind not in quiet:
        return False
    return event.kind not in _ZNODES or not event.values[0].startswith(_NOTIFICATIONS)


def _close(found: list[Moment], message: Event | None, group: list[Event], quiet: frozenset[str]) -> None:
    if any(not is_quiet(event, quiet) for event in group):
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
    return tuple(sorted((name for name in names if name != PLAN), key=_rank))


def _rank(name: str) -> tuple[int, str, int]:
    head, _, number = name.rpartition("-")
    order = {"broker": 1, "controller": 2}.get(head, 3 if name == "zookeeper" else 0)
    return (order, head or name, int(number)) if order in (1, 2) and number.isdecimal() else (order, name, 0)


def down_after(told: Iterable[Moment]) -> tuple[frozenset[str], ...]:
    """For each moment the nodes that are down once it is over: crashed or stopped, and not started again."""
    down: frozenset[str] = frozenset()
    found = []
    for moment in told:
        for event in moment.events:
            if event.kind in (Kind.CRASHED, Kind.STOPPED):
                down |= {event.node}
            elif event.kind == Kind.STARTED:
                down -= {event.node}
        found.append(down)
    return tuple(found)
