"""Carries out a plan batch by batch, stops when the cluster gets worse, and records everything in the journal.

For each batch: check that the cluster still matches the plan; note in the journal what is intended; do it; read the
cluster again; note the results; check that nothing got worse; pause. The run stops, with its reason in the journal,
when

- a partition of the batch has drifted (``drift``, ``rollback.look_back``): nothing of that batch is done;
- a partition of the cluster has no live leader, or is under min ISR, and did not have that trouble when the run began;
- the cluster stops answering, or refuses the whole request.

A single election that the controller refuses, or after which another replica leads, is a failure of that partition and
stops nothing.

A cluster is read again until it shows a change, as its brokers learn of it with a delay.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from kreplica.control.boundary import require_writable
from kreplica.errors import ChangeRefusedError, KreplicaError, UnreachableError
from kreplica.execution.drift import StepCheck, Trouble, got_worse, look_at_steps, trouble
from kreplica.execution.journal import Event, Journal, Result, entry
from kreplica.execution.plan import LeaderChange, PartitionKey, Plan, Step
from kreplica.execution.plan_journal import Operation
from kreplica.execution.progress import State
from kreplica.planner.preferred_leaders import batches
from kreplica.sources import Facet, read_snapshot

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.progress import Progress
    from kreplica.model.snapshot import ClusterSnapshot


SETTLE_SECONDS = 10.0
"""Seconds that brokers' metadata may take to show a change."""

PAUSE_SECONDS = 0.5
"""Seconds between two reads."""


def read_settled(
    handle: ClusterHandle, wanted: Facet, settled: Callable[[ClusterSnapshot], bool], *, patient: bool = True
) -> ClusterSnapshot:
    """Reads until a snapshot shows the change or the time is up, and returns the last snapshot.

    Args:
        handle: The cluster.
        wanted: Facets to read.
        settled: Tells whether a snapshot shows the change.
        patient: Whether a read that fails is tried again within the time: while leaders move one may fail, and what
            was changed must still be reported.

    Raises:
        UnreachableError: The cluster did not answer, where patient the last of the reads.
    """
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        late = time.monotonic() > deadline
        try:
            snapshot = read_snapshot(handle, wanted)
        except UnreachableError as error:
            if late or not patient or not error.may_pass:
                raise
        else:
            if late or settled(snapshot):
                return snapshot
        time.sleep(PAUSE_SECONDS)


FACETS = Facet.TOPIC_CONFIGS
"""Facets that a run reads before and after each batch: partitions, and min.insync.replicas of their topics."""

Tell: TypeAlias = Callable[[str], None]
Look: TypeAlias = Callable[[Plan, Sequence[Step], "ClusterSnapshot"], dict[PartitionKey, StepCheck]]
Work: TypeAlias = Callable[["ClusterHandle", Plan, Step], tuple[Result, ...]]


@dataclass(frozen=True, slots=True)
class Pace:
    """Batch size and pause of a run.

    Args:
        batch: Most changes at once; the plan's own steps if None. Steps are split, never joined.
        pause: Seconds between two batches.
    """

    batch: int | None = None
    pause: float = 0.0


class OfCluster(Protocol):
    """A plan of any kind, which belongs to one cluster."""

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""

    @property
    def cluster_name(self) -> str:
        """Its name."""


def check_cluster(plan: OfCluster, snapshot: ClusterSnapshot) -> None:
    """Checks that the plan was made for this cluster.

    Raises:
        ChangeRefusedError: It was made for another, or the cluster does not report its id.
    """
    if snapshot.cluster_id == plan.cluster_id:
        return
    here = f"this is {snapshot.cluster_id}" if snapshot.cluster_id else "this one does not tell its id"
    raise ChangeRefusedError(
        "the plan belongs to another cluster",
        f"made for {plan.cluster_id} ({plan.cluster_name}), {here}",
        "name the cluster it was made for",
    )


@dataclass(frozen=True, slots=True)
class Session:
    """Cluster, plan and journal of one run.

    Args:
        handle: The cluster.
        plan: The plan.
        progress: The plan's progress so far.
        journal: Records every step.
        pace: Batch size and pause.
        tell: Called with each event, as one clause.
    """

    handle: ClusterHandle
    plan: Plan
    progress: Progress
    journal: Journal
    pace: Pace
    tell: Tell


