"""Files of a history: a table as Parquet, with times beside the numbers of observations, for other engines.

Times are written and never read back: what a run's numbers mean stands in the observations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kreplica.history.coding import Coded, Coder
from kreplica.history.folding import Exceptions, Runs
from kreplica.history.layout import OBSERVATIONS
from kreplica.history.observations import SCHEMA, TAKEN_MS, Seen, to_table
from kreplica.history.tables import COLUMN, ENDED, FIRST, LAST, LAST_SEEN, OBSERVATION, VALID_FROM, VALID_TO
from kreplica.model.columns import IntColumn, Integers, Mask, column_from_values
from kreplica.model.schema import Kind
from kreplica.model.table import Table
from kreplica.store.arrow import to_arrow
from kreplica.store.parquet import parquet_bytes

TAKEN_AT = "taken_at"
_TIME = pa.timestamp("ms", tz="UTC")


def encode_observations(seen: list[Seen]) -> bytes:
    """The observations of a month."""
    table = to_table(seen)
    times = _times(table.integers(TAKEN_MS).values)
    return parquet_bytes(_with_times(table, {TAKEN_AT: times}), SCHEMA.sort, table_name=OBSERVATIONS)


def encode_runs(coder: Coder, runs: Runs, times: Integers) -> bytes:
    """Runs of a table, by key and time.

    Args:
        coder: Of the table.
        runs: The runs.
        times: Milliseconds of each observation of the month.
    """
    ended = runs.ended >= 0
    numbers = {
        FIRST: IntColumn(runs.first),
        LAST: IntColumn(runs.last),
        ENDED: IntColumn(runs.ended, None if ended.all() else ended),
    }
    schema = coder.table.runs
    table = Table(schema, {**coder.columns(runs.coded), **numbers}).sorted()
    columns = {
        VALID_FROM: _times(times[table.integers(FIRST).values]),
        VALID_TO: _ended_times(table.integers(ENDED), times),
        LAST_SEEN: _times(times[table.integers(LAST).values]),
    }
    return parquet_bytes(_with_times(table, columns), schema.sort, table_name=schema.name)


def decode_runs(coder: Coder, table: Table) -> Runs:
    """Runs from the table of a file."""
    ended = table.integers(ENDED)
    values = ended.values if ended.valid is None else np.where(ended.valid, ended.values, -1)
    coded = Coded(coder.keys(table), coder.values(table))
    return Runs(coded, table.integers(FIRST).values, table.integers(LAST).values, values)


def encode_exceptions(coder: Coder, some: Exceptions) -> bytes:
    """Exceptions of a table, by observation and key."""
    names = [*(field.name for field in coder.table.value_fields), None]  # WHOLE_ROW is the last one from behind
    columns = {
        **coder.key_columns(some.keys),
        OBSERVATION: IntColumn(some.places),
        COLUMN: column_from_values(Kind.STRING, [names[at] for at in some.columns.tolist()]),
    }
    schema = coder.table.exceptions
    return parquet_bytes(to_arrow(Table(schema, columns).sorted()), schema.sort, table_name=schema.name)


def decode_exceptions(coder: Coder, table: Table) -> Exceptions:
    """Exceptions from the table of a file."""
    names: dict[object, int] = {field.name: place for place, field in enumerate(coder.table.value_fields)}
    columns = [names.get(name, -1) for name in table[COLUMN].to_list()]
    return Exceptions(table.integers(OBSERVATION).values, coder.keys(table), np.array(columns, np.int64))


def _times(milliseconds: Integers, valid: Mask | None = None) -> Any:
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    content = pa.py_buffer(np.ascontiguousarray(milliseconds, np.int64))
    return pa.Array.from_buffers(_TIME, len(milliseconds), [bits, content])


def _ended_times(ended: IntColumn, times: Integers) -> Any:
    if ended.valid is None:
        return _times(times[ended.values])
    return _times(np.where(ended.valid, times[np.where(ended.valid, ended.values, 0)], 0), ended.valid)


def _with_times(table: Table, times: dict[str, Any]) -> pa.Table:
    arrow = to_arrow(table)
    for name, array in times.items():
        arrow = arrow.append_column(pa.field(name, _TIME, nullable=name == VALID_TO), array)
    return arrow
