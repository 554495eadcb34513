"""kreplica rebalance rollback: bring back the leaders that a plan has replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from commands.rebalance.options import (
    ElectOption,
    ExecuteOption,
    PaceOptions,
    PlanArgument,
    RateOptions,
    YesOption,
    one_cluster,
)
from commands.rebalance.plan import PlanRun, plan_line
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
    """Adds the subcommand."""
    group.command(
        "rollback",
        short_help="Bring back what a plan changed.",
        epilog=examples(
            "kreplica rebalance rollback plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance rollback plan.json --context prod-eu --execute --allow-reorder",
        ),
    )(rollback)


@takes_sources
@takes("pace", PaceOptions)
@takes("rate", RateOptions)
def rollback(
    *,
    sources: SourceOptions,
    plan: PlanArgument,
    execute: ExecuteOption = False,
    allow_reorder: Annotated[
        bool, typer.Option("--allow-reorder", help="Allow replica orders to be changed for a moment.")
    ] = False,
    yes: YesOption = False,
    pace: PaceOptions,
    rate: RateOptions,
    elect: ElectOption = True,
    output: OutputOption = None,
) -> None:
    """Undo what a plan has changed; without --execute, show which changes can be undone, and why others cannot.

    Kafka can elect only the first replica. To bring a former leader back, it is put first and elected, and the order is
    restored: the replicas stay the same and no data moves. This needs --allow-reorder, and every replica in sync. Of a
    plan of replicas, moves in flight are cancelled by Kafka's own cancel, and replicas that were moved are moved back.
    Steps of the plan that were not done are dropped. Exits 4 when something was not, or cannot be, undone.
    """
    from commands.rebalance import moves
    from kreplica.execution.rebalance.rollback import rebalance_rollback

    asked_pace = pace.pace()
    if moves.is_plan_of_replicas(plan):
        moves.refuse_other_options(pace.given() | {"--allow-reorder": allow_reorder}, "replicas")
        run = moves.run_of(rate, needs_throttle=execute)
        handle = one_cluster(sources.handles(), execute=execute)
        connection_options = sources.again_live(handle.name)
        request = moves.MoveRequest(plan, handle, connection_options, execute, yes, rate, elect=elect)
        _move_back(request, run, output)
    moves.refuse_other_options(rate.given() | {"--no-elect": not elect}, "leaders")
    handle = one_cluster(sources.handles(), execute=execute)
    connection_options = sources.again_live(handle.name)
    asked = PlanRun(plan, handle, connection_options, yes=yes)
    with asked.explained():
        options = asked.options(asked_pace)
        outcome = rebalance_rollback(handle, plan, options, execute=execute, allow_reorder=allow_reorder)
    answer_rollback(outcome, "rollback", output, handle, connection_options)


def _move_back(request: MoveRequest, run: MoveOptions, output: OutputFormat | None) -> NoReturn:
    """Rolls back a plan of replicas and exits."""
    from functools import partial

    from commands.rebalance.moves import answer_moves, carried_out
    from kreplica.execution.moves.carrying_out import moves_rollback

    work = partial(moves_rollback, request.handle, request.path, execute=request.execute)
    answer_moves(carried_out(request, run, work), "rollback", output, request)


def answer_rollback(
    outcome: PlanOutcome,
    command: str,
    output: OutputFormat | None,
    handle: ClusterHandle,
    connection_options: str,
) -> NoReturn:
    """Prints the verdict on a rollback and exits.

    Args:
        outcome: The plan afterwards.
        command: The subcommand: rollback or resume.
        output: The form.
        handle: The cluster.
        connection_options: The options that name it.
    """
    from commands.rebalance.answer import emit_plan
    from kreplica.execution.rebalance.rows import IMPOSSIBLE
    from kreplica.model.wording.words import counted

    counts, executed = outcome.rollback_counts, outcome.executed
    leaders = counted(counts.total(), "former leader")
    back, left = counts["done"] + counts["already"], counts["pending"] + counts["under-way"]
    failed, impossible = counts["failed"], counts[IMPOSSIBLE]
    if executed or not left:
        verdict = f"{back} of {leaders} brought back, {failed} failed, {impossible} cannot be brought back"
    else:
        verdict = f"{left} of {leaders} can be brought back; nothing was changed"
    again = "resume" if executed or command == "resume" else "rollback"
    flags = " --execute" if again == "resume" else " --execute --allow-reorder"
    line = plan_line(outcome.state.path, again, connection_options, handle) + flags
    next_lines = [line] * bool(left or (executed and failed))
    emit_plan(outcome, command, output, verdict=verdict, next_lines=next_lines, left=bool(left))
    raise typer.Exit(outcome.exit_code)
