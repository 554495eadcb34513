"""kreplica rebalance apply and resume: carry out a plan, or continue one that was interrupted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import typer

from commands.rebalance.options import (
    AllowZookeeperOption,
    BatchOption,
    ExecuteOption,
    PauseOption,
    PlanArgument,
    RebalanceRequest,
    YesOption,
    one_cluster,
    pace_of,
    require_change_allowed,
)
from commands.shared.confirm import confirm
from commands.shared.options import OutputOption, SourceOptions, takes_sources
from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from commands.rebalance.plan import PlanView
    from commands.shared.printing.output import OutputFormat
    from kreplica.config.handle import ClusterHandle


@takes_sources
def apply(
    sources: SourceOptions,
    plan: PlanArgument,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    batch: BatchOption = None,
    pause: PauseOption = None,
    allow_zookeeper_write: AllowZookeeperOption = False,
    output: OutputOption = None,
) -> None:
    """Run the elections of a plan; without --execute show what would be done, and what has drifted.

    A plan of another cluster, or one that no longer fits its cluster, is refused. Every step is written to the journal
    beside the plan before it is begun, so that an interrupted plan can be resumed or rolled back. Exits 4 when the plan
    is refused or stops early, or when a preferred leader does not lead after its election.
    """
    from commands.rebalance.plan import view_plan

    pace = pace_of(batch, pause)
    handle = one_cluster(sources.handles(), execute=execute)
    view = view_plan(plan, handle)
    _require_new(view)
    request = RebalanceRequest("apply", sources.again(handle.name), pace, execute=execute, yes=yes)
    _go_on(view, handle, request, output, allow_zookeeper_write=allow_zookeeper_write)


@takes_sources
def resume(
    sources: SourceOptions,
    plan: PlanArgument,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    batch: BatchOption = None,
    pause: PauseOption = None,
    allow_zookeeper_write: AllowZookeeperOption = False,
    output: OutputOption = None,
) -> None:
    """Go on with a plan, or with its rollback, that was interrupted or stopped.

    Changes that its journal does not show as done are read again, and checked for drift again. Without --execute
    nothing is changed. Exits as apply and rollback do.
    """
    from commands.rebalance.plan import view_plan
    from commands.rebalance.rollback import roll_back

    pace = pace_of(batch, pause)
    handle = one_cluster(sources.handles(), execute=execute)
    view = view_plan(plan, handle)
    _require_resumable(view)
    request = RebalanceRequest("resume", sources.again(handle.name), pace, execute=execute, yes=yes)
    if view.rolled:
        roll_back(view, handle, request, output)
    else:
        _go_on(view, handle, request, output, allow_zookeeper_write=allow_zookeeper_write)


def _require_new(view: PlanView) -> None:
    from commands.rebalance.plan import refuse_phase
    from kreplica.execution.progress import Phase

    if view.progress.phase is not Phase.NEW:
        raise refuse_phase(view, "the plan was begun before", "see kreplica rebalance status, go on by resume")


def _require_resumable(view: PlanView) -> None:
    from commands.rebalance.plan import refuse_phase
    from kreplica.execution.progress import Phase

    if view.progress.phase is Phase.CANCELLED:
        raise refuse_phase(view, "the plan was cancelled", "make a new plan: kreplica rebalance leaders --out FILE")


def _go_on(
    view: PlanView,
    handle: ClusterHandle,
    request: RebalanceRequest,
    output: OutputFormat | None,
    *,
    allow_zookeeper_write: bool,
) -> None:
    """Carries out the rest of a plan, or shows what that would do, and exits."""
    from commands.rebalance.plan import carry_out
    from kreplica.execution.elections import apply as apply_plan

    left = [check for key, check in view.checks.items() if view.progress.apply[key] in ("pending", "under-way")]
    drifted = any(check.drift for check in left)
    executed = request.execute and bool(left) and not drifted
    if executed:
        require_change_allowed(handle, allow_zookeeper_write=allow_zookeeper_write)
        todo = sum(not check.already for check in left)
        confirm(handle, view.label, f"run {todo} preferred leader elections", yes=request.yes)
        allowed = _require_new if request.command == "apply" else _require_resumable
        work = partial(apply_plan, allow_zookeeper_write=allow_zookeeper_write)
        view = carry_out(view, handle, work, request=request, allowed=allowed)
    _answer(view, request.command, output, executed=executed, connection_options=request.connection_options)


def _answer(
    view: PlanView, command: str, output: OutputFormat | None, *, executed: bool, connection_options: str
) -> None:
    from commands.rebalance.answer import DRIFTED, emit_plan, plan_rows, state_counts

    states = state_counts(plan_rows(view))
    total, left = sum(states.values()), states["pending"] + states["under-way"]
    done, failed, drifted = states["done"] + states["already"], states["failed"], states[DRIFTED]
    if executed:
        verdict = f"{done} of {total} planned elections done, {failed} failed, {left + drifted} not begun"
    elif drifted:
        verdict = f"refused: {drifted} of {total} planned elections no longer fit the cluster; nothing was changed"
    elif left:
        verdict = f"dry run: {left} of {total} planned elections are left to run; nothing was changed"
    else:
        verdict = f"nothing is left to do: {done} of {total} done, {failed} failed"
    lines = _next(view, command, connection_options, left=left, drifted=drifted, executed=executed)
    emit_plan(view, f"rebalance-{command}", output, executed=executed, verdict=verdict, next_lines=lines)
    refused = drifted or failed or (executed and (left or view.progress.message))
    raise typer.Exit(ExitCode.CHANGE_REFUSED if refused else view.seen_whole)


def _next(
    view: PlanView, command: str, connection_options: str, *, left: int, drifted: int, executed: bool
) -> list[str]:
    if drifted:
        return [
            f"kreplica rebalance leaders {connection_options} --out FILE",
            *([view.again("status", connection_options)] if executed else []),
        ]
    if not left:
        return []
    return [view.again("resume" if executed else command, connection_options) + " --execute"]
