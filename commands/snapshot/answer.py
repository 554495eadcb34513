"""The answer of snapshot: a row for each cluster."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from commands.shared.printing.output import Answer, cluster_object
from kreplica.model.rows import Meaning
from kreplica.monitoring.snapshots import TakenSnapshot, TakenSnapshots


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


def answer(found: TakenSnapshots) -> Answer:
    """The answer in the form of the contract."""
    return Answer(
        command="snapshot",
        rows_name="snapshots",
        columns=SnapshotRow,
        rows=[_row(one) for one in found.taken],
        clusters=[cluster_object(one.snapshot) for one in found.taken if one.snapshot is not None],
        summary={**found.counts, "bytes": found.bytes},
        warnings=found.warnings,
    )


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
