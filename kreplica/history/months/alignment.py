"""The common case of an addition: a snapshot has the keys of the stored open runs, and few rows differ.

Keys fold apart, so only those whose rows differ need a fold; the others go on as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.history.tables import LAST, HistoryTable
from kreplica.model.tables.columns import Indices, Mask, differing, joined
from kreplica.model.tables.table import Table


def differing_rows(table: HistoryTable, stored: Table, rows: Table) -> Indices | None:
    """Numbers of the rows that are not what the stored runs say, or whose key the newest observation did not have.

    Args:
        table: The table.
        stored: Its open runs, in the order of their keys.
        rows: The table of a snapshot.

    Returns:
        None where keys or their order are others.
    """
    if len(stored) != len(rows) or any(differing(stored[name], rows[name]).any() for name in table.keys):
        return None
    named = stored.integers(LAST).valid  # null means the newest one
    mask = np.ones(len(rows), np.bool_) if named is None else named.copy()
    for field in table.value_fields:
        mask |= differing(stored[field.name], rows[field.name])
    return np.flatnonzero(mask)


class KnownColumns:
    """Columns of the state that any row knows, of tables that often have the columns of those before."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[Table, Mask]] = {}

    def of(self, table: HistoryTable, rows: Table) -> Mask:
        """A mask of the columns."""
        before = self._before.get(table.name)
        if before is not None and all(rows[field.name] is before[0][field.name] for field in table.value_fields):
            return before[1]
        found = known_columns(table, rows)
        self._before[table.name] = rows, found
        return found


def known_columns(table: HistoryTable, rows: Table) -> Mask:
    """Columns of the state that any row knows."""
    found = []
    for field in table.value_fields:
        valid = rows[field.name].valid
        says = field.name in table.null_says or valid is None or bool(valid.any())
        found.append(len(rows) > 0 and says)
    return np.array(found, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Stored runs of which some are folded.

    Args:
        stored: All of them, in the order of their keys.
        places: Numbers of those that are folded.
    """

    stored: Table
    places: Indices

    def with_rows(self, rows: Table) -> Table:
        """All of them, with what became of those that were folded, in the same order."""
        picked = np.arange(len(self.stored))
        picked[self.places] = len(self.stored) + np.arange(len(rows))
        names = self.stored.schema.names
        return Table(self.stored.schema, {name: joined(self.stored[name], rows[name]).take(picked) for name in names})
