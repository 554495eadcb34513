"""The answer of audit resilience: a row for each cluster and each broker or rack, the worst first."""

from __future__ import annotations

from commands.audit.shared.known_time import known_clusters, known_time
from commands.shared.printing.output import Answer
from kreplica.fleet.availability.resilience import Exposure, Resilience


def answer_to(found: Resilience) -> Answer[Exposure]:
    """The answer in the form of the contract."""
    rows = found.rows
    return Answer(
        command="audit-resilience",
        rows_name="losses",
        columns=Exposure,
        rows=rows,
        clusters=known_clusters(found.clusters),
        summary={
            "losses": len(rows),
            "harmful": sum(row.harms for row in rows),
            "harmful_now": sum(row.since is not None for row in rows),
            **known_time(found.clusters),
            "left_out": found.chosen.left_out,
        },
        warnings=found.warnings,
    )
