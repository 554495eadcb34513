"""kreplica rebalance leaders: which preferred leaders could be elected; elect them, or write a plan that does."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.options import (
    AllowZookeeperOption,
    BatchOption,
    ExecuteOption,
    PauseOption,
    YesOption,
    one_cluster,
    pace_of,
    require_change_allowed,
    tell,
    write_words,
)
from commands.shared.confirm import confirm
from commands.shared.options import (
    ExcludeInternalOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    narrowed,
    takes_sources,
)
from kreplica.errors import ChangeRefusedError, ExitCode, UsageError
from kreplica.model.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.rebalance.rows import ElectionRow
    from commands.shared.printing.output import OutputFormat
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.executor import Pace
    from kreplica.execution.journal import Result
    from kreplica.execution.plan import Plan
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.monitoring.clusters import Reading
    from kreplica.planner.preferred_leaders import Election


@dataclass(frozen=True, slots=True)
class Made:
    """Result of the command: nothing, a plan, or elections that were run.

    Args:
        executed: Whether they were run.
        results: Result of each election that was run.
        stopped: Why the run stopped early.
        plan: The plan, if one was written.
        path: Its file.
    """

    executed: bool = False
    results: Mapping[tuple[str, int], Result] | None = None
    stopped: str = ""
    plan: Plan | None = None
    path: Path | None = None


@takes_sources
def leaders(
    sources: SourceOptions,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a plan for `kreplica rebalance apply`.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file that is there.")] = False,
    batch: BatchOption = None,
    pause: PauseOption = None,
    allow_zookeeper_write: AllowZookeeperOption = False,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    output: OutputOption = None,
) -> None:
    """Elect the preferred leader of every partition that another leads; a dry run unless --execute is given.

    With --out the elections become a plan that can be looked at, applied, resumed after an interruption and rolled
    back. After elections the cluster is read again: only the leaders found then count. Exits 4 when an electable
    preferred leader does not lead afterwards.
    """
    from kreplica.execution.executor import FACETS
    from kreplica.model.selection import select
    from kreplica.monitoring.clusters import read_clusters
    from kreplica.planner.preferred_leaders import plan_elections
    from kreplica.sources import Facet

    if execute and out is not None:
        raise UsageError("--execute and --out exclude each other", "", "write the plan, then kreplica rebalance apply")
    if pause is not None and out is not None:
        raise UsageError(
            "--pause and --out exclude each other", "a plan holds no pauses", "pause it when it is applied"
        )
    pace = pace_of(batch, pause)
    handle = one_cluster(sources.handles(), execute=execute)
    reading = read_clusters((handle,), Facet.LOG_DIRS | (FACETS if execute else Facet.PARTITIONS))
    snapshot = reading.snapshots[0]
    elections = plan_elections(select(snapshot, topics=topic, exclude_internal=exclude_internal))
    made = Made(executed=execute)
    if out is not None:
        made = _write(handle, snapshot, elections, out, pace=pace, force=force)
    elif execute and any(election.electable for election in elections):
        require_change_allowed(handle, allow_zookeeper_write=allow_zookeeper_write)
        plan = _confirmed_plan(handle, snapshot, elections, pace=pace, yes=yes)
        made = _execute(handle, plan, pace, allow_zookeeper_write=allow_zookeeper_write)
    connection_options = sources.again(handle.name) if handle.dump is None else "--bootstrap-server HOST:PORT"
    again = f"{connection_options}{narrowed(topic, exclude_internal)}{write_words(handle)}"
    _emit(
        reading,
        elections,
        made,
        output=output,
        connection_options=connection_options + write_words(handle),
        again=again,
    )
    raise typer.Exit(_exit_code(snapshot, made))


def _write(
    handle: ClusterHandle,
    snapshot: ClusterSnapshot,
    elections: Sequence[Election],
    out: Path,
    *,
    pace: Pace,
    force: bool,
) -> Made:
    from kreplica.execution.journal_file import journal_path, set_aside
    from kreplica.execution.plan_file import write_plan

    if snapshot.cluster_id is None:
        why = f"{handle.name} does not tell the id of its cluster"
        raise UsageError("no plan can be made of this", why, "use the live cluster or a dump of kreplica snapshot")
    plan = _plan(snapshot, elections, pace)
    if force:
        set_aside(out)
    elif journal_path(out).exists():
        raise UsageError(f"{journal_path(out)} is there already", "a plan of that name was begun", "give --force")
    write_plan(plan, out, replace=force)
    return Made(plan=plan, path=out)


def _plan(snapshot: ClusterSnapshot, elections: Sequence[Election], pace: Pace) -> Plan:
    from kreplica.execution.plan import DEFAULT_BATCH, plan_leaders
    from kreplica.model.snapshot import utc_now

    return plan_leaders(snapshot, elections, utc_now().isoformat(), pace.batch or DEFAULT_BATCH)


def _confirmed_plan(
    handle: ClusterHandle, snapshot: ClusterSnapshot, elections: Sequence[Election], *, pace: Pace, yes: bool
) -> Plan:
    if snapshot.cluster_id is None:
        raise ChangeRefusedError("nothing was changed", f"{handle.name} does not tell the id of its cluster")
    plan = _plan(snapshot, elections, pace)
    confirm(handle, snapshot.label, f"run {len(plan.changes)} preferred leader elections", yes=yes)
    return plan


def _execute(handle: ClusterHandle, plan: Plan, pace: Pace, *, allow_zookeeper_write: bool) -> Made:
    """Runs the elections as a plan that is not saved."""
    from kreplica.execution.elections import apply
    from kreplica.execution.executor import Session
    from kreplica.execution.journal import MemoryJournal
    from kreplica.execution.progress import replay

    journal = MemoryJournal()
    session = Session(handle, plan, replay(plan, ()), journal, pace, tell)
    stopped = apply(session, allow_zookeeper_write=allow_zookeeper_write)
    return Made(executed=True, results=replay(plan, journal.entries).results, stopped=stopped)


def _emit(
    reading: Reading,
    elections: Sequence[Election],
    made: Made,
    *,
    output: OutputFormat | None,
    connection_options: str,
    again: str,
) -> None:
    from commands.rebalance.rows import ElectionRow
    from commands.shared.printing.output import Answer, cluster_object, emit

    snapshot, results = reading.snapshots[0], made.results or {}
    rows = [_row(election, results.get((election.topic, election.partition)), made) for election in elections]
    electable = sum(row.electable for row in rows)
    answer = Answer(
        command="rebalance-leaders",
        rows_name="elections",
        columns=ElectionRow,
        rows=rows,
        clusters=[cluster_object(snapshot)],
        summary={
            "executed": made.executed,
            "partitions": len(snapshot.partitions),
            "non_preferred": len(rows),
            "electable": electable,
            "not_electable": len(rows) - electable,
            "done": sum(row.done is True for row in rows),
            "failed": sum(row.done is False for row in rows),
            "stopped": made.stopped,
            "plan": str(made.path) if made.path is not None else None,
            "plan_id": made.plan.plan_id if made.plan is not None else None,
            "steps": len(made.plan.steps) if made.plan is not None else None,
        },
        warnings=reading.warnings(),
    )
    none = f"every {'visible ' if snapshot.gaps else ''}partition is led by its preferred leader"
    emit(
        answer,
        output,
        lambda console: _show(rows, console, made=made, connection_options=connection_options, again=again, none=none),
    )


def _row(election: Election, result: Result | None, made: Made) -> ElectionRow:
    from commands.rebalance.rows import ElectionRow

    reason = election.reason
    if result is not None and result.error:
        reason = result.error
    elif made.stopped and result is None and election.electable:
        reason = "not begun"
    asked = made.executed and election.electable
    return ElectionRow(
        topic=election.topic,
        partition=election.partition,
        from_leader=election.leader,
        to_leader=election.preferred,
        electable=election.electable,
        reason=reason,
        leader_after=result.leader if result is not None else None,
        done=(result is not None and result.done) if asked else None,
    )


def _show(
    rows: Sequence[ElectionRow], console: Console, *, made: Made, connection_options: str, again: str, none: str
) -> None:
    from commands.rebalance.rows import ElectionRow
    from commands.shared.printing.screen import print_lines, print_rows
    from kreplica.model.rows import names_of

    if rows:
        shown = names_of(ElectionRow) if made.executed else names_of(ElectionRow)[:-2]
        print_rows(console, ElectionRow, rows, shown=shown)
    else:
        console.print(none)
    electable = sum(row.electable for row in rows)
    if made.plan is not None:
        elections = counted(electable, "election")
        steps = f"{len(made.plan.steps)} batch{'es' * (len(made.plan.steps) != 1)}"
        console.print(f"plan of {elections} in {steps} written to {made.path}; nothing was changed")
        lines = [f"kreplica rebalance apply {shlex.quote(str(made.path))} {connection_options}"] * bool(electable)
        print_lines(console, "next", lines, whole=True)
    elif rows and not made.executed:
        console.print(f"dry run: {electable} of {len(rows)} can be elected now; nothing was changed")
        print_lines(console, "next", [f"kreplica rebalance leaders {again} --execute"] * bool(electable), whole=True)
    elif rows:
        done = sum(row.done is True for row in rows)
        left = len(rows) - electable
        console.print(f"{done} of {electable} electable preferred leaders lead now, {left} cannot be elected yet")
        print_lines(console, "stopped", [made.stopped] * bool(made.stopped))


def _exit_code(snapshot: ClusterSnapshot, made: Made) -> ExitCode:
    if made.stopped or any(not result.done for result in (made.results or {}).values()):
        return ExitCode.CHANGE_REFUSED
    return ExitCode.INCOMPLETE if snapshot.gaps else ExitCode.OK
