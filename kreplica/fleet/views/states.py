"""Views of what a history folds to runs: a row for each state of a broker, a log directory, a setting, a group."""

from __future__ import annotations

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.views.view import View, ViewRows
from kreplica.history.tables import TABLES
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import TableSchema


def view_of_states(schema: TableSchema, about: str, left_out: tuple[str, ...] = ()) -> View:
    """The view of a table: its keys, and what of it is state.

    Args:
        schema: The table.
        about: Meaning of a row, one clause.
        left_out: Columns of the state that a view does not have.
    """
    table = next(one for one in TABLES if one.of is schema)
    fields = tuple(one for one in (*table.key_fields, *table.value_fields) if one.name not in left_out)

    def read(history: ClusterHistory) -> ViewRows:
        told = history.table(schema)
        columns = {field.name: told.columns[field.name] for field in fields}
        runs = told.runs
        before = moment_before(told.listing, runs.first)
        return ViewRows(columns, runs.coded.keys, runs.first, runs.last, runs.ended, before, told.tellers)

    return View(schema.name, about, fields, read)


def moment_before(moments: Integers, numbers: Integers) -> Integers:
    """The last of some moments before each of others; -1 where there is none.

    Args:
        moments: Numbers of the moments, in order.
        numbers: Numbers of the others.
    """
    found: Integers = np.append(moments, -1)[np.searchsorted(moments, numbers) - 1]
    return found
