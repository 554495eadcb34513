"""The months of a history that are read: chosen by the names of folders, then opened by their newest manifests.

A month whose folder lies outside what is wanted is not opened. A damaged one is named, counted and left out.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from kreplica.errors import InputError, KreplicaError, UsageError
from kreplica.history.coding import Coder
from kreplica.history.folding import Exceptions, Runs, Told
from kreplica.history.months.files import decode_exceptions, decode_runs
from kreplica.history.months.layout import (
    CLOSED,
    MANIFESTS,
    OBSERVATIONS,
    OPEN,
    SAMPLES,
    UNKNOWN_CELLS,
    WHOLE,
    is_cluster_folder,
    manifest_path,
    month_folder,
    parse_month,
    parse_number,
)
from kreplica.history.months.log_steps import LogStep, exact_name, times_of_steps, told_spans
from kreplica.history.months.manifest import HistoryFile, HistoryManifest, decode_manifest
from kreplica.history.months.month import RESTORE, Month, refuse_other_size
from kreplica.history.months.observations import SCHEMA, Seen, from_table, newest_telling, times_of, told_by
from kreplica.history.months.samples import all_samples
from kreplica.history.tables import TABLES, HistoryTable
from kreplica.model.tables.columns import Indices, Integers, StringColumn
from kreplica.model.tables.schema import TableSchema
from kreplica.model.tables.table import Table
from kreplica.model.wording.nearest_names import LISTED, nearest_names
from kreplica.model.wording.words import counted, listed
from kreplica.store.layout import path_segment
from kreplica.store.selection import Wanted
from kreplica.store.verification import FileProblem
from kreplica.system.guard import attempt
from kreplica.system.stores.locations import Place, is_directory, place_of, storage_at
from kreplica.system.stores.s3 import S3Place
from kreplica.system.stores.storage import Storage, unreadable
from kreplica.system.untrusted_files import input_limit

EVERY_TABLE = tuple(one.name for one in TABLES)
_EVERYTHING = Wanted()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, _LATEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
_PATTERN_CHARACTERS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """The rows of a table that are read: those with this value in a column of its keys."""

    column: str
    value: str | int

    def rows(self, table: Table) -> Indices:
        """Numbers of the rows."""
        column = table[self.column]
        if isinstance(column, StringColumn):
            words = [code for code, word in enumerate(column.dictionary) if word == self.value]
            return np.flatnonzero(np.isin(column.codes, words))
        return np.flatnonzero(table.integers(self.column).values == self.value)


@dataclass(frozen=True, eq=False)
class HistoryMonth:
    """A cluster's month, opened.

    Args:
        month: The month: its cluster, its folder, and how its files are read.
        manifest: The newest one.
        seen: All observations of the month, in order; their numbers are their places.
        inside: Numbers of those that are wanted.
        since_ms: Only steps of metadata logs of then or later are wanted, milliseconds since the epoch.
        until_ms: Only steps of metadata logs of then or earlier are wanted.
    """

    month: Month
    manifest: HistoryManifest
    seen: Sequence[Seen]
    inside: range
    since_ms: int = _EARLIEST
    until_ms: int = _LATEST

    @property
    def cluster(self) -> str:
        """The cluster's label."""
        return self.manifest.cluster

    @property
    def name(self) -> str:
        """Name of the cluster in the newest snapshot that is wanted; its label where the month has none."""
        newest = self.inside[-1:] or range(len(self.seen))[-1:]
        return str(self.seen[newest[0]].row["name"]) if newest else self.cluster

    @cached_property
    def steps(self) -> Sequence[LogStep]:
        """The steps of metadata logs in the month, in order.

        Raises:
            InputError: A file is damaged, or not there.
        """
        return self.month.log_steps(self.manifest)

    @property
    def is_logged(self) -> bool:
        """True if a metadata log tells of the time that is wanted."""
        times = times_of_steps(self.steps)
        spans = told_spans(self.steps)
        return any(times[first] <= self.until_ms and times[last] >= self.since_ms for first, last in spans)

    @cached_property
    def times(self) -> Integers:
        """Milliseconds of each observation."""
        return times_of(self.seen)

    def told(self, table: HistoryTable) -> list[Told]:
        """The observations that tell a table, and what of it."""
        return told_by(table, self.seen)

    def files(self, table: str, *parts: str) -> tuple[HistoryFile, ...]:
        """Files of some parts of a table; paths are relative to the history."""
        return tuple(file for part in parts for file in self.manifest.of(table, part))

    def runs(self, coder: Coder, some: KeyFilter | None = None) -> Runs:
        """The runs of a table, or some of them.

        Raises:
            InputError: A file is damaged, or not there.
        """
        tables = self._tables(coder.table.name, some, coder.table.runs, OPEN, CLOSED)
        newest = newest_telling(coder.table, self.seen)
        return Runs.joined([decode_runs(coder, table, newest) for table in tables], len(coder.table.value_fields))

    def exact_runs(self, coder: Coder, some: KeyFilter | None = None) -> Runs:
        """The runs of a table by metadata logs, or some of them; their numbers are those of steps.

        Raises:
            InputError: A file is damaged, or not there.
        """
        tables = self._tables(exact_name(coder.table), some, coder.table.runs, WHOLE)
        return Runs.joined([decode_runs(coder, table, -1) for table in tables], len(coder.table.value_fields))

    def exceptions(self, coder: Coder, some: KeyFilter | None = None) -> Exceptions:
        """Cells and rows that observations inside runs did not know.

        Raises:
            InputError: A file is damaged, or not there.
        """
        tables = self._tables(coder.table.name, some, coder.table.exceptions, UNKNOWN_CELLS)
        return Exceptions.joined([decode_exceptions(coder, table) for table in tables])

    def words(self, table: HistoryTable, column: str) -> frozenset[str]:
        """Values of a column of strings, in any run of a table, of snapshots or of metadata logs.

        Raises:
            InputError: A file is damaged, or not there.
        """
        of_column = TableSchema(table.name, (table.runs.field(column),), ())
        tables = [self.month.read(of_column, file) for file in self.files(table.name, OPEN, CLOSED)]
        tables += [self.month.read(of_column, file) for file in self.files(exact_name(table), WHOLE)]
        return frozenset(word for rows in tables for word in rows.strings(column).dictionary)

    def samples(self, table: HistoryTable, some: KeyFilter | None = None) -> Table:
        """Samples of what is measured, by key and time, with the numbers of observations.

        Raises:
            InputError: A file is damaged, or not there.
        """
        return all_samples(table, list(self._tables(table.name, some, table.samples, SAMPLES)))

    def _tables(self, name: str, some: KeyFilter | None, schema: TableSchema, *parts: str) -> Iterable[Table]:
        for file in self.files(name, *parts):
            table = self.month.read(schema, file)
            yield table if some is None else table.take(some.rows(table))


