"""The fold over arrays: the definition of model.py, one observation after the other, all of its keys at once.

Runs alone do not tell what each of their observations knew. What they need besides is kept as exceptions: a key that an
observation inside its run did not have (only a partial one can lack it), and a null in a column that the observation
knows of other keys and the run knows at last. With them ``told`` gives every observation back as it was, so that one
that arrives late can be put between the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from kreplica.history.coding import UNKNOWN, Coded
from kreplica.model.tables.columns import Integers, Mask

Matrix = npt.NDArray[np.int64]
NEWEST = np.iinfo(np.int64).max
"""In place of the number of the newest observation, whichever that is."""
WHOLE_ROW = -1
"""In place of a column: the observation did not have the key."""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Columns of a table that an observation tells, without its rows.

    Args:
        place: Number of the observation in its month.
        columns: Columns that it knows of any key.
        whole: Whether a key that it lacks was not there.
    """

    place: int
    columns: Mask
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs as arrays; first, last and ended are numbers of observations, ended -1 for runs that nothing ended."""

    coded: Coded
    first: Integers
    last: Integers
    ended: Integers

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: npt.NDArray[np.intp] | Mask) -> Runs:
        """Some of them."""
        coded = Coded(self.coded.keys[rows], self.coded.values[rows])
        return Runs(coded, self.first[rows], self.last[rows], self.ended[rows])

    @classmethod
    def joined(cls, parts: Sequence[Runs], width: int) -> Runs:
        """All of them; ``width`` is the number of columns, where there is no part."""
        none = Runs(Coded(_NONE, np.zeros((0, width), np.int64)), _NONE, _NONE, _NONE)
        some = [part for part in parts if len(part)] or [none]
        keys = np.concatenate([part.coded.keys for part in some])
        values = np.concatenate([part.coded.values for part in some])
        times = [np.concatenate([getattr(part, name) for part in some]) for name in ("first", "last", "ended")]
        return cls(Coded(keys, values), *times)


_NONE: Integers = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Exceptions:
    """Cells and rows that observations inside runs did not know: observation, key, and column or WHOLE_ROW."""

    places: Integers = field(default_factory=lambda: _NONE)
    keys: Integers = field(default_factory=lambda: _NONE)
    columns: Integers = field(default_factory=lambda: _NONE)

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def joined(cls, parts: Sequence[Exceptions]) -> Exceptions:
        """All of them."""
        some = [*parts, cls()]
        return cls(*(np.concatenate([getattr(part, name) for part in some]) for name in ("places", "keys", "columns")))


class Fold:
    """The runs of one table in one month, as far as they are known; goes on where stored runs end.

    Args:
        width: Number of columns.
        told: What the observations before told, in order.
        open_runs: The runs that nothing has ended yet.
        exceptions: Those of the observations before, as far as they are of open runs.
    """

    def __init__(
        self,
        width: int,
        told: Sequence[Told] = (),
        open_runs: Runs | None = None,
        exceptions: Exceptions | None = None,
    ) -> None:
        self.told = list(told)
        self._width, self._before = width, exceptions or Exceptions()
        self._closed: list[Runs] = []
        self._exceptions: list[Exceptions] = []
        self._values = np.zeros((0, width), np.int64)
        self._first, self._last = _NONE, _NONE
        self._going_on = False
        self._repeatable: Coded | None = None
        self._stored = open_runs if open_runs is not None else Runs.joined([], width)
        self._stored_newest = self.newest
        if open_runs is not None and len(open_runs):
            keys = open_runs.coded.keys
            self._grow(int(keys.max()) + 1)
            self._values[keys], self._first[keys], self._last[keys] = (
                open_runs.coded.values,
                open_runs.first,
                open_runs.last,
            )

    @property
    def newest(self) -> int:
        """Number of the newest observation, -1 if there is none."""
        return self.told[-1].place if self.told else -1

    @property
    def left_open_runs_alone(self) -> bool:
        """True if the open runs are the stored ones, and the same of them were seen by the newest observation."""
        self._settle()
        stored, keys = self._stored, self._stored.coded.keys
        return (
            not self._closed
            and len(keys) == np.count_nonzero(self._last >= 0)
            and np.array_equal(self._first[keys], stored.first)
            and np.array_equal(self._last[keys] == self.newest, stored.last == self._stored_newest)
            and np.array_equal(self._values[keys], stored.coded.values)
        )

    def observe(self, told: Told, rows: Coded) -> None:
        """Adds what the next observation knows."""
        self._settle()
        if not self._is_repeated(told, rows):
            missed = self._observe(told, rows)
            self._repeatable = None if missed else rows
            return
        self._last[rows.keys] = told.place
        self.told.append(told)

    def _is_repeated(self, told: Told, rows: Coded) -> bool:
        """True if the observation before told the very same, and nothing besides of what is known."""
        before = self.told[-1] if self.told else None
        return (
            rows is self._repeatable
            and before is not None
            and told.whole == before.whole
            and np.array_equal(told.columns, before.columns)
        )

    def _observe(self, told: Told, rows: Coded) -> bool:
        """Adds what the next observation knows; True if it did not know something that is known of its keys."""
        keys, found = rows.keys, rows.values
        self._grow(int(keys.max(initial=-1)) + 1)
        run = self._values[keys]
        there = self._last[keys] >= 0
        differs = (found != run) & (found != UNKNOWN)
        against = there & (differs & (run != UNKNOWN)).any(axis=1)
        self._close(keys[against], told.place)
        goes_on = there & ~against
        self._note_missed(keys[goes_on])
        self._note_unknown(keys[goes_on], (differs & (run == UNKNOWN))[goes_on])
        kept = np.where((found == UNKNOWN) & goes_on[:, None], run, found)
        self._values[keys] = kept
        self._first[keys[~goes_on]] = told.place
        self._last[keys] = told.place
        nulls = (found == UNKNOWN) & (kept != UNKNOWN) & told.columns
        self._note(told.place, keys, nulls)
        if told.whole:
            self._close(np.flatnonzero((self._last >= 0) & (self._last != told.place)), told.place)
        self.told.append(told)
        return bool(nulls.any())

    def observe_change(self, told: Told, rows: Coded, gone: Integers) -> None:
        """Adds a next observation that is whole by what differs from the one before.

        Args:
            told: The observation.
            rows: Rows that are new or others.
            gone: Numbers of keys that are there no more.
        """
        self._repeatable = None
        if not self._going_on:
            self._going_on = True
            self._last[self._last >= 0] = NEWEST
        known = gone[gone < len(self._last)]
        self._close(known[self._last[known] >= 0], told.place)
        self._observe(replace(told, whole=False), rows)
        self._last[rows.keys] = NEWEST

    def _settle(self) -> None:
        """Names the newest observation in place of the word for it, which many changes one after the other need."""
        if self._going_on:
            self._going_on = False
            self._last[self._last == NEWEST] = self.newest

    def open_runs(self) -> Runs:
        """The runs that nothing has ended."""
        self._settle()
        return self._runs(np.flatnonzero(self._last >= 0), -1)

    def closed_runs(self) -> Runs:
        """The runs that ended since the beginning, or since the stored ones."""
        return Runs.joined(self._closed, self._width)

    def exceptions(self) -> Exceptions:
        """The exceptions that were found since the beginning, or since the stored ones."""
        return Exceptions.joined(self._exceptions)

    def _grow(self, count: int) -> None:
        if count > len(self._last):
            more = max(count, 2 * len(self._last)) - len(self._last)  # rows that come one by one grow it seldom
            self._values = np.concatenate([self._values, np.full((more, self._width), UNKNOWN, np.int64)])
            self._first = np.concatenate([self._first, np.full(more, -1, np.int64)])
            self._last = np.concatenate([self._last, np.full(more, -1, np.int64)])

    def _runs(self, keys: Integers, ended: int) -> Runs:
        last = self._last[keys]
        last[last == NEWEST] = self.newest
        coded = Coded(keys, self._values[keys])
        return Runs(coded, self._first[keys], last, np.full(len(keys), ended, np.int64))

    def _close(self, keys: Integers, place: int) -> None:
        if len(keys):
            self._closed.append(self._runs(keys, place))
            self._last[keys] = -1

    def _note_missed(self, keys: Integers) -> None:
        """Keys that are seen again were not in the observations since they were last seen, none of which was whole."""
        if not self.told:
            return
        last = self._last[keys]
        for one in reversed(self.told):
            missed = keys[last < one.place]
            if not len(missed):
                return
            self._exceptions.append(_of(one.place, missed, WHOLE_ROW))

    def _note_unknown(self, keys: Integers, filled: npt.NDArray[np.bool_]) -> None:
        """A column that the run knows from now on was null before, in observations that know it of other keys."""
        for column in np.flatnonzero(filled.any(axis=0)).tolist():
            some = keys[filled[:, column]]
            for one in self.told:
                if one.columns[column]:
                    inside = some[self._first[some] <= one.place]
                    here = inside[~np.isin(inside, self._absent(one.place))]
                    self._exceptions.append(_of(one.place, here, column))

    def _absent(self, place: int) -> Integers:
        every = Exceptions.joined([self._before, *self._exceptions])
        found: Integers = every.keys[(every.places == place) & (every.columns == WHOLE_ROW)]
        return found

    def _note(self, place: int, keys: Integers, nulls: npt.NDArray[np.bool_]) -> None:
        if nulls.any():
            rows, columns = np.nonzero(nulls)
            self._exceptions.append(
                Exceptions(np.full(len(rows), place, np.int64), keys[rows], columns.astype(np.int64))
            )


def _of(place: int, keys: Integers, column: int) -> Exceptions:
    return Exceptions(np.full(len(keys), place, np.int64), keys, np.full(len(keys), column, np.int64))


def fold(width: int, observed: Sequence[tuple[Told, Coded]]) -> Fold:
    """Folds the observations of a month from the beginning."""
    found = Fold(width)
    for told, rows in observed:
        found.observe(told, rows)
    return found


def told_rows(runs: Runs, exceptions: Exceptions, told: Sequence[Told]) -> Iterator[tuple[Told, Coded]]:
    """Gives back what each observation told, from all runs and exceptions of its month."""
    by_place: Mapping[int, npt.NDArray[np.intp]] = _grouped(exceptions.places)
    for one in told:
        inside = runs.take((runs.first <= one.place) & (runs.last >= one.place))
        keys, values = inside.coded.keys, inside.coded.values.copy()
        values[:, ~one.columns] = UNKNOWN
        some = by_place.get(one.place)
        if some is None:
            yield one, Coded(keys, values)
            continue
        unknown_keys, columns = exceptions.keys[some], exceptions.columns[some]
        cells = columns != WHOLE_ROW
        order = np.argsort(keys)
        rows = order[np.searchsorted(keys, unknown_keys[cells], sorter=order)]
        values[rows, columns[cells]] = UNKNOWN
        there = ~np.isin(keys, unknown_keys[~cells])
        yield one, Coded(keys[there], values[there])


def _grouped(places: Integers) -> dict[int, npt.NDArray[np.intp]]:
    order = np.argsort(places, kind="stable")
    found, begins = np.unique(places[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, begins[1:]), strict=True)) if len(found) else {}