def run_steps(
    session: Session, operation: Operation, steps: Sequence[Step], work: Work, look: Look = look_at_steps
) -> str:
    """Runs steps of a plan or of its inverse.

    Args:
        session: What to work with.
        operation: The operation, for the journal.
        steps: Steps still to do, in order.
        work: Does one step and returns the result of each partition.
        look: Compares a batch with the cluster, right before it is done.

    Returns:
        Why it stopped early, empty if it did not.

    Raises:
        ChangeRefusedError: The plan belongs to another cluster, or the handle may not be changed.
        UnreachableError: The cluster did not answer before anything was begun.
    """
    require_writable(session.handle)
    snapshot = read_snapshot(session.handle, FACETS)
    check_cluster(session.plan, snapshot)
    states = session.progress.rollback if operation is Operation.ROLLBACK else session.progress.apply
    begun = frozenset(key for key, state in states.items() if state in (State.UNDER_WAY, State.FAILED))
    run = _Run(session, operation, work, look, begun, trouble(snapshot))
    session.journal.append(entry(Event.STARTED, operation, pid=os.getpid()))
    try:
        reason = _run(run, list(split(steps, session.pace.batch)), session.pace.pause, snapshot)
    except KeyboardInterrupt:
        session.journal.append(entry(Event.STOPPED, operation, message="interrupted"))
        raise
    session.journal.append(entry(Event.STOPPED if reason else Event.COMPLETED, operation, message=reason))
    return reason


@dataclass(frozen=True, slots=True)
class _Run:
    session: Session
    operation: Operation
    work: Work
    look: Look
    begun: frozenset[PartitionKey]
    before: Trouble


def _run(run: _Run, parts: Sequence[Step], pause: float, snapshot: ClusterSnapshot) -> str:
    """Runs the parts and returns why the run stopped, empty if it finished; ``snapshot`` was just read."""
    for number, part in enumerate(parts, start=1):
        name = f"batch {number} of {len(parts)}"
        try:
            if reason := _run_batch(run, part, name, snapshot):
                return f"{name}: {reason}"
            snapshot = _settled(run)
            if pause and number < len(parts) and not got_worse(run.before, trouble(snapshot)):
                run.session.tell(f"pause of {pause:g} s")
                time.sleep(pause)
                snapshot = _settled(run)
            if worse := got_worse(run.before, trouble(snapshot)):
                return f"after {name}: the cluster got worse, {worse}"
        except KreplicaError as error:
            return f"{name}: {error}"
    return ""


def _run_batch(run: _Run, part: Step, name: str, snapshot: ClusterSnapshot) -> str:
    """Does one batch and returns why it was not done, empty if it was."""
    checks = run.look(run.session.plan, (part,), snapshot)
    drifted = [f"{topic}-{number}: {check.drift}" for (topic, number), check in checks.items() if check.drift]
    if drifted:
        more = f", and {len(drifted) - 1} more" if len(drifted) > 1 else ""
        return f"the cluster has drifted from the plan, {drifted[0]}{more}"
    made = tuple(_found_made(run, change, checks[change.key]) for change in part.changes if checks[change.key].already)
    left = tuple(change for change in part.changes if not checks[change.key].already)
    results = made
    if left:
        todo = tuple(change.key for change in left)
        run.session.journal.append(entry(Event.INTENDED, run.operation, step=part.number, partitions=todo))
        results += run.work(
            run.session.handle, run.session.plan, Step(part.number, part.action, part.preconditions, left)
        )
    assert {result.key for result in results} == set(checks), "every change has a result"
    run.session.journal.append(entry(Event.FINISHED, run.operation, step=part.number, results=results))
    run.session.tell(f"{name}: {sum(result.done for result in results)} of {len(results)} as planned")
    return ""


def _found_made(run: _Run, change: LeaderChange, check: StepCheck) -> Result:
    """Result of a change found already made: by an earlier run that died during it, otherwise by somebody else."""
    return Result(change.topic, change.partition, check.leader, done=True, already=change.key not in run.begun)


def _settled(run: _Run) -> ClusterSnapshot:
    """Reads the cluster after a batch, repeatedly for a while as long as it looks worse than before."""
    return read_settled(run.session.handle, FACETS, lambda now: not got_worse(run.before, trouble(now)), patient=False)


def split(steps: Sequence[Step], size: int | None) -> Iterator[Step]:
    """The steps, cut into parts of at most ``size`` changes that keep their step's number."""
    for step in steps:
        for changes in batches(step.changes, size or max(1, len(step.changes))):
            yield Step(step.number, step.action, step.preconditions, changes)


def remaining(steps: Sequence[Step], wanted: Callable[[LeaderChange], bool]) -> list[Step]:
    """The steps with only the changes that are wanted; empty ones are left out."""
    left = [
        Step(step.number, step.action, step.preconditions, tuple(change for change in step.changes if wanted(change)))
        for step in steps
    ]
    return [step for step in left if step.changes]


def still_to_apply(plan: Plan, progress: Progress) -> list[Step]:
    """Steps of a plan still to be done; changes intended when a run died are done again if necessary."""
    open_states = (State.PENDING, State.UNDER_WAY)
    return remaining(plan.steps, lambda change: progress.apply[change.key] in open_states)
