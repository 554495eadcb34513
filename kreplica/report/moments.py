"""The moments of a trace: messages that had an effect, and the events at the node where they arrived.

Also moments in a few words, for diagrams and tables: the events at a node, with the offsets that moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from kreplica.engine.trace import KINDS, PLAN, Event, Kind, text_of
from kreplica.model.wording.words import ids


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened at a node.

    Args:
        time: In microseconds.
        node: The node.
        message: The message whose arrival caused it, if any.
        events: The events, in order; at least one.
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
    """True if an event alone makes no moment; of changed znodes only notifications make one."""
    if event.kind not in quiet:
        return False
    return event.kind not in _ZNODES or not event.values[0].startswith(_NOTIFICATIONS)


def _close(found: list[Moment], message: Event | None, group: list[Event], quiet: frozenset[str]) -> None:
    if any(not is_quiet(event, quiet) for event in group):
        found.append(Moment(group[0].time, group[0].node, message, tuple(group)))


def between(moments: Sequence[Moment], first: int, last: int) -> tuple[Moment, ...]:
    """The moments from one time to another, both included, in microseconds."""
    return tuple(moment for moment in moments if first <= moment.time <= last)


def lanes(moments: Iterable[Moment]) -> tuple[str, ...]:
    """The nodes that take part: clients, then brokers, then controllers and ZooKeeper; each by name."""
    names: dict[str, None] = {}
    for moment in moments:
        names[moment.node] = None
        if moment.message is not None:
            names[str(moment.message.values[0])] = None
    return tuple(sorted((name for name in names if name != PLAN), key=_rank))


def _rank(name: str) -> tuple[int, str, int]:
    head, _, number = name.rpartition("-")
    order = {"broker": 1, "controller": 2}.get(head, 3 if name == "zookeeper" else 0)
    return (order, head or name, int(number)) if order in (1, 2) and number.isdecimal() else (order, name, 0)


def down_after(moments: Iterable[Moment]) -> tuple[frozenset[str], ...]:
    """Nodes that are down after each moment: crashed or stopped, and not started again."""
    down: frozenset[str] = frozenset()
    found = []
    for moment in moments:
        for event in moment.events:
            if event.kind in (Kind.CRASHED, Kind.STOPPED):
                down |= {event.node}
            elif event.kind == Kind.STARTED:
                down -= {event.node}
        found.append(down)
    return tuple(found)


MOST_NAMED = 3
"""Values that are named one by one; of more, the first and the last."""


def brief_moment(moment: Moment, name_partitions: bool = False) -> str:
    """Describes a moment in a few words.

    Args:
        moment: Of a trace.
        name_partitions: Whether to say of which partition an offset is, which is clear where there is only one.
    """
    events = [event for event in moment.events if not is_quiet(event)]
    texts: list[str] = []
    for _, group in groupby(events, key=_alike):
        texts.extend(_brief(tuple(group), name_partitions))
    return ", ".join(dict.fromkeys(texts))


def partitions_in(moments: Iterable[Moment]) -> frozenset[str]:
    """The partitions that the brokers of these moments speak of."""
    return frozenset(
        str(event.values[0])
        for moment in moments
        for event in moment.events
        if event.kind in _AT_A_BROKER and KINDS[event.kind].fields[:1] == ("partition",)
    )


def few(values: Iterable[Any]) -> str:
    """Some values; of many the first and the last."""
    told = [str(value) for value in values]
    return ", ".join(told) if len(told) <= MOST_NAMED else f"{told[0]}…{told[-1]}"


def _alike(event: Event) -> tuple[str, object]:
    """Key of an event; consecutive events with equal keys are described as one."""
    return event.kind, event.values[2] if event.kind == Kind.SEND_FAILED else None


def _brief(events: tuple[Event, ...], name_partitions: bool) -> list[str]:
    kind = events[0].kind
    if kind in _OF_VALUES:
        place, words = _OF_VALUES[kind]
        return [words.format(few(event.values[place] for event in events), *events[0].values)]
    named = name_partitions and kind in _AT_A_BROKER
    return [f"{event.values[0]} {_one(event)}" if named else _one(event) for event in events]


def _one(event: Event) -> str:
    told = _BRIEF.get(event.kind)
    return told(event.values) if told is not None else str(event.kind).replace("-", " ")


_OF_VALUES: dict[str, tuple[int, str]] = {
    Kind.SENT: (1, "sends {0}"),
    Kind.ACKNOWLEDGED: (1, "{0} acknowledged"),
    Kind.SEND_FAILED: (1, "{0} failed: {3}"),
    Kind.CONSUMED: (2, "reads {0}"),
    Kind.PROCESSED: (2, "processes {0}"),
}
"""Events of clients with records: index of the record's value, and the words for one or many."""

