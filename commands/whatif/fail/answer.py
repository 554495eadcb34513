"""The answer of whatif fail: a row for each partition that is affected, and numbers over them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from commands.shared.printing.output import Answer, cluster_object
from kreplica.errors import ExitCode
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, MENDABLE
from kreplica.health.impact.whatif import FailedPartition

if TYPE_CHECKING:
    from kreplica.health.impact.whatif import PlayedFailure
    from kreplica.monitoring.failure import FailureOutcome


def answer_of(outcome: FailureOutcome) -> Answer[FailedPartition]:
    """The answer of the contract."""
    played = outcome.played
    return Answer(
        command="whatif-fail",
        rows_name="partitions",
        columns=FailedPartition,
        rows=outcome.rows,
        clusters=[cluster_object(played.snapshot)],
        summary=_summary(played),
        warnings=outcome.warnings,
    )


def _summary(played: PlayedFailure) -> dict[str, object]:
    judgement, case, target = played.judgement, played.case, played.target
    words = {ExitCode.OK: "no_harm", ExitCode.FINDINGS: "harm", ExitCode.INCOMPLETE: "incomplete"}
    quorum = judgement.steps[0].quorum if judgement.steps and not case.rolling else None
    return {
        "verdict": words[played.exit_code],
        "rolling_restart": case.rolling,
        "brokers": list(target.brokers),
        "disks": [{"broker": broker, "path": path} for broker, path in target.disks],
        "controller": target.controller,
        "changes": {"min_isr": case.min_isr, "unclean": case.unclean, "elr": case.elr},
        "partitions": len(played.snapshot.partitions),
        "effects": {impact.value: judgement.count(impact) for impact in FAILURE_IMPACTS},
        "already": {impact.value: judgement.count(impact, already=True) for impact in FAILURE_IMPACTS},
        "mended": {impact.value: len(played.mended(impact)) for impact in MENDABLE},
        "quorum": None if quorum is None else quorum.as_row(),
        "leaders": [asdict(one) for one in judgement.leaders],
        "complete": not played.missing,
    }
