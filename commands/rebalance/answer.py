"""The answer of the commands on plans: a row for each planned change, the verdict, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commands.rebalance.plan import plan_summary

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import OutputFormat
    from kreplica.execution.rebalance.outcome import PlanOutcome


def emit_plan(
    outcome: PlanOutcome,
    command: str,
    output: OutputFormat | None,
    *,
    verdict: str,
    next_lines: Sequence[str],
    left: bool = True,
) -> None:
    """Prints the answer of a command on a plan.

    Args:
        outcome: The plan and its changes.
        command: The subcommand, which names the schema.
        output: The form.
        verdict: One line on all of it.
        next_lines: What to type next.
        left: Whether anything can still be done.
    """
    from commands.shared.printing.output import Answer, cluster_object, emit
    from kreplica.execution.rebalance.rows import ChangeRow

    reading = outcome.state.reading
    answer = Answer(
        command=f"rebalance-{command}",
        rows_name="changes",
        columns=ChangeRow,
        rows=outcome.rows,
        clusters=[cluster_object(reading.snapshots[0])] if reading is not None else [],
        summary=_summary(outcome),
        warnings=outcome.warnings,
    )
    emit(answer, output, lambda console: _show(outcome, console, verdict, next_lines, left=left))


def _summary(outcome: PlanOutcome) -> dict[str, object]:
    from kreplica.execution.rebalance.rows import DRIFTED, IMPOSSIBLE

    state, counts, backs = outcome.state, outcome.counts, outcome.rollback_counts
    return {
        **plan_summary(state, executed=outcome.executed),
        "steps": len(state.plan.steps),
        "changes": len(outcome.rows),
        **{name.replace("-", "_"): counts[name] for name in (*_STATES, DRIFTED)},
        "rollback": {name.replace("-", "_"): backs[name] for name in (*_ROLLBACK_STATES, IMPOSSIBLE)},
        "stopped": state.progress.message,
    }


_STATES = ("pending", "under-way", "done", "already", "failed", "dropped")
_ROLLBACK_STATES = ("pending", "under-way", "done", "already", "failed")


def _show(outcome: PlanOutcome, console: Console, verdict: str, next_lines: Sequence[str], *, left: bool) -> None:
    from commands.rebalance.verdict import plan_word, print_plan_verdict
    from commands.shared.printing.screen import print_gathered, print_lines
    from kreplica.execution.rebalance.rows import ChangeRow
    from kreplica.model.tables.rows import names_of

    shown = names_of(ChangeRow) if outcome.rollback_counts else names_of(ChangeRow)[:-2]
    reasons = dict.fromkeys(("reason", "rollback_reason"), lambda text: text or None)
    word = plan_word(outcome.exit_code, executed=outcome.executed, left=left)
    print_plan_verdict(console, word, verdict)
    print_gathered(console, ChangeRow, outcome.rows, shown=shown, cells=reasons)
    stopped = outcome.state.progress.message
    print_lines(console, "stopped", [stopped] * bool(stopped))
    print_lines(console, "next", next_lines, whole=True)
