"""A plan as the commands see it: the file, its journal, and the cluster compared with both."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from commands.rebalance.options import tell, write_words
from commands.shared.printing.terminal import print_err
from kreplica.errors import ChangeRefusedError, ExitCode, KreplicaError

if TYPE_CHECKING:
    from commands.rebalance.options import RebalanceRequest
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.drift import StepCheck
    from kreplica.execution.executor import Session
    from kreplica.execution.plan import Plan
    from kreplica.execution.progress import Progress
    from kreplica.monitoring.clusters import Reading


@dataclass(frozen=True, slots=True)
class PlanView:
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
        remarks: Further remarks for the user.
    """

    path: Path
    plan: Plan
    digest: str
    progress: Progress
    running: bool
    reading: Reading | None
    checks: Mapping[tuple[str, int], StepCheck] = field(default_factory=dict)
    back: Mapping[tuple[str, int], StepCheck] = field(default_factory=dict)
    reordered: tuple[tuple[str, int], ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def seen_whole(self) -> ExitCode:
        """5 when a part of the cluster could not be seen, 0 otherwise."""
        incomplete = self.reading is not None and self.reading.incomplete
        return ExitCode.INCOMPLETE if incomplete else ExitCode.OK

    @property
    def label(self) -> str:
        """The cluster's own id."""
        return self.plan.cluster_id

    @property
    def rolled(self) -> bool:
        """True if the plan is being, or was, rolled back."""
        from kreplica.execution.progress import Phase

        return self.progress.phase in (Phase.ROLLING_BACK, Phase.ROLLED_BACK)

    @property
    def phase_words(self) -> str:
        """Phase of the plan in words; without a running process, a phase of work was interrupted."""
        words = {"new": "not begun", "applying": "interrupted", "rolling-back": "interrupted while rolling back"}
        phase = self.progress.phase.value
        return f"{phase}, a process is at it" if self.running else words.get(phase, phase.replace("-", " "))

    @property
    def warnings(self) -> list[str]:
        """Remarks on the cluster and on what was done."""
        return [*(self.reading.warnings() if self.reading is not None else []), *self.remarks]

    def again(self, command: str, connection_options: str) -> str:
        """The command line of a subcommand on the same plan and cluster."""
        handles = self.reading.handles if self.reading is not None and command in ("apply", "resume") else ()
        writes = "".join(write_words(handle) for handle in handles)
        return f"kreplica rebalance {command} {shlex.quote(str(self.path))} {connection_options}".rstrip() + writes


def view_plan(path: Path, handle: ClusterHandle, *, back: bool = False) -> PlanView:
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
    from kreplica.execution.executor import FACETS, check_cluster
    from kreplica.execution.journal import read_journal
    from kreplica.execution.plan_file import read_plan
    from kreplica.execution.progress import replay
    from kreplica.monitoring.clusters import read_clusters

    plan, digest = read_plan(path)
    entries, running = read_journal(path, digest)
    reading = read_clusters((handle,), FACETS)
    check_cluster(plan, reading.snapshots[0])
    view = PlanView(path, plan, digest, replay(plan, entries), running=running, reading=reading)
    return _seen(view, back=back)


def _seen(view: PlanView, *, back: bool) -> PlanView:
    """The view with the state of its changes in the cluster."""
    from kreplica.execution.drift import look_at_steps
    from kreplica.execution.rollback import look_back, reordered, still_to_roll_back

    assert view.reading is not None, "the cluster was read"
    plan, snapshot = view.plan, view.reading.snapshots[0]
    checks = look_at_steps(plan, plan.steps, snapshot)
    if not back and not view.rolled:
        return replace(view, checks=checks)
    half_way = reordered(plan, view.progress, snapshot)
    ways_back = look_back(plan, still_to_roll_back(plan, view.progress), snapshot)
    return replace(view, checks=checks, back=ways_back, reordered=half_way)


@contextmanager
def _interruptions_explained(view: PlanView, connection_options: str) -> Iterator[None]:

    try:
        yield
    except KeyboardInterrupt:
        print_err(f"what was done is in the journal; next {view.again('resume', connection_options)} --execute")
        raise


def carry_out(
    view: PlanView,
    handle: ClusterHandle,
    work: Callable[[Session], str],
    *,
    request: RebalanceRequest,
    allowed: Callable[[PlanView], None],
) -> PlanView:
    """Runs a plan under its journal's lock and reads everything again.

    Args:
        view: The plan as it was read before.
        handle: The cluster.
        work: Applies or rolls back.
        request: The request.
        allowed: Refuses the request if the plan is not ready for it; called again under the lock.

    Raises:
        ChangeRefusedError: Another process carries out the plan, or has done so meanwhile.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    from kreplica.execution.executor import Session
    from kreplica.execution.journal import open_journal
    from kreplica.execution.progress import replay

    with (
        open_journal(view.path, view.plan, view.digest) as journal,
        _interruptions_explained(view, request.connection_options),
    ):
        progress = replay(view.plan, journal.entries)
        allowed(replace(view, progress=progress, running=False))
        work(Session(handle, view.plan, progress, journal, request.pace, tell))
        progress = replay(view.plan, journal.entries)
    return _look_again(view, handle, progress)


def _look_again(view: PlanView, handle: ClusterHandle, progress: Progress) -> PlanView:
    from kreplica.execution.executor import FACETS
    from kreplica.monitoring.clusters import read_clusters

    try:
        reading = read_clusters((handle,), FACETS)
    except KreplicaError as error:  # what was done must be reported all the same
        tell(f"the cluster could not be read afterwards: {error}")
        return replace(view, progress=progress, running=False, checks={}, back={})
    return _seen(replace(view, progress=progress, running=False, reading=reading), back=False)


def refuse_phase(view: PlanView, why: str, fix: str = "") -> ChangeRefusedError:
    """The error for a plan that is not ready for what is asked."""
    states = view.progress.apply.values()
    done = sum(state in ("done", "already") for state in states)
    return ChangeRefusedError(f"{view.path}: {why}", f"{view.phase_words}, {done} of {len(states)} done", fix)
