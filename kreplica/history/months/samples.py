"""Samples: what is measured is another in every snapshot, so few of them are kept.

Of each day (of each hour for log directories) the samples are those of the first observation that tells any: as the
rest of a history they are a function of the set of snapshots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kreplica.history.months.observations import Seen
from kreplica.history.tables import OBSERVATION, HistoryTable
from kreplica.model.tables.columns import IntColumn, Integers, joined
from kreplica.model.tables.table import Table


def sampled_columns(table: HistoryTable, rows: Table) -> list[str]:
    """Names of the sampled columns that any row knows."""
    found = []
    for name in table.sampled:
        valid = rows[name].valid
        if len(rows) and (valid is None or valid.any()):
            found.append(name)
    return found


def is_sampling(table: HistoryTable, one: Seen) -> bool:
    """True if an observation tells any sampled column of the table."""
    told = one.row.get(table.name)
    return isinstance(told, str) and not set(table.sampled).isdisjoint(told.split())


def sampled_observations(table: HistoryTable, seen: Sequence[Seen]) -> dict[str, int]:
    """Numbers of the observations whose samples are kept, by digest: the first ones of their days or hours."""
    first: dict[int, int] = {}
    for place, one in enumerate(seen):
        if is_sampling(table, one):
            first.setdefault(one.taken_ms // table.sample_ms, place)
    return {seen[place].digest: place for place in first.values()}


def samples_of(table: HistoryTable, rows: Table) -> Table:
    """The rows of a snapshot that know any sampled column, of an observation that has no number yet."""
    known = np.zeros(len(rows), np.bool_)
    for name in table.sampled:
        valid = rows[name].valid
        known |= True if valid is None else valid
    some = rows.take(np.flatnonzero(known))
    columns = {field.name: some[field.name] for field in table.samples.fields if field.name != OBSERVATION}
    return Table(table.samples, {**columns, OBSERVATION: IntColumn(np.zeros(len(some), np.int64))})


def numbered(samples: Table, numbers: Integers) -> Table:
    """Samples with other numbers of their observations.

    Args:
        samples: The samples.
        numbers: The new number of each observation; samples of those with -1 are left out.
    """
    after = numbers[samples.integers(OBSERVATION).values]
    table = Table(samples.schema, {**samples.columns, OBSERVATION: IntColumn(after)})
    return table if (after >= 0).all() else table.take(np.flatnonzero(after >= 0))


def all_samples(table: HistoryTable, parts: Sequence[Table]) -> Table:
    """Samples of several observations, by key and time."""
    found = Table.empty(table.samples)
    for part in parts:
        found = Table(table.samples, {name: joined(found[name], part[name]) for name in table.samples.names})
    return found.sorted()