LOOK = "look at --since, --until and --cluster"
"""Advice where nothing is found of what was asked for."""


def nothing_wanted(storage: Storage, wanted: Wanted) -> UsageError:
    """Makes the error of a history without a snapshot that is wanted, or without any."""
    name = storage.named("")
    if wanted == _EVERYTHING:
        fix = f"kreplica audit ingest DUMP --into {shlex.quote(name)} adds some"
        return UsageError(f"{name} holds no snapshot", "no ingest into it was finished", fix)
    fix = f"{LOOK}; kreplica history --in {shlex.quote(name)} lists its clusters" if wanted.clusters else LOOK
    return UsageError(f"{name} holds no snapshot that is wanted", fix=fix)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The months to read, and the problems of the others.

    Args:
        months: By cluster and month; each has an observation that is wanted.
        problems: Manifests and files that cannot be used; their months are left out.
        left_out: Months that are left out because of a problem.
        filtered: Months that hold nothing that is wanted, and clusters that were not looked into.
        refused: The first of the problems.
    """

    months: tuple[HistoryMonth, ...]
    problems: tuple[FileProblem, ...]
    left_out: int
    filtered: int
    refused: KreplicaError | None = None

    @property
    def warnings(self) -> list[str]:
        """A line on each problem."""
        return [f"{problem.path}: {problem.reason}" for problem in self.problems]

    def refuse_damaged(self) -> None:
        """Raises the first of the problems."""
        if self.refused is not None:
            raise self.refused

    def by_cluster(self) -> dict[str, list[HistoryMonth]]:
        """The months of each cluster, in order."""
        found: dict[str, list[HistoryMonth]] = {}
        for month in self.months:
            found.setdefault(month.cluster, []).append(month)
        return found


def is_history(storage: Storage) -> bool:
    """True if a history is there: folders of clusters lie at its root."""
    return any(map(is_cluster_folder, storage.names("")))


def is_history_at(place: Place) -> bool:
    """True if a history is in a place.

    Raises:
        InputError: It is a folder that may not be read.
        OSError: It cannot be looked at.
    """
    return (not isinstance(place, Path) or is_directory(place)) and is_history(storage_at(place))


def seems_history(place: Place) -> bool:
    """True if a history is in a place, as far as it can be looked at."""
    try:
        return is_history_at(place)
    except (OSError, InputError):
        return False


def storage_of(history: Place | str | Storage) -> Storage:
    """The storage of a history.

    Args:
        history: Its path, ``s3://BUCKET/PREFIX``, or a storage.

    Raises:
        InputError: There is no history.
        UsageError: It is no place that kreplica reads.
    """
    storage = storage_at(place_of(history)) if isinstance(history, (str, Path, S3Place)) else history
    if not is_history(storage):
        fix = "kreplica audit ingest DUMP --into DIR makes one"
        raise InputError(storage.named(""), "", "no history is there", fix)
    return storage


def choose(
    storage: Storage, wanted: Wanted = _EVERYTHING, tables: Iterable[str] = EVERY_TABLE, *, logs: bool = False
) -> Chosen:
    """Opens the months that hold what is wanted.

    A cluster is wanted if a pattern fits its id, or the name that its newest snapshot gives it. Where every pattern is
    the id of a cluster, no other cluster is opened; otherwise the newest month tells its name.

    Args:
        storage: Place of the history.
        wanted: Which clusters, and which snapshots.
        tables: Names of the tables that are going to be read: their files must be there, and whole by their sizes.
        logs: Opens also months of which a metadata log alone tells.
    """
    return _Choice(storage, wanted, tuple(tables), logs=logs).made()


def moment_of(taken_ms: int) -> datetime:
    """A moment from milliseconds since the epoch."""
    return _EPOCH + timedelta(milliseconds=taken_ms)


def month_name(moment: datetime) -> str:
    """The month of a moment: 2026-11, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m")


