"""Snapshots taken into a history: grouped by cluster and month, each month added to in one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import Struct

from kreplica.errors import ExitCode, InputError, UsageError, os_reason
from kreplica.history.layout import is_cluster_folder, parse_month
from kreplica.history.model import month_of
from kreplica.history.month import Added, Incoming, Month, drop_month
from kreplica.history.observations import digest_of
from kreplica.history.storage import Storage
from kreplica.model.rows import Meaning
from kreplica.store.manifest import Manifest
from kreplica.store.reading import list_manifests, read_snapshot_files
from kreplica.store.selection import dump_directories

Seen: TypeAlias = Callable[[int], object]

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
    known: Annotated[int, Meaning("snapshots that were there already")]
    refused: Annotated[int, Meaning("snapshots older than --keep", drop=3)]
    damaged: Annotated[int, Meaning("snapshots that cannot be read", drop=4)]
    months: Annotated[int, Meaning("months that they are of", drop=5)]
    first_taken_at: Annotated[str, Meaning("time of the oldest of them", drop=2)]
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
    """

    rows: Sequence[IngestedCluster]
    nameless: int
    unread: int
    dropped: int
    problems: Sequence[str] = ()

    def total(self, name: str) -> int:
        """Sum of a column of numbers."""
        return sum(getattr(row, name) for row in self.rows)

    @property
    def exit_code(self) -> ExitCode:
        """5 where something could not be read or belongs to no cluster; refused ones were asked to be."""
        return ExitCode.INCOMPLETE if self.total("damaged") or self.nameless or self.unread else ExitCode.OK

    @property
    def warnings(self) -> list[str]:
        """Lines on what was left out, the first of each kind, and how many more there are."""
        rest = len(self.problems) - MOST_NAMED
        found = list(self.problems[:MOST_NAMED])
        return [*found, f"{rest} more snapshots or files left out"] if rest > 0 else found


def stored_snapshots(paths: Iterable[Path], cluster: str | None = None) -> tuple[list[Candidate], list[str]]:
    """The snapshots of dump directories, and a line for each file that is none.

    Args:
        paths: Dump directories, directories of dump directories, and manifests.
        cluster: Label of the cluster that snapshots without an id are of.

    Raises:
        InputError: A path is not there.
    """
    some = list(paths)
    files = [path for path in some if path.is_file()]
    folders = dump_directories(path for path in some if path not in files)
    listing = list_manifests([*folders, *files])
    problems = [f"{problem.path}: {problem.reason}" for problem in listing.problems]
    return [_candidate(manifest, cluster) for manifest in listing.manifests], problems


def _candidate(manifest: Manifest, cluster: str | None) -> Candidate:
    facts = manifest.snapshot
    taken_ms = round(facts.taken_at.timestamp() * 1000)
    incoming = Incoming(taken_ms, digest_of(manifest), partial(read_snapshot_files, manifest), str(manifest.path))
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
) -> Ingested:
    """Takes snapshots into a history. Which order they come in, and how often, makes no difference to it.

    Args:
        candidates: The snapshots.
        storage: Place of the history.
        keep: Snapshots older than this are refused, and months that ended before are dropped; None keeps all.
        now: The moment that ages count from; now if None.
        compact: Joins the pieces of each month that was added to.
        seen: Called with the number of snapshots of each month that is done.
        unread: Lines on files that are no snapshots.

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
    rows, problems = [], [*unread, *map(_nameless_line, nameless)]
    with _explained(storage):
        dropped = 0 if oldest is None else _drop_old(storage, month_of(oldest))
        for cluster, some in sorted(by_cluster.items()):
            row, lines = _take_in(_Place(storage, cluster, compact), some, oldest, seen)
            rows.append(row)
            problems += lines
    return Ingested(rows, len(nameless), len(unread), dropped, problems)


@dataclass(frozen=True, slots=True)
class _Place:
    """A cluster in a history."""

    storage: Storage
    cluster: str
    compact: bool

    def add(self, month: str, incoming: Sequence[Incoming]) -> Added:
        """Adds to a month; where the history is damaged, none of them could be added."""
        place = Month(self.storage, self.cluster, month)
        try:
            added = place.add(incoming)
            return replace(added, bytes=place.compact()) if self.compact else added
        except InputError as error:
            return Added(0, 0, tuple((one, error) for one in incoming))


def _take_in(
    place: _Place, candidates: Sequence[Candidate], oldest: int | None, seen: Seen | None
) -> tuple[IngestedCluster, list[str]]:
    months: dict[str, list[Incoming]] = defaultdict(list)
    young = [one.snapshot for one in candidates if oldest is None or one.snapshot.taken_ms >= oldest]
    for one in young:
        months[month_of(one.taken_ms)].append(one)
    results = []
    for month, some in sorted(months.items()):
        results.append(place.add(month, some))
        if seen is not None:
            seen(len(some))
    ordered = sorted(candidates, key=lambda one: (one.snapshot.taken_ms, one.snapshot.digest))
    row = IngestedCluster(
        cluster=place.cluster,
        name=ordered[-1].name,
        added=sum(result.added for result in results),
        known=sum(result.known for result in results),
        refused=len(candidates) - len(young),
        damaged=sum(len(result.damaged) for result in results),
        months=len(months),
        first_taken_at=time_text(ordered[0].snapshot.taken_ms),
        last_taken_at=time_text(ordered[-1].snapshot.taken_ms),
        bytes=sum(result.bytes for result in results),
    )
    return row, [f"{one.name}: {error}" for result in results for one, error in result.damaged]


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
