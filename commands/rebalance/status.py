"""kreplica rebalance status and cancel: progress of a plan; the end of a plan before all its steps."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from commands.rebalance.options import ExecuteOption, PlanArgument, one_cluster
from commands.shared.options import OutputOption, SourceOptions, takes_sources
from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from commands.rebalance.plan import PlanView


@takes_sources
def status(sources: SourceOptions, plan: PlanArgument, output: OutputOption = None) -> None:
    """Show how far a plan has come: its journal, held against the cluster.

    Exits 1 while changes are left, failed or have drifted, 5 when a part of the cluster could not be seen.
    """
    from commands.rebalance.answer import emit_plan, plan_rows
    from commands.rebalance.plan import view_plan

    handle = one_cluster(sources.handles(), execute=False)
    view = view_plan(plan, handle)
    lines = _next(view, sources.again(handle.name))
    emit_plan(view, "rebalance-status", output, executed=False, verdict=_verdict(view), next_lines=lines)
    field, open_states = ("rollback", _UNFINISHED_BACK) if view.rolled else ("state", _UNFINISHED)
    if any(getattr(row, field) in open_states for row in plan_rows(view)):
        raise typer.Exit(ExitCode.FINDINGS)
    raise typer.Exit(view.seen_whole)


_UNFINISHED = ("pending", "under-way", "failed", "drifted")
_UNFINISHED_BACK = ("pending", "under-way", "failed", "impossible")


def _verdict(view: PlanView) -> str:
    from commands.rebalance.answer import plan_rows, state_counts

    rows = plan_rows(view)
    states = state_counts(rows, "rollback" if view.rolled else "state")
    parts = ", ".join(f"{count} {state}" for state, count in states.items() if state is not None)
    return f"{view.phase_words}: {parts or 'nothing to do'}"


def _next(view: PlanView, connection_options: str) -> list[str]:
    from kreplica.execution.progress import Phase

    phase = view.progress.phase
    if view.running:
        return []
    if phase is Phase.NEW:
        return [view.again("apply", connection_options) + " --execute"]
    if phase in (Phase.APPLYING, Phase.ROLLING_BACK):
        return [view.again("resume", connection_options) + " --execute"]
    return []


def cancel(plan: PlanArgument, execute: ExecuteOption = False, output: OutputOption = None) -> None:
    """Drop what is left of a plan; what was done stays done, and rollback can still undo it.

    Asks no cluster: it is a note in the plan's journal. Without --execute nothing is noted. Exits 4 when the plan is
    being carried out, or was finished, cancelled or rolled back before.
    """
    from commands.rebalance.answer import emit_plan, plan_rows, state_counts
    from commands.rebalance.plan import PlanView
    from kreplica.execution.journal import Event, Operation, entry, open_journal, read_journal
    from kreplica.execution.plan_file import read_plan
    from kreplica.execution.progress import replay

    found, digest = read_plan(plan)
    entries, running = read_journal(plan, digest)
    view = PlanView(plan, found, digest, replay(found, entries), running=running, reading=None)
    _require_unfinished(view)
    if execute:
        with open_journal(plan, found, digest) as journal:
            view = replace(view, progress=replay(found, journal.entries), running=False)
            _require_unfinished(view)
            journal.append(entry(Event.COMPLETED, Operation.CANCEL, pid=os.getpid()))
            view = replace(view, progress=replay(found, journal.entries))
    dropped = state_counts(plan_rows(view))["dropped" if execute else "pending"]
    verdict = f"{dropped} of {len(found.changes)} planned changes are dropped"
    if not execute:
        verdict = f"dry run: {dropped} of {len(found.changes)} planned changes would be dropped; nothing was noted"
    lines = [] if execute else [view.again("cancel", "--execute")]
    emit_plan(view, "rebalance-cancel", output, executed=execute, verdict=verdict, next_lines=lines)


def _require_unfinished(view: PlanView) -> None:
    from commands.rebalance.plan import refuse_phase
    from kreplica.execution.progress import Phase

    if view.progress.phase not in (Phase.NEW, Phase.APPLYING):
        raise refuse_phase(view, "there is nothing to cancel")
