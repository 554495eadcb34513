"""A table: columns of one length under a schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.model.tables.columns import (
    BoolColumn,
    Column,
    Indices,
    IntColumn,
    IntListColumn,
    StringColumn,
    column_from_values,
    null_column,
)
from kreplica.model.tables.schema import TableSchema


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns by field name, one for every field of the schema, all of one length."""

    schema: TableSchema
    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        assert self.columns.keys() == set(self.schema.names), "a table has the columns of its schema, no more, no less"
        assert len({len(column) for column in self.columns.values()}) <= 1, "columns of one table have one length"

    def __len__(self) -> int:
        return len(self.columns[self.schema.fields[0].name])

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def strings(self, name: str) -> StringColumn:
        """A column that the schema declares as strings."""
        column = self.columns[name]
        assert isinstance(column, StringColumn)
        return column

    def integers(self, name: str) -> IntColumn:
        """A column that the schema declares as integers."""
        column = self.columns[name]
        assert isinstance(column, IntColumn)
        return column

    def booleans(self, name: str) -> BoolColumn:
        """A column that the schema declares as booleans."""
        column = self.columns[name]
        assert isinstance(column, BoolColumn)
        return column

    def lists(self, name: str) -> IntListColumn:
        """A column that the schema declares as lists of integers."""
        column = self.columns[name]
        assert isinstance(column, IntListColumn)
        return column

    def take(self, rows: Indices) -> Table:
        """The named rows, in that order."""
        return Table(self.schema, {name: column.take(rows) for name, column in self.columns.items()})

    def row(self, number: int) -> dict[str, object]:
        """One row as Python values, None for null."""
        return {name: self.columns[name][number] for name in self.schema.names}

    def rows(self) -> Iterator[dict[str, object]]:
        """All rows as dictionaries in schema order."""
        names = self.schema.names
        for values in zip(*(self.columns[name].to_list() for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def sorted(self) -> Table:
        """The same rows in the schema's order."""
        order = self._order()
        return self if order is None else self.take(order)

    def order(self) -> Indices:
        """Numbers of the rows in the schema's order."""
        order = self._order()
        return np.arange(len(self)) if order is None else order

    def _order(self) -> Indices | None:
        """Numbers of the rows in the schema's order; None if they stand in it."""
        keys = [_sort_key(self.columns[name]) for name in reversed(self.schema.sort)]
        return None if not len(self) or not keys or _in_order(keys) else np.lexsort(keys)

    @classmethod
    def from_columns(cls, schema: TableSchema, values: Mapping[str, Sequence[object]]) -> Table:
        """Builds a sorted table from lists of Python values, None for null; a field left out is null throughout.

        Raises:
            KeyError: ``values`` names a field that the schema lacks, or lacks one that may not be null.
        """
        unknown = set(values) - set(schema.names)
        if unknown:
            raise KeyError(f"table {schema.name} has no field {sorted(unknown)}")
        length = len(next(iter(values.values()))) if values else 0
        columns: dict[str, Column] = {}
        for field in schema.fields:
            if field.name in values:
                columns[field.name] = column_from_values(field.kind, values[field.name])
            elif field.nullable or length == 0:
                columns[field.name] = null_column(field.kind, length)
            else:
                raise KeyError(f"table {schema.name} needs the field {field.name}")
        return cls(schema, columns).sorted()

    @classmethod
    def from_rows(cls, schema: TableSchema, rows: Iterable[Mapping[str, object]]) -> Table:
        """Builds a sorted table from dictionaries; a missing key is null."""
        items = list(rows)
        return cls.from_columns(schema, {name: [row.get(name) for row in items] for name in schema.names})

    @classmethod
    def empty(cls, schema: TableSchema) -> Table:
        """A table of no rows."""
        return cls(schema, {field.name: column_from_values(field.kind, ()) for field in schema.fields})


def _in_order(keys: Sequence[np.ndarray]) -> bool:
    """True if rows are sorted already; the last key comes first, as for lexsort."""
    settled = np.zeros(len(keys[0]) - 1, np.bool_)
    for key in reversed(keys):
        if ((key[1:] < key[:-1]) & ~settled).any():
            return False
        settled |= key[1:] > key[:-1]
    return True


def _sort_key(column: Column) -> np.ndarray:
    if isinstance(column, StringColumn):
        # Ranks of the dictionary sort as the strings do, without building an object per row.
        ranks = np.empty(len(column.dictionary) + 1, dtype=np.int64)
        order = sorted(range(len(column.dictionary)), key=column.dictionary.__getitem__)
        ranks[order] = np.arange(len(order))
        ranks[-1] = -1
        return ranks[column.codes]
    assert isinstance(column, IntColumn), "tables are sorted by strings and integers"
    return column.values