_AT_A_BROKER = frozenset(
    (
        Kind.RECOVERED,
        Kind.RECOVERY_BEGINS,
        Kind.APPENDED,
        Kind.TRUNCATED,
        Kind.TRUNCATION_REFUSED,
        Kind.HIGH_WATERMARK,
        Kind.LOG_START,
        Kind.RECORDS_DELETED,
        Kind.LAST_STABLE_OFFSET,
        Kind.BECAME_LEADER,
        Kind.BECAME_FOLLOWER,
        Kind.RESIGNED,
        Kind.FETCH_REFUSED,
        Kind.ISR_ASKED,
        Kind.ISR_REFUSED,
        Kind.ISR_FORGOTTEN,
        Kind.PARTITION_CHANGED,
        Kind.NO_LEADER,
    )
)
"""Kinds whose words need the partition where there are several."""

_BRIEF: dict[str, Callable[[tuple[Any, ...]], str]] = {
    Kind.FAULT: lambda v: f"{v[0]} {v[1]}".strip(),
    Kind.CRASHED: lambda v: "power lost" if v[0] else "crashed",
    Kind.RECOVERED: lambda v: f"recovered, LEO {v[1]}, HW {v[3]}",
    Kind.APPENDED: lambda v: f"{few(map(text_of, v[3]))}: LEO {v[2]}",
    Kind.TRUNCATED: lambda v: f"truncated {v[1]} to {v[2]}",
    Kind.TRUNCATION_REFUSED: lambda v: f"ends: {v[1]} above its leader's {v[2]}",
    Kind.HIGH_WATERMARK: lambda v: f"HW {v[1]}",
    Kind.LOG_START: lambda v: f"log start {v[1]}",
    Kind.RECORDS_DELETED: lambda v: f"low watermark {v[2]}" if v[3] == "NONE" else f"delete before {v[1]}: {v[3]}",
    Kind.LAST_STABLE_OFFSET: lambda v: f"LSO {v[1]}",
    Kind.BECAME_LEADER: lambda v: f"leads, epoch {v[1]}, ISR {ids(v[2])}",
    Kind.BECAME_FOLLOWER: lambda v: f"follows {v[2]}, epoch {v[1]}",
    Kind.RESIGNED: lambda _: "no longer leads",
    Kind.FETCH_REFUSED: lambda v: f"refused: {v[2]}",
    Kind.ISR_ASKED: lambda v: f"asks for ISR {ids(v[1])}",
    Kind.ISR_REFUSED: lambda v: f"ISR refused: {v[2]}",
    Kind.ISR_FORGOTTEN: lambda v: f"forgets ISR {ids(v[1])}, knows {ids(v[2])}",
    Kind.CONTROLLER_ELECTED: lambda v: f"controller, epoch {v[0]}",
    Kind.CONTROLLER_RESIGNED: lambda _: "no longer the controller",
    Kind.BROKER_FENCED: lambda v: f"broker-{v[0]} not live",
    Kind.BROKER_UNFENCED: lambda v: f"broker-{v[0]} live",
    Kind.PARTITION_CHANGED: lambda v: f"leader {_leader(v[1])}, epoch {v[2]}, ISR {ids(v[3])}",
    Kind.NO_LEADER: lambda _: "no leader",
    Kind.ZNODE_WRITTEN: lambda v: f"{v[0].split('/')[1]}: {ids(v[1])}",
    Kind.ZNODE_DELETED: lambda v: f"{v[0].split('/')[1]}: read and deleted",
    Kind.SESSION_EXPIRED: lambda v: f"session of {v[0]} expired",
    Kind.RETRIED: lambda v: f"again {few(v[1]) if isinstance(v[1], tuple) else v[1]}",
    Kind.DUPLICATE: lambda v: f"duplicate of offset {v[3]}",
    Kind.APPEND_REFUSED: lambda v: f"append refused: {v[3]}",
    Kind.TRANSACTION_STATE: lambda v: f"{v[0]} {v[1]}",
    Kind.TRANSACTION_BEGUN: lambda v: f"begins transaction {v[0]}",
    Kind.TRANSACTION_ENDED: lambda v: f"transaction {v[0]} {v[1]}",
    Kind.PRODUCER_FENCED: lambda v: f"fenced: {v[0]}",
    Kind.PRODUCER_ID: lambda v: f"producer id {v[0]}, epoch {v[1]}",
    Kind.ASSIGNED: lambda v: f"generation {v[1]}: {ids(v[2])}",
    Kind.POSITION_SET: lambda v: f"position {v[1]} of {v[0]}",
    Kind.GROUP_CHANGED: lambda v: f"{v[0]} {v[1]}, generation {v[2]}",
    Kind.OFFSET_COMMITTED: lambda v: f"{v[0]} committed {v[2]} of {v[1]}",
    Kind.COMMIT_REFUSED: lambda v: f"commit refused: {v[2]}",
    Kind.COMMIT_FAILED: lambda v: f"commit failed: {v[1]}",
    Kind.CLIENT_FAILED: lambda v: f"ends: {v[0]}",
}


def _leader(broker: int) -> str:
    return "none" if broker < 0 else str(broker)
