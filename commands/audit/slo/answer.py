"""The answer of audit slo: a row for each topic, cluster or cause that had an outage, the worst first."""

from __future__ import annotations

from collections import Counter

from commands.shared.printing.output import Answer
from kreplica.fleet.slo import Downtime, Service, Standing


def answer_to(found: Service) -> Answer[Downtime]:
    """The answer in the form of the contract."""
    rows = found.rows
    standings = Counter(row.standing for row in rows)
    return Answer(
        command="audit-slo",
        rows_name="downtimes",
        columns=Downtime,
        rows=rows,
        clusters=[
            {
                "cluster": one.cluster,
                "name": one.name,
                "snapshots": one.snapshots,
                "known_seconds": one.known_ms // 1000,
                "paused_seconds": one.paused_ms // 1000,
            }
            for one in found.clusters
        ],
        summary={
            "objective": found.objective,
            **{standing.value: standings[standing] for standing in Standing},
            "known_seconds": sum(one.known_ms for one in found.clusters) // 1000,
            "paused_seconds": sum(one.paused_ms for one in found.clusters) // 1000,
            "left_out": found.chosen.left_out,
        },
        warnings=found.warnings,
    )
