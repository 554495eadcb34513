"""Runs of a table over snapshots and metadata logs: where a log tells of the time it alone is asked, else snapshots.

Both are numbered through, as Moments does. Every moment in the time of a log shows what the record before it left, also
one at which a snapshot was taken: what a record ended was there up to that record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.fleet.lasting import Lasting, by_key, joined, lasting
from kreplica.fleet.pieces import narrow
from kreplica.history.coding import UNKNOWN, Coded, Coder
from kreplica.history.folding import Runs
from kreplica.history.lives.log_line import Moments
from kreplica.history.moments.log_as_of import FILE_SETTINGS
from kreplica.history.selection import HistoryMonth
from kreplica.history.tables import LOG_TABLES, HistoryTable
from kreplica.model.tables.columns import Integers, Mask, null_column
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS, TableSchema
from kreplica.model.tables.table import Table

_NONE = np.zeros(0, np.int64)
_FILLED = {PARTITIONS.name: tuple(FILE_SETTINGS), BROKERS.name: ("version",)}
"""Columns that no log may hold, by table: they stay as they were told before."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Runs of a time that snapshots tell, or a log; by key and time, with the numbers of moments.

    Args:
        runs: The runs.
        tellers: Moments that tell the table.
        listing: Those of them that list all of it.
        told_columns: Columns that each of the tellers tells.
        by_log: Whether a log tells it.
    """

    runs: Runs
    tellers: Integers
    listing: Integers
    told_columns: Mask
    by_log: bool


def told_by_logs(moments: Moments) -> Mask:
    """For each moment whether it lies in the time of a metadata log."""
    found = np.zeros(len(moments.times), np.bool_)
    for first, last in moments.spans:
        found[first : last + 1] = True
    return found


def lasting_with_logs(moments: Moments, table: HistoryTable) -> Lasting:
    """The runs of a table over all months of a cluster, by the numbers of moments.

    Args:
        moments: The cluster's snapshots, and the moments of its metadata logs.
        table: The table, as snapshots tell it.

    Raises:
        InputError: A file is damaged, or not there.
    """
    if not moments.spans:
        return lasting(moments.line, table)
    of = next((one for one in LOG_TABLES if one.of is table.of), None)
    if of is None:
        return _renumbered(lasting(moments.line, table), moments)
    coder = Coder(table)
    parts = sorted([*_told(moments, coder), *_logged(moments, coder, Coder(of))], key=lambda one: int(one.tellers[0]))
    _fill(parts, coder, moments.line.months)
    tellers, listing = (np.concatenate([_NONE, *(getattr(one, name) for one in parts)]) for name in _NUMBERS)
    columns = np.concatenate([np.zeros((0, len(table.value_fields)), np.bool_), *(one.told_columns for one in parts)])
    runs = joined([one.runs for one in parts], listing, coder.key_count, len(table.value_fields))
    return Lasting(table, coder, runs, moments.times, tellers, listing, columns, told_by_logs(moments))


_NUMBERS = ("tellers", "listing")


def _renumbered(of: Lasting, moments: Moments) -> Lasting:
    """The runs of a table that snapshots alone tell."""
    numbers, runs = np.append(moments.seen, -1), of.runs
    times = (numbers[runs.first], numbers[runs.last], numbers[runs.ended])  # the last place stands for -1
    return Lasting(
        of.table,
        of.coder,
        Runs(runs.coded, *times),
        moments.times,
        numbers[of.tellers],
        numbers[of.listing],
        of.told_columns,
    )


def _told(moments: Moments, coder: Coder) -> Iterator[_Part]:
    """Rows that snapshots tell outside the time of logs, cut where a month ends or a log begins."""
    in_logs, begins = told_by_logs(moments), np.array([first for first, _ in moments.spans])
    for month, shift in moments.line.numbered():
        every = np.arange(month.inside.start, month.inside.stop)
        numbers = moments.seen[every + shift]
        outside = np.flatnonzero(~in_logs[numbers])
        if not len(outside):
            continue
        told, runs = month.told(coder.table), month.runs(coder)
        cuts = np.flatnonzero(np.diff(np.searchsorted(begins, numbers[outside]))) + 1
        for some in np.split(outside, cuts):
            least, most = int(every[some[0]]), int(every[some[-1]])
            here = [one for one in told if least <= one.place <= most]
            if not here:
                continue
            own = runs.take((runs.first <= most) & (runs.last >= least))
            ended = np.where((own.ended >= 0) & (own.ended <= most), own.ended, -1 - shift)
            first, last = np.maximum(own.first, least), np.minimum(own.last, most)
            of = np.append(moments.seen, -1)
            yield _Part(
                by_key(Runs(own.coded, of[first + shift], of[last + shift], of[ended + shift])),
                of[[one.place + shift for one in here]],
                of[np.array([one.place + shift for one in here if one.whole], np.int64)],
                np.array([one.columns for one in here], np.bool_),
                by_log=False,
            )


def _logged(moments: Moments, coder: Coder, own: Coder) -> Iterator[_Part]:
    """Rows that logs tell, cut where a month or a log ends."""
    for part in moments.log.parts:
        runs = part.month.exact_runs(own)
        begun = np.searchsorted(part.steps, runs.first) + part.shift
        seen = np.searchsorted(part.steps, runs.last, side="right") - 1 + part.shift
        for begin, end in moments.log.spans:
            least, most = max(begin, part.numbers[0]), min(end, part.numbers[-1])
            if least > most:
                continue
            first, last = np.maximum(begun, least), np.minimum(seen, most)
            held = np.flatnonzero(first <= last)
            first, last = moments.logged[first[held]], last[held]
            until = int(moments.logged[most + 1]) - 1 if most < end else int(moments.logged[most])
            following = moments.logged[np.minimum(last + 1, most)]
            goes_on = last < most
            yield _Part(
                by_key(
                    Runs(
                        _as_snapshots(coder, own, runs.take(held).coded),
                        first,
                        np.where(goes_on, following - 1, until),
                        np.where(goes_on, following, -1),
                    )
                ),
                *(np.arange(moments.logged[least], until + 1, dtype=np.int64),) * 2,
                np.ones((until + 1 - int(moments.logged[least]), len(coder.table.value_fields)), np.bool_),
                by_log=True,
            )


def _as_snapshots(coder: Coder, own: Coder, coded: Coded) -> Coded:
    """Rows of a log in the codes of the table as snapshots tell it; what the log does not tell is not known."""
    fields = (*coder.table.key_fields, *coder.table.value_fields)
    nulls = {field.name: null_column(field.kind, len(coded.keys)) for field in fields}
    rows = Table(TableSchema(coder.table.name, fields, ()), {**nulls, **own.columns(coded)})
    return Coded(coder.keys(rows), coder.values(rows))


def _fill(parts: Sequence[_Part], coder: Coder, months: Iterable[HistoryMonth]) -> None:
    """Gives rows of logs what these do not hold, as it was told before: settings in files of brokers, versions."""
    names = [field.name for field in coder.table.value_fields]
    for name in _FILLED.get(coder.table.name, ()):
        held = topics_with(months, FILE_SETTINGS[name]) if name in FILE_SETTINGS else frozenset[object]()
        _fill_column(parts, coder, names.index(name), names.index("topic_id") if "topic_id" in names else None, held)


def _fill_column(
    parts: Sequence[_Part], coder: Coder, column: int, topic_id: int | None, held: frozenset[object]
) -> None:
    last, of = np.full(coder.key_count, UNKNOWN, np.int64), np.full(coder.key_count, UNKNOWN, np.int64)
    for part in parts:
        keys, values = part.runs.coded.keys, part.runs.coded.values
        ids = np.full(len(keys), UNKNOWN, np.int64) if topic_id is None else values[:, topic_id]
        if part.by_log:
            part.told_columns[:, column] = (values[:, column] != UNKNOWN).any()
            free = _not_among(coder, keys, held)
            for row in range(len(keys)):
                key = keys[row]
                if UNKNOWN not in (ids[row], of[key]) and ids[row] != of[key]:
                    last[key] = UNKNOWN
                of[key] = ids[row]
                if values[row, column] == UNKNOWN and free[row]:
                    values[row, column] = last[key]
                last[key] = values[row, column]
        else:
            known = values[:, column] != UNKNOWN
            last[keys[known]], of[keys[known]] = values[known, column], ids[known]


def _not_among(coder: Coder, keys: Integers, held: frozenset[object]) -> Mask:
    """Rows of partitions of other topics than these."""
    if not held:
        return np.ones(len(keys), np.bool_)
    topics = coder.key_columns(keys)["topic"].to_list()
    return np.array([topic not in held for topic in topics], np.bool_)


def topics_with(months: Iterable[HistoryMonth], setting: str) -> frozenset[object]:
    """Topics for which a metadata log holds a setting at any time.

    Raises:
        InputError: A file is damaged, or not there.
    """
    coder, found = Coder(narrow(CONFIGS, (), logged=True)), set[object]()
    for month in months:
        rows = coder.key_columns(month.exact_runs(coder).coded.keys)
        cells = zip(*(rows[name].to_list() for name in coder.table.keys), strict=True)
        found |= {entity for kind, entity, name in cells if kind == "topic" and name == setting}
    return frozenset(found)
