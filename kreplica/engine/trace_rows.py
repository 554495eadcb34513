"""Events as rows of plain values: the JSON of a run contains the whole run."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from typing import Any

from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.trace import Event, Kind, Record, fields_of

Row = dict[str, Any]

MESSAGE_COLUMNS = ("sender", "receiver", "message", "sent_ms", "received_ms", "carries")
"""Columns of messages; null in rows of other events, as ``values`` is in rows of messages."""


def event_row(event: Event) -> Row:
    """Returns an event as a row: ``time_ms``, ``node``, ``kind``, ``values`` by name; of a message its columns."""
    row: Row = {"time_ms": event.time / MICROSECONDS, "node": event.node, "kind": str(event.kind)}
    row |= dict.fromkeys(("values", *MESSAGE_COLUMNS))
    if event.kind != Kind.MESSAGE:
        return row | {"values": {name: plain(value) for name, value in fields_of(event).items()}}
    sender, sent, name, arguments = event.values
    told = (sender, event.node, name, sent / MICROSECONDS, event.time / MICROSECONDS, plain(arguments))
    return row | dict(zip(MESSAGE_COLUMNS, told, strict=True))


def plain(value: object) -> Any:
    """Returns a value of the simulator as JSON has it: by names if it has names, error codes by theirs."""
    if isinstance(value, Enum):
        return str(value) if isinstance(value, StrEnum) else value.name
    if isinstance(value, Record):  # records of coordinators are shown as text
        written = value.value if isinstance(value.value, str | int) else str(value.value)
        return value._asdict() | {"value": written}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
