"""The answer of rebalance replicas: the changes, and what they amount to."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from msgspec import to_builtins

from commands.shared.printing.output import Answer, cluster_object
from kreplica.execution.rebalance.replicas import PlannedMove

if TYPE_CHECKING:
    from kreplica.execution.rebalance.replicas import PlannedReplicas


def answer(found: PlannedReplicas) -> Answer[PlannedMove]:
    """The answer: a row for each change, then one for each that is left out."""
    return Answer(
        command="rebalance-replicas",
        rows_name="moves",
        columns=PlannedMove,
        rows=found.rows,
        clusters=[cluster_object(snapshot) for snapshot in found.reading.snapshots],
        summary={
            "verdict": found.word,
            "partitions": len(found.plan.changes),
            "moves": found.moves,
            "bytes": found.bytes,
            "leader_changes": found.leader_changes,
            "changed_directories": [asdict(one) for one in found.changed_directories],
            "left_out": len(found.left_out),
            "leaderless": [f"{topic}-{partition}" for topic, partition in found.leaderless],
            "reassigning": [f"{topic}-{partition}" for topic, partition in found.reassigning],
            "bounds": [{**asdict(bound), "optimal": bound.optimal} for bound in found.bounds],
            "certificate": found.plan.certificate,
            "effects": None if found.effects is None else to_builtins(found.effects),
            "written": {name: str(path) for name, path in found.paths.items()},
        },
        warnings=[*found.warnings, *found.remarks],
    )
