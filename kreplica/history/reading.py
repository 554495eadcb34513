"""A history as a library: its clusters, its tables with times, a cluster as it was."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.errors import UsageError
from kreplica.history.coding import Coder
from kreplica.history.folding import Runs
from kreplica.history.moments.as_of import cluster_as_of
from kreplica.history.months.files import TAKEN_AT, time_array
from kreplica.history.months.layout import OBSERVATIONS
from kreplica.history.months.observations import SCHEMA, TAKEN_MS, to_table
from kreplica.history.selection import Chosen, HistoryMonth, choose, storage_of
from kreplica.history.tables import LAST_SEEN, OBSERVATION, TABLES, VALID_FROM, VALID_TO, HistoryTable
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import IntColumn, Integers, StringColumn
from kreplica.model.tables.frames import to_frame
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table
from kreplica.model.wording.nearest_names import nearest_or_known
from kreplica.store.arrow import to_arrow
from kreplica.store.selection import Wanted, refuse_without_zone
from kreplica.system.stores.locations import Place
from kreplica.system.stores.storage import Storage

if TYPE_CHECKING:
    from pandas import DataFrame

_CLUSTER = Field("cluster", Kind.STRING, nullable=False, doc="label of the cluster: its id where known")
_EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True, eq=False)
class TimedTable:
    """Rows of a history with their times.

    Args:
        rows: The rows, by cluster, key and time.
        times: Columns of times, milliseconds since the epoch, UTC.
    """

    rows: Table
    times: dict[str, IntColumn]


def open_history(history: Place | str | Storage) -> History:
    """Opens a history for reading.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or another storage that it is in.

    Raises:
        InputError: There is no history.
        UsageError: It is no place that kreplica reads.
    """
    return History(storage_of(history))


class History:
    """A history that is read.

    Args:
        storage: The place that it is in.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def choose(self, wanted: Wanted = _EVERYTHING, tables: Sequence[str] | None = None) -> Chosen:
        """The months that hold what is wanted, and the problems of the others.

        Args:
            wanted: Which clusters, from when to when.
            tables: Names of the tables that are going to be read; all if None.
        """
        return choose(self.storage, wanted) if tables is None else choose(self.storage, wanted, tables)

    def as_of(self, cluster: str | None = None, moment: datetime | None = None) -> ClusterSnapshot:
        """A cluster as it was at a moment, its newest state if None. Offsets and sizes are null.

        Args:
            cluster: The cluster's id or name; None where the history is of one.
            moment: The moment, with its zone.

        Raises:
            UsageError: There is no such cluster, or no snapshot of it that old; the moment has no zone.
            InputError: What the answer needs is damaged.
        """
        refuse_without_zone(moment)
        return cluster_as_of(self.storage, cluster, moment)

    def table(self, name: str, wanted: Wanted = _EVERYTHING) -> Any:
        """The rows of a table with their times, as an Arrow table.

        Args:
            name: partitions, brokers, log_dirs, replicas, configs, groups or quorum, each row from valid_from to
                valid_to; or observations, a row for each snapshot.
            wanted: Which clusters, from when to when: a row is there if a snapshot of that time saw it.

        Raises:
            UsageError: There is no such table.
            InputError: A month is damaged.
        """
        found = self.timed_table(name, wanted)
        arrow = to_arrow(found.rows)
        for time, column in found.times.items():
            arrow = arrow.append_column(time, time_array(column.values, column.valid))
        return arrow

    def to_pandas(self, name: str, wanted: Wanted = _EVERYTHING) -> DataFrame:
        """The rows of a table with their times, for pandas: UTC times, nullable integers, categories.

        Args:
            name: Of the table, as ``table`` takes it.
            wanted: As ``table`` takes it.

        Raises:
            UsageError: There is no such table.
            InputError: A month is damaged.
            MissingExtraError: pandas is not installed.
        """
        found = self.timed_table(name, wanted)
        return to_frame(found.rows, found.times)

    def timed_table(self, name: str, wanted: Wanted = _EVERYTHING) -> TimedTable:
        """The rows of a table with their times, as columns.

        Args:
            name: Of the table, as ``table`` takes it.
            wanted: As ``table`` takes it.

        Raises:
            UsageError: There is no such table.
            InputError: A month is damaged.
        """
        tables = {table.name: table for table in TABLES}
        if name not in tables and name != OBSERVATIONS:
            raise UsageError(f"a history has no table {name}", nearest_or_known(name, [*tables, OBSERVATIONS]))
        chosen = self.choose(wanted, [name] if name in tables else [])
        chosen.refuse_damaged()
        return _runs_of(tables[name], chosen.months) if name in tables else _observations_of(chosen.months)


def _runs_of(table: HistoryTable, months: Sequence[HistoryMonth]) -> TimedTable:
    coder = Coder(table)
    parts = [inside(month.runs(coder), month) for month in months]
    runs = Runs.joined(parts, len(table.value_fields))
    places = {VALID_FROM: "first", LAST_SEEN: "last", VALID_TO: "ended"}
    times = {name: _times(months, [getattr(part, place) for part in parts]) for name, place in places.items()}
    fields = (_CLUSTER, *table.key_fields, *table.value_fields)
    every = TableSchema(table.name, (*fields, *map(_time_field, times)), (_CLUSTER.name, *table.keys, VALID_FROM))
    columns = {_CLUSTER.name: _labels(months, parts), **coder.columns(runs.coded), **times}
    rows = Table(every, columns).sorted()
    return TimedTable(_part(rows, fields), {name: rows.integers(name) for name in times})


def _time_field(name: str) -> Field:
    return Field(name, Kind.INT64, nullable=True, doc="milliseconds since the epoch")


def _part(rows: Table, fields: tuple[Field, ...]) -> Table:
    return Table(TableSchema(rows.schema.name, fields, ()), {field.name: rows[field.name] for field in fields})


def inside(runs: Runs, month: HistoryMonth) -> Runs:
    """The runs that an observation which is wanted saw."""
    return runs.take((runs.first <= month.inside[-1]) & (runs.last >= month.inside[0]))


def _observations_of(months: Sequence[HistoryMonth]) -> TimedTable:
    every = to_table([one for month in months for one in month.seen[month.inside.start : month.inside.stop]])
    labels = _labels(months, [month.inside for month in months])
    fields = tuple(field for field in SCHEMA.fields if field.name not in (OBSERVATION, TAKEN_MS))
    columns = {_CLUSTER.name: labels, **{field.name: every[field.name] for field in fields}}
    schema = TableSchema(OBSERVATIONS, (_CLUSTER, *fields), ())
    return TimedTable(Table(schema, columns), {TAKEN_AT: every.integers(TAKEN_MS)})


def _labels(months: Sequence[HistoryMonth], parts: Sequence[Sized]) -> StringColumn:
    labels = tuple(dict.fromkeys(month.cluster for month in months))
    codes = [labels.index(month.cluster) for month in months]
    lengths = [len(part) for part in parts]
    return StringColumn(np.repeat(np.array(codes, np.int32), lengths), labels)


def _times(months: Sequence[HistoryMonth], places: Sequence[Integers]) -> IntColumn:
    none = np.zeros(0, np.int64)
    at = np.concatenate([none, *places])
    found = np.concatenate([none, *(month.times[some] for month, some in zip(months, places, strict=True))])
    return IntColumn(found, None if (at >= 0).all() else at >= 0)
