"""Dumps folded before Spark judges them: what stays as it was from one snapshot to the next is one row, not many.

A row costs Spark more than it costs the fold to find that nothing has changed. So large dumps are taken into a history
of their own, in a temporary folder, by the function that ``kreplica audit ingest`` calls; Spark reads that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from analyzers.reading.sources import Sources
from analyzers.reading.timeline import Place, Timeline, observation_of
from kreplica.errors import KreplicaError
from kreplica.history.backfill import ClientWorkers
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.layout import CLOSED, OPEN
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import digest_of
from kreplica.history.selection import choose
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.store.reading import StoredSnapshot
from kreplica.store.selection import Selection, SnapshotFiles
from kreplica.system.stores.storage import LocalStorage

FEWEST_ROWS = 500_000
"""Below so many rows Spark is done with all of them before a fold has paid."""
FEWEST_SNAPSHOTS = 4
"""Of a cluster with fewer snapshots there is little to fold."""
_READ = (PARTITIONS.name, BROKERS.name)


@dataclass(frozen=True, slots=True)
class Folded:
    """Dumps as a history.

    Args:
        selection: The dumps.
        storage: Place of the history.
        sources: What its rows come from.
        timeline: The snapshots.
        partition_rows: Rows of partitions that Spark is going to read.
    """

    selection: Selection
    storage: LocalStorage
    sources: Sources
    timeline: Timeline
    partition_rows: int


def is_foldable(selection: Selection, *, fewest_rows: int = FEWEST_ROWS) -> bool:
    """True if it takes less time to fold the snapshots first, and this machine has their files.

    Args:
        selection: The snapshots.
        fewest_rows: Rows of partitions from which on it does.
    """
    snapshots = selection.snapshots
    clusters = len({one.cluster for one in snapshots})
    rows = sum(one.partition_rows for one in snapshots)
    return not selection.copies and rows >= fewest_rows and len(snapshots) >= FEWEST_SNAPSHOTS * clusters


@contextmanager
def folded(selection: Selection) -> Iterator[Folded | None]:
    """The snapshots as a history, which is there until the block ends.

    None where they cannot be told by one: a file was changed after it was checked, there is no room, or two snapshots
    are of one millisecond. Then they are judged one by one, which says what is wrong.

    Args:
        selection: The snapshots.
    """
    with tempfile.TemporaryDirectory(prefix="kreplica-audit-") as folder:
        yield _folded(LocalStorage(Path(folder)), selection)


def _folded(storage: LocalStorage, selection: Selection) -> Folded | None:
    snapshots = selection.snapshots
    try:
        taken = ingest([_candidate(one) for one in snapshots], storage, workers=ClientWorkers())
        chosen = choose(storage, tables=_READ)
    except KreplicaError:
        return None
    sources = Sources(chosen)
    timeline = Timeline(map(observation_of, snapshots))
    told = [_told(place) for place in timeline.places]
    if taken.total("damaged") or chosen.problems or told != [_told(place) for place in sources.timeline.places]:
        return None
    files = (file for month in chosen.months for file in month.files(PARTITIONS.name, OPEN, CLOSED))
    return Folded(selection, storage, sources, timeline, sum(file.rows for file in files))


def _candidate(one: SnapshotFiles) -> Candidate:
    """The snapshot with the tables alone that an audit reads."""
    manifest = one.manifest
    part = replace(manifest, files=tuple(file for file in manifest.files if file.table in _READ))
    taken_ms = round(one.taken_at.timestamp() * 1000)
    return Candidate(one.cluster, one.name, Incoming(taken_ms, digest_of(manifest), StoredSnapshot(part), one.name))


def _told(place: Place) -> tuple[object, ...]:
    one = place.observed
    return one.cluster, one.taken_at, one.digest, one.whole, place.stretch, place.piece, place.next_whole