class _Choice:
    def __init__(self, storage: Storage, wanted: Wanted, tables: Sequence[str], *, logs: bool) -> None:
        self._storage, self._wanted, self._tables, self._logs = storage, wanted, tables, logs
        self._months: list[HistoryMonth] = []
        self._problems: list[FileProblem] = []
        self._left_out = self._filtered = 0
        self._refused: KreplicaError | None = None

    def made(self) -> Chosen:
        clusters = [name for name in self._storage.names("") if is_cluster_folder(name)]
        named = self._ids_of(clusters)
        looked_into = clusters if named is None else [cluster for cluster in clusters if cluster in named]
        self._filtered += len(clusters) - len(looked_into)
        for cluster in looked_into:
            months = months_of(self._storage, cluster)
            inside = [month for month in months if self._may_hold(month)]
            self._filtered += len(months) - len(inside)
            self._take(cluster, inside)
        self._months.sort(key=lambda month: (month.cluster, month.manifest.month))
        return Chosen(tuple(self._months), tuple(self._problems), self._left_out, self._filtered, self._refused)

    def _ids_of(self, clusters: Sequence[str]) -> frozenset[str] | None:
        """Folders of the clusters, if the patterns are nothing but ids of clusters that are there."""
        wanted = {f"cluster={path_segment(pattern)}" for pattern in self._wanted.clusters}
        plain = not any(map(_PATTERN_CHARACTERS.search, self._wanted.clusters))
        return frozenset(wanted) if wanted and plain and wanted <= set(clusters) else None

    def _may_hold(self, month: str) -> bool:
        since, until = self._wanted.since, self._wanted.until
        return (since is None or month >= month_name(since)) and (until is None or month <= month_name(until))

    def _take(self, cluster: str, months: Sequence[str]) -> None:
        taken = False
        for number, month in enumerate(reversed(months)):
            opened = attempt(
                lambda month=month: open_month(  # type: ignore[misc]
                    self._storage, f"{cluster}/month={month}", self._wanted, self._tables, logs=self._logs
                )
            )
            if isinstance(opened, KreplicaError):
                self._leave_out(opened)
            elif opened is None:
                self._filtered += 1
            elif taken or self._fits(opened):
                taken = True
                self._months.append(opened)
            else:
                self._filtered += len(months) - number
                return

    def _fits(self, month: HistoryMonth) -> bool:
        patterns = self._wanted.clusters
        return not patterns or any(fnmatchcase(one, some) for one in (month.cluster, month.name) for some in patterns)

    def _leave_out(self, error: KreplicaError) -> None:
        source = error.source if isinstance(error, InputError) else error.what
        self._problems.append(FileProblem(source, error.why))
        self._left_out += 1
        self._refused = self._refused or error


