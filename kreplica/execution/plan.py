"""A plan: the changes to a cluster, the facts they were made from, and how to undo them.

    Plan
    ├── made_from   one PartitionFacts for each partition it touches: what was read when it was made
    ├── steps       batches in order; each names its action, its changes and its preconditions
    └── inverse     the steps that bring back what was, last step first

A plan is made, written and read as a whole and never changed. Its journal records the results. The kind of a plan
says what its steps change; these are plans of leaders, those of replicas stand in ``moves/plan.py``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from kreplica.planner.preferred_leaders import batches, spread

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.planner.preferred_leaders import Election

SCHEMA = "kreplica/plan/v1"

DEFAULT_BATCH = 100
"""Default number of elections in one step: a tenth of what a KRaft controller elects in one pass."""

PartitionKey: TypeAlias = tuple[str, int]


class PlanKind(StrEnum):
    """Kinds of plans, by what their steps change."""

    LEADERS = "leaders"
    REPLICAS = "replicas"
    """In ``execution/moves``, with a schema of its own."""


class Action(StrEnum):
    """Actions of a step."""

    ELECT_PREFERRED = "elect-preferred"
    BRING_BACK_LEADER = "bring-back-leader"


class Precondition(StrEnum):
    """Conditions on each partition right before its step; ``drift`` judges them."""

    SAME_TOPIC = "same-topic"
    SAME_REPLICAS = "same-replicas"
    NOT_REASSIGNING = "not-reassigning"
    SAME_LEADER = "same-leader"
    ELIGIBLE = "eligible"
    ALL_IN_SYNC = "all-in-sync"


ELECTION_PRECONDITIONS = (
    Precondition.SAME_TOPIC,
    Precondition.SAME_REPLICAS,
    Precondition.NOT_REASSIGNING,
    Precondition.SAME_LEADER,
    Precondition.ELIGIBLE,
)
BRING_BACK_PRECONDITIONS = (
    Precondition.SAME_TOPIC,
    Precondition.SAME_REPLICAS,
    Precondition.NOT_REASSIGNING,
    Precondition.ELIGIBLE,
    Precondition.ALL_IN_SYNC,
)


PRECONDITIONS: Mapping[Action, tuple[Precondition, ...]] = {
    Action.ELECT_PREFERRED: ELECTION_PRECONDITIONS,
    Action.BRING_BACK_LEADER: BRING_BACK_PRECONDITIONS,
}
"""Preconditions that each action requires: a plan with fewer is refused."""

STEPS: Mapping[PlanKind, Action] = {PlanKind.LEADERS: Action.ELECT_PREFERRED}
"""Action of the steps of each kind of plan."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition as it was when the plan was made; None where the source did not know.

    Args:
        topic: Topic name.
        partition: Partition index.
        topic_id: Topic id in Kafka's base64 form.
        leader: Leader's broker id, -1 for none.
        leader_epoch: Leader epoch.
        partition_epoch: Partition epoch (KRaft) or version of the state znode (ZooKeeper).
        replicas: Full assignment, the preferred leader first.
        isr: In-sync replicas.
        adding: Replicas that a reassignment was adding.
        removing: Replicas that a reassignment was removing.
    """

    topic: str
    partition: int
    topic_id: str | None
    leader: int | None
    leader_epoch: int | None
    partition_epoch: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] | None
    removing: tuple[int, ...] | None

    @property
    def key(self) -> PartitionKey:
        """Topic and partition."""
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """One partition's change of leader; ``from_leader`` is None where nobody led."""

    topic: str
    partition: int
    from_leader: int | None
    to_leader: int | None

    @property
    def key(self) -> PartitionKey:
        """Topic and partition."""
        return self.topic, self.partition

    def inverse(self) -> LeaderChange:
        """The change that undoes it."""
        return LeaderChange(self.topic, self.partition, self.to_leader, self.from_leader)


@dataclass(frozen=True, slots=True)
class Step:
    """Changes that are made at once.

    Args:
        number: Its position in the plan, from 1; the inverse of a step has the same number.
        action: The action on each partition.
        preconditions: Conditions on each of its partitions.
        changes: The changes of leaders.
    """

    number: int
    action: Action
    preconditions: tuple[Precondition, ...]
    changes: tuple[LeaderChange, ...]

    def inverse(self) -> Step:
        """The step that undoes it."""
        changes = tuple(change.inverse() for change in self.changes)
        return Step(self.number, Action.BRING_BACK_LEADER, PRECONDITIONS[Action.BRING_BACK_LEADER], changes)


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes to one cluster, in steps.

    Args:
        schema: ``kreplica/plan/v1``.
        plan_id: Its own id.
        created_at: When it was made, UTC, ISO 8601.
        taken_at: When the cluster was read, UTC, ISO 8601.
        cluster_id: The cluster it belongs to.
        cluster_name: What the user called that cluster.
        kind: What its steps change.
        made_from: The facts it rests on.
        steps: What to do, in order.
        inverse: What undoes it, in order.
    """

    schema: str
    plan_id: str
    created_at: str
    taken_at: str
    cluster_id: str
    cluster_name: str
    kind: PlanKind
    made_from: tuple[PartitionFacts, ...]
    steps: tuple[Step, ...]
    inverse: tuple[Step, ...]

    @property
    def changes(self) -> tuple[LeaderChange, ...]:
        """Every change, in the order of the steps."""
        return tuple(change for step in self.steps for change in step.changes)

    @property
    def facts(self) -> dict[PartitionKey, PartitionFacts]:
        """Facts it was made from, by partition."""
        return {facts.key: facts for facts in self.made_from}


def plan_leaders(
    snapshot: ClusterSnapshot, elections: Sequence[Election], created_at: str, batch: int = DEFAULT_BATCH
) -> Plan:
    """A plan of those elections that can be run now, spread over the brokers that will lead.

    Args:
        snapshot: What the elections were found in; its cluster id is known.
        elections: Of plan_elections.
        created_at: Now, UTC, ISO 8601.
        batch: Most elections in one step.
    """
    assert snapshot.cluster_id is not None, "a plan belongs to a cluster"
    changes = [
        LeaderChange(election.topic, election.partition, election.leader, election.preferred)
        for election in elections
        if election.electable
    ]
    ordered = spread(changes, lambda change: -1 if change.to_leader is None else change.to_leader)
    steps = tuple(
        Step(number, Action.ELECT_PREFERRED, ELECTION_PRECONDITIONS, part)
        for number, part in enumerate(batches(ordered, batch), start=1)
    )
    return Plan(
        schema=SCHEMA,
        plan_id=str(uuid.uuid4()),
        created_at=created_at,
        taken_at=snapshot.taken_at.isoformat(),
        cluster_id=snapshot.cluster_id,
        cluster_name=snapshot.name,
        kind=PlanKind.LEADERS,
        made_from=tuple(partition_facts(snapshot, change.key) for change in ordered),
        steps=steps,
        inverse=tuple(step.inverse() for step in reversed(steps)),
    )


def partition_facts(snapshot: ClusterSnapshot, key: PartitionKey) -> PartitionFacts:
    """Facts of one partition in a snapshot; KeyError if it has no such partition."""
    import msgspec

    row = snapshot.partition(*key)
    return msgspec.convert({name: row[name] for name in PartitionFacts.__dataclass_fields__}, PartitionFacts)
