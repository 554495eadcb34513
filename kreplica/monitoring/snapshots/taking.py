"""Snapshots of several clusters: read in the background, several at once, each written as soon as it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Struct

from kreplica.errors import ExitCode, KreplicaError, worst_of
from kreplica.history.nesting import refuse_dumps_in_history
from kreplica.model.tables.rows import Meaning
from kreplica.sources import Facet, read_snapshot
from kreplica.store.manifest import read_manifest
from kreplica.store.writing import check_directory, write_snapshot
from kreplica.system.guard import attempt
from kreplica.system.pool import Pool
from kreplica.system.stores.locations import Place

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

Seen: TypeAlias = Callable[["TakenSnapshot"], object]
Read: TypeAlias = "ClusterSnapshot | KreplicaError"

WITHOUT_GROUPS = Facet.ALL & ~Facet.GROUPS
"""All that a snapshot holds but consumer groups and their offsets."""

JOBS = 4
"""Clusters read at once, where nothing else is asked for."""


class SnapshotRow(Struct, frozen=True):
    """The snapshot of one cluster, or why there is none."""

    cluster: Annotated[str | None, Meaning("cluster id, or name where the id is not known")]
    name: Annotated[str, Meaning("what the command line called it")]
    status: Annotated[str, Meaning("written, partial (something could not be read) or failed")]
    taken_at: Annotated[str | None, Meaning("when, UTC", drop=3)]
    partitions: Annotated[int | None, Meaning("number of partitions", drop=2)]
    brokers: Annotated[int | None, Meaning("number of brokers", drop=1)]
    bytes: Annotated[int | None, Meaning("size of its files", drop=4)]
    manifest: Annotated[str | None, Meaning("its manifest", screen=False)]
    error: Annotated[str | None, Meaning("why it failed, null if it did not", screen=False)]


@dataclass(frozen=True, slots=True)
class TakenSnapshot:
    """Result for one cluster.

    Args:
        handle: The cluster as it was named.
        snapshot: The snapshot; None if reading failed.
        manifest: Manifest of the written snapshot; None if reading or writing failed.
        bytes: Size of the data files.
        error: Why reading or writing failed.
    """

    handle: ClusterHandle
    snapshot: ClusterSnapshot | None = None
    manifest: Place | None = None
    bytes: int = 0
    error: KreplicaError | None = None

    @property
    def status(self) -> str:
        """``written``, ``partial`` (written, but something could not be read) or ``failed``."""
        if self.manifest is None or self.snapshot is None:
            return "failed"
        return "partial" if self.snapshot.gaps else "written"

    def warnings(self) -> list[str]:
        """Remarks on the settings, gaps, notes of the source, the error."""
        found = list(self.handle.warnings)
        if self.snapshot is not None:
            found += [gap.message for gap in self.snapshot.gaps]
            found += self.snapshot.notes
        return found if self.error is None else [*found, str(self.error)]


@dataclass(frozen=True, slots=True)
class TakenSnapshots:
    """Results for several clusters.

    Args:
        taken: One for each handle, in their order.
    """

    taken: Sequence[TakenSnapshot]

    @property
    def rows(self) -> list[SnapshotRow]:
        """A row for each cluster."""
        return [_row(one) for one in self.taken]

    @property
    def counts(self) -> dict[str, int]:
        """Number of clusters by status."""
        found = Counter(one.status for one in self.taken)
        return {status: found[status] for status in ("written", "partial", "failed")}

    @property
    def bytes(self) -> int:
        """Size of all data files that were written."""
        return sum(one.bytes for one in self.taken)

    @property
    def exit_code(self) -> ExitCode:
        """5 as soon as anything was written but not all; that of the worst error when nothing was."""
        errors = [one.error for one in self.taken if one.error is not None]
        if len(errors) == len(self.taken):
            return worst_of(errors).exit_code
        return ExitCode.OK if self.counts["written"] == len(self.taken) else ExitCode.INCOMPLETE

    @property
    def warnings(self) -> list[str]:
        """Remarks on each cluster, with its name where there are several, and on clusters that were named twice."""
        lead = "{name}: {message}" if len(self.taken) > 1 else "{message}"
        found = [lead.format(name=one.handle.name, message=message) for one in self.taken for message in one.warnings()]
        ids = Counter(one.snapshot.cluster_id for one in self.taken if one.snapshot is not None)
        twice = sorted(cluster for cluster, times in ids.items() if cluster is not None and times > 1)
        return found + [f"cluster {cluster} was named more than once: audit counts each snapshot" for cluster in twice]


def _row(one: TakenSnapshot) -> SnapshotRow:
    read = one.snapshot
    return SnapshotRow(
        cluster=None if read is None else read.label,
        name=one.handle.name,
        status=one.status,
        taken_at=None if read is None else read.taken_at.isoformat(),
        partitions=None if read is None else len(read.partitions),
        brokers=None if read is None else len(read.brokers),
        bytes=None if one.manifest is None else one.bytes,
        manifest=None if one.manifest is None else str(one.manifest),
        error=None if one.error is None else str(one.error),
    )


def take_snapshots(
    handles: Sequence[ClusterHandle],
    directory: Place,
    *,
    jobs: int = JOBS,
    wanted: Facet = WITHOUT_GROUPS,
    seen: Seen | None = None,
) -> TakenSnapshots:
    """Reads all clusters and writes their snapshots; a failure of one stops no other.

    The caller's thread writes, so that Ctrl-C reaches it and no snapshot is left half written; clusters still being
    read then are abandoned.

    Args:
        handles: The clusters.
        directory: The dump directory, a folder or a place in an object store; made if absent.
        jobs: How many clusters are read at once.
        wanted: Facts to read.
        seen: Called with each result as soon as it is known.

    Raises:
        UsageError: The directory cannot be written to, or is a history; said before any cluster is asked.
        UnreachableError: The object store that it is in does not answer.
        KreplicaError: Only one cluster was named, and it failed.
    """
    refuse_dumps_in_history(directory)
    check_directory(directory)
    taken: dict[int, TakenSnapshot] = {}
    reads = {number: partial(_read, handle, wanted) for number, handle in enumerate(handles)}
    for number, read, error in Pool(reads, most=jobs, held=2 * jobs).results():
        if error is not None:
            raise error
        assert read is not None, "a call gives a result or raises"
        taken[number] = _write(handles[number], read, directory)
        if seen is not None:
            seen(taken[number])
    if len(handles) == 1 and taken[0].error is not None:
        raise taken[0].error
    return TakenSnapshots([taken[number] for number in range(len(handles))])


def _write(handle: ClusterHandle, read: Read, directory: Place) -> TakenSnapshot:
    if isinstance(read, KreplicaError):
        return TakenSnapshot(handle, error=read)
    manifest = attempt(lambda: write_snapshot(read, directory))
    if isinstance(manifest, KreplicaError):
        return TakenSnapshot(handle, snapshot=read, error=manifest)
    size = sum(file.bytes for file in read_manifest(manifest).files)
    return TakenSnapshot(handle, snapshot=read, manifest=manifest, bytes=size)


def _read(handle: ClusterHandle, wanted: Facet) -> Read:
    return attempt(lambda: read_snapshot(handle, wanted))
