"""State of a plan: its file, its journal, and the cluster compared with both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import ChangeRefusedError, InputError
from kreplica.execution.drift import StepCheck, look_at_steps
from kreplica.execution.executor import FACETS, check_cluster
from kreplica.execution.journal import JOURNAL
from kreplica.execution.moves.plans.plan_file import plan_kind
from kreplica.execution.plan import PartitionKey, Plan, PlanKind
from kreplica.execution.plan_file import read_plan
from kreplica.execution.plan_journal import Phase
from kreplica.execution.progress import Progress, State, replay
from kreplica.execution.rollback import look_back, reordered, still_to_roll_back
from kreplica.monitoring.clusters import Reading, read_clusters

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


@dataclass(frozen=True, slots=True)
class PlanState:
    """A plan, its progress, and the state of its changes in the cluster.

    Args:
        path: The plan's file.
        plan: The plan.
        digest: Its digest.
        progress: Its journal, replayed.
        running: Whether a process is carrying it out.
        reading: The cluster as it was read; None where it was not asked.
        checks: State of each change in the cluster; empty where it was not asked.
        back: State of each rollback that is still to be done.
        reordered: Partitions whose replica order is still to be restored.
    """

    path: Path
    plan: Plan
    digest: str
    progress: Progress
    running: bool
    reading: Reading | None = None
    checks: Mapping[PartitionKey, StepCheck] = field(default_factory=dict)
    back: Mapping[PartitionKey, StepCheck] = field(default_factory=dict)
    reordered: tuple[PartitionKey, ...] = ()

    @property
    def incomplete(self) -> bool:
        """True if a part of the cluster could not be seen."""
        return self.reading is not None and self.reading.incomplete

    @property
    def rolled(self) -> bool:
        """True if the plan is being, or was, rolled back."""
        return self.progress.phase in (Phase.ROLLING_BACK, Phase.ROLLED_BACK)

    @property
    def phase_words(self) -> str:
        """Phase of the plan in words; without a running process, a phase of work was interrupted."""
        words = {"new": "not begun", "applying": "interrupted", "rolling-back": "interrupted while rolling back"}
        phase = self.progress.phase.value
        return f"{phase}, a process is at it" if self.running else words.get(phase, phase.replace("-", " "))

    def refusal(self, why: str, fix: str = "") -> ChangeRefusedError:
        """Makes the error for a plan that is not ready for what is asked."""
        states = self.progress.apply.values()
        done = sum(state in (State.DONE, State.ALREADY) for state in states)
        return ChangeRefusedError(f"{self.path}: {why}", f"{self.phase_words}, {done} of {len(states)} done", fix)


def open_plan(path: Path) -> PlanState:
    """Reads a plan and its journal; asks no cluster.

    Raises:
        InputError: The plan or its journal cannot be read.
    """
    if plan_kind(path) is PlanKind.REPLICAS:
        reason, fix = "it is a plan of replicas, not of leaders", "kreplica.execution.moves.carrying_out carries it out"
        raise InputError(str(path), "", reason, fix)
    plan, digest = read_plan(path)
    entries, running = JOURNAL.read(path, digest)
    return PlanState(path, plan, digest, replay(plan, entries), running=running)


def look_at_plan(path: Path, handle: ClusterHandle, *, back: bool = False) -> PlanState:
    """Reads plan, journal and cluster.

    Args:
        path: The plan's file.
        handle: The cluster.
        back: Whether the state of rollbacks is read, too, before any was begun.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster.
        UnreachableError: The cluster did not answer.
    """
    state = open_plan(path)
    reading = read_clusters((handle,), FACETS)
    check_cluster(state.plan, reading.snapshots[0])
    return compared(replace(state, reading=reading), back=back)


def compared(state: PlanState, *, back: bool = False) -> PlanState:
    """Compares the changes of a plan with the cluster as it was read.

    Args:
        state: The plan; its cluster was read.
        back: Whether rollbacks are compared, too, before any was begun.
    """
    assert state.reading is not None, "the cluster was read"
    plan, snapshot = state.plan, state.reading.snapshots[0]
    checks = look_at_steps(plan, plan.steps, snapshot)
    if not back and not state.rolled:
        return replace(state, checks=checks)
    half_way = reordered(plan, state.progress, snapshot)
    ways_back = look_back(plan, still_to_roll_back(plan, state.progress), snapshot)
    return replace(state, checks=checks, back=ways_back, reordered=half_way)
