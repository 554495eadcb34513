"""kreplica rebalance apply and resume: carry out a plan, or continue one that was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from commands.rebalance.options import (
    REPLICAS,
    AllowZookeeperOption,
    ElectOption,
    ExecuteOption,
    KeepCordonOption,
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
    """Adds apply and resume."""
    group.command(
        "apply",
        short_help="Carry out a plan.",
        epilog=examples(
            "kreplica rebalance apply plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance apply plan.json --bootstrap-server kafka1:9092 --execute --batch 50 --pause 10s",
            "kreplica rebalance apply plan.json --bootstrap-server kafka1:9092 --execute --throttle 50MB",
        ),
    )(apply)
    group.command(
        "resume",
        short_help="Go on with a plan that was interrupted.",
        epilog=examples(
            "kreplica rebalance resume plan.json --bootstrap-server kafka1:9092",
            "kreplica rebalance resume plan.json --context prod-eu --execute",
        ),
    )(resume)


@takes_sources
@takes("pace", PaceOptions)
@takes("rate", RateOptions)
def apply(
    *,
    sources: SourceOptions,
    plan: PlanArgument,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    pace: PaceOptions,
    allow_zookeeper_write: AllowZookeeperOption = False,
    rate: RateOptions,
    elect: ElectOption = True,
    keep_cordon: KeepCordonOption = False,
    output: OutputOption = None,
) -> None:
    """Carry out a plan; without --execute, show the changes and what has drifted.

    A plan of another cluster is refused, and so is a plan of leaders that no longer fits its cluster. From a plan of
    replicas, moves that no longer fit are left out. Every step is written to the journal beside the plan before it
    begins, so that an interrupted plan can be resumed or rolled back. Exits 4 when the plan is refused or stops early,
    or when a change was not made as planned.
    """
    from commands.rebalance import moves
    from kreplica.execution.rebalance.apply import rebalance_apply

    asked_pace = pace.pace()
    if moves.is_plan_of_replicas(plan):
        moves.refuse_other_options(pace.given() | {"--allow-zookeeper-write": allow_zookeeper_write}, "replicas")
        run = moves.run_of(rate, needs_throttle=execute)
        handle = one_cluster(sources.handles(), execute=execute)
        connection_options = sources.again_live(handle.name)
        request = moves.MoveRequest(
            plan, handle, connection_options, execute, yes, rate, elect=elect, keep_cordon=keep_cordon
        )
        _move(request, run, "apply", output)
    ends = {"--no-elect": not elect, "--keep-cordon": keep_cordon}
    moves.refuse_other_options(rate.given() | ends, "leaders")
    handle = one_cluster(sources.handles(), execute=execute)
    connection_options = sources.again_live(handle.name)
    asked = PlanRun(plan, handle, connection_options, yes=yes)
    with asked.explained():
        options = asked.options(asked_pace, allow_zookeeper_write=allow_zookeeper_write)
        outcome = rebalance_apply(handle, plan, options, execute=execute)
    _answer(outcome, "apply", output, handle, sources)


@takes_sources
@takes("pace", PaceOptions)
@takes("rate", RateOptions)
def resume(
    *,
    sources: SourceOptions,
    plan: PlanArgument,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    pace: PaceOptions,
    allow_zookeeper_write: AllowZookeeperOption = False,
    rate: RateOptions,
    elect: ElectOption = True,
    keep_cordon: KeepCordonOption = False,
    through_controllers: Annotated[
        bool,
        typer.Option(
            "--through-controllers",
            rich_help_panel=REPLICAS,
            help="Put throttles of brokers that are down back by the KRaft controllers' own listener, unread.",
        ),
    ] = False,
    output: OutputOption = None,
) -> None:
    """Go on with a plan, or with its rollback, that was interrupted or stopped.

    Changes that the journal does not show as done are read and checked for drift again. If throttles of a plan of
    replicas are still set, the earlier values are restored. Without --execute nothing is changed. Exits as apply and
    rollback do.
    """
    from commands.rebalance import moves
    from commands.rebalance.rollback import answer_rollback
    from kreplica.execution.rebalance.apply import rebalance_resume

    asked_pace = pace.pace()
    if moves.is_plan_of_replicas(plan):
        moves.refuse_other_options(pace.given() | {"--allow-zookeeper-write": allow_zookeeper_write}, "replicas")
        run = moves.run_of(rate, needs_throttle=execute, through_controllers=through_controllers)
        handle = one_cluster(sources.handles(), execute=execute)
        connection_options = sources.again_live(handle.name)
        request = moves.MoveRequest(
            plan, handle, connection_options, execute, yes, rate, elect=elect, keep_cordon=keep_cordon
        )
        _move(request, run, "resume", output)
    ends = {"--through-controllers": through_controllers, "--no-elect": not elect, "--keep-cordon": keep_cordon}
    moves.refuse_other_options(rate.given() | ends, "leaders")
    handle = one_cluster(sources.handles(), execute=execute)
    connection_options = sources.again_live(handle.name)
    asked = PlanRun(plan, handle, connection_options, yes=yes)
    with asked.explained():
        options = asked.options(asked_pace, allow_zookeeper_write=allow_zookeeper_write)
        outcome = rebalance_resume(handle, plan, options, execute=execute)
    if outcome.state.rolled:
        answer_rollback(outcome, "resume", output, handle, connection_options)
    _answer(outcome, "resume", output, handle, sources)


def _move(request: MoveRequest, run: MoveOptions, command: str, output: OutputFormat | None) -> NoReturn:
    """Carries out a plan of replicas, or goes on with it, and exits."""
    from functools import partial

    from commands.rebalance.moves import answer_moves, carried_out
    from kreplica.execution.moves.carrying_out import moves_apply, moves_resume

    work = partial(moves_apply if command == "apply" else moves_resume, request.handle, request.path)
    outcome = carried_out(request, run, partial(work, execute=request.execute))
    answer_moves(outcome, command, output, request)


def _answer(
    outcome: PlanOutcome,
    command: str,
    output: OutputFormat | None,
    handle: ClusterHandle,
    sources: SourceOptions,
) -> None:
    """Prints the verdict on an application and exits."""
    from commands.rebalance.answer import emit_plan
    from kreplica.execution.rebalance.rows import DRIFTED
    from kreplica.model.wording.words import are, counted

    counts, total = outcome.counts, len(outcome.rows)
    left, failed, drifted = counts["pending"] + counts["under-way"], counts["failed"], counts[DRIFTED]
    done, elections = counts["done"] + counts["already"], counted(total, "planned election")
    if outcome.executed:
        verdict = f"{done} of {elections} done, {failed} failed, {left + drifted} not begun"
    elif drifted:
        fit = "fits" if drifted == 1 else "fit"
        verdict = f"{drifted} of {elections} no longer {fit} the cluster; nothing was changed"
    elif left:
        verdict = f"{left} of {elections} {are(left)} left to run; nothing was changed"
    else:
        verdict = f"nothing is left to do: {done} of {total} done, {failed} failed"
    path, executed = outcome.state.path, outcome.executed
    lines = []
    if drifted:
        again = sources.again(handle.name)
        lines = [f"kreplica rebalance leaders {again} --out FILE"]
        lines += [plan_line(path, "status", again)] * executed
    elif left:
        following = "resume" if executed else command
        lines = [f"{plan_line(path, following, sources.again_live(handle.name), handle)} --execute"]
    emit_plan(outcome, command, output, verdict=verdict, next_lines=lines, left=bool(left))
    raise typer.Exit(outcome.exit_code)
