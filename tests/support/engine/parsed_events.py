"""Events read back from the JSON of a run, which so is shown to contain the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.trace import KINDS, Event, Kind, Record


def event_of(row: Mapping[str, Any]) -> Event:
    """The event of a row of the JSON, as every fold but the trace's hash takes it."""
    time = _microseconds(row["time_ms"])
    if row["kind"] == Kind.MESSAGE:
        values = (row["sender"], _microseconds(row["sent_ms"]), row["message"], _tuples(row["carries"]))
    else:
        values = tuple(_value(name, row["values"][name]) for name in KINDS[row["kind"]].fields)
    return Event(time, row["kind"], row["node"], values)


def _microseconds(milliseconds: float) -> int:
    return round(milliseconds * MICROSECONDS)


def _value(name: str, value: Any) -> Any:
    if name == "records":
        return tuple(Record(**{field: _tuples(one) for field, one in record.items()}) for record in value)
    return _tuples(value)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
