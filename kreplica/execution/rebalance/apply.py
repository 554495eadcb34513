"""The elections of a plan run, or what is left of them after an interruption."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.execution.elections import apply
from kreplica.execution.plan_journal import Phase
from kreplica.execution.progress import State
from kreplica.execution.rebalance.outcome import PlanOutcome, apply_outcome
from kreplica.execution.rebalance.plan_state import PlanState, look_at_plan
from kreplica.execution.rebalance.rollback import roll_back
from kreplica.execution.rebalance.running import DEFAULTS, RebalanceOptions, carry_out, require_elections_allowed
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


def rebalance_apply(
    handle: ClusterHandle, path: Path, options: RebalanceOptions = DEFAULTS, *, execute: bool = False
) -> PlanOutcome:
    """Runs the elections of a plan that was not begun; without ``execute`` tells what would be done.

    Where a change of the plan has drifted, nothing is done.

    Args:
        handle: The cluster; a live one if ``execute`` is true.
        path: The plan's file; its journal lies beside it.
        options: Pace, confirmation, reports.
        execute: Whether to change the cluster.

    Returns:
        The plan afterwards; its exit code is 4 where it is refused, stops early, or a preferred leader does not lead.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster or was begun, or the cluster may not be changed.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    state = look_at_plan(path, handle)
    _require_new(state)
    return _go_on(state, handle, options, _require_new, execute=execute)


def rebalance_resume(
    handle: ClusterHandle, path: Path, options: RebalanceOptions = DEFAULTS, *, execute: bool = False
) -> PlanOutcome:
    """Goes on with a plan, or with its rollback, that was interrupted or stopped.

    Args:
        handle: The cluster; a live one if ``execute`` is true.
        path: The plan's file; its journal lies beside it.
        options: Pace, confirmation, reports.
        execute: Whether to change the cluster.

    Returns:
        The plan afterwards, as of ``rebalance_apply`` or ``rebalance_rollback``.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster or was cancelled, or the cluster may not be changed.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    state = look_at_plan(path, handle)
    _require_resumable(state)
    if state.rolled:
        return roll_back(state, handle, options, execute=execute)
    return _go_on(state, handle, options, _require_resumable, execute=execute)


def _require_new(state: PlanState) -> None:
    if state.progress.phase is not Phase.NEW:
        raise state.refusal("the plan was begun before", "see kreplica rebalance status, go on by resume")


def _require_resumable(state: PlanState) -> None:
    if state.progress.phase is Phase.CANCELLED:
        raise state.refusal("the plan was cancelled", "make a new plan: kreplica rebalance leaders --out FILE")


def _go_on(
    state: PlanState,
    handle: ClusterHandle,
    options: RebalanceOptions,
    allowed: Callable[[PlanState], None],
    *,
    execute: bool,
) -> PlanOutcome:
    """Carries out the rest of a plan, unless a change has drifted."""
    unfinished = (State.PENDING, State.UNDER_WAY)
    left = [check for key, check in state.checks.items() if state.progress.apply[key] in unfinished]
    executed = execute and bool(left) and not any(check.drift for check in left)
    if executed:
        require_elections_allowed(handle, options)
        todo = sum(not check.already for check in left)
        options.confirm(state.plan.cluster_id, f"run {counted(todo, 'preferred leader election')}")
        work = partial(apply, allow_zookeeper_write=options.allow_zookeeper_write)
        state = carry_out(state, handle, work, options, allowed)
    return apply_outcome(state, executed=executed)
