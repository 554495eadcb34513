"""The answer of the commands on plans: a row for each planned change, the verdict, and what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from commands.rebalance.plan import PlanView
    from commands.rebalance.rows import ChangeRow
    from commands.shared.printing.output import OutputFormat
    from kreplica.execution.drift import StepCheck
    from kreplica.execution.journal import Result
    from kreplica.execution.plan import LeaderChange

DRIFTED, IMPOSSIBLE = "drifted", "impossible"
MOST_NAMED = 5


def plan_rows(view: PlanView) -> list[ChangeRow]:
    """One row for each change of a plan, in the order of its steps."""
    return [_row(view, step.number, change) for step in view.plan.steps for change in step.changes]


def _row(view: PlanView, step: int, change: LeaderChange) -> ChangeRow:
    from commands.rebalance.rows import ChangeRow

    check, result = view.checks.get(change.key), view.progress.results.get(change.key)
    state, reason = _state(view, change, check, result)
    rollback, rollback_reason = _rollback(view, change, result)
    return ChangeRow(
        topic=change.topic,
        partition=change.partition,
        from_leader=change.from_leader,
        to_leader=change.to_leader,
        step=step,
        state=state,
        leader=check.leader if check is not None else None,
        reason=reason,
        rollback=rollback,
        rollback_reason=rollback_reason,
    )


def _state(view: PlanView, change: LeaderChange, check: StepCheck | None, result: Result | None) -> tuple[str, str]:
    from kreplica.execution.progress import State

    state, back = view.progress.apply[change.key], change.key in view.progress.rollback
    if state is State.ALREADY:
        return str(state), "it led before its turn"
    if state is State.FAILED and result is not None:
        return str(state), result.error or f"{_who(result.leader)} led after the election"
    if check is None:
        return str(state), ""
    if state in (State.PENDING, State.UNDER_WAY):
        return (DRIFTED, check.drift) if check.drift else (str(state), "it leads already" if check.already else "")
    changed = state is State.DONE and not check.already and not back
    return str(state), f"{_who(check.leader)} has come to lead since" if changed else ""


def _who(leader: int | None) -> str:
    return f"broker {leader}" if leader is not None else "nobody"


def _rollback(view: PlanView, change: LeaderChange, result: Result | None) -> tuple[str | None, str]:
    from kreplica.execution.progress import State

    state, check = view.progress.rollback.get(change.key), view.back.get(change.key)
    if change.key in view.reordered:
        return str(State.UNDER_WAY), "the replica order is not restored yet"
    if state is State.FAILED and result is not None:
        return str(state), result.error
    if check is None:
        return (str(state), _since(view, change)) if state is not None else (None, "")
    if check.drift:
        return IMPOSSIBLE, check.drift
    return str(state or State.PENDING), ""


def _since(view: PlanView, change: LeaderChange) -> str:
    """The broker that has led since a leader was brought back, in words; empty if no other has."""
    now = view.checks.get(change.key)
    return "" if now is None or now.leader == change.from_leader else f"{_who(now.leader)} has come to lead since"


def emit_plan(
    view: PlanView,
    command: str,
    output: OutputFormat | None,
    *,
    executed: bool,
    verdict: str,
    next_lines: Sequence[str],
) -> None:
    """Prints the answer of a command on a plan.

    Args:
        view: The plan and its state.
        command: Names the schema, such as ``rebalance-apply``.
        output: The form.
        executed: Whether anything was done.
        verdict: One line on all of it.
        next_lines: What to type next.
    """
    from commands.rebalance.rows import ChangeRow
    from commands.shared.printing.output import Answer, cluster_object, emit

    rows = plan_rows(view)
    answer = Answer(
        command=command,
        rows_name="changes",
        columns=ChangeRow,
        rows=rows,
        clusters=[cluster_object(view.reading.snapshots[0])] if view.reading is not None else [],
        summary=_summary(view, rows, executed),
        warnings=view.warnings,
    )
    emit(answer, output, lambda console: _show(view, rows, console, verdict, next_lines))


def _summary(view: PlanView, rows: Sequence[ChangeRow], executed: bool) -> dict[str, object]:
    states, backs = Counter(row.state for row in rows), Counter(row.rollback for row in rows)
    return {
        "plan": str(view.path),
        "plan_id": view.plan.plan_id,
        "digest": view.digest,
        "kind": view.plan.kind,
        "created_at": view.plan.created_at,
        "phase": view.progress.phase,
        "running": view.running,
        "executed": executed,
        "steps": len(view.plan.steps),
        "changes": len(rows),
        **{name.replace("-", "_"): states[name] for name in _STATES},
        "rollback": {name.replace("-", "_"): backs[name] for name in _ROLLBACK_STATES},
        "stopped": view.progress.message,
    }


_STATES = ("pending", "under-way", "done", "already", "failed", "dropped", DRIFTED)
_ROLLBACK_STATES = ("pending", "under-way", "done", "already", "failed", IMPOSSIBLE)


def _show(view: PlanView, rows: Sequence[ChangeRow], console: Console, verdict: str, next_lines: Sequence[str]) -> None:
    from commands.rebalance.rows import ChangeRow
    from commands.shared.printing.screen import print_lines, print_rows
    from kreplica.model.rows import names_of

    back = any(row.rollback is not None for row in rows)
    shown = names_of(ChangeRow) if back else names_of(ChangeRow)[:-2]
    reasons = dict.fromkeys(("reason", "rollback_reason"), lambda text: text or None)
    print_rows(console, ChangeRow, rows, shown=shown, cells=reasons)
    console.print(verdict)
    print_lines(console, "stopped", [view.progress.message] * bool(view.progress.message))
    print_lines(console, "next", next_lines, whole=True)


def state_counts(rows: Sequence[ChangeRow], field: str = "state") -> Counter[object]:
    """Number of rows in each state."""
    return Counter(getattr(row, field) for row in rows)
