"""The answer of audit incidents: a row for each, the clusters, and what no cause explains."""

from __future__ import annotations

from collections import Counter

from commands.audit.shared.applied_mutes import as_object
from commands.shared.printing.output import Answer
from kreplica.fleet.incidents.fleet import FoundIncidents
from kreplica.fleet.incidents.rows import IncidentRow


def answer_to(found: FoundIncidents) -> Answer[IncidentRow]:
    """The answer in the form of the contract."""
    real = [one for one in found.incidents if not one.is_planned]
    return Answer(
        command="audit-incidents",
        rows_name="incidents",
        columns=IncidentRow,
        rows=found.rows,
        clusters=[{"cluster": cluster, "name": name} for cluster, name in found.names.items()],
        summary={
            "incidents": len(real),
            "planned": len(found.incidents) - len(real),
            **({} if found.earlier is None else {"in_baseline": found.earlier}),
            **_muted(found),
            "going_on": sum(one.valid_to_ms is None for one in real),
            "by_severity": dict(Counter(one.severity.word for one in real)),
            "explained": sum(len(one.findings) for one in found.incidents),
            "left_over": found.left_over.by_rule,
            "snapshots": found.snapshots,
            "months_left_out": found.chosen.left_out,
        },
        warnings=found.warnings,
    )


def _muted(found: FoundIncidents) -> dict[str, object]:
    """Mutes by the clusters in which they cover something, and the numbers of what does not count."""
    if not found.mutes:
        return {}
    findings = sum(len(one.muted) for one in (*found.incidents, *found.muted))
    mutes = [as_object(one) for one in found.mutes]
    return {"muted": len(found.muted), "muted_findings": findings, "mutes": mutes}
