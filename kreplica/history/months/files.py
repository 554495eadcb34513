"""Files of a history: a table as Parquet, with times beside the numbers of observations, for other engines.

Times are written and never read back: what a run's numbers mean stands in the observations. A run that the newest
observation of its table has seen says null for it, so that one more observation of the same leaves its file as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kreplica.history.coding import Coded, Coder
from kreplica.history.folding import WHOLE_ROW, Exceptions, Runs
from kreplica.history.months.layout import OBSERVATIONS
from kreplica.history.months.log_steps import STEPS, LogStep, StepKind, to_steps_table
from kreplica.history.months.observations import SCHEMA, TAKEN_MS, Seen, to_table
from kreplica.history.tables import COLUMN, ENDED, FIRST, LAST, LAST_SEEN, OBSERVATION, VALID_FROM, VALID_TO
from kreplica.model.tables.columns import IntColumn, Integers, Mask, column_from_values
from kreplica.model.tables.schema import Kind
from kreplica.model.tables.table import Table
from kreplica.store.arrow import to_arrow
from kreplica.store.parquet import parquet_bytes

TAKEN_AT, EXACT = "taken_at", "exact"
_TIME = pa.timestamp("ms", tz="UTC")


def encode_observations(seen: list[Seen]) -> bytes:
    """The observations of a month."""
    table = to_table(seen)
    times = time_array(table.integers(TAKEN_MS).values)
    return parquet_bytes(_with_times(table, {TAKEN_AT: times}), SCHEMA.sort, table_name=OBSERVATIONS)


def table_of_runs(coder: Coder, runs: Runs, newest: int) -> Table:
    """Runs by key and time; ``newest`` is the number of the newest observation that tells the table."""
    ended, older = runs.ended >= 0, runs.last != newest
    numbers = {
        FIRST: IntColumn(runs.first),
        LAST: IntColumn(runs.last, None if older.all() else older),
        ENDED: IntColumn(runs.ended, None if ended.all() else ended),
    }
    return Table(coder.table.runs, {**coder.columns(runs.coded), **numbers}).sorted()


def encode_runs(table: Table, times: Integers) -> bytes:
    """The file of a table of runs; ``times`` are the milliseconds of each observation of the month."""
    return parquet_bytes(_with_run_times(table, times), table.schema.sort, table_name=table.schema.name)


def _with_run_times(table: Table, times: Integers) -> pa.Table:
    columns = {
        VALID_FROM: time_array(times[table.integers(FIRST).values]),
        VALID_TO: _known_times(table.integers(ENDED), times),
        LAST_SEEN: _known_times(table.integers(LAST), times),
    }
    return _with_times(table, columns)


def decode_runs(coder: Coder, table: Table, newest: int) -> Runs:
    """Runs from the table of a file; ``newest`` is the number of the newest observation that tells the table."""
    coded = Coded(coder.keys(table), coder.values(table))
    last, ended = _filled(table.integers(LAST), newest), _filled(table.integers(ENDED), -1)
    return Runs(coded, table.integers(FIRST).values, last, ended)


def _filled(column: IntColumn, null: int) -> Integers:
    return column.values if column.valid is None else np.where(column.valid, column.values, null)


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
    """Exceptions from the table of a file; those of columns that the coder's table leaves out are left out, too."""
    names: dict[object, int] = {field.name: place for place, field in enumerate(coder.table.value_fields)}
    names[None] = WHOLE_ROW
    cells = table[COLUMN].to_list()
    kept = np.array([row for row, name in enumerate(cells) if name in names], np.intp)
    table = table.take(kept)
    columns = np.array([names[cells[row]] for row in kept.tolist()], np.int64)
    return Exceptions(table.integers(OBSERVATION).values, coder.keys(table), columns)


def encode_steps(steps: Sequence[LogStep]) -> bytes:
    """The steps of metadata logs in a month."""
    table = to_steps_table(steps)
    return parquet_bytes(
        _with_times(table, {TAKEN_AT: time_array(table.integers(TAKEN_MS).values)}), STEPS.sort, table_name=STEPS.name
    )


def encode_exact(coder: Coder, runs: Runs, steps: Sequence[LogStep]) -> bytes:
    """Runs from metadata logs; their numbers are those of steps."""
    times = np.array([step.taken_ms for step in steps], np.int64)
    records = np.array([step.kind is StepKind.record for step in steps], np.bool_)
    table = table_of_runs(coder, runs, _NO_STEP)
    ended = table.integers(ENDED)
    exact = records[table.integers(FIRST).values] & records[_filled(ended, 0)]
    if ended.valid is not None:
        exact &= ended.valid
    arrow = _with_run_times(table, times)
    bits = pa.Array.from_buffers(pa.bool_(), len(table), [None, pa.py_buffer(np.packbits(exact, bitorder="little"))])
    arrow = arrow.append_column(pa.field(EXACT, pa.bool_(), nullable=False), bits)
    return parquet_bytes(arrow, table.schema.sort, table_name=table.schema.name)


_NO_STEP = -2
"""No run was last seen by it, so that each names the step that it was last seen by."""


def encode_samples(samples: Table, times: Integers) -> bytes:
    """The file of samples, by key and time; ``times`` are the milliseconds of each observation of the month."""
    taken = {TAKEN_AT: time_array(times[samples.integers(OBSERVATION).values])}
    schema = samples.schema
    measured = [field.name for field in schema.fields if field.name not in schema.sort]
    return parquet_bytes(_with_times(samples, taken), schema.sort, table_name=schema.name, unlike=measured)


def time_array(milliseconds: Integers, valid: Mask | None = None) -> Any:
    """Times as an Arrow array, UTC; null where they are not valid."""
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    content = pa.py_buffer(np.ascontiguousarray(milliseconds, np.int64))
    return pa.Array.from_buffers(_TIME, len(milliseconds), [bits, content])


def _known_times(places: IntColumn, times: Integers) -> Any:
    if places.valid is None:
        return time_array(times[places.values])
    return time_array(np.where(places.valid, times[_filled(places, 0)], 0), places.valid)


def _with_times(table: Table, times: dict[str, Any]) -> pa.Table:
    arrow = to_arrow(table)
    for name, array in times.items():
        arrow = arrow.append_column(pa.field(name, _TIME, nullable=name in (VALID_TO, LAST_SEEN)), array)
    return arrow
