"""A cluster as it was: each row as the last snapshot up to a moment that tells it, given back from the runs.

A whole snapshot tells all rows of a table: what it lacks was not there. A partial one tells its own rows alone; the
others are as they were seen before, if need be in an earlier month. Where a metadata log tells of the moment,
partitions, brokers and settings are those of the log.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
import numpy as np

from kreplica.errors import InputError, UsageError
from kreplica.history.coding import Coded, Coder
from kreplica.history.folding import Told, told_rows
from kreplica.history.moments.decoded import DecodedMonths
from kreplica.history.moments.log_as_of import LoggedState, end_of_log, logged_state
from kreplica.history.months.log_steps import METADATA_LOG, times_of_steps
from kreplica.history.months.month import RESTORE
from kreplica.history.selection import (
    EVERY_TABLE,
    HistoryMonth,
    KeyFilter,
    find_cluster,
    moment_of,
    month_name,
    months_of,
    open_month,
)
from kreplica.history.tables import TABLES, HistoryTable
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import Storage

EARLIER = "earlier-snapshot"
"""Kind of a gap: the last snapshot does not tell all rows, and some are as one before it saw them."""

_Told = TypeVar("_Told")


def cluster_as_of(
    storage: Storage,
    cluster: str | None = None,
    moment: datetime | None = None,
    decoded: DecodedMonths | None = None,
) -> ClusterSnapshot:
    """The cluster as it was at a moment. What no snapshot up to it tells is null, as are offsets and sizes.

    Args:
        storage: Place of the history.
        cluster: The cluster's id or name; None where the history is of one.
        moment: The moment; the newest snapshot, or the end of a metadata log that goes on after it, if None.
        decoded: Runs that other moments of the cluster share.

    Raises:
        UsageError: There is no such cluster, or no snapshot of it that old.
        InputError: What the answer needs is damaged.
    """
    folder = find_cluster(storage, cluster, moment)
    months = _Months(storage, folder, moment)
    newest = next(iter(months), None)
    end = end_of_log(storage, folder, newest) if moment is None else None
    then = end if moment is None else moment
    logged = None if then is None else logged_state(storage, folder, then, decoded)
    if newest is None and logged is not None and then is not None:
        later = None if moment is None else _newest_month(storage, folder)
        return replace(_logged_alone(logged, later, then, end), as_of=moment)
    if newest is None:
        raise _nothing_yet(storage, folder, moment)
    return _snapshot(newest, months, moment, (logged, end), decoded or DecodedMonths())


def _nothing_yet(storage: Storage, folder: str, moment: datetime | None) -> UsageError:
    """Makes the error of a cluster of which nothing is told up to a moment; it says when the first is."""
    when = "" if moment is None else f" at or before {moment.isoformat()}"
    what = f"the history has no snapshot of {folder.partition('=')[2]}{when}"
    months = (open_month(storage, f"{folder}/month={one}", tables=(), logs=True) for one in months_of(storage, folder))
    first = next((one for one in months if one is not None), None)
    if first is None:
        return UsageError(what, fix="kreplica audit ingest takes snapshots in")
    begin = min([*first.times.tolist()[:1], *times_of_steps(first.steps).tolist()[:1]])
    return UsageError(what, f"the first is of {moment_of(begin).isoformat()}", "name that moment or a later one")


def _newest_month(storage: Storage, folder: str) -> HistoryMonth | None:
    return next(iter(_Months(storage, folder, None)), None)


def _logged_alone(
    logged: LoggedState, later: HistoryMonth | None, moment: datetime, end: datetime | None
) -> ClusterSnapshot:
    """The cluster before its first snapshot, by a metadata log; a later snapshot says which cluster it is."""
    seen = None if later is None else later.seen[later.inside[-1]].row
    return ClusterSnapshot(
        cluster_id=None if seen is None else _text(seen["cluster_id"]),
        name=logged.cluster if later is None else later.name,
        taken_at=moment,
        source=METADATA_LOG,
        partitions=logged.tables[PARTITIONS.name],
        brokers=logged.tables[BROKERS.name],
        configs=logged.tables[CONFIGS.name],
        controller=logged.step.controller,
        metadata_offset=logged.step.offset,
        features=_decoded(logged.step.features, dict[str, int], logged.folder),
        notes=(logged.note(end),),
        dumped=True,
        measured=False,
    )


class _Months:
    """The months of a cluster up to a moment, the newest first, each opened once."""

    def __init__(self, storage: Storage, folder: str, moment: datetime | None) -> None:
        self._storage, self._folder, self._wanted = storage, folder, Wanted(until=moment)
        last = None if moment is None else month_name(moment)
        self._left = [month for month in months_of(storage, folder) if last is None or month <= last]
        self._opened: list[HistoryMonth] = []

    def __iter__(self) -> Iterator[HistoryMonth]:
        yield from self._opened
        while self._left:
            month = self._left.pop()
            opened = open_month(self._storage, f"{self._folder}/month={month}", self._wanted, EVERY_TABLE)
            if opened is not None:
                self._opened.append(opened)
                yield opened


@dataclass(eq=False)
class Rows:
    """Rows of one table, each as one observation told it.

    Args:
        coder: Of the table.
        coded: The rows.
        times: Milliseconds of the observation of each row.
    """

    coder: Coder
    coded: Coded
    times: Integers

    def table(self) -> Table:
        """The rows as a table of a snapshot; what is measured is null."""
        return self.coder.table_of(self.coded)


def rows_as_of(
    table: HistoryTable,
    months: Iterable[HistoryMonth],
    some: KeyFilter | None = None,
    decoded: DecodedMonths | None = None,
) -> Rows:
    """The rows of a table as the last observations inside these months told them.

    Args:
        table: The table.
        months: Of one cluster, the newest first; no more are opened than are needed.
        some: Which rows; all if None.
        decoded: Runs that other moments of the cluster share; of all rows alone.
    """
    shared = decoded if some is None else None
    found = _Gathered(Coder(table) if shared is None else shared.coder(table), shared)
    for month in months:
        told = [one for one in month.told(table) if one.place in month.inside]
        if told:
            found.add(month, told, some)
            if any(one.whole for one in told):
                break
    return found.rows()


@dataclass(eq=False)
class _Gathered:
    """Rows found so far, from the newest observation back; of each key the newest one counts."""

    coder: Coder
    decoded: DecodedMonths | None = None
    known: set[int] = field(default_factory=set)
    parts: list[tuple[Coded, int]] = field(default_factory=list)

    def add(self, month: HistoryMonth, told: Sequence[Told], some: KeyFilter | None) -> None:
        if self.decoded is None:
            runs, exceptions = month.runs(self.coder, some), month.exceptions(self.coder, some)
        else:
            runs, exceptions = self.decoded.told(month, self.coder.table)
        last = told[-1].place
        begun = runs.first <= last
        alive = runs.take(begun & ((runs.ended < 0) | (runs.ended > last)))
        left = set(alive.coded.keys.tolist()) - self.known
        self.known.update(runs.coded.keys[begun].tolist())
        for one in reversed(told):
            if not left:
                return
            ((_, rows),) = told_rows(alive, exceptions, [one])
            wanted = np.isin(rows.keys, np.fromiter(left, np.int64, len(left)))
            self.parts.append((Coded(rows.keys[wanted], rows.values[wanted]), month.seen[one.place].taken_ms))
            left.difference_update(rows.keys.tolist())

    def rows(self) -> Rows:
        width = len(self.coder.table.value_fields)
        parts = [*self.parts, (Coded(np.zeros(0, np.int64), np.zeros((0, width), np.int64)), 0)]
        keys = np.concatenate([part.keys for part, _ in parts])
        values = np.concatenate([part.values for part, _ in parts])
        times = np.concatenate([np.full(len(part.keys), taken_ms, np.int64) for part, taken_ms in parts])
        return Rows(self.coder, Coded(keys, values), times)


def _snapshot(
    newest: HistoryMonth,
    months: Iterable[HistoryMonth],
    moment: datetime | None,
    log: tuple[LoggedState | None, datetime | None],
    decoded: DecodedMonths,
) -> ClusterSnapshot:
    logged, end = log
    seen = newest.seen[newest.inside[-1]]
    row, taken_at = seen.row, moment_of(seen.taken_ms)
    found = {table.name: rows_as_of(table, months, None, decoded) for table in TABLES}
    tables = {name: rows.table() for name, rows in found.items()}
    gaps, notes = _remarks(found, seen.taken_ms, moment, () if logged is None else logged.tables)
    if logged is not None:
        tables = logged.over(tables)
        notes.append(logged.note(end))
    told = _decoded(row["gaps"], tuple[Gap, ...], newest.month.folder)
    said = row["features"] if logged is None else logged.step.features
    features = _decoded(said, dict[str, int], newest.month.folder)
    return ClusterSnapshot(
        cluster_id=_text(row["cluster_id"]),
        name=str(row["name"]),
        taken_at=taken_at,
        source=str(row["source"]),
        **tables,
        controller=_number(row["controller"]) if logged is None else logged.step.controller,
        controller_epoch=_number(row["controller_epoch"]),
        metadata_offset=_number(row["metadata_offset"]) if logged is None else logged.step.offset,
        features=features,
        gaps=(*told, *gaps),
        notes=tuple(notes),
        dumped=True,
        as_of=moment,
        measured=False,
    )


def _decoded(text: object, kind: type[_Told], folder: str) -> _Told:
    try:
        return msgspec.json.decode(str(text), type=kind)
    except msgspec.DecodeError as error:
        raise InputError(folder, "", f"what its observations say is damaged: {error}", RESTORE) from None


def _remarks(
    found: dict[str, Rows], newest_ms: int, moment: datetime | None, logged: Container[str]
) -> tuple[list[Gap], list[str]]:
    """Gaps and notes on facts that are older than the moment, or than the last snapshot before it."""
    gaps, notes = [], []
    taken_at = moment_of(newest_ms)
    if moment is not None and moment - taken_at >= timedelta(seconds=1):
        age = spell_duration(round((moment - taken_at).total_seconds()))
        notes.append(f"the last snapshot before {moment.isoformat()} is of {taken_at.isoformat()}, {age} earlier")
    for table in TABLES:
        older = found[table.name].times[found[table.name].times < newest_ms]
        if not len(older) or table.name in logged:
            continue
        oldest = moment_of(int(older.min())).isoformat()
        text = f"{table.name}: {counted(len(older), 'row')} as snapshots before the last one saw them, since {oldest}"
        if table.of in (PARTITIONS, BROKERS):
            gaps.append(Gap(EARLIER, text, len(older)))
        else:
            notes.append(text)
    return gaps, notes


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
