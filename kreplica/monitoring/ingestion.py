"""Dumps of any kind taken into a history: directories of kreplica snapshot, and what other tools printed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from kreplica.errors import KreplicaError
from kreplica.history.ingest import Candidate, Ingested, Seen, ingest, stored_snapshots
from kreplica.history.month import Incoming
from kreplica.history.observations import digest_of_snapshot, taken_ms_of
from kreplica.history.storage import LocalStorage
from kreplica.sources.dumps.dump import read_dump
from kreplica.store.layout import MANIFESTS, parse_manifest_name
from kreplica.system.guard import attempt


def ingest_dumps(
    dumps: Sequence[Path],
    history: Path,
    *,
    cluster: str | None = None,
    keep: timedelta | None = None,
    now: datetime | None = None,
    compact: bool = False,
    seen: Seen | None = None,
) -> Ingested:
    """Takes the snapshots of dumps into a history. In which order, and how often, makes no difference to it.

    Args:
        dumps: Dump directories of `kreplica snapshot`, directories of these, or manifests in them; files and metadata
            logs that ``read_snapshot`` reads as a dump.
        history: Folder of the history; made if absent.
        cluster: Whose the snapshots without a cluster id are. Without it they are left out: a name alone may be that
            of two clusters.
        keep: Snapshots older than this are refused, and months that ended before are dropped; None keeps all.
        now: The moment that ages count from; now if None.
        compact: Joins the pieces of each month that is added to: of equal snapshots the files are equal then.
        seen: Called with the number of snapshots of each month that is done.

    Raises:
        InputError: A dump is not there, or the only one cannot be read.
        UsageError: The history cannot be written to.
    """
    folders = [path for path in dumps if _holds_snapshots(path)]
    candidates, problems = stored_snapshots(folders, cluster) if folders else ([], [])
    for path in dumps:
        if path in folders:
            continue
        read = attempt(lambda path=path: _candidate(path, cluster))  # type: ignore[misc]
        if not isinstance(read, KreplicaError):
            candidates.append(read)
        elif len(dumps) == 1:
            raise read
        else:
            problems.append(str(read))
    storage = LocalStorage(history)
    return ingest(candidates, storage, keep=keep, now=now, compact=compact, seen=seen, unread=problems)


def _holds_snapshots(path: Path) -> bool:
    """True for a dump directory, for one of dump directories, and for a manifest in one."""
    if not path.is_dir():
        return parse_manifest_name(path) is not None and path.is_file()
    return (path / MANIFESTS).is_dir() or any((below / MANIFESTS).is_dir() for below in path.iterdir())


def _candidate(path: Path, cluster: str | None) -> Candidate:
    snapshot = read_dump(str(path))
    incoming = Incoming(taken_ms_of(snapshot), digest_of_snapshot(snapshot), lambda: snapshot, str(path))
    return Candidate(snapshot.cluster_id or cluster, snapshot.name, incoming)
