"""The snapshots of a cluster in one line over its months, and what each told: the ground that lives are told from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kreplica.history.coding import Coded, Coder
from kreplica.history.folding import WHOLE_ROW, Runs, Told, told_rows
from kreplica.history.months.observations import Seen
from kreplica.history.selection import HistoryMonth, KeyFilter
from kreplica.history.tables import HistoryTable
from kreplica.model.tables.columns import Integers


@dataclass(eq=False)
class Line:
    """The observations of a cluster that are wanted, numbered through.

    Args:
        months: Its months, in order.
    """

    months: Sequence[HistoryMonth]

    @cached_property
    def seen(self) -> Sequence[Seen]:
        """The observations, by number."""
        return [one for month in self.months for one in month.seen[month.inside.start : month.inside.stop]]

    @cached_property
    def times(self) -> Integers:
        """Milliseconds of each observation."""
        return np.array([one.taken_ms for one in self.seen], np.int64)

    def numbered(self) -> Iterator[tuple[HistoryMonth, int]]:
        """The months, each with what makes a place in it a number."""
        before = 0
        for month in self.months:
            yield month, before - month.inside.start
            before += len(month.inside)

    def told(self, coder: Coder, some: KeyFilter) -> Iterator[tuple[int, Told, Coded]]:
        """Rows of a table as each observation told them, with its number."""
        for month, shift in self.numbered():
            told = [one for one in month.told(coder.table) if one.place in month.inside]
            runs, exceptions = month.runs(coder, some), month.exceptions(coder, some)
            for one, rows in told_rows(runs, exceptions, told):
                yield one.place + shift, one, rows


@dataclass(frozen=True, slots=True)
class Glance:
    """One thing as one observation told it.

    Args:
        number: Of the observation.
        row: Its values that are known; None where the observation does not have it.
        whole: Whether what it does not have was not there.
        logged: Whether a metadata log tells of that moment, so that nothing that is lacking is unknown.
    """

    number: int
    row: Mapping[str, Hashable] | None
    whole: bool
    logged: bool = False


def glances(line: Line, table: HistoryTable, some: KeyFilter, key: Sequence[Hashable]) -> Iterator[Glance]:
    """One key of a table as each observation that tells the table told it.

    Args:
        line: The observations.
        table: The table.
        some: Rows among which the key is.
        key: Values of the columns that tell it apart.
    """
    coder = Coder(table)
    for month, shift in line.numbered():
        parts = _parts(month, coder, some, key)
        for told in month.told(table):
            if told.place in month.inside:
                yield Glance(told.place + shift, parts.row(told), told.whole)


@dataclass(frozen=True, slots=True)
class KeyRun:
    """A run of one key: numbers of the first and the last observation in it, and the values that are known."""

    first: int
    last: int
    values: Mapping[str, Hashable]


@dataclass(eq=False)
class _Parts:
    """A month's runs of one key, and what was not known inside them."""

    names: Sequence[str]
    runs: Sequence[KeyRun]
    unknown: dict[int, set[int]] = field(default_factory=dict)

    def row(self, told: Told) -> Mapping[str, Hashable] | None:
        """Values as an observation told them."""
        unknown = self.unknown.get(told.place, set())
        for run in self.runs:
            if run.first <= told.place <= run.last and WHOLE_ROW not in unknown:
                known = (name for at, name in enumerate(self.names) if told.columns[at] and at not in unknown)
                return {name: run.values[name] for name in known if name in run.values}
        return None


def runs_of_key(coder: Coder, runs: Runs, key: Sequence[Hashable]) -> list[KeyRun]:
    """The runs of one key, in order.

    Args:
        coder: Of the table.
        runs: The runs among which they are.
        key: Values of the columns that tell it apart.
    """
    columns = coder.columns(runs.coded)
    lists = [column.to_list() for column in columns.values()]
    found = []
    for row, cells in enumerate(zip(*lists, strict=True)):
        values = dict(zip(columns, cells, strict=True))
        if tuple(values.pop(name) for name in coder.table.keys) == tuple(key):
            known = {
                name: _plain(value)
                for name, value in values.items()
                if value is not None or name in coder.table.null_says
            }
            found.append(KeyRun(int(runs.first[row]), int(runs.last[row]), known))
    return sorted(found, key=lambda one: one.first)


def _parts(month: HistoryMonth, coder: Coder, some: KeyFilter, key: Sequence[Hashable]) -> _Parts:
    runs, exceptions = month.runs(coder, some), month.exceptions(coder, some)
    names = [one.name for one in coder.table.value_fields]
    parts = _Parts(names, runs_of_key(coder, runs, key))
    keys = zip(*(column.to_list() for column in coder.key_columns(exceptions.keys).values()), strict=True)
    for of, place, column in zip(keys, exceptions.places.tolist(), exceptions.columns.tolist(), strict=True):
        if of == tuple(key):
            parts.unknown.setdefault(place, set()).add(column)
    return parts


def _plain(value: object) -> Hashable:
    return tuple(value) if isinstance(value, list) else value
