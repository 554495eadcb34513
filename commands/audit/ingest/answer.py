"""The answer of audit ingest: a row for each cluster, and what was left out."""

from __future__ import annotations

from commands.shared.printing.output import Answer
from kreplica.history.ingest import Ingested, IngestedCluster

SUMMED = ("added", "log_months", "known", "refused", "damaged", "left_out", "bytes")
"""Columns of which the summary has the sum."""


def answer_to(found: Ingested) -> Answer[IngestedCluster]:
    """The answer in the form of the contract."""
    return Answer(
        command="audit-ingest",
        rows_name="ingested",
        columns=IngestedCluster,
        rows=found.rows,
        clusters=[{"cluster": row.cluster, "name": row.name} for row in found.rows],
        summary={
            **{name: found.total(name) for name in SUMMED},
            "nameless": found.nameless,
            "unread": found.unread,
            "months_dropped": found.dropped,
            "months_damaged": found.faults,
            "folded_by": found.by,
        },
        warnings=found.warnings,
    )
