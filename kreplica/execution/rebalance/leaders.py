"""Preferred leaders elected at once, or a plan written that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import ChangeRefusedError, ExitCode, UsageError
from kreplica.execution.elections import apply
from kreplica.execution.executor import FACETS, Session
from kreplica.execution.journal import MemoryJournal, Result
from kreplica.execution.journal_file import clear_journal, require_new_plan
from kreplica.execution.plan import DEFAULT_BATCH, PartitionKey, Plan, plan_leaders
from kreplica.execution.plan_file import write_plan
from kreplica.execution.progress import replay
from kreplica.execution.rebalance.rows import ElectionRow
from kreplica.execution.rebalance.running import DEFAULTS, RebalanceOptions, require_elections_allowed
from kreplica.model.selection import select
from kreplica.model.snapshot import utc_now
from kreplica.model.wording.words import counted
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.planner.preferred_leaders import Election, plan_elections
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class ElectedLeaders:
    """Elections that could be run, that were run, or that stand in a plan now.

    Args:
        reading: The cluster as it was read before.
        elections: Partitions that their preferred leaders do not lead.
        executed: Whether elections were asked for.
        results: Result of each election that was run.
        stopped: Why the run stopped early.
        plan: The plan, if one was written.
        path: Its file.
    """

    reading: Reading
    elections: Sequence[Election]
    executed: bool = False
    results: Mapping[PartitionKey, Result] = field(default_factory=dict)
    stopped: str = ""
    plan: Plan | None = None
    path: Path | None = None

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster."""
        return self.reading.snapshots[0]

    @property
    def rows(self) -> list[ElectionRow]:
        """One row for each partition that its preferred leader did not lead."""
        return [self._row(election) for election in self.elections]

    @property
    def exit_code(self) -> ExitCode:
        """4 where a preferred leader does not lead after its election, 5 where not all could be seen."""
        if self.stopped or any(not result.done for result in self.results.values()):
            return ExitCode.CHANGE_REFUSED
        return ExitCode.INCOMPLETE if self.snapshot.gaps else ExitCode.OK

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading."""
        return self.reading.warnings()

    def _row(self, election: Election) -> ElectionRow:
        result = self.results.get((election.topic, election.partition))
        reason = election.reason
        if result is not None and result.error:
            reason = result.error
        elif self.stopped and result is None and election.electable:
            reason = "not begun"
        asked = self.executed and election.electable
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


def rebalance_leaders(
    handle: ClusterHandle,
    options: RebalanceOptions = DEFAULTS,
    *,
    topics: str | None = None,
    exclude_internal: bool = False,
    execute: bool = False,
    out: Path | None = None,
    force: bool = False,
) -> ElectedLeaders:
    """Elects the preferred leader of every partition that another leads, or writes a plan that does.

    Args:
        handle: The cluster; a live one if ``execute`` is true.
        options: Pace, confirmation, reports.
        topics: Regular expression over whole topic names; None for all.
        exclude_internal: Whether internal topics are left out.
        execute: Whether to change the cluster.
        out: File that a plan is written to instead, for ``rebalance_apply``.
        force: Let a plan and a journal of that name be replaced.

    Raises:
        UsageError: There is no such topic, the plan cannot be written, or both ``execute`` and ``out`` are given.
        ChangeRefusedError: The cluster may not be changed, or does not tell its id.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    require_one_way(execute=execute, out=out)
    if out is not None:
        require_new_plan(out, force=force)
    reading = read_clusters((handle,), Facet.LOG_DIRS | (FACETS if execute else Facet.PARTITIONS))
    snapshot = reading.snapshots[0]
    elections = plan_elections(select(snapshot, topics=topics, exclude_internal=exclude_internal))
    if out is not None:
        plan = _written(handle, snapshot, elections, options, out, force=force)
        return ElectedLeaders(reading, elections, plan=plan, path=out)
    if execute and any(election.electable for election in elections):
        require_elections_allowed(handle, options)
        results, stopped = _executed(handle, _confirmed_plan(handle, snapshot, elections, options), options)
        return ElectedLeaders(reading, elections, executed=True, results=results, stopped=stopped)
    return ElectedLeaders(reading, elections, executed=execute)


def require_one_way(*, execute: bool, out: Path | None) -> None:
    """Refuses to elect and to write a plan in one go.

    Raises:
        UsageError: Both are asked for.
    """
    if execute and out is not None:
        raise UsageError("--execute and --out exclude each other", "", "write the plan, then kreplica rebalance apply")


def _written(
    handle: ClusterHandle,
    snapshot: ClusterSnapshot,
    elections: Sequence[Election],
    options: RebalanceOptions,
    out: Path,
    *,
    force: bool,
) -> Plan:
    if snapshot.cluster_id is None:
        why = f"{handle.name} does not tell the id of its cluster"
        raise UsageError("no plan can be made of this", why, "use the live cluster or a dump of kreplica snapshot")
    plan = _plan(snapshot, elections, options)
    clear_journal(out, force=force)
    write_plan(plan, out, replace=force)
    return plan


def _plan(snapshot: ClusterSnapshot, elections: Sequence[Election], options: RebalanceOptions) -> Plan:
    return plan_leaders(snapshot, elections, utc_now().isoformat(), options.pace.batch or DEFAULT_BATCH)


def _confirmed_plan(
    handle: ClusterHandle, snapshot: ClusterSnapshot, elections: Sequence[Election], options: RebalanceOptions
) -> Plan:
    if snapshot.cluster_id is None:
        raise ChangeRefusedError("nothing was changed", f"{handle.name} does not tell the id of its cluster")
    plan = _plan(snapshot, elections, options)
    options.confirm(snapshot.label, f"run {counted(len(plan.changes), 'preferred leader election')}")
    return plan


def _executed(
    handle: ClusterHandle, plan: Plan, options: RebalanceOptions
) -> tuple[Mapping[PartitionKey, Result], str]:
    """Runs the elections as a plan that is not saved."""
    journal = MemoryJournal()
    session = Session(handle, plan, replay(plan, ()), journal, options.pace, options.report)
    stopped = apply(session, allow_zookeeper_write=options.allow_zookeeper_write)
    return replay(plan, journal.entries).results, stopped
