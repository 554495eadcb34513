"""The answer of audit incident: the findings behind it, and beside them the incident itself."""

from __future__ import annotations

import msgspec

from commands.shared.printing.output import Answer
from kreplica.fleet.incidents.fleet import FoundIncident
from kreplica.fleet.incidents.rows import BehindRow, row_of


def answer_to(found: FoundIncident) -> Answer[BehindRow]:
    """The answer in the form of the contract."""
    return Answer(
        command="audit-incident",
        rows_name="findings",
        columns=BehindRow,
        rows=found.rows,
        clusters=[{"cluster": found.incident.cluster, "name": found.name}],
        summary={"findings": len(found.rows), "left": len(found.incident.left)},
        objects={"incident": msgspec.to_builtins(row_of(found.incident))},
        warnings=found.warnings,
    )
