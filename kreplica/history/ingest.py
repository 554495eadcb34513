"""Snapshots taken into a history: grouped by cluster and month, each month added to in one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice
from typing import Annotated, TypeAlias

from msgspec import Struct

from kreplica.errors import ExitCode, UsageError, os_reason
from kreplica.history.backfill import THIS_PROCESS, ClientWorkers, MonthTask, Workers, snapshots_of
from kreplica.history.model import month_of
from kreplica.history.months.layout import is_cluster_folder, parse_month
from kreplica.history.months.month import Added, Incoming, drop_month
from kreplica.history.months.observations import digest_of
from kreplica.model.tables.rows import Meaning
from kreplica.model.wording.words import counted
from kreplica.store.manifest import Manifest
from kreplica.store.reading import StoredSnapshot, list_manifests, may_be_manifest
from kreplica.store.selection import dump_directories
from kreplica.system.stores.locations import Place, is_file
from kreplica.system.stores.storage import Storage

Seen: TypeAlias = Callable[[int, int], object]

MOST_NAMED = 20
"""Snapshots of a kind that get a warning each."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A snapshot, and whose it is.

    Args:
        cluster: The cluster's label; None where nothing says whose it is.
        name: What the snapshot calls the cluster.
        snapshot: The snapshot.
    """

    cluster: str | None
    name: str
    snapshot: Incoming


class IngestedCluster(Struct, frozen=True):
    """A cluster whose snapshots were taken in."""

    cluster: Annotated[str, Meaning("cluster id, or the name given by --cluster")]
    name: Annotated[str, Meaning("name of the cluster in its newest snapshot")]
    added: Annotated[int, Meaning("snapshots that are new")]
    log_months: Annotated[int, Meaning("months of metadata logs that are new", screen=False)]
    known: Annotated[int, Meaning("snapshots, and months of metadata logs, that were there already")]
    refused: Annotated[int, Meaning("snapshots older than --keep", drop=3)]
    damaged: Annotated[int, Meaning("snapshots that cannot be read", drop=4)]
    left_out: Annotated[int, Meaning("snapshots not added, as their month of the history is damaged", screen=False)]
    months: Annotated[int, Meaning("months that they are of", drop=5)]
    first_taken_at: Annotated[str, Meaning("time of the oldest of them, and where a metadata log begins", drop=2)]
    last_taken_at: Annotated[str, Meaning("time of the newest of them", drop=1)]
    bytes: Annotated[int, Meaning("size of these months in the history", label="SIZE")]


@dataclass(frozen=True, slots=True)
class Ingested:
    """Result of an ingest.

    Args:
        rows: The clusters, in order.
        nameless: Snapshots without a cluster id, which nobody said whose they are.
        unread: Files that are no snapshots.
        dropped: Months that were older than all that is kept.
        problems: One line for each of what was left out.
        by: Who added to the months, in words.
        notes: One line for each thing that is to be known of them.
        faults: Months of the history that are damaged.
    """

    rows: Sequence[IngestedCluster]
    nameless: int
    unread: int
    dropped: int
    problems: Sequence[str] = ()
    by: str = THIS_PROCESS
    notes: Sequence[str] = ()
    faults: int = 0

    def total(self, name: str) -> int:
        """Sum of a column of numbers."""
        return sum(getattr(row, name) for row in self.rows)

    @property
    def exit_code(self) -> ExitCode:
        """5 where something could not be read or belongs to no cluster; refused ones were asked to be."""
        missing = self.total("damaged") or self.faults or self.nameless or self.unread
        return ExitCode.INCOMPLETE if missing else ExitCode.OK

    @property
    def warnings(self) -> list[str]:
        """Lines on what was left out, the first of each kind, and how many more there are."""
        rest = len(self.problems) - MOST_NAMED
        found = [*self.notes, *self.problems[:MOST_NAMED]]
        return (
            [*found, f"{counted(rest, 'more snapshot or file', 'more snapshots or files')} left out"]
            if rest > 0
            else found
        )


def stored_snapshots(paths: Iterable[Place], cluster: str | None = None) -> tuple[list[Candidate], list[str]]:
    """The snapshots of dump directories, and a line for each file that is none.

    Args:
        paths: Dump directories, directories of dump directories, and manifests.
        cluster: Label of the cluster that snapshots without an id are of.

    Raises:
        InputError: A path is not there.
    """
    some = list(paths)
    files = [path for path in some if may_be_manifest(path) and is_file(path)]
    folders = dump_directories(path for path in some if path not in files)
    listing = list_manifests([*folders, *files])
    problems = [f"{problem.path}: {problem.reason}" for problem in listing.problems]
    return [_candidate(manifest, cluster) for manifest in listing.manifests], problems


def _candidate(manifest: Manifest, cluster: str | None) -> Candidate:
    facts = manifest.snapshot
    taken_ms = round(facts.taken_at.timestamp() * 1000)
    incoming = Incoming(taken_ms, digest_of(manifest), StoredSnapshot(manifest), str(manifest.path))
    return Candidate(facts.cluster_id or cluster, facts.name, incoming)


def ingest(
    candidates: Sequence[Candidate],
    storage: Storage,
    *,
    keep: timedelta | None = None,
    now: datetime | None = None,
    compact: bool = False,
    seen: Seen | None = None,
    unread: Sequence[str] = (),
    workers: Workers | None = None,
) -> Ingested:
    """Takes snapshots into a history. Which order they come in, and how often, makes no difference to it.

    Args:
        candidates: The snapshots.
        storage: Place of the history.
        keep: Snapshots older than this are refused, and months that ended before are dropped; None keeps all.
        now: The moment that ages count from; now if None.
        compact: Joins the pieces of each month that was added to.
        seen: Called after each month with the numbers of snapshots that are done, and of all.
        unread: Lines on files that are no snapshots.
        workers: Those who add to the months; this process if None.

    Raises:
        UsageError: The history cannot be written to.
        InputError: It is damaged.
    """
    oldest = None if keep is None else round(((now or datetime.now(UTC)) - keep).timestamp() * 1000)
    nameless = [one for one in candidates if one.cluster is None]
    by_cluster: dict[str, list[Candidate]] = defaultdict(list)
    for one in candidates:
        if one.cluster is not None:
            by_cluster[one.cluster].append(one)
    clusters = [
        _Cluster.of(storage, label, some, oldest, compact=compact) for label, some in sorted(by_cluster.items())
    ]
    rows, faults, problems = [], 0, [*unread, *map(_nameless_line, nameless)]
    workers = workers or ClientWorkers(processes=1)
    with _explained(storage):
        dropped = 0 if oldest is None else _drop_old(storage, month_of(oldest))
        found = iter(_results(workers, [task for one in clusters for task in one.months], seen))
    for place in clusters:
        results = list(islice(found, len(place.months)))
        rows.append(place.row(results))
        problems += [line for result in results for line in (*_damaged_lines(result), *_fault_lines(result))]
        faults += sum(result.fault is not None for result in results)
    return Ingested(rows, len(nameless), len(unread), dropped, problems, workers.by, workers.notes, faults)


def _damaged_lines(result: Added) -> Iterator[str]:
    """A line for each snapshot, one for those next to each other that have the same reason."""
    for reason, some in groupby(result.damaged, key=lambda one: str(one[1])):
        yield f"{_first_of([snapshot for snapshot, _ in some])}: {reason}"


def _fault_lines(result: Added) -> Iterator[str]:
    """A line on the month of the history, if it is damaged, and on what was not added to it."""
    if result.fault is not None:
        yield f"{_first_of(result.left_out)} not added: {result.fault}" if result.left_out else str(result.fault)


def _first_of(snapshots: Sequence[Incoming]) -> str:
    rest = f" and {counted(len(snapshots) - 1, 'more snapshot')}" if snapshots[1:] else ""
    return f"{snapshots[0].name}{rest}"


@dataclass(frozen=True, slots=True)
class _Cluster:
    """A cluster's snapshots, and those of them that are young enough, by month."""

    label: str
    candidates: Sequence[Candidate]
    months: Sequence[MonthTask]

    @classmethod
    def of(
        cls, storage: Storage, label: str, candidates: Sequence[Candidate], oldest: int | None, *, compact: bool
    ) -> _Cluster:
        """Sorts a cluster's snapshots into months; those before ``oldest`` are in none."""
        months: dict[str, list[Incoming]] = defaultdict(list)
        for one in candidates:
            if oldest is None or one.snapshot.taken_ms >= oldest:
                months[month_of(one.snapshot.taken_ms)].append(one.snapshot)
        tasks = [MonthTask(storage, label, month, some, compact) for month, some in sorted(months.items())]
        return cls(label, candidates, tasks)

    def row(self, results: Sequence[Added]) -> IngestedCluster:
        """Its row of the answer."""
        ordered = sorted(self.candidates, key=lambda one: (one.snapshot.taken_ms, one.snapshot.digest))
        return IngestedCluster(
            cluster=self.label,
            name=ordered[-1].name,
            added=sum(result.added for result in results),
            log_months=sum(result.logs for result in results),
            known=sum(result.known for result in results),
            refused=len(self.candidates) - snapshots_of(self.months),
            damaged=sum(len(result.damaged) for result in results),
            left_out=sum(len(result.left_out) for result in results),
            months=len(self.months),
            first_taken_at=time_text(min(one.snapshot.begins_ms for one in ordered)),
            last_taken_at=time_text(ordered[-1].snapshot.taken_ms),
            bytes=sum(result.bytes for result in results),
        )


def _results(workers: Workers, tasks: Sequence[MonthTask], seen: Seen | None) -> list[Added]:
    done, every, results = 0, snapshots_of(tasks), []
    for task, result in zip(tasks, workers.add(tasks), strict=True):
        results.append(result)
        done += len(task.incoming)
        if seen is not None:
            seen(done, every)
    return results


def time_text(taken_ms: int) -> str:
    """A moment as it stands in answers."""
    return (_EPOCH + timedelta(milliseconds=taken_ms)).isoformat()


def _nameless_line(one: Candidate) -> str:
    return f"{one.snapshot.name}: it has no cluster id, so nothing says whose it is: --cluster NAME says it"


def _drop_old(storage: Storage, first: str) -> int:
    """Drops the months before that one; their number."""
    dropped = 0
    for cluster in filter(is_cluster_folder, storage.names("")):
        for name in storage.names(cluster):
            month = parse_month(name)
            if month is not None and month < first and drop_month(storage, f"{cluster}/{name}"):
                dropped += 1
    return dropped


@contextmanager
def _explained(storage: Storage) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = os_reason(error)
        fix = "months that were added to before are whole; make room or choose another place, and ingest again"
        raise UsageError(f"cannot write to the history {storage.named('')}", reason, fix) from error
