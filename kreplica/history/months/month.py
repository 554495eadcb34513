"""One month of a cluster in a history: read, added to, compacted, cleared up.

An addition writes new files, then a manifest with the next number, which nobody else may have made meanwhile: whoever
comes second begins anew with what the first one left. Whatever stops it before that leaves files that no manifest
names, and the history as it was. Files that are no longer named stay for a day, for those who read them still.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kreplica.errors import InputError, KreplicaError, UnreachableError, UsageError
from kreplica.history.coding import Coded, Coder
from kreplica.history.folding import Exceptions, Fold, Runs, Told, told_rows
from kreplica.history.months.alignment import Beside, KnownColumns, differing_rows
from kreplica.history.months.files import (
    decode_exceptions,
    decode_runs,
    encode_exact,
    encode_exceptions,
    encode_observations,
    encode_runs,
    encode_samples,
    encode_steps,
    table_of_runs,
)
from kreplica.history.months.layout import (
    CLOSED,
    MANIFESTS,
    OBSERVATIONS,
    OPEN,
    SAMPLES,
    UNKNOWN_CELLS,
    WHOLE,
    data_path,
    manifest_path,
    month_folder,
    parse_number,
)
from kreplica.history.months.log_folding import coded_steps, fold_steps, unfolded_steps
from kreplica.history.months.log_steps import (
    EXACT_TABLES,
    STEPS,
    LogSlice,
    LogStep,
    counting_steps,
    exact_name,
    from_steps_table,
)
from kreplica.history.months.manifest import (
    SCHEMA_VERSION,
    HistoryFile,
    HistoryManifest,
    decode_manifest,
    encode_manifest,
)
from kreplica.history.months.observations import (
    SCHEMA,
    Seen,
    from_table,
    newest_telling,
    seen_of,
    times_of,
    told_by,
    told_columns,
)
from kreplica.history.months.samples import (
    all_samples,
    is_sampling,
    numbered,
    sampled_columns,
    sampled_observations,
    samples_of,
)
from kreplica.history.tables import LOG_TABLES, TABLES, HistoryTable, is_told, is_whole
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Integers, Mask
from kreplica.model.tables.schema import TableSchema
from kreplica.model.tables.table import Table
from kreplica.store.parquet import decode_table
from kreplica.store.reading import SnapshotReader, StoredSnapshot
from kreplica.system.stores.storage import Storage, put, unreadable
from kreplica.system.untrusted_files import input_limit

GRACE_SECONDS = 86_400
MOST_PIECES = 24
"""Pieces of a table's closed runs before they are joined."""
MOST_TRIES = 100
"""Additions of others, one after the other, before this one is given up."""

