"""Plans of replicas on paper, and their stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.generated import partition, snapshot_of

from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.moves.plans.plan import SCHEMA, ReplicaPlan
from kreplica.execution.plan import PlanKind, partition_facts
from kreplica.execution.rehearsal.rehearsing import Rehearsal, rehearsal_of
from kreplica.execution.rehearsal.staging import Staged, stage_of
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.reassignment.moves.order import DEFAULT_LIMITS, MoveLimits

Replicas = tuple[int, ...]
BROKERS = [{"broker": broker, "alive": True, "rack": "abc"[broker % 3]} for broker in range(1, 7)]


def cluster(*replicas: Replicas, brokers: list[dict[str, Any]] = BROKERS, **fields: Any) -> ClusterSnapshot:
    """Topic ``orders`` with these replicas, all in sync, in KRaft mode."""
    rows = [
        partition(number=number, **{"replicas": [*some], "isr": [*some], "leader": some[0], **fields})
        for number, some in enumerate(replicas)
    ]
    return snapshot_of(rows, brokers, features={"metadata.version": 25})


def plan_for(
    snapshot: ClusterSnapshot, moves: Mapping[int, Replicas], limits: MoveLimits = DEFAULT_LIMITS, topic: str = "orders"
) -> ReplicaPlan:
    """A plan of these moves, in this order, whatever a planner says of them."""
    changes = tuple(
        ReplicaChange(topic, number, tuple(snapshot.partition(topic, number)["replicas"]), target, 100)  # type: ignore[arg-type]
        for number, target in moves.items()
    )
    return ReplicaPlan(
        schema=SCHEMA,
        plan_id="a plan",
        created_at="2026-11-23T12:00:00+00:00",
        taken_at="2026-11-23T12:00:00+00:00",
        cluster_id=snapshot.cluster_id or "",
        cluster_name="paper",
        kind=PlanKind.REPLICAS,
        made_from=tuple(partition_facts(snapshot, change.key) for change in changes),
        changes=changes,
        limits=limits,
        inverse=tuple(change.inverse() for change in reversed(changes)),
    )


def staged(snapshot: ClusterSnapshot, moves: Mapping[int, Replicas], version: str = "4.1", **settings: Any) -> Staged:
    """The stage of these moves."""
    return stage_of(snapshot, plan_for(snapshot, moves), settings, version)


def rehearsal(
    snapshot: ClusterSnapshot, moves: Mapping[int, Replicas], version: str = "4.1", failures: int = 1, **settings: Any
) -> Rehearsal:
    """The rehearsal of these moves."""
    return rehearsal_of(staged(snapshot, moves, version, **settings).stage, failures)
