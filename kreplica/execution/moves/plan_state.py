"""State of a plan of replicas: its file, its journal, and the cluster compared with both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import ChangeRefusedError
from kreplica.execution.executor import check_cluster
from kreplica.execution.moves.cluster import MoveCluster, sizes_of
from kreplica.execution.moves.directories.stage import DirectoryCheck, brokers_of, check_directory
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.journal import MOVE_JOURNAL, MoveJournal
from kreplica.execution.moves.plans.plan import ReplicaPlan
from kreplica.execution.moves.plans.plan_file import read_replica_plan
from kreplica.execution.moves.plans.progress import MoveProgress, MoveState, replay_moves
from kreplica.execution.moves.plans.safety import controller_of, judge, obstacle
from kreplica.execution.moves.plans.stage import ChangeCheck, Stage, check_change
from kreplica.execution.moves.plans.stuck import hindrance
from kreplica.execution.plan import PartitionKey
from kreplica.execution.plan_journal import Operation
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory, ReplicaKey

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class MovePlanState:
    """A plan of replicas, its progress, and the stage of its changes in the cluster.

    Args:
        path: The plan's file.
        plan: The plan.
        digest: Its digest.
        progress: Its journal, replayed.
        running: Whether a process is carrying it out.
        snapshot: The cluster as it was read; None where it was not asked.
        checks: Stage of each change that is not over; empty where it was not asked.
        waiting: Pending changes that cannot begin now, each with why.
        stuck: The likeliest reason why a move in flight would not end, where one shows.
        bytes_left: Bytes that moves in flight have still to copy.
        others: Partitions that somebody else moves.
        within: Changes of log directories that are not over, as their brokers tell them; empty where it was not asked.
    """

    path: Path
    plan: ReplicaPlan
    digest: str
    progress: MoveProgress
    running: bool
    snapshot: ClusterSnapshot | None = None
    checks: Mapping[PartitionKey, ChangeCheck] = field(default_factory=dict)
    waiting: Mapping[PartitionKey, str] = field(default_factory=dict)
    stuck: Mapping[PartitionKey, str] = field(default_factory=dict)
    bytes_left: Mapping[PartitionKey, int] = field(default_factory=dict)
    others: tuple[PartitionKey, ...] = ()
    within: Mapping[ReplicaKey, DirectoryCheck] = field(default_factory=dict)

    @property
    def incomplete(self) -> bool:
        """True if a part of the cluster could not be seen."""
        return self.snapshot is not None and bool(self.snapshot.gaps)

    @property
    def unfinished(self) -> tuple[ReplicaChange, ...]:
        """Changes that are pending or under way."""
        return tuple(one for one in self.plan.changes if self.progress.apply[one.key] in _UNFINISHED)

    @property
    def under_way(self) -> tuple[ReplicaChange, ...]:
        """Changes that were asked for and of which the end is not known."""
        return tuple(one for one in self.plan.changes if self.progress.apply[one.key] is MoveState.UNDER_WAY)

    @property
    def ways_back(self) -> tuple[ReplicaChange, ...]:
        """Inverse changes of what the plan has made, less what is back already."""
        return tuple(
            one
            for one in self.plan.inverse
            if self.progress.apply[one.key] is MoveState.DONE and self.progress.rollback.get(one.key) not in _OVER
        )

    @property
    def unfinished_within(self) -> tuple[ChangedDirectory, ...]:
        """Changes of log directories that are pending or under way."""
        states = self.progress.within.apply
        return tuple(one for one in self.plan.changed_directories if states[one.replica] in _UNFINISHED)

    @property
    def under_way_within(self) -> tuple[ChangedDirectory, ...]:
        """Changes of log directories that were asked for and of which the end is not known."""
        states = self.progress.within.apply
        return tuple(one for one in self.plan.changed_directories if states[one.replica] is MoveState.UNDER_WAY)

    @property
    def ways_back_within(self) -> tuple[ChangedDirectory, ...]:
        """Inverse changes of the log directories that the plan has changed, less what is back already."""
        within = self.progress.within
        return tuple(
            one.inverse()
            for one in reversed(self.plan.changed_directories)
            if within.apply[one.replica] is MoveState.DONE and within.rollback.get(one.replica) not in _OVER
        )

    @property
    def still_to_roll_back(self) -> frozenset[PartitionKey]:
        """Partitions whose way back is not over."""
        return frozenset(change.key for change in self.ways_back)

    def made(self, operation: Operation) -> tuple[ReplicaChange, ...]:
        """Changes that an operation has made, or found made: those of the plan, or of a rollback its inverse ones."""
        rolling = operation is Operation.ROLLBACK
        states = self.progress.rollback if rolling else self.progress.apply
        changes = self.plan.inverse if rolling else self.plan.changes
        return tuple(one for one in changes if states.get(one.key) in (MoveState.DONE, MoveState.ALREADY))

    @property
    def rate(self) -> int | None:
        """Bytes a second for each broker that the run has set last, the lowest; None where no throttle is set."""
        return min((note.value for note in self.progress.owed.rates.values()), default=None)

    def seconds_left(self, rate: int | None = None) -> float | None:
        """Least time for what is left to copy: that of the broker that sends or gets most of it.

        Args:
            rate: Bytes a second for each broker; None for the rate that the journal has.

        Returns:
            None where no rate is known, or the size of a partition is not.
        """
        known = rate or self.rate
        if known is None or any(change.size is None for change in self.unfinished if change.adding):
            return None
        sent: dict[int, int] = {}
        received: dict[int, int] = {}
        for change in self.unfinished:
            left = self.bytes_left.get(change.key, change.total_bytes)
            leader = self.checks[change.key].leader if change.key in self.checks else -1
            sent[leader] = sent.get(leader, 0) + left
            for broker in change.adding:
                received[broker] = received.get(broker, 0) + left // len(change.adding)
        within: dict[int, int] = {}
        for one in self.unfinished_within:
            left_here = self.within[one.replica].left if one.replica in self.within else None
            within[one.broker] = within.get(one.broker, 0) + (one.size if left_here is None else left_here)
        return max((*sent.values(), *received.values(), *within.values()), default=0) / known

    @property
    def phase_words(self) -> str:
        """Phase of the plan in words; without a running process, a phase of work was interrupted."""
        words = {"new": "not begun", "applying": "interrupted", "rolling-back": "interrupted while rolling back"}
        phase = self.progress.phase.value
        return f"{phase}, a process is at it" if self.running else words.get(phase, phase.replace("-", " "))

    def refusal(self, why: str, fix: str = "") -> ChangeRefusedError:
        """Makes the error for a plan that is not ready for what is asked."""
        states = (*self.progress.apply.values(), *self.progress.within.apply.values())
        done = sum(state in (MoveState.DONE, MoveState.ALREADY) for state in states)
        return ChangeRefusedError(f"{self.path}: {why}", f"{self.phase_words}, {done} of {len(states)} done", fix)


_UNFINISHED = (MoveState.PENDING, MoveState.UNDER_WAY)
_OVER = (MoveState.DONE, MoveState.ALREADY, MoveState.FAILED, MoveState.LEFT_OUT)


def open_replica_plan(path: Path) -> MovePlanState:
    """Reads a plan and its journal; asks no cluster.

    Raises:
        InputError: The plan or its journal cannot be read.
    """
    plan, digest = read_replica_plan(path)
    entries, running = MOVE_JOURNAL.read(path, digest)
    return MovePlanState(path, plan, digest, replay_moves(plan, entries), running)


def look_at_replica_plan(path: Path, cluster: MoveCluster) -> MovePlanState:
    """Reads plan, journal and cluster.

    Raises:
        InputError: The plan or its journal cannot be read.
        ChangeRefusedError: The plan belongs to another cluster.
        UnreachableError: The cluster did not answer.
    """
    return compared_with(open_replica_plan(path), cluster)


def compared_with(state: MovePlanState, cluster: MoveCluster) -> MovePlanState:
    """Reads the cluster and compares the changes of a plan with it; arguments and errors as of the look."""
    snapshot = cluster.snapshot()
    check_cluster(state.plan, snapshot)
    facts = state.plan.facts
    checks = {one.key: check_change(snapshot, facts[one.key], one) for one in state.unfinished}
    pending = [one for one in state.unfinished if checks[one.key].stage is Stage.BEFORE]
    waiting = {one.key: obstacle(snapshot, one.from_replicas, one) for one in pending}
    possible = [one for one in pending if not waiting[one.key]]
    waiting |= judge(snapshot, possible, controller_of(snapshot), state.plan.margin)
    moving = [one for one in state.under_way if checks[one.key].stage in (Stage.MOVING, Stage.CATCHING_UP)]
    left = bytes_left(cluster, snapshot, moving)
    return replace(
        state,
        snapshot=snapshot,
        checks=checks,
        waiting={key: why for key, why in waiting.items() if why},
        stuck={one.key: why for one in moving if (why := hindrance(snapshot, one))},
        bytes_left=left,
        others=_moved_by_others(state, snapshot, {one.key for one in moving}),
        within=_within(cluster, snapshot, state),
    )


def _within(cluster: MoveCluster, snapshot: ClusterSnapshot, state: MovePlanState) -> dict[ReplicaKey, DirectoryCheck]:
    """Stages of changes of log directories that are not over, or whose way back is not."""
    changes = state.ways_back_within if state.progress.rolled else state.unfinished_within
    if not changes:
        return {}
    facts, logs = state.plan.facts, cluster.logs(brokers_of(changes), list({change.key for change in changes}))
    return {one.replica: check_directory(snapshot, logs, facts[one.key], one) for one in changes}


def bytes_left(
    cluster: MoveCluster, snapshot: ClusterSnapshot, changes: Sequence[ReplicaChange]
) -> dict[PartitionKey, int]:
    """Bytes that moves have still to copy: the leader's size less that of each copy; left out where not told."""
    if not changes:
        return {}
    leaders = {change.key: snapshot.integers("leader")[snapshot.row_number(*change.key)] for change in changes}
    brokers = {broker for change in changes for broker in change.adding}
    brokers |= {leader for leader in leaders.values() if leader is not None and leader >= 0}
    logs = cluster.logs(sorted(brokers), [change.key for change in changes])
    sizes = sizes_of(logs)
    found: dict[PartitionKey, int] = {}
    for change in changes:
        size = sizes.get((*change.key, leaders[change.key] or 0))
        if size is not None:
            found[change.key] = sum(max(0, size - sizes.get((*change.key, broker), 0)) for broker in change.adding)
    return found


