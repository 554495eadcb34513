"""One month of a cluster in a history: read, added to, compacted, cleared up.

An addition writes new files, then a manifest with the next number, which nobody else may have made meanwhile: whoever
comes second begins anew with what the first one left. Whatever stops it before that leaves files that no manifest
names, and the history as it was. Files that are no longer named stay for a day, for those who read them still.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kreplica.errors import InputError, KreplicaError, UsageError, os_reason
from kreplica.history.coding import Coded, Coder
from kreplica.history.files import (
    decode_exceptions,
    decode_runs,
    encode_exceptions,
    encode_observations,
    encode_runs,
)
from kreplica.history.folding import Exceptions, Fold, Runs, Told, told_rows
from kreplica.history.layout import (
    CLOSED,
    MANIFESTS,
    OBSERVATIONS,
    OPEN,
    UNKNOWN_CELLS,
    WHOLE,
    data_path,
    manifest_path,
    month_folder,
    parse_number,
)
from kreplica.history.manifest import HistoryFile, HistoryManifest, decode_manifest, encode_manifest
from kreplica.history.observations import SCHEMA, Seen, from_table, seen_of, times_of, told_by, told_columns
from kreplica.history.storage import Storage, put
from kreplica.history.tables import TABLES, HistoryTable, is_told, is_whole
from kreplica.model.columns import Integers
from kreplica.model.schema import TableSchema
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.table import Table
from kreplica.store.parquet import decode_table
from kreplica.system.untrusted_files import input_limit

GRACE_SECONDS = 86_400
MOST_PIECES = 24
"""Pieces of a table's closed runs before they are joined."""
MOST_TRIES = 100
"""Additions of others, one after the other, before this one is given up."""

