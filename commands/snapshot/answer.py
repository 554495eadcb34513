"""The answer of snapshot: a row for each cluster."""

from __future__ import annotations

from commands.shared.printing.output import Answer, cluster_object
from kreplica.monitoring.snapshots.taking import SnapshotRow, TakenSnapshots


def answer(found: TakenSnapshots) -> Answer[SnapshotRow]:
    """The answer in the form of the contract."""
    return Answer(
        command="snapshot",
        rows_name="snapshots",
        columns=SnapshotRow,
        rows=found.rows,
        clusters=[cluster_object(one.snapshot) for one in found.taken if one.snapshot is not None],
        summary={**found.counts, "bytes": found.bytes},
        warnings=found.warnings,
    )
