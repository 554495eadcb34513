"""Dumps of any kind taken into a history: directories of kreplica snapshot, and what other tools printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kreplica.errors import KreplicaError, UsageError
from kreplica.history.backfill import ClientWorkers, Workers
from kreplica.history.ingest import Candidate, Ingested, Seen, ingest, stored_snapshots
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import digest_of_snapshot, taken_ms_of
from kreplica.history.nesting import refuse_nested
from kreplica.sources.dumps.dump import read_dump
from kreplica.sources.dumps.history import HistoryDump, history_dump
from kreplica.store.layout import may_hold_snapshots, parse_manifest_name
from kreplica.system.guard import attempt
from kreplica.system.stores.locations import Place, storage_at
from kreplica.system.stores.s3 import S3Place


def ingest_dumps(
    dumps: Sequence[Place],
    history: Place,
    *,
    cluster: str | None = None,
    keep: timedelta | None = None,
    now: datetime | None = None,
    compact: bool = False,
    seen: Seen | None = None,
    workers: Workers | None = None,
) -> Ingested:
    """Takes the snapshots of dumps into a history. In which order, and how often, makes no difference to it.

    Args:
        dumps: Dump directories of `kreplica snapshot`, directories of these, or manifests in them, here or in an object
            store; files and metadata logs that ``read_snapshot`` reads as a dump.
        history: Folder of the history, or its place in an object store; made if absent.
        cluster: Whose the snapshots without a cluster id are. Without it they are left out: a name alone may be that
            of two clusters.
        keep: Snapshots older than this are refused, and months that ended before are dropped; None keeps all.
        now: The moment that ages count from; now if None.
        compact: Joins the pieces of each month that is added to: of equal snapshots the files are equal then.
        seen: Called after each month with the numbers of snapshots that are done, and of all.
        workers: Those who fold the snapshots of each month; if None this process, or for many as many processes as it
            may use processors.

    Raises:
        InputError: A dump is not there, or the only one cannot be read.
        UsageError: The history cannot be written to, or would lie in a dump directory, or in or around another history.
        UnreachableError: The object store that holds it does not answer.
    """
    refuse_nested(history)
    cluster = cluster or None  # an empty name says no more than none
    folders = [path for path in dumps if _holds_snapshots(path)]
    candidates, problems = stored_snapshots(folders, cluster) if folders else ([], [])
    for path in dumps:
        if path in folders:
            continue
        read = attempt(lambda path=path: _candidates(path, cluster))  # type: ignore[misc]
        if not isinstance(read, KreplicaError):
            candidates += read[0]
            problems += read[1]
        elif len(dumps) == 1:
            raise read
        else:
            problems.append(str(read))
    return ingest(
        candidates,
        storage_at(history),
        keep=keep,
        now=now,
        compact=compact,
        seen=seen,
        unread=problems,
        workers=workers or ClientWorkers(),
    )


def _is_whole_history(path: Place) -> bool:
    """True for a history and for one of its clusters; a moment of it (``HISTORY/cluster=ID@TIME``) is a snapshot."""
    found = attempt(lambda: history_dump(str(path)))  # what cannot be a dump is told when it is read
    return isinstance(found, HistoryDump) and found.moment is None


def _holds_snapshots(path: Place) -> bool:
    """True for a dump directory, for one of dump directories, and for a manifest in one."""
    if _is_whole_history(path):
        return False
    if isinstance(path, S3Place):
        return True  # what else lies in an object store is no dump
    try:
        if not path.is_dir():
            return parse_manifest_name(path) is not None and path.is_file()
        return may_hold_snapshots(path) or any(may_hold_snapshots(below) for below in path.iterdir() if below.is_dir())
    except PermissionError:
        return True  # told when it is read


def _candidates(path: Place, cluster: str | None) -> tuple[list[Candidate], list[str]]:
    """The snapshot of a dump; of a metadata log also all that it says, and why not to its end, if so."""
    # Imported here: snapshots, which are taken in every hour, need none of it.
    from kreplica.formats.metadata_log.files import find_metadata_logs, is_metadata_path
    from kreplica.sources.dumps.kraft_log import log_slices

    if _is_whole_history(path):
        raise UsageError(f"{path} is a history, and not a dump", fix="name the dumps that it was made of")
    if isinstance(path, S3Place) or not is_metadata_path(path):
        return [_candidate(path, cluster)], []
    logs = find_metadata_logs([str(path)])
    found = [_candidate(path if len(logs) == 1 else log.home, cluster) for log in logs]
    problems = []
    for log in logs:
        if log.segments:
            slices, stopped = log_slices(log)
            label = log.cluster_id or cluster
            found += [Candidate(label, label or one.name, Incoming.of_log(one)) for one in slices]
            problems += [] if stopped is None else [f"{log.home}: not read to its end: {stopped}"]
    return found, problems


def _candidate(path: Place, cluster: str | None) -> Candidate:
    snapshot = read_dump(str(path))
    label = snapshot.cluster_id or cluster
    if label is not None and snapshot.name == str(path):
        # The name of a file is none of a cluster: the same snapshot from another path would be another one.
        snapshot = replace(snapshot, name=label)
    incoming = Incoming(taken_ms_of(snapshot), digest_of_snapshot(snapshot), lambda: snapshot, str(path), held=True)
    return Candidate(label, snapshot.name, incoming)
