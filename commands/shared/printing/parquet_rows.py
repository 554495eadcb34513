"""Rows of an answer as an Arrow table: every column has a type, also where all is null or there are none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kreplica.model.tables.columns import column_from_values
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table
from kreplica.store.arrow import to_arrow


def arrow_table(columns: Sequence[str], rows: Iterable[Sequence[object]], kinds: Mapping[str, Kind]) -> Any:
    """The rows as a pyarrow.Table.

    Args:
        columns: Names of the columns, in order.
        rows: Their values, in order of the columns.
        kinds: Kinds of the columns; those left out are inferred from the values, as strings if all are null. Objects
            and lists of anything but integers become JSON text, since their shape differs from row to row.
    """
    import pyarrow as pa

    values = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=False)) or {name: [] for name in columns}
    found = {name: kinds.get(name) or _kind_of(values[name]) for name in columns}
    held = {name: kind for name, kind in found.items() if kind is not Kind.FLOAT64}
    fields = tuple(Field(name, kind, nullable=True, doc="") for name, kind in held.items())
    cells = {name: map(_text, values[name]) if kind is Kind.STRING else values[name] for name, kind in held.items()}
    table = to_arrow(
        Table(
            TableSchema("answer", fields, sort=()),
            {name: column_from_values(kind, cells[name]) for name, kind in held.items()},
        )
    )
    return pa.table({name: table[name] if name in held else pa.array(values[name], pa.float64()) for name in columns})


def _kind_of(values: Sequence[object]) -> Kind:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return Kind.BOOL
    if known and all(isinstance(value, int) and not isinstance(value, bool) for value in known):
        return Kind.INT64
    if known and all(isinstance(value, float) for value in known):
        return Kind.FLOAT64
    if known and all(isinstance(value, list) and all(map(_is_int32, value)) for value in known):
        return Kind.INT_LIST
    return Kind.STRING


def _is_int32(item: object) -> bool:
    return isinstance(item, int) and not isinstance(item, bool) and -(2**31) <= item < 2**31


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