def _moved_by_others(
    state: MovePlanState, snapshot: ClusterSnapshot, ours: set[PartitionKey]
) -> tuple[PartitionKey, ...]:
    adding, removing = snapshot.lists("adding"), snapshot.lists("removing")
    topics, numbers = snapshot.strings("topic"), snapshot.integers("partition")
    back = state.progress.rollback
    keys = [(str(topics[row]), int(numbers[row] or 0)) for row in range(len(topics)) if adding[row] or removing[row]]
    return tuple(key for key in keys if key not in ours and back.get(key) is not MoveState.UNDER_WAY)


@contextmanager
def locked(
    state: MovePlanState, allowed: Callable[[MovePlanState], None]
) -> Iterator[tuple[MoveJournal, Callable[[], MovePlanState]]]:
    """Holds the journal's lock for the length of the block; gives the journal, and the state as it stands then.

    Args:
        state: The plan as it was read before.
        allowed: Refuses the request if the plan is not ready for it; called again under the lock.

    Raises:
        ChangeRefusedError: Another process carries out the plan, or has done so meanwhile.
    """
    with MOVE_JOURNAL.open(state.path, state.plan, state.digest) as journal:

        def now() -> MovePlanState:
            progress = replay_moves(state.plan, journal.entries)
            return MovePlanState(state.path, state.plan, state.digest, progress, running=False)

        allowed(now())
        yield journal, now
