"""A plan of kind ``replicas``: partitions and the replicas that each shall have, in order.

It has a schema of its own, ``kreplica/plan/v2``: its changes name replicas where those of a plan of leaders name a
leader, and they have no batches, because moves are refilled as others finish. A kreplica that knows ``v1`` alone says
that it needs a newer one. Plans of leaders keep ``v1``.

    ReplicaPlan
    ├── made_from   one PartitionFacts for each partition it moves: what was read when it was made
    ├── changes     in the order in which they begin: replicas before and after, bytes, log directories
    ├── changed_directories   replicas that stay on their broker and change their log directory: these begin first
    ├── limits      what may be in flight at the same time
    └── inverse     what brings back what was, last change first; of changed directories each one's own inverse
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kreplica.errors import UsageError
from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.safety import controller_of, judge, obstacle
from kreplica.execution.plan import PartitionFacts, PartitionKey, PlanKind, partition_facts
from kreplica.model.cordons import cordoned_brokers, cordoned_directories
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.moves.intermediate_states import DEFAULT_MARGIN
from kreplica.planner.reassignment.moves.order import DEFAULT_LIMITS, MoveLimits, Place, QueuedMove, schedule

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot

SCHEMA = "kreplica/plan/v2"


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    """Changes of replicas of one cluster.

    Args:
        schema: ``kreplica/plan/v2``.
        plan_id: Its own id.
        created_at: When it was made, UTC, ISO 8601.
        taken_at: When the cluster was read, UTC, ISO 8601.
        cluster_id: The cluster it belongs to.
        cluster_name: What the user called that cluster.
        kind: ``replicas``.
        made_from: The facts it rests on.
        changes: What to do, in the order in which it begins.
        limits: What may be in flight at the same time.
        inverse: What undoes it, last change first.
        certificate: What the planner proves of it, if it proves anything.
        drained: Brokers that it is to empty.
        margin: Brokers that may fail on top while a partition moves, before it begins to lack something.
        changed_directories: Replicas that change their log directory and not their broker, in the order in which they
            begin.
    """

    schema: str
    plan_id: str
    created_at: str
    taken_at: str
    cluster_id: str
    cluster_name: str
    kind: PlanKind
    made_from: tuple[PartitionFacts, ...]
    changes: tuple[ReplicaChange, ...]
    limits: MoveLimits
    inverse: tuple[ReplicaChange, ...]
    certificate: dict[str, Any] | None = None
    drained: tuple[int, ...] = ()
    margin: int = DEFAULT_MARGIN
    changed_directories: tuple[ChangedDirectory, ...] = ()

    @property
    def facts(self) -> dict[PartitionKey, PartitionFacts]:
        """Facts it was made from, by partition."""
        return {facts.key: facts for facts in self.made_from}

    @property
    def brokers(self) -> tuple[int, ...]:
        """Brokers that have a replica of its partitions before or after, in order."""
        found = {broker for one in self.changes for broker in (*one.from_replicas, *one.to_replicas)}
        return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A partition that was asked for and is not in the plan."""

    topic: str
    partition: int
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Replicas that partitions shall have, and how they are moved.

    Args:
        targets: The replicas of each partition, the preferred leader first; in the order wanted.
        directories: Log directories of added replicas, by partition and broker.
        limits: What may be in flight at the same time.
        sizes: Bytes of partitions that the snapshot does not tell.
        certificate: What the planner proves of it.
        margin: Brokers that may fail on top while a partition moves.
        changed_directories: Replicas that change their log directory and not their broker.
    """

    targets: Mapping[PartitionKey, tuple[int, ...]]
    directories: Mapping[tuple[PartitionKey, int], str] = field(default_factory=dict)
    limits: MoveLimits = DEFAULT_LIMITS
    sizes: Mapping[PartitionKey, int] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None
    margin: int = DEFAULT_MARGIN
    changed_directories: Sequence[ChangedDirectory] = ()


def plan_replicas(
    snapshot: ClusterSnapshot, request: PlanRequest, created_at: str
) -> tuple[ReplicaPlan, tuple[LeftOut, ...]]:
    """A plan of the changes that can be made and make nothing worse; those left out, each with why.

    Partitions that have their replicas already are in neither.

    Args:
        snapshot: The cluster; its id is known.
        request: What is asked for.
        created_at: Now, UTC, ISO 8601.
    """
    assert snapshot.cluster_id is not None, "a plan belongs to a cluster"
    sizes = {**request.sizes, **partition_sizes(snapshot)}
    changes: dict[PartitionKey, ReplicaChange] = {}
    left_out: list[LeftOut] = []
    for key, target in request.targets.items():
        row = snapshot.find_row(*key)
        if row is None:
            left_out.append(LeftOut(*key, "there is no such partition"))
            continue
        change = _change(snapshot, key, row, request, sizes.get(key))
        if change.from_replicas != change.to_replicas:
            changes[key] = change
            assert target == change.to_replicas
    reasons = {key: obstacle(snapshot, change.from_replicas, change) for key, change in changes.items()}
    reasons |= {key: why for key, why in _cordoned(snapshot, changes).items() if not reasons[key]}
    possible = [change for key, change in changes.items() if not reasons[key]]
    reasons |= judge(snapshot, possible, controller_of(snapshot), request.margin)
    kept = [change for key, change in changes.items() if not reasons.get(key)]
    within = {one.replica: one for one in request.changed_directories}
    unfit = {key: why for key, one in within.items() if (why := why_not_within(snapshot, one))}
    queued = [queued_directory(one) for key, one in within.items() if key not in unfit]
    ordered = schedule([*queued, *queued_moves(snapshot, kept)], request.limits, free_room(snapshot))
    for move, why in ordered.impossible:
        if len(move.key) == 3:
            unfit[move.key] = why
        else:
            reasons[move.key] = why
    left_out += [LeftOut(*key, why) for key, why in reasons.items() if why]
    left_out += [
        LeftOut(topic, number, f"its replica on broker {one}: {why}") for (topic, number, one), why in unfit.items()
    ]
    made = tuple(changes[move.key] for move in ordered.moves if len(move.key) == 2)
    moved = tuple(within[move.key] for move in ordered.moves if len(move.key) == 3)
    return _plan(snapshot, request, made, moved, created_at), tuple(left_out)


def why_not_within(snapshot: ClusterSnapshot, change: ChangedDirectory) -> str:
    """Reason why a replica cannot change its log directory; empty if it can. What is not known is no reason."""
    row = snapshot.find_row(*change.key)
    if row is None:
        return "there is no such partition"
    if change.broker not in (snapshot.lists("replicas")[row] or ()):
        return f"broker {change.broker} has no replica of it"
    if snapshot.is_alive(change.broker) is False:
        return f"broker {change.broker} is not alive"
    table, closed = snapshot.log_dirs, cordoned_directories(snapshot)
    names = ("broker", "path", "error")
    rows = list(zip(*(table[name].to_list() for name in names), closed, strict=True))
    own = {str(path): (error, cordoned) for broker, path, error, cordoned in rows if broker == change.broker}
    if own and change.destination not in own:
        return f"broker {change.broker} has no log directory {change.destination}"
    error, cordoned = own.get(change.destination, (None, False))
    if error is not None:
        return f"log directory {change.destination} is offline"
    return f"log directory {change.destination} is cordoned" if cordoned else ""


def require_own_snapshot(plan: ReplicaPlan, snapshot: ClusterSnapshot) -> None:
    """Refuses a snapshot of another cluster than the plan's.

    Raises:
        UsageError: It is of another, or does not tell its id.
    """
    if snapshot.cluster_id != plan.cluster_id:
        here = snapshot.cluster_id or "a source that does not tell its id"
        raise UsageError(
            "the plan belongs to another cluster", f"made for {plan.cluster_id}, this is {here}", "name that cluster"
        )


def _cordoned(snapshot: ClusterSnapshot, changes: Mapping[PartitionKey, ReplicaChange]) -> dict[PartitionKey, str]:
    """Changes that would put a replica where none is taken, each with where."""
    brokers, closed = cordoned_brokers(snapshot), cordoned_directories(snapshot)
    rows = zip(snapshot.log_dirs["broker"].to_list(), snapshot.log_dirs["path"].to_list(), closed, strict=True)
    places = {(broker, path) for broker, path, cordoned in rows if cordoned}
    found = {}
    for key, change in changes.items():
        for broker in change.adding:
            if broker in brokers:
                found[key] = f"broker {broker} is cordoned"
            elif (broker, dict(change.directories).get(broker)) in places:
                found[key] = f"log directory {dict(change.directories)[broker]} of broker {broker} is cordoned"
    return found


def _plan(
    snapshot: ClusterSnapshot,
    request: PlanRequest,
    changes: tuple[ReplicaChange, ...],
    within: tuple[ChangedDirectory, ...],
    created_at: str,
) -> ReplicaPlan:
    assert snapshot.cluster_id is not None, "a plan belongs to a cluster"
    keys = dict.fromkeys((*(change.key for change in changes), *(one.key for one in within)))
    return ReplicaPlan(
        schema=SCHEMA,
        plan_id=str(uuid.uuid4()),
        created_at=created_at,
        taken_at=snapshot.taken_at.isoformat(),
        cluster_id=snapshot.cluster_id,
        cluster_name=snapshot.name,
        kind=PlanKind.REPLICAS,
        made_from=tuple(partition_facts(snapshot, key) for key in keys),
        changes=changes,
        limits=request.limits,
        inverse=tuple(change.inverse() for change in reversed(changes)),
        certificate=request.certificate,
        margin=request.margin,
        changed_directories=within,
    )


def _change(
    snapshot: ClusterSnapshot, key: PartitionKey, row: int, request: PlanRequest, size: int | None
) -> ReplicaChange:
    replicas = tuple(snapshot.lists("replicas")[row] or ())
    target = tuple(request.targets[key])
    chosen = [(broker, request.directories.get((key, broker))) for broker in target if broker not in replicas]
    return ReplicaChange(*key, replicas, target, size, tuple((broker, path) for broker, path in chosen if path))


def partition_sizes(snapshot: ClusterSnapshot) -> dict[PartitionKey, int]:
    """Bytes of each partition by the leader's copy, by the largest one where the leader's is not told."""
    table = snapshot.replicas
    names = ("topic", "partition", "broker", "size", "future")
    largest: dict[PartitionKey, int] = {}
    by_broker: dict[tuple[str, int, int], int] = {}
    for topic, partition, broker, size, future in zip(*(table[name].to_list() for name in names), strict=True):
        if not future:
            by_broker[str(topic), int(str(partition)), int(str(broker))] = int(str(size))
            key = (str(topic), int(str(partition)))
            largest[key] = max(largest.get(key, 0), int(str(size)))
    leaders = _leaders(snapshot)
    return {key: by_broker.get((*key, leaders.get(key, -1)), size) for key, size in largest.items()}


def _leaders(snapshot: ClusterSnapshot) -> dict[PartitionKey, int]:
    names = ("topic", "partition", "leader")
    rows = zip(*(snapshot.partitions[name].to_list() for name in names), strict=True)
    return {(str(topic), int(str(number))): int(str(leader)) for topic, number, leader in rows if leader is not None}


def queued_moves(snapshot: ClusterSnapshot, changes: Sequence[ReplicaChange]) -> list[QueuedMove]:
    """Changes as the window counts them: the leader sends, directories where they are chosen."""
    leaders = _leaders(snapshot)
    return [queued_move(change, leaders.get(change.key, -1)) for change in changes]


def queued_move(change: ReplicaChange, leader: int) -> QueuedMove:
    """A change as the window counts it.

    Args:
        change: The change.
        leader: The partition's leader, -1 for none.
    """
    chosen = dict(change.directories)
    places = tuple((broker, chosen.get(broker, "")) for broker in change.adding)
    freed = tuple((broker, "") for broker in change.removing)
    return QueuedMove(change.key, change.size or 0, leader if leader >= 0 else None, places, freed)


def queued_directory(change: ChangedDirectory) -> QueuedMove:
    """A change of a log directory as the window counts it."""
    places = ((change.broker, change.destination),), ((change.broker, change.source),)
    return QueuedMove(change.replica, change.size, None, *places)


def free_room(snapshot: ClusterSnapshot) -> dict[Place, int]:
    """Usable bytes of each log directory that is online, and of each broker those of its fullest directory.

    A broker puts a replica whose directory is not chosen into the one with the fewest partitions, not with most room.
    """
    table = snapshot.log_dirs
    names = ("broker", "path", "error", "usable_bytes")
    room: dict[Place, int] = {}
    for broker, path, error, usable in zip(*(table[name].to_list() for name in names), strict=True):
        if error is None and isinstance(broker, int) and isinstance(usable, int):
            room[broker, str(path)] = usable
            room[broker, ""] = min(usable, room.get((broker, ""), usable))
    return room