_RESTORE = "restore the history from where it was copied, or remove this month's folder and ingest it again"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A snapshot that may be new to a history.

    Args:
        taken_ms: When it was taken, milliseconds since the epoch.
        digest: Of its content.
        read: Reads and verifies it.
        name: File or folder, for messages.
    """

    taken_ms: int
    digest: str
    read: Callable[[], ClusterSnapshot]
    name: str


@dataclass(frozen=True, slots=True)
class Added:
    """Result of an addition to a month.

    Args:
        added: Snapshots that are new.
        known: Snapshots that were there already.
        damaged: Those that cannot be read, with the reason.
        bytes: Size of the month's files afterwards.
    """

    added: int
    known: int
    damaged: tuple[tuple[Incoming, KreplicaError], ...] = ()
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Current:
    """Content of the newest manifest; before the first one its number is 0 and nothing is there."""

    number: int
    manifest: HistoryManifest
    seen: Sequence[Seen]


class Month:
    """A cluster's month in a history.

    Args:
        storage: Place of the history.
        cluster: The cluster's label.
        month: 2026-11.
    """

    def __init__(self, storage: Storage, cluster: str, month: str) -> None:
        self._storage, self._cluster, self._month = storage, cluster, month
        self.folder = month_folder(cluster, month)

    def add(self, incoming: Sequence[Incoming]) -> Added:
        """Adds snapshots of this month; all that are new, in one step, or none.

        Raises:
            InputError: The history is damaged.
            UsageError: It cannot be written to.
        """
        for _ in range(MOST_TRIES):
            current = self._current()
            known = {one.digest for one in current.seen}
            fresh = {one.digest: one for one in incoming if one.digest not in known}
            if not fresh:
                return Added(0, len(incoming), bytes=_size(current.manifest))
            change = _Change(self, current)
            damaged = change.take(sorted(fresh.values(), key=lambda one: (one.taken_ms, one.digest)))
            if len(damaged) == len(fresh):
                return Added(0, len(incoming) - len(damaged), damaged, _size(current.manifest))
            made = self._compacted(change.written(), MOST_PIECES)
            if self._commit(current.number, made):
                added = len(fresh) - len(damaged)
                return Added(added, len(incoming) - len(fresh), damaged, _size(made))
        raise self._contended()

    def compact(self) -> int:
        """Joins the pieces of each table; a month of the same snapshots then has the same bytes.

        Returns:
            Size of the month's files afterwards.
        """
        for _ in range(MOST_TRIES):
            current = self._current()
            made = self._compacted(current.manifest, 1)
            if made == current.manifest or self._commit(current.number, made):
                return _size(made)
        raise self._contended()

    def observations(self) -> Sequence[Seen]:
        """The observations, in order."""
        return self._current().seen

    def runs(self, coder: Coder) -> Runs:
        """All runs of a table."""
        manifest = self._current().manifest
        return self.read_runs(coder, manifest, (CLOSED, OPEN))

    def clear_up(self, grace: float = GRACE_SECONDS) -> None:
        """Removes files that the newest manifest does not name, once they are older than so many seconds."""
        newest = self._newest()
        named = set() if newest == 0 else {file.path for file in self._manifest(newest).files}
        old = [manifest_path(self.folder, number) for number in self._numbers() if number < newest]
        data = (f"{self.folder}/{table}/{name}" for table in _FOLDERS for name in self._names(table))
        for path in [*old, *(path for path in data if path not in named)]:
            age = self._storage.age(path)
            if age is not None and age > grace:
                self._storage.remove(path)

    def read_runs(self, coder: Coder, manifest: HistoryManifest, parts: Iterable[str]) -> Runs:
        """The runs of some parts of a table."""
        table = coder.table
        files = [file for part in parts for file in manifest.of(table.name, part)]
        read = [decode_runs(coder, self.read(table.runs, file)) for file in files]
        return Runs.joined(read, len(table.value_fields))

    def read_exceptions(self, coder: Coder, manifest: HistoryManifest) -> Exceptions:
        """The exceptions of a table."""
        files = manifest.of(coder.table.name, UNKNOWN_CELLS)
        return Exceptions.joined([decode_exceptions(coder, self.read(coder.table.exceptions, file)) for file in files])

    def read(self, schema: TableSchema, file: HistoryFile) -> Table:
        """The rows of a file.

        Raises:
            InputError: It is damaged, or not there.
        """
        name = self._storage.named(file.path)
        try:
            content = self._storage.read(file.path, max(file.bytes, 1))
        except OSError as error:
            raise InputError(name, "", os_reason(error), _RESTORE) from None
        if len(content) != file.bytes:
            raise InputError(name, "", f"expected {file.bytes} bytes, found {len(content)}", _RESTORE)
        return decode_table(schema, content, name, file.rows)[0]

    def write(self, table: str, part: str, rows: int, content: bytes) -> tuple[HistoryFile, ...]:
        """Writes a file of the month, unless it has no rows."""
        if rows == 0:
            return ()
        path = data_path(self.folder, table, part, content)
        put(self._storage, path, content)
        return (HistoryFile(table, part, path, rows, len(content)),)

    def _compacted(self, manifest: HistoryManifest, most: int) -> HistoryManifest:
        """The same month with at most so many pieces of each table."""
        seen: Sequence[Seen] | None = None
        for table in TABLES:
            pieces = [manifest.of(table.name, part) for part in (CLOSED, UNKNOWN_CELLS)]
            if max(map(len, pieces)) <= most:
                continue
            seen = self._seen(manifest) if seen is None else seen
            coder = Coder(table)
            closed = self.read_runs(coder, manifest, (CLOSED,))
            unknown = self.read_exceptions(coder, manifest)
            joined = [
                *self.write(table.name, CLOSED, len(closed), encode_runs(coder, closed, times_of(seen))),
                *self.write(table.name, UNKNOWN_CELLS, len(unknown), encode_exceptions(coder, unknown)),
            ]
            manifest = with_files(manifest, table.name, [*manifest.of(table.name, OPEN), *joined])
        return manifest

    def _commit(self, number: int, manifest: HistoryManifest) -> bool:
        """Makes the next manifest; False if somebody else made it. After a lost answer one's own is there."""
        path, content = manifest_path(self.folder, number + 1), encode_manifest(manifest)
        if not self._storage.create(path, content) and not self._is_there(path, content):
            return False
        with contextlib.suppress(OSError):  # the month is there; files left over do no harm
            self.clear_up()
        return True

    def _is_there(self, path: str, content: bytes) -> bool:
        try:
            return self._storage.read(path, len(content)) == content
        except OSError:  # another one, which is longer
            return False

    def _current(self) -> _Current:
        number = self._newest()
        if number == 0:
            return _Current(0, HistoryManifest(self._cluster, self._month, ()), ())
        manifest = self._manifest(number)
        if (manifest.cluster, manifest.month) != (self._cluster, self._month):
            reason = f"it is of cluster {manifest.cluster} and month {manifest.month}"
            raise InputError(self._storage.named(manifest_path(self.folder, number)), "", reason, _RESTORE)
        return _Current(number, manifest, self._seen(manifest))

    def _seen(self, manifest: HistoryManifest) -> Sequence[Seen]:
        (file,) = manifest.of(OBSERVATIONS, WHOLE)
        return from_table(self.read(SCHEMA, file))

    def _manifest(self, number: int) -> HistoryManifest:
        path = manifest_path(self.folder, number)
        name = self._storage.named(path)
        try:
            content = self._storage.read(path, input_limit())
        except OSError as error:
            raise InputError(name, "", os_reason(error), _RESTORE) from None
        return decode_manifest(content, self.folder, name)

    def _numbers(self) -> list[int]:
        return [number for name in self._names(MANIFESTS) if (number := parse_number(name)) is not None]

    def _newest(self) -> int:
        return max(self._numbers(), default=0)

    def _names(self, table: str) -> list[str]:
        return self._storage.names(f"{self.folder}/{table}")

    def _contended(self) -> UsageError:
        reason = f"others added to it {MOST_TRIES} times meanwhile"
        return UsageError(f"cannot add to {self._storage.named(self.folder)}", reason, "try again")