RESTORE = "restore the history from where it was copied, or remove this month's folder and ingest it again"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A snapshot that may be new to a history.

    Args:
        taken_ms: When it was taken, milliseconds since the epoch.
        digest: Of its content.
        read: Reads and verifies it.
        name: File or folder, for messages.
        log: In place of a snapshot, what a metadata log says of a month.
        held: Whether it is in this process's memory, and not to be read by another one.
    """

    taken_ms: int
    digest: str
    read: Callable[[], ClusterSnapshot]
    name: str
    log: LogSlice | None = None
    held: bool = False

    @property
    def begins_ms(self) -> int:
        """The first moment that it tells of, milliseconds since the epoch: of a log that of its first step."""
        return self.taken_ms if self.log is None else self.log.steps[0].taken_ms

    @classmethod
    def of_log(cls, log: LogSlice) -> Incoming:
        """A month of a metadata log."""
        return cls(log.taken_ms, "", _no_snapshot, log.name, log, held=True)


def _no_snapshot() -> ClusterSnapshot:
    raise AssertionError("a month of a metadata log is no snapshot")


@dataclass(frozen=True, slots=True)
class Added:
    """Result of an addition to a month.

    Args:
        added: Snapshots that are new.
        known: Snapshots, and metadata logs, that were there already.
        damaged: Those that cannot be read, with the reason.
        bytes: Size of the month's files afterwards.
        left_out: Those that could not be added because the month of the history is damaged; good ones, as far as known.
        fault: How it is damaged, seen while snapshots were added or afterwards, when its pieces were joined.
        logs: Metadata logs that are new.
    """

    added: int
    known: int
    damaged: tuple[tuple[Incoming, KreplicaError], ...] = ()
    bytes: int = 0
    left_out: tuple[Incoming, ...] = ()
    fault: KreplicaError | None = None
    logs: int = 0


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
        """Adds snapshots of this month; all that are new, in one step, or none. Metadata logs are a step of their own.

        Raises:
            InputError: The history is damaged.
            UsageError: It cannot be written to.
        """
        logs = [one.log for one in incoming if one.log is not None]
        snapshots = [one for one in incoming if one.log is None]
        if not logs:
            return self._add_snapshots(snapshots)
        first = self.add_logs(logs)
        then = self._add_snapshots(snapshots)
        return replace(then, known=first.known + then.known, logs=first.logs)

    def _add_snapshots(self, incoming: Sequence[Incoming]) -> Added:
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

    def add_logs(self, slices: Sequence[LogSlice]) -> Added:
        """Adds what metadata logs say of this month; all that is new, in one step, or none.

        Raises:
            InputError: The history is damaged.
            UsageError: It cannot be written to.
        """
        for _ in range(MOST_TRIES):
            current = self._current()
            steps = self.log_steps(current.manifest)
            known = {step.place for step in steps}
            fresh = {one.steps[-1].place: one for one in slices if one.steps[-1].place not in known}
            if not fresh:
                return Added(0, len(slices), bytes=_size(current.manifest))
            made = self._with_logs(current, steps, list(fresh.values()))
            if made == current.manifest or self._commit(current.number, made):
                return Added(0, len(slices) - len(fresh), bytes=_size(made), logs=len(fresh))
        raise self._contended()

    def log_steps(self, manifest: HistoryManifest) -> list[LogStep]:
        """The steps of metadata logs, in order."""
        return [step for file in manifest.of(STEPS.name, WHOLE) for step in from_steps_table(self.read(STEPS, file))]

    def _with_logs(self, current: _Current, before: Sequence[LogStep], slices: Sequence[LogSlice]) -> HistoryManifest:
        manifest = current.manifest
        if not current.seen:
            manifest = with_files(manifest, OBSERVATIONS, self._file(OBSERVATIONS, WHOLE, 0, encode_observations([])))
        steps = counting_steps([*before, *(step for one in slices for step in one.steps)])
        file = self._file(STEPS.name, WHOLE, len(steps), encode_steps(steps))
        manifest = with_files(manifest, STEPS.name, file)
        for table in LOG_TABLES:
            coder, name = Coder(table), exact_name(table)
            stored = [decode_runs(coder, self.read(table.runs, file), -1) for file in manifest.of(name, WHOLE)]
            changes = unfolded_steps(Runs.joined(stored, len(table.value_fields)), before)
            for one in slices:
                changes |= coded_steps(coder, one.steps, one.changes[table.name])
            runs = fold_steps(table, steps, changes)
            manifest = with_files(manifest, name, self.write(name, WHOLE, len(runs), encode_exact(coder, runs, steps)))
        return manifest

    def compact(self) -> int:
        """Joins the pieces of each table; a month of the same snapshots then has the same bytes.

        Returns:
            Size of the month's files afterwards.
        """
        for _ in range(MOST_TRIES):
            current = self._current()
            manifest = current.manifest
            if manifest.version < SCHEMA_VERSION:
                manifest = _Change(self, current).renewed()
            made = self._compacted(manifest, 1)
            if made == current.manifest or self._commit(current.number, made):
                return _size(made)
        raise self._contended()

    def observations(self) -> Sequence[Seen]:
        """The observations, in order."""
        return self._current().seen

    def runs(self, coder: Coder) -> Runs:
        """All runs of a table."""
        current = self._current()
        return self.read_runs(coder, current.manifest, (CLOSED, OPEN), newest_telling(coder.table, current.seen))

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

    def read_runs(self, coder: Coder, manifest: HistoryManifest, parts: Iterable[str], newest: int) -> Runs:
        """The runs of some parts of a table; ``newest`` is the number of the newest observation that tells it."""
        table = coder.table
        files = [file for part in parts for file in manifest.of(table.name, part)]
        read = [decode_runs(coder, self.read(table.runs, file), newest) for file in files]
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
            raise unreadable(name, error, RESTORE) from None
        refuse_other_size(name, file, len(content))
        return decode_table(schema, content, name, file.rows)[0]

    def write_runs(self, part: str, runs: Table, times: Integers) -> tuple[HistoryFile, ...]:
        """Writes a file of runs, unless there are none."""
        return self.write(runs.schema.name, part, len(runs), encode_runs(runs, times)) if len(runs) else ()

    def read_samples(self, table: HistoryTable, manifest: HistoryManifest) -> list[Table]:
        """The samples of a table, piece by piece."""
        return [self.read(table.samples, file) for file in manifest.of(table.name, SAMPLES)]

    def write_samples(self, table: HistoryTable, parts: Sequence[Table], times: Integers) -> tuple[HistoryFile, ...]:
        """Writes a file of samples, unless there are none."""
        if not any(map(len, parts)):
            return ()
        samples = all_samples(table, parts)
        return self.write(table.name, SAMPLES, len(samples), encode_samples(samples, times))

    def write(self, table: str, part: str, rows: int, content: bytes) -> tuple[HistoryFile, ...]:
        """Writes a file of the month, unless it has no rows."""
        return self._file(table, part, rows, content) if rows else ()

    def _file(self, table: str, part: str, rows: int, content: bytes) -> tuple[HistoryFile, ...]:
        path = data_path(self.folder, table, part, content)
        put(self._storage, path, content)
        return (HistoryFile(table, part, path, rows, len(content)),)

    def _compacted(self, manifest: HistoryManifest, most: int) -> HistoryManifest:
        """The same month with at most so many pieces of each table."""
        seen: Sequence[Seen] | None = None
        for table in TABLES:
            pieces = [manifest.of(table.name, part) for part in (CLOSED, UNKNOWN_CELLS, SAMPLES)]
            if max(map(len, pieces)) <= most:
                continue
            seen = self._seen(manifest) if seen is None else seen
            coder = Coder(table)
            newest = newest_telling(table, seen)
            closed = self.read_runs(coder, manifest, (CLOSED,), newest)
            unknown = self.read_exceptions(coder, manifest)
            joined = [
                *self.write_runs(CLOSED, table_of_runs(coder, closed, newest), times_of(seen)),
                *self.write(table.name, UNKNOWN_CELLS, len(unknown), encode_exceptions(coder, unknown)),
                *self.write_samples(table, self.read_samples(table, manifest), times_of(seen)),
            ]
            manifest = with_files(manifest, table.name, [*manifest.of(table.name, OPEN), *joined])
        return manifest

    def _commit(self, number: int, manifest: HistoryManifest) -> bool:
        """Makes the next manifest; False if somebody else made it, with whatever content."""
        if not self._storage.create(manifest_path(self.folder, number + 1), encode_manifest(manifest)):
            return False
        with contextlib.suppress(OSError):  # the month is there; files left over do no harm
            self.clear_up()
        return True

    def _current(self) -> _Current:
        number = self._newest()
        if number == 0:
            return _Current(0, HistoryManifest(self._cluster, self._month, ()), ())
        manifest = self._manifest(number)
        if (manifest.cluster, manifest.month) != (self._cluster, self._month):
            reason = f"it is of cluster {manifest.cluster} and month {manifest.month}"
            raise InputError(self._storage.named(manifest_path(self.folder, number)), "", reason, RESTORE)
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
            raise unreadable(name, error, RESTORE) from None
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


_FOLDERS = (OBSERVATIONS, *(table.name for table in TABLES), STEPS.name, *EXACT_TABLES)


def refuse_other_size(name: str, file: HistoryFile, size: int) -> None:
    """Raises InputError where a file of a month is cut, or longer than its manifest says.

    Args:
        name: The file's path as the user knows it.
        file: As the manifest has it.
        size: Bytes that are there.
    """
    if size != file.bytes:
        raise InputError(name, "", f"expected {file.bytes} bytes, found {size}", RESTORE)


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
    month unfolded and folded anew, and so has a month of an older schema version.
    """

    def __init__(self, month: Month, current: _Current) -> None:
        self._month, self._current = month, current
        self._seen = list(current.seen)
        self._coders: dict[str, Coder] = {}
        self._folds: dict[str, Fold] = {}
        self._beside: dict[str, Beside] = {}
        self._offered: dict[str, dict[str, Table]] = {}
        self._sampled: set[tuple[str, int]] = set()
        self._anew = False

    def take(self, fresh: Sequence[Incoming]) -> tuple[tuple[Incoming, KreplicaError], ...]:
        """Folds snapshots, in order of time; gives back those that cannot be read."""
        last = self._seen[-1].place if self._seen else None
        self._anew = last is not None and (
            (fresh[0].taken_ms, fresh[0].digest) < last or self._current.manifest.version < SCHEMA_VERSION
        )
        if self._anew:
            return self._insert(fresh)
        for table in TABLES:
            times = (one.taken_ms for one in self._seen if is_sampling(table, one))
            self._sampled.update((table.name, taken_ms // table.sample_ms) for taken_ms in times)
        return self._append(fresh)

    def renewed(self) -> HistoryManifest:
        """Writes the month anew, in the schema version of today."""
        self._anew = True
        self._insert(())
        return self.written()

    def written(self) -> HistoryManifest:
        """Writes the new files; the manifest that names them is not written yet."""
        manifest, times = replace(self._current.manifest, version=SCHEMA_VERSION), times_of(self._seen)
        content = encode_observations(self._seen)
        manifest = with_files(manifest, OBSERVATIONS, self._month.write(OBSERVATIONS, WHOLE, len(self._seen), content))
        for table in TABLES:
            if table.name in self._folds:
                manifest = with_files(manifest, table.name, self._files(table, times))
        return manifest

    def _files(self, table: HistoryTable, times: Integers) -> Sequence[HistoryFile]:
        name, coder, fold = table.name, self._coders[table.name], self._folds[table.name]
        closed, unknown = fold.closed_runs(), fold.exceptions()
        before = self._current.manifest
        pieces = () if self._anew else (CLOSED, UNKNOWN_CELLS, SAMPLES)
        found = [file for part in pieces for file in before.of(name, part)]
        found += self._month.write_runs(CLOSED, table_of_runs(coder, closed, fold.newest), times)
        if not self._anew and fold.left_open_runs_alone:
            found += before.of(name, OPEN)
        else:
            still = table_of_runs(coder, fold.open_runs(), fold.newest)
            beside = self._beside.get(name)
            found += self._month.write_runs(OPEN, still if beside is None else beside.with_rows(still), times)
        if len(unknown):
            found += self._month.write(name, UNKNOWN_CELLS, len(unknown), encode_exceptions(coder, unknown))
        return [*found, *self._month.write_samples(table, self._samples(table), times)]

    def _samples(self, table: HistoryTable) -> list[Table]:
        """The samples that are new; where the month is folded anew, all that are kept."""
        kept = sampled_observations(table, self._seen)
        fresh = self._offered.get(table.name, {})
        found = [numbered(fresh[digest], np.array([place])) for digest, place in kept.items() if digest in fresh]
        if self._anew:
            before = np.array([kept.get(one.digest, -1) for one in self._current.seen], np.int64)
            stored = self._month.read_samples(table, self._current.manifest)
            found += [numbered(part, before) for part in stored]
        return found

    def _offer(self, table: HistoryTable, one: Incoming, rows: Table, columns: Mask) -> list[str]:
        """Names of the columns of a snapshot; its samples are held until it is known which are kept."""
        sampled = sampled_columns(table, rows)
        while_kept = table.name, one.taken_ms // table.sample_ms
        if sampled and while_kept not in self._sampled:  # snapshots come in order of time
            self._sampled.add(while_kept)
            self._offered.setdefault(table.name, {})[one.digest] = samples_of(table, rows)
        return [*told_columns(table, columns), *sampled]

    def _append(self, fresh: Sequence[Incoming]) -> tuple[tuple[Incoming, KreplicaError], ...]:
        damaged, reader, known = [], SnapshotReader(), KnownColumns()
        for one in fresh:
            snapshot = _attempt(one, reader)
            if isinstance(snapshot, KreplicaError):
                damaged.append((one, snapshot))
                continue
            told = {}
            for table in TABLES:
                if is_told(table, snapshot):
                    rows = snapshot.table(table.of)
                    columns = known.of(table, rows)
                    told[table.name] = self._offer(table, one, rows, columns)
                    fold, rows = self._going_on(table, rows, alone=len(fresh) == 1)
                    coded = self._coders[table.name].code(rows)
                    fold.observe(Told(len(self._seen), columns, is_whole(table, snapshot)), coded)
            self._seen.append(seen_of(snapshot, one.digest, told))
        return tuple(damaged)

    def _going_on(self, table: HistoryTable, rows: Table, *, alone: bool) -> tuple[Fold, Table]:
        """The fold from where the stored runs end, and what of the rows it has to see.

        Of a snapshot that comes alone that is often little; the stored runs beside it stay as they are.
        """
        if table.name in self._folds:
            return self._folds[table.name], rows
        coder = self._coders[table.name] = Coder(table)
        manifest, told = self._current.manifest, told_by(table, self._current.seen)
        stored = [self._month.read(table.runs, file) for file in manifest.of(table.name, OPEN)]
        places = differing_rows(table, stored[0], rows) if alone and len(stored) == 1 else None
        if places is not None:
            self._beside[table.name] = Beside(stored[0], places)
            stored, rows = [stored[0].take(places)], rows.take(places)
        runs = [decode_runs(coder, some, told[-1].place if told else -1) for some in stored]
        exceptions = self._month.read_exceptions(coder, manifest)
        width = len(table.value_fields)
        fold = self._folds[table.name] = Fold(width, told, Runs.joined(runs, width), exceptions)
        return fold, rows

    def _insert(self, fresh: Sequence[Incoming]) -> tuple[tuple[Incoming, KreplicaError], ...]:
        """Unfolds the month, puts the snapshots between its own, and folds all of it."""
        coders = {table.name: Coder(table) for table in TABLES}
        damaged, new, reader, known = [], [], SnapshotReader(), KnownColumns()
        for one in fresh:
            snapshot = _attempt(one, reader)
            if isinstance(snapshot, KreplicaError):
                damaged.append((one, snapshot))
                continue
            rows = {
                table.name: coders[table.name].code(snapshot.table(table.of))
                for table in TABLES
                if is_told(table, snapshot)
            }
            told = {}
            for table in (table for table in TABLES if table.name in rows):
                some = snapshot.table(table.of)
                told[table.name] = self._offer(table, one, some, known.of(table, some))
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
        manifest, told = self._current.manifest, told_by(table, self._current.seen)
        runs = self._month.read_runs(coder, manifest, (CLOSED, OPEN), told[-1].place if told else -1)
        return told_rows(runs, self._month.read_exceptions(coder, manifest), told)


def _attempt(one: Incoming, reader: SnapshotReader) -> ClusterSnapshot | KreplicaError:
    try:
        return one.read(reader) if isinstance(one.read, StoredSnapshot) else one.read()
    except UnreachableError:  # no damage, and the next ones would wait as long
        raise
    except KreplicaError as error:
        return error
