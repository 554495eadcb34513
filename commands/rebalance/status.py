"""kreplica rebalance status and cancel: progress of a plan; the end of a plan before all its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from commands.rebalance.options import (
    REPLICAS,
    ExecuteOption,
    PlanArgument,
    RateOptions,
    YesOption,
    one_cluster,
)
from commands.rebalance.plan import plan_line
from commands.shared.help import examples
from commands.shared.options.common import OutputOption, SourceOptions, takes_sources
from commands.shared.options.groups import takes

if TYPE_CHECKING:
    from commands.rebalance.moves import MoveRequest
    from commands.shared.printing.output import OutputFormat
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.moves.session import MoveOptions
    from kreplica.execution.rebalance.outcome import PlanOutcome


def register(group: typer.Typer) -> None:
    """Adds status and cancel."""
    group.command(
        "status",
        short_help="Show how far a plan has come.",
        epilog=examples(
            "kreplica rebalance status plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance status plan.json --context prod-eu -o json",
        ),
    )(status)
    group.command(
        "cancel",
        short_help="Drop the rest of a plan.",
        epilog=examples(
            "kreplica rebalance cancel plan.json",
            "kreplica rebalance cancel plan.json --execute",
        ),
    )(cancel)


@takes_sources
def status(sources: SourceOptions, plan: PlanArgument, output: OutputOption = None) -> None:
    """Show how far a plan has come: its journal compared with the cluster.

    Exits 1 while changes are left, failed or have drifted, or throttles are still set, 5 when a part of the cluster
    could not be seen.
    """
    from commands.rebalance import moves
    from commands.rebalance.answer import emit_plan
    from kreplica.execution.rebalance.status import rebalance_status

    of_replicas = moves.is_plan_of_replicas(plan)
    handle = one_cluster(sources.handles(), execute=False)
    if of_replicas:
        from kreplica.execution.moves.carrying_out import moves_status

        request = moves.MoveRequest(plan, handle, sources.again_live(handle.name), execute=False)
        moves.answer_moves(moves_status(handle, plan), "status", output, request)
    outcome = rebalance_status(handle, plan)
    lines = _next(outcome, handle, sources.again_live(handle.name))
    emit_plan(outcome, "status", output, verdict=_verdict(outcome), next_lines=lines, left=False)
    raise typer.Exit(outcome.exit_code)


def _verdict(outcome: PlanOutcome) -> str:
    counts = outcome.rollback_counts if outcome.state.rolled else outcome.counts
    parts = ", ".join(f"{count} {state}" for state, count in counts.items())
    return f"{outcome.state.phase_words}: {parts or 'nothing to do'}"


def _next(outcome: PlanOutcome, handle: ClusterHandle, connection_options: str) -> list[str]:
    from kreplica.execution.plan_journal import Phase

    phase = outcome.state.progress.phase
    commands = {Phase.NEW: "apply", Phase.APPLYING: "resume", Phase.ROLLING_BACK: "resume"}
    if outcome.state.running or phase not in commands:
        return []
    return [f"{plan_line(outcome.state.path, commands[phase], connection_options, handle)} --execute"]


@takes_sources
@takes("rate", RateOptions)
def cancel(
    *,
    sources: SourceOptions,
    plan: PlanArgument,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    in_flight: Annotated[
        bool,
        typer.Option(
            "--in-flight",
            rich_help_panel=REPLICAS,
            help="Take back moves in flight, where enough of the replicas before are in sync.",
        ),
    ] = False,
    rate: RateOptions,
    output: OutputOption = None,
) -> None:
    """Drop the steps of a plan that are left; what was done stays, and rollback can still undo it.

    For a plan of leaders this is only a note in the plan's journal, and needs no cluster. Of a plan of replicas, moves
    in flight are followed to their end, or cancelled with --in-flight, and the earlier throttles are restored. Without
    --execute nothing is noted or changed. Exits 4 when the plan is being carried out, or was finished, cancelled or
    rolled back before.
    """
    from commands.rebalance import moves
    from commands.rebalance.answer import emit_plan
    from kreplica.execution.rebalance.status import rebalance_cancel
    from kreplica.model.wording.words import are, counted

    if moves.is_plan_of_replicas(plan):
        run = moves.run_of(rate, needs_throttle=False)
        handle = one_cluster(sources.handles(), execute=execute)
        connection_options = sources.again_live(handle.name)
        request = moves.MoveRequest(plan, handle, connection_options, execute, yes, rate)
        _stop_moving(request, run, output, in_flight=in_flight)
    moves.refuse_other_options({"--in-flight": in_flight} | rate.given(), "leaders")
    outcome = rebalance_cancel(plan, execute=execute)
    dropped = outcome.counts["dropped" if execute else "pending"]
    verdict = f"{dropped} of {counted(len(outcome.rows), 'planned change')}"
    verdict += f" {are(dropped)} dropped" if execute else " would be dropped; nothing was noted"
    lines = [plan_line(plan, "cancel", "--execute")] if dropped and not execute else []
    emit_plan(outcome, "cancel", output, verdict=verdict, next_lines=lines, left=bool(dropped))


def _stop_moving(request: MoveRequest, run: MoveOptions, output: OutputFormat | None, *, in_flight: bool) -> NoReturn:
    """Cancels a plan of replicas and exits."""
    from functools import partial

    from commands.rebalance.moves import answer_moves, carried_out
    from kreplica.execution.moves.carrying_out import moves_cancel

    work = partial(moves_cancel, request.handle, request.path, in_flight=in_flight, execute=request.execute)
    outcome = carried_out(request, run, work)
    answer_moves(outcome, "cancel", output, request)
