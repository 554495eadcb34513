"""Replicas that should be elsewhere: planned for the reasons given, or named by a file, and written as a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from kreplica.errors import ChangeRefusedError, ExitCode, UsageError
from kreplica.execution.journal_file import clear_journal, require_new_plan
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.plan import LeftOut, PlanRequest, ReplicaPlan, plan_replicas
from kreplica.execution.moves.plans.plan_file import write_replica_plan
from kreplica.execution.moves.plans.reassignment_json import NamedReassignments, write_reassignment_json
from kreplica.execution.rebalance.downtime import with_dead_brokers
from kreplica.execution.rebalance.named_replicas import named_certificate, refused_directories
from kreplica.model.snapshot import utc_now
from kreplica.model.tables.rows import Int32, Meaning, of_partition
from kreplica.model.wording.words import counted, listed
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.moves.intermediate_states import DEFAULT_MARGIN
from kreplica.planner.reassignment.moves.order import DEFAULT_LIMITS, MoveLimits
from kreplica.sources import Facet
from kreplica.system.output_files import require_free

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.model.tables.columns import Indices
    from kreplica.planner.reassignment.feasibility import Obstacle
    from kreplica.planner.reassignment.moves.effects import Effects
    from kreplica.planner.reassignment.planning import GoalBound, PlanningLimits
    from kreplica.planner.reassignment.request import Request

FACETS = Facet.TOPIC_CONFIGS | Facet.LOG_DIRS
"""Partitions, min.insync.replicas, sizes and free space."""


class PlannedMove(Struct, frozen=True):
    """A partition whose replicas, or their order, would change."""

    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    from_replicas: Annotated[list[Int32], Meaning("replicas now, the preferred leader first", label="FROM")]
    to_replicas: Annotated[list[Int32], Meaning("replicas afterwards, the preferred leader first", label="TO")]
    adding: Annotated[list[Int32], Meaning("brokers that get a replica", drop=1)]
    removing: Annotated[list[Int32], Meaning("brokers that lose theirs", drop=2)]
    bytes: Annotated[int | None, Meaning("bytes that are copied, null where the size is not known")]
    directories: Annotated[
        list[str],
        Meaning("log directories that are chosen, as broker:path; of a broker that has the replica already, a new one"),
    ]
    planned: Annotated[bool, Meaning("whether the plan has it", screen=False)]
    reason: Annotated[str | None, Meaning("why it is left out, null where it is planned", fold=True)]


@dataclass(frozen=True, slots=True)
class PlannedReplicas:
    """Changes of replicas, and what was left out.

    Args:
        reading: The cluster as read.
        plan: The changes, in the order in which they begin.
        left_out: Partitions that were to change and stay as they are, each with why.
        targets: Replicas that were wanted.
        remarks: Facts that are not known, and aims that cannot be reached.
        bounds: Quantities of the plan, with what no other plan goes below; none where the replicas were named.
        effects: Brokers and racks before and after, by the plan; None where the replicas were named.
        leaderless: Partitions that are not planned because no live broker leads them.
        reassigning: Partitions that are not planned because they are being reassigned.
        changed_directories: Replicas that change their log directory and not their broker.
        paths: Files that were written.
    """

    reading: Reading
    plan: ReplicaPlan
    left_out: Sequence[LeftOut]
    targets: Mapping[tuple[str, int], tuple[int, ...]]
    remarks: Sequence[str] = ()
    bounds: Sequence[GoalBound] = ()
    effects: Effects | None = None
    leaderless: Sequence[tuple[str, int]] = ()
    reassigning: Sequence[tuple[str, int]] = ()
    changed_directories: Sequence[ChangedDirectory] = ()
    paths: Mapping[str, Path] = field(default_factory=dict)

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster."""
        return self.reading.snapshots[0]

    @property
    def moves(self) -> int:
        """Replicas that are added."""
        return sum(len(change.adding) for change in self.plan.changes)

    @property
    def bytes(self) -> int:
        """Bytes that are copied, of partitions whose size is known."""
        return sum(change.total_bytes for change in self.plan.changes)

    @property
    def leader_changes(self) -> int:
        """Partitions whose preferred leader is another."""
        return sum(change.from_replicas[:1] != change.to_replicas[:1] for change in self.plan.changes)

    @property
    def rows(self) -> list[PlannedMove]:
        """Planned changes in their order, then those left out."""
        within: dict[tuple[str, int], list[ChangedDirectory]] = {}
        for one in self.changed_directories:
            within.setdefault(one.key, []).append(one)
        moved = [_planned(change, within.pop(change.key, [])) for change in self.plan.changes]
        stay = [self._within(key, found) for key, found in within.items()]
        return [*moved, *stay, *map(self._left_out, self.left_out)]

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading."""
        return self.reading.warnings()

    @property
    def word(self) -> str:
        """Verdict in a word."""
        if self.left_out or self.leaderless or any(bound.short for bound in self.bounds):
            return "PARTIAL"
        return "INCOMPLETE" if self.snapshot.gaps else "PLANNED"

    @property
    def exit_code(self) -> ExitCode:
        """1 where something that was asked for is left out or not reached, 5 where not all could be seen."""
        if self.word == "PARTIAL":
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.snapshot.gaps else ExitCode.OK

    def _replicas(self, topic: str, partition: int) -> list[int]:
        row = self.snapshot.find_row(topic, partition)
        return list(self.snapshot.lists("replicas")[row] or ()) if row is not None else []

    def _within(self, key: tuple[str, int], found: Sequence[ChangedDirectory]) -> PlannedMove:
        now = tuple(self._replicas(*key))
        return _planned(ReplicaChange(*key, now, now, 0), found)

    def _left_out(self, one: LeftOut) -> PlannedMove:
        now = self._replicas(one.topic, one.partition)
        target = list(self.targets.get((one.topic, one.partition), now))
        return PlannedMove(
            topic=one.topic,
            partition=one.partition,
            from_replicas=now,
            to_replicas=target,
            adding=[broker for broker in target if broker not in now],
            removing=[broker for broker in now if broker not in target],
            bytes=None,
            directories=[],
            planned=False,
            reason=one.reason,
        )


def _planned(change: ReplicaChange, within: Sequence[ChangedDirectory]) -> PlannedMove:
    chosen = [*change.directories, *((one.broker, one.destination) for one in within)]
    return PlannedMove(
        topic=change.topic,
        partition=change.partition,
        from_replicas=list(change.from_replicas),
        to_replicas=list(change.to_replicas),
        adding=list(change.adding),
        removing=list(change.removing),
        bytes=None if change.size is None else change.total_bytes + sum(one.size for one in within),
        directories=[f"{broker}:{path}" for broker, path in chosen],
        planned=True,
        reason=None,
    )


@dataclass(frozen=True, slots=True)
class PlanFiles:
    """Files to write.

    Args:
        plan: The plan, for ``rebalance_apply``; None for none.
        reassignment_json: The same changes for kafka-reassign-partitions; None for none.
        replace: Let files of these names be replaced.
    """

    plan: Path | None = None
    reassignment_json: Path | None = None
    replace: bool = False


NO_FILES = PlanFiles()


def rebalance_replicas(
    handle: ClusterHandle,
    wanted: Request | NamedReassignments,
    *,
    options: PlanningLimits | None = None,
    throttle: int | None = None,
    limits: MoveLimits = DEFAULT_LIMITS,
    files: PlanFiles = NO_FILES,
    since: Path | None = None,
) -> PlannedReplicas:
    """Plans changes of replicas; nothing is changed but the files that are named.

    Args:
        handle: The cluster.
        wanted: Reasons to move replicas; or the replicas themselves, from any tool.
        options: Room on disks, and how many brokers may fail while a partition moves; None for the defaults.
        throttle: Bytes a second of each broker, for the expected time; None for no limit.
        limits: What may be in flight at the same time.
        files: Files to write.
        since: An earlier snapshot of the cluster, or a directory of snapshots, which tells since when brokers are down.

    Raises:
        UsageError: A broker, a topic or a partition that is named does not exist, free space is not known, since when
            a broker is down is not known and counts, or a file cannot be written.
        MissingExtraError: A proof is wanted and OR-tools is not installed.
        ChangeRefusedError: A plan is to be written and the cluster does not tell its id.
        UnreachableError: The cluster did not answer.
    """
    if files.plan is not None:
        require_new_plan(files.plan, force=files.replace)
    if files.reassignment_json is not None:
        require_free(files.reassignment_json, replace=files.replace)
    reading = read_clusters((handle,), FACETS | _facets_for(wanted))
    snapshot = reading.snapshots[0]
    if snapshot.cluster_id is None and files.plan is not None:
        raise ChangeRefusedError(
            "no plan can be written", f"{snapshot.source} does not tell the id of the cluster", "name a live cluster"
        )
    if isinstance(wanted, NamedReassignments):
        found = _from_file(reading, wanted, limits, DEFAULT_MARGIN if options is None else options.margin)
    else:
        request, remarks = with_dead_brokers(wanted, snapshot, since)
        found = _from_reasons(reading, request, options, limits, throttle)
        found = replace(found, remarks=(*remarks, *found.remarks))
    return replace(found, paths=_written(found, files))


def _facets_for(wanted: Request | NamedReassignments) -> Facet:
    """Facts that a request needs besides: the quorum knows when each broker last fetched."""
    by_time = not isinstance(wanted, NamedReassignments) and wanted.dead_for is not None
    return Facet.QUORUM if by_time else Facet.PARTITIONS


def _from_file(reading: Reading, wanted: NamedReassignments, limits: MoveLimits, margin: int) -> PlannedReplicas:
    """A plan of replicas that a file names; unknown brokers are refused, what cannot be done is left out."""
    from kreplica.planner.reassignment.certificates.certificate import certificate_object

    snapshot = reading.snapshots[0]
    known = set(snapshot.brokers["broker"].to_list())
    unknown = sorted({broker for replicas in wanted.replicas.values() for broker in replicas if broker not in known})
    if unknown:
        raise UsageError(
            f"no broker {listed(unknown, 5)}", "the reassignment names it", f"{counted(len(known), 'broker')} known"
        )
    directories = {
        (key, broker): name
        for key, names in wanted.directories.items()
        for broker, name in zip(wanted.replicas[key], names, strict=True)
        if name is not None
    }
    refused = refused_directories(snapshot, directories)
    targets = {key: replicas for key, replicas in wanted.replicas.items() if key not in refused}
    within = [one for one in _changed_directories(snapshot, directories) if one.key not in refused]
    request = PlanRequest(targets, directories, limits, margin=margin, changed_directories=within)
    plan, unfit = _plan(snapshot, request)
    plan = replace(plan, certificate=certificate_object(named_certificate(plan.changes, plan.changed_directories)))
    left_out = [*(LeftOut(*key, reason) for key, reason in refused.items()), *unfit]
    return PlannedReplicas(reading, plan, left_out, wanted.replicas, changed_directories=plan.changed_directories)


def _changed_directories(
    snapshot: ClusterSnapshot, directories: Mapping[tuple[tuple[str, int], int], str]
) -> Iterator[ChangedDirectory]:
    """Replicas for which a file names another directory of the broker that holds them."""
    for row in snapshot.replicas.rows():
        topic, partition, broker = str(row["topic"]), int(str(row["partition"])), int(str(row["broker"]))
        wanted = directories.get(((topic, partition), broker))
        if wanted is not None and not row["future"] and wanted != row["log_dir"]:
            yield ChangedDirectory(topic, partition, broker, str(row["log_dir"]), wanted, int(str(row["size"])))


def _from_reasons(
    reading: Reading, wanted: Request, options: PlanningLimits | None, limits: MoveLimits, throttle: int | None
) -> PlannedReplicas:
    from kreplica.planner.reassignment.certificates.certificate import certificate_object
    from kreplica.planner.reassignment.moves.effects import effects_of
    from kreplica.planner.reassignment.planning import NO_LIMITS, plan_reassignment, without

    snapshot = reading.snapshots[0]
    options = options or NO_LIMITS
    planned = plan_reassignment(snapshot, wanted, options)
    within = planned.changed_directories
    request = PlanRequest(
        planned.targets, planned.directories, limits, margin=options.margin, changed_directories=within
    )
    plan, left_out = _plan(snapshot, request)
    kept = {change.key for change in plan.changes}
    unsafe = [key for key in planned.targets if key not in kept]
    plan = replace(
        plan,
        certificate=certificate_object(planned.certificate(unsafe, plan.changed_directories)),
        drained=_drained(wanted),
    )
    stuck = [LeftOut(*key, "no broker can take their replicas by these rules") for key in planned.stuck]
    capped = [LeftOut(*key, reason) for key, reason in planned.capped.items()]
    problem = planned.problem
    made = without(problem, planned.assignment, unsafe)
    return PlannedReplicas(
        reading,
        plan,
        (*left_out, *stuck, *capped),
        planned.targets,
        remarks=(*problem.remarks, *map(_remark, planned.obstacles)),
        bounds=planned.bounds,
        effects=effects_of(problem, made.replicas, throttle, plan.changed_directories),
        leaderless=_keys(snapshot, problem.leaderless),
        reassigning=_keys(snapshot, problem.reassigning),
        changed_directories=plan.changed_directories,
    )


def _drained(wanted: Request) -> tuple[int, ...]:
    """Brokers that are to lose every replica."""
    from kreplica.planner.reassignment.request import ReasonKind

    if wanted.topics is not None or wanted.excluded_topics is not None:
        return ()
    return tuple(sorted({broker for one in wanted.reasons if one.kind is ReasonKind.DRAIN for broker in one.brokers}))


def _remark(obstacle: Obstacle) -> str:
    return f"{obstacle.message}; instead: {obstacle.instead}" if obstacle.instead else obstacle.message


def _plan(snapshot: ClusterSnapshot, request: PlanRequest) -> tuple[ReplicaPlan, tuple[LeftOut, ...]]:
    named = snapshot if snapshot.cluster_id is not None else replace(snapshot, cluster_id="")
    return plan_replicas(named, request, utc_now().isoformat())


def _keys(snapshot: ClusterSnapshot, rows: Indices) -> list[tuple[str, int]]:
    topics, numbers = snapshot.strings("topic").take(rows), snapshot.integers("partition").take(rows)
    return [(str(topic), int(str(number))) for topic, number in zip(topics.to_list(), numbers.to_list(), strict=True)]


def _directories(row: PlannedMove) -> list[str | None]:
    """Log directory of each new replica, None where the broker keeps or chooses it."""
    chosen = dict(one.split(":", 1) for one in row.directories)
    return [chosen.get(str(broker)) for broker in row.to_replicas]


def _written(found: PlannedReplicas, files: PlanFiles) -> dict[str, Path]:
    paths = {}
    if files.plan is not None:
        clear_journal(files.plan, force=files.replace)
        write_replica_plan(found.plan, files.plan, replace=files.replace)
        paths["plan"] = files.plan
    if files.reassignment_json is not None:
        replicas = {(row.topic, row.partition): row.to_replicas for row in found.rows if row.planned}
        directories = {(row.topic, row.partition): _directories(row) for row in found.rows if row.planned}
        write_reassignment_json(replicas, files.reassignment_json, directories=directories, replace=files.replace)
        paths["reassignment_json"] = files.reassignment_json
    return paths
