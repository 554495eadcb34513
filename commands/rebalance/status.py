"""kreplica rebalance status and cancel: progress of a plan; the end of a plan before all its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from commands.rebalance.options import ExecuteOption, PlanArgument, one_cluster
from commands.rebalance.plan import plan_line
from commands.shared.options import OutputOption, SourceOptions, takes_sources

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.rebalance.outcome import PlanOutcome


@takes_sources
def status(sources: SourceOptions, plan: PlanArgument, output: OutputOption = None) -> None:
    """Show how far a plan has come: its journal, held against the cluster.

    Exits 1 while changes are left, failed or have drifted, 5 when a part of the cluster could not be seen.
    """
    from commands.rebalance.answer import emit_plan
    from kreplica.execution.rebalance.status import rebalance_status

    handle = one_cluster(sources.handles(), execute=False)
    outcome = rebalance_status(handle, plan)
    lines = _next(outcome, handle, sources.again(handle.name))
    emit_plan(outcome, "status", output, verdict=_verdict(outcome), next_lines=lines)
    raise typer.Exit(outcome.exit_code)


def _verdict(outcome: PlanOutcome) -> str:
    counts = outcome.rollback_counts if outcome.state.rolled else outcome.counts
    parts = ", ".join(f"{count} {state}" for state, count in counts.items())
    return f"{outcome.state.phase_words}: {parts or 'nothing to do'}"


def _next(outcome: PlanOutcome, handle: ClusterHandle, connection_options: str) -> list[str]:
    from kreplica.execution.progress import Phase

    phase = outcome.state.progress.phase
    commands = {Phase.NEW: "apply", Phase.APPLYING: "resume", Phase.ROLLING_BACK: "resume"}
    if outcome.state.running or phase not in commands:
        return []
    return [f"{plan_line(outcome.state.path, commands[phase], connection_options, handle)} --execute"]


def cancel(plan: PlanArgument, execute: ExecuteOption = False, output: OutputOption = None) -> None:
    """Drop what is left of a plan; what was done stays done, and rollback can still undo it.

    Asks no cluster: it is a note in the plan's journal. Without --execute nothing is noted. Exits 4 when the plan is
    being carried out, or was finished, cancelled or rolled back before.
    """
    from commands.rebalance.answer import emit_plan
    from kreplica.execution.rebalance.status import rebalance_cancel

    outcome = rebalance_cancel(plan, execute=execute)
    dropped, total = outcome.counts["dropped" if execute else "pending"], len(outcome.rows)
    verdict = f"{dropped} of {total} planned changes are dropped"
    if not execute:
        verdict = f"dry run: {dropped} of {total} planned changes would be dropped; nothing was noted"
    lines = [] if execute else [plan_line(plan, "cancel", "--execute")]
    emit_plan(outcome, "cancel", output, verdict=verdict, next_lines=lines)
