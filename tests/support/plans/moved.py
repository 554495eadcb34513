"""A cluster on paper that moves replicas, a plan for it, and runs of that plan in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusters.moving import SIZE, MovingCluster

from kreplica.execution.moves.plans.journal import MOVE_JOURNAL
from kreplica.execution.moves.plans.plan import PlanRequest, ReplicaPlan, plan_replicas
from kreplica.execution.moves.plans.plan_file import read_replica_plan, write_replica_plan
from kreplica.execution.moves.plans.progress import MoveProgress, MoveState, replay_moves
from kreplica.execution.moves.running.runner import MoveRun, run_moves
from kreplica.execution.moves.session import MoveOptions, MoveSession
from kreplica.execution.plan_journal import Operation
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.moves.order import MoveLimits

OPTIONS = MoveOptions(max_wait=2.0, poll=0.0)


class Moved:
    """A plan in its file, the cluster that it is for, and what was said on the way."""

    def __init__(self, folder: Path) -> None:
        self.cluster = MovingCluster(folder / "cluster.json")
        self.path = folder / "plan.json"
        self.said: list[str] = []
        self.digest = ""

    def make(
        self,
        targets: Mapping[int, tuple[int, ...]],
        limits: MoveLimits | None = None,
        within: Sequence[tuple[int, int]] = (),
    ) -> ReplicaPlan:
        """A plan of new replicas, and of replicas (partition and broker) that go from ``/d`` to ``/e``."""
        wanted = {("orders", number): target for number, target in targets.items()}
        changed = [ChangedDirectory("orders", number, broker, "/d", "/e", SIZE) for number, broker in within]
        request = PlanRequest(wanted, limits=limits or MoveLimits(), changed_directories=changed)
        plan, left_out = plan_replicas(self.cluster.snapshot(), request, "2026-03-01T12:00:00+00:00")
        assert left_out == ()
        self.digest = write_replica_plan(plan, self.path)
        return plan

    @property
    def plan(self) -> ReplicaPlan:
        return read_replica_plan(self.path)[0]

    @property
    def progress(self) -> MoveProgress:
        return replay_moves(self.plan, MOVE_JOURNAL.read(self.path, self.digest)[0])

    @property
    def states(self) -> dict[int, str]:
        return {key[1]: str(state) for key, state in sorted(self.progress.apply.items())}

    @property
    def states_within(self) -> dict[tuple[int, int], str]:
        """States of changes of log directories, by partition and broker."""
        return {key[1:]: str(state) for key, state in sorted(self.progress.within.apply.items())}

    def in_session(self, work: Callable[[MoveSession], Any], options: MoveOptions = OPTIONS) -> Any:
        with MOVE_JOURNAL.open(self.path, self.plan, self.digest) as journal:
            progress = replay_moves(self.plan, journal.entries)
            told = replace(options, tell=self.said.append)
            return work(MoveSession(self.cluster, self.plan, progress, journal, told))

    def run(self, options: MoveOptions = OPTIONS) -> MoveRun:
        def work(session: MoveSession) -> MoveRun:
            open_states = (MoveState.PENDING, MoveState.UNDER_WAY)
            left = [one for one in session.plan.changes if session.progress.apply[one.key] in open_states]
            states = session.progress.within.apply
            within = [one for one in session.plan.changed_directories if states[one.replica] in open_states]
            return run_moves(session, Operation.APPLY, left, within)

        found: MoveRun = self.in_session(work, options)
        return found