_FOLDERS = (OBSERVATIONS, *(table.name for table in TABLES))


def drop_month(storage: Storage, folder: str) -> bool:
    """Removes a month, files after the newest manifest: a reader never finds half of it. False if nothing is there."""
    names = [f"{folder}/{MANIFESTS}/{name}" for name in storage.names(f"{folder}/{MANIFESTS}")]
    files = [f"{folder}/{table}/{name}" for table in _FOLDERS for name in storage.names(f"{folder}/{table}")]
    for path in [*names, *files]:
        storage.remove(path)
    return bool(names)


def with_files(manifest: HistoryManifest, table: str, files: Iterable[HistoryFile]) -> HistoryManifest:
    """The manifest with other files of one table, in the order of tables."""
    others = [file for file in manifest.files if file.table != table]
    ordered = sorted([*others, *files], key=lambda file: (_FOLDERS.index(file.table), file.part))
    return replace(manifest, files=tuple(ordered))


def _size(manifest: HistoryManifest) -> int:
    return sum(file.bytes for file in manifest.files)


class _Change:
    """Snapshots folded into a month, until they are written.

    Those that are later than all others go on where the stored runs end. One that comes before any of them has the
    month unfolded and folded anew.
    """

    def __init__(self, month: Month, current: _Current) -> None:
        self._month, self._current = month, current
        self._seen = list(current.seen)
        self._coders: dict[str, Coder] = {}
        self._folds: dict[str, Fold] = {}
        self._anew = False

    def take(self, fresh: Sequence[Incoming]) -> tuple[tuple[Incoming, KreplicaError], ...]:
        """Folds snapshots, in order of time; gives back those that cannot be read."""
        last = self._seen[-1].place if self._seen else None
        self._anew = last is not None and (fresh[0].taken_ms, fresh[0].digest) < last
        return self._insert(fresh) if self._anew else self._append(fresh)

    def written(self) -> HistoryManifest:
        """Writes the new files; the manifest that names them is not written yet."""
        manifest, times = self._current.manifest, times_of(self._seen)
        content = encode_observations(self._seen)
        manifest = with_files(manifest, OBSERVATIONS, self._month.write(OBSERVATIONS, WHOLE, len(self._seen), content))
        for table in TABLES:
            if table.name in self._folds:
                manifest = with_files(manifest, table.name, self._files(table, times))
        return manifest

    def _files(self, table: HistoryTable, times: Integers) -> Sequence[HistoryFile]:
        name, coder, fold = table.name, self._coders[table.name], self._folds[table.name]
        closed, unknown, still = fold.closed_runs(), fold.exceptions(), fold.open_runs()
        before = self._current.manifest
        kept = () if self._anew else (*before.of(name, CLOSED), *before.of(name, UNKNOWN_CELLS))
        found = [*kept]
        for part, rows in ((CLOSED, closed), (OPEN, still)):
            if len(rows):
                found += self._month.write(name, part, len(rows), encode_runs(coder, rows, times))
        if len(unknown):
            found += self._month.write(name, UNKNOWN_CELLS, len(unknown), encode_exceptions(coder, unknown))
        return found

    def _append(self, fresh: Sequence[Incoming]) -> tuple[tuple[Incoming, KreplicaError], ...]:
        damaged = []
        for one in fresh:
            snapshot = _attempt(one)
            if isinstance(snapshot, KreplicaError):
                damaged.append((one, snapshot))
                continue
            told = {}
            for table in TABLES:
                if is_told(table, snapshot):
                    fold = self._going_on(table)
                    rows = self._coders[table.name].code(snapshot.table(table.of))
                    told[table.name] = told_columns(table, rows)
                    fold.observe(Told(len(self._seen), rows.told, is_whole(table, snapshot)), rows)
            self._seen.append(seen_of(snapshot, one.digest, told))
        return tuple(damaged)

    def _going_on(self, table: HistoryTable) -> Fold:
        if table.name not in self._folds:
            coder = self._coders[table.name] = Coder(table)
            manifest = self._current.manifest
            told = told_by(table, self._current.seen)
            open_runs = self._month.read_runs(coder, manifest, (OPEN,))
            exceptions = self._month.read_exceptions(coder, manifest)
            self._folds[table.name] = Fold(len(table.value_fields), told, open_runs, exceptions)
        return self._folds[table.name]

    def _insert(self, fresh: Sequence[Incoming]) -> tuple[tuple[Incoming, KreplicaError], ...]:
        """Unfolds the month, puts the snapshots between its own, and folds all of it."""
        coders = {table.name: Coder(table) for table in TABLES}
        damaged, new = [], []
        for one in fresh:
            snapshot = _attempt(one)
            if isinstance(snapshot, KreplicaError):
                damaged.append((one, snapshot))
                continue
            rows = {
                table.name: coders[table.name].code(snapshot.table(table.of))
                for table in TABLES
                if is_told(table, snapshot)
            }
            told = {table.name: told_columns(table, rows[table.name]) for table in TABLES if table.name in rows}
            new.append((seen_of(snapshot, one.digest, told), rows))
        before = self._current.seen
        self._seen = sorted([*before, *(seen for seen, _ in new)], key=lambda one: one.place)
        rows_of = {seen.digest: rows for seen, rows in new}
        for table in TABLES:
            every = told_by(table, self._seen)
            if every:
                steps = {before[told.place].digest: rows for told, rows in self._told_before(table, coders[table.name])}
                steps |= {digest: rows[table.name] for digest, rows in rows_of.items() if table.name in rows}
                fold = Fold(len(table.value_fields))
                for one_told in every:
                    fold.observe(one_told, steps[self._seen[one_told.place].digest])
                self._coders[table.name], self._folds[table.name] = coders[table.name], fold
        return tuple(damaged)

    def _told_before(self, table: HistoryTable, coder: Coder) -> Iterator[tuple[Told, Coded]]:
        manifest = self._current.manifest
        runs = self._month.read_runs(coder, manifest, (CLOSED, OPEN))
        return told_rows(runs, self._month.read_exceptions(coder, manifest), told_by(table, self._current.seen))


def _attempt(one: Incoming) -> ClusterSnapshot | KreplicaError:
    try:
        return one.read()
    except KreplicaError as error:
        return error
