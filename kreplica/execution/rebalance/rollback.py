"""The leaders that a plan has replaced, brought back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.control.boundary import require_brokers, require_writable
from kreplica.errors import ChangeRefusedError
from kreplica.execution.plan_journal import Phase
from kreplica.execution.rebalance.outcome import PlanOutcome, rollback_outcome
from kreplica.execution.rebalance.plan_state import PlanState, look_at_plan
from kreplica.execution.rebalance.running import DEFAULTS, RebalanceOptions, carry_out
from kreplica.execution.rollback import rollback
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

ELECTED_AGAIN = (
    "where auto.leader.rebalance.enable is true, Kafka's default, the controller elects the preferred leaders again"
    " within leader.imbalance.check.interval.seconds, 300 by default"
)


def rebalance_rollback(
    handle: ClusterHandle,
    path: Path,
    options: RebalanceOptions = DEFAULTS,
    *,
    execute: bool = False,
    allow_reorder: bool = False,
) -> PlanOutcome:
    """Brings back the leaders that a plan has replaced; without ``execute`` tells which, and why others cannot be.

    Args:
        handle: The cluster; a live one if ``execute`` is true.
        path: The plan's file; its journal lies beside it.
        options: Pace, confirmation, reports.
        execute: Whether to change the cluster.
        allow_reorder: Whether replica orders may be changed for a moment, without which nothing is brought back.

    Returns:
        The plan afterwards; its exit code is 4 where a leader was not, or cannot be, brought back.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster or was not begun, the cluster may not be changed, or
            replica orders may not.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    if execute and not allow_reorder:
        raise ChangeRefusedError(
            "nothing was changed", "the way back changes the order of replicas for a moment", "give --allow-reorder"
        )
    state = look_at_plan(path, handle, back=True)
    _require_begun(state)
    return roll_back(state, handle, options, execute=execute)


def _require_begun(state: PlanState) -> None:
    if state.progress.phase is Phase.NEW:
        raise state.refusal("there is nothing to roll back")


def roll_back(state: PlanState, handle: ClusterHandle, options: RebalanceOptions, *, execute: bool) -> PlanOutcome:
    """Rolls back what can be rolled back of a plan; arguments and errors as of ``rebalance_rollback``."""
    possible = sum(not check.drift for check in state.back.values())
    executed = execute and bool(possible or state.reordered)
    if executed:
        require_writable(handle)  # before anybody is asked; each request is refused, too
        require_brokers(handle)
        options.confirm(state.plan.cluster_id, f"bring back {counted(possible, 'former leader')}")
        state = carry_out(state, handle, rollback, options, _require_begun)
    outcome = rollback_outcome(state, executed=executed)
    back = outcome.rollback_counts["done"] + outcome.rollback_counts["already"]
    return replace(outcome, remarks=(ELECTED_AGAIN,)) if executed and back else outcome
