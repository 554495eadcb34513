"""Samples of what is measured over all months of a cluster: offsets, sizes, space that is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.history.lives.told_line import Line
from kreplica.history.months.samples import all_samples
from kreplica.history.tables import OBSERVATION, HistoryTable
from kreplica.model.tables.columns import Indices, IntColumn, Integers
from kreplica.model.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Samples of a table, by key and time.

    Args:
        rows: Keys and measured columns.
        numbers: Number of the cluster's observation that each is of.
    """

    rows: Table
    numbers: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def known(self, name: str) -> Indices:
        """Numbers of the rows that know a column of integers."""
        column = self.rows.integers(name)
        return np.arange(len(self)) if column.valid is None else np.flatnonzero(column.valid)

    def keys(self) -> Integers:
        """A number for each key, the same for all of its rows."""
        found = np.zeros(len(self), np.int64)
        for name in self.rows.schema.sort[:-1]:
            column = self.rows[name]
            part = column.values if isinstance(column, IntColumn) else self.rows.strings(name).codes.astype(np.int64)
            _words, part = np.unique(part, return_inverse=True)
            found = found * (int(part.max(initial=0)) + 1) + part
        return found


def samples_of_line(line: Line, table: HistoryTable) -> Samples:
    """The samples of a cluster.

    Args:
        line: The cluster's observations.
        table: The table.

    Raises:
        InputError: A file is damaged, or not there.
    """
    parts = []
    for month, shift in line.numbered():
        if not len(month.inside):
            continue
        found = month.samples(table)
        at = found.integers(OBSERVATION).values
        found = found.take(np.flatnonzero((at >= month.inside[0]) & (at <= month.inside[-1])))
        numbers = IntColumn(found.integers(OBSERVATION).values + shift)
        parts.append(Table(found.schema, {**found.columns, OBSERVATION: numbers}))
    every = all_samples(table, parts)
    return Samples(every, every.integers(OBSERVATION).values)