def open_month(
    storage: Storage,
    folder: str,
    wanted: Wanted = _EVERYTHING,
    tables: Iterable[str] = EVERY_TABLE,
    *,
    logs: bool = False,
) -> HistoryMonth | None:
    """A month; None if it holds nothing of the time that is wanted.

    Args:
        storage: Place of the history.
        folder: The month's folder.
        wanted: From when to when; the cluster is not looked at.
        tables: Names of the tables that are going to be read: their files must be there, and whole by their sizes.
        logs: Whether it is enough that a metadata log tells of that time.

    Raises:
        InputError: It is damaged, or of a newer kreplica.
    """
    manifest = newest_manifest(storage, folder)
    if manifest is None:
        return None
    place = Month(storage, manifest.cluster, manifest.month)
    for table in (OBSERVATIONS, *tables):
        _refuse_damaged(storage, folder, table, manifest)
    (file,) = manifest.of(OBSERVATIONS, WHOLE)
    seen = from_table(place.read(SCHEMA, file))
    first = -math.inf if wanted.since is None else _microseconds(wanted.since)
    last = math.inf if wanted.until is None else _microseconds(wanted.until)
    inside = [number for number, one in enumerate(seen) if first <= one.taken_ms * 1000 <= last]
    since_ms = _EARLIEST if wanted.since is None else -(-_microseconds(wanted.since) // 1000)
    until_ms = _LATEST if wanted.until is None else _microseconds(wanted.until) // 1000
    numbers = range(inside[0], inside[-1] + 1) if inside else range(0)
    month = HistoryMonth(place, manifest, seen, numbers, since_ms, until_ms)
    return month if inside or (logs and month.is_logged) else None


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _refuse_damaged(storage: Storage, folder: str, table: str, manifest: HistoryManifest) -> None:
    named = [file for file in manifest.files if file.table == table]
    sizes = storage.sizes(f"{folder}/{table}") if named else {}
    for file in named:
        if file.path not in sizes:
            raise InputError(storage.named(file.path), "", "the file is not there", RESTORE)
        refuse_other_size(storage.named(file.path), file, sizes[file.path])


def newest_manifest(storage: Storage, folder: str) -> HistoryManifest | None:
    """The manifest of a month's folder that counts; None where nothing is in it yet.

    Raises:
        InputError: It is damaged, foreign, of another month, or of a newer kreplica.
    """
    numbers = [number for name in storage.names(f"{folder}/{MANIFESTS}") if (number := parse_number(name)) is not None]
    if not numbers:
        return None
    path = manifest_path(folder, max(numbers))
    name = storage.named(path)
    try:
        content = storage.read(path, input_limit())
    except OSError as error:
        raise unreadable(name, error, RESTORE) from None
    manifest = decode_manifest(content, folder, name)
    if month_folder(manifest.cluster, manifest.month) != folder:
        reason = f"it is of cluster {manifest.cluster} and month {manifest.month}"
        raise InputError(name, "", reason, RESTORE)
    return manifest


def months_of(storage: Storage, cluster: str) -> list[str]:
    """Months of a cluster's folder, in order."""
    return [month for name in storage.names(cluster) if (month := parse_month(name))]


def find_cluster(storage: Storage, name: str | None = None, until: datetime | None = None) -> str:
    """The folder of the one cluster of this id or name.

    Args:
        storage: Place of the history.
        name: The cluster's id, its name, or a pattern of either; None where the history is of one cluster.
        until: The moment that the name is of; the newest if None.

    Raises:
        UsageError: There is no such cluster, or there are several.
    """
    clusters = [one for one in storage.names("") if is_cluster_folder(one)]
    if name is not None and f"cluster={path_segment(name)}" in clusters:
        return f"cluster={path_segment(name)}"
    problems: list[KreplicaError] = []
    named = {one: _label_and_name(storage, one, until, problems) for one in clusters}
    fitting = [one for one in clusters if name is None or any(fnmatchcase(word, name) for word in named[one])]
    if len(fitting) == 1:
        return fitting[0]
    where = storage.named("")
    if fitting:
        what = f"{where} holds {len(fitting)} clusters" + ("" if name is None else f" that fit {name}")
        told = listed([_told(*named[one]) for one in fitting], LISTED)
        fix = f"--cluster ID, or --dump {shlex.quote(f'{where}/cluster=ID')} where there is no such option, names one"
        raise UsageError(what, f"they are {told}", fix)
    if problems:  # one of those that cannot be read may have that name
        raise problems[0]
    near = nearest_names(str(name), list(dict.fromkeys(word for one in named.values() for word in one)))
    reason = f"did you mean {', '.join(near)}?" if near else f"it has {counted(len(clusters), 'cluster')}"
    raise UsageError(
        f"{where} holds no cluster {name}", reason, f"kreplica history --in {shlex.quote(where)} lists them"
    )


def _told(label: str, name: str | None = None) -> str:
    return label if name is None or name == label else f"{name} ({label})"


def _label_and_name(
    storage: Storage, cluster: str, until: datetime | None, problems: list[KreplicaError]
) -> tuple[str, ...]:
    """Id and name of a cluster, its id alone where no month can be read; the problems with that are added to."""
    wanted = Wanted(until=until)
    found: list[KreplicaError] = []
    for month in reversed(months_of(storage, cluster)):
        if until is None or month <= month_name(until):
            opened = attempt(lambda month=month: open_month(storage, f"{cluster}/month={month}", wanted, ()))  # type: ignore[misc]
            if isinstance(opened, HistoryMonth):
                return opened.cluster, opened.name
            if isinstance(opened, KreplicaError):
                found.append(opened)
    if until is not None:  # a moment before its first snapshot: the cluster is there, under the name of later ones
        return _label_and_name(storage, cluster, None, problems)
    problems += found
    return (unquote(cluster.partition("=")[2]),)
