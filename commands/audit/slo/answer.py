"""The answer of audit slo: a row for each topic, cluster or cause that had an outage, the worst first."""

from __future__ import annotations

from collections import Counter

from commands.audit.shared.known_time import known_clusters, known_time
from commands.shared.printing.output import Answer
from kreplica.fleet.availability.slo import Downtime, Service, Standing


def answer_to(found: Service) -> Answer[Downtime]:
    """The answer in the form of the contract."""
    rows = found.rows
    standings = Counter(row.standing for row in rows)
    return Answer(
        command="audit-slo",
        rows_name="downtimes",
        columns=Downtime,
        rows=rows,
        clusters=known_clusters(found.clusters),
        summary={
            "objective": found.objective,
            **{standing.value: standings[standing] for standing in Standing},
            **known_time(found.clusters),
            "left_out": found.chosen.left_out,
        },
        warnings=found.warnings,
    )
