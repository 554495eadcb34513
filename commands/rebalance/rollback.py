"""kreplica rebalance rollback: bring back the leaders that a plan has replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.options import (
    BatchOption,
    ExecuteOption,
    PauseOption,
    PlanArgument,
    RebalanceRequest,
    YesOption,
    one_cluster,
    pace_of,
)
from commands.shared.confirm import confirm
from commands.shared.options import OutputOption, SourceOptions, takes_sources
from kreplica.errors import ChangeRefusedError, ExitCode

if TYPE_CHECKING:
    from commands.rebalance.plan import PlanView
    from commands.shared.printing.output import OutputFormat
    from kreplica.config.handle import ClusterHandle

ELECTED_AGAIN = (
    "where auto.leader.rebalance.enable is true, Kafka's default, the controller elects the preferred leaders again"
    " within leader.imbalance.check.interval.seconds, 300 by default"
)


@takes_sources
def rollback(
    sources: SourceOptions,
    plan: PlanArgument,
    execute: ExecuteOption = False,
    allow_reorder: Annotated[
        bool, typer.Option("--allow-reorder", help="Allow replica orders to be changed for a moment.")
    ] = False,
    yes: YesOption = False,
    batch: BatchOption = None,
    pause: PauseOption = None,
    output: OutputOption = None,
) -> None:
    """Bring back the leaders that a plan has replaced; without --execute show which, and why others cannot be.

    Kafka elects only the first of the replicas. So the former leader is put first, elected, and the order restored: the
    same replicas, no data moves. That needs --allow-reorder, and every replica in sync. What was not done of the plan
    is dropped. Exits 4 when a leader was not, or cannot be, brought back.
    """
    from commands.rebalance.plan import view_plan

    pace = pace_of(batch, pause)
    handle = one_cluster(sources.handles(), execute=execute)
    if execute and not allow_reorder:
        raise ChangeRefusedError(
            "nothing was changed", "the way back changes the order of replicas for a moment", "give --allow-reorder"
        )
    view = view_plan(plan, handle, back=True)
    _require_begun(view)
    request = RebalanceRequest("rollback", sources.again(handle.name), pace, execute=execute, yes=yes)
    roll_back(view, handle, request, output)


def _require_begun(view: PlanView) -> None:
    from commands.rebalance.plan import refuse_phase
    from kreplica.execution.progress import Phase

    if view.progress.phase is Phase.NEW:
        raise refuse_phase(view, "there is nothing to roll back")


def roll_back(view: PlanView, handle: ClusterHandle, request: RebalanceRequest, output: OutputFormat | None) -> None:
    """Rolls back the changes of a plan, or shows what that would do, and exits."""
    from commands.rebalance.plan import carry_out
    from kreplica.control.boundary import require_brokers, require_writable
    from kreplica.execution.rollback import rollback as roll_back_plan

    possible = sum(not check.drift for check in view.back.values())
    executed = request.execute and bool(possible or view.reordered)
    if executed:
        require_writable(handle)  # before anybody is asked; the library refuses, too
        require_brokers(handle)
        confirm(handle, view.label, f"bring back {possible} former leaders", yes=request.yes)
        view = carry_out(view, handle, roll_back_plan, request=request, allowed=_require_begun)
    _answer(view, request.command, output, executed=executed, connection_options=request.connection_options)


def _answer(
    view: PlanView, command: str, output: OutputFormat | None, *, executed: bool, connection_options: str
) -> None:
    from commands.rebalance.answer import IMPOSSIBLE, emit_plan, plan_rows, state_counts

    states = state_counts(plan_rows(view), "rollback")
    total = sum(count for state, count in states.items() if state is not None)
    back, left = states["done"] + states["already"], states["pending"] + states["under-way"]
    failed, impossible = states["failed"], states[IMPOSSIBLE]
    if executed or not left:
        verdict = f"{back} of {total} former leaders brought back, {failed} failed, {impossible} cannot be brought back"
    else:
        verdict = f"dry run: {left} of {total} former leaders can be brought back; nothing was changed"
    again = "resume" if executed or command == "resume" else "rollback"
    flags = " --execute" if again == "resume" else " --execute --allow-reorder"
    lines = [view.again(again, connection_options) + flags] * bool(left or (executed and failed))
    if executed and back:
        view = replace(view, remarks=(ELECTED_AGAIN,))
    emit_plan(view, f"rebalance-{command}", output, executed=executed, verdict=verdict, next_lines=lines)
    refused = failed or impossible or (executed and (left or view.progress.message))
    raise typer.Exit(ExitCode.CHANGE_REFUSED if refused else view.seen_whole)
