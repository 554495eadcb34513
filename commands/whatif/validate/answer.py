"""The answer of whatif validate: a row for each change and each refused record, and numbers over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.shared.printing.output import Answer
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.errors import ExitCode
from kreplica.formats.traces.kraft.rows import TraceChange

if TYPE_CHECKING:
    from kreplica.formats.traces.kraft.validation import Validation


def answer_of(validation: Validation) -> Answer[TraceChange]:
    """The answer of the contract."""
    words = {ExitCode.OK: "valid", ExitCode.FINDINGS: "refused", ExitCode.INCOMPLETE: "incomplete"}
    return Answer(
        command="whatif-validate",
        rows_name="changes",
        columns=TraceChange,
        rows=validation.rows,
        clusters=[{"cluster_id": validation.cluster_id, "log": str(validation.home)}],
        summary={
            "verdict": words[validation.exit_code],
            "from_offset": validation.begin,
            "next_offset": validation.end,
            "kafka_version": validation.version,
            "explained": sum(validation.counts.values()),
            "refused": len(validation.refused),
            "checkpoints": validation.checkpoints,
            "shortest": {
                setting: {"ms": one.passed, "offset": one.offset, "change": one.reason}
                for setting, one in sorted(validation.timers.shortest.items())
            },
            "rules": {rule.value: validation.counts[rule] for rule in TraceRule if validation.counts[rule]},
        },
        warnings=validation.warnings,
    )
