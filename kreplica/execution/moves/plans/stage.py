"""A planned change of replicas as the cluster shows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from kreplica.model.wording.words import ids

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.plan import PartitionFacts
    from kreplica.model.snapshot import ClusterSnapshot


class Stage(Enum):
    """Stages of a change."""

    BEFORE = "before"
    MOVING = "moving"
    CATCHING_UP = "catching-up"
    """It has its new replicas, and an added one is out of sync."""
    AFTER = "after"
    TAKEN_BACK = "taken-back"
    """It has the replicas before in another order, as Kafka leaves them where it cancels a move."""
    ELSEWHERE = "elsewhere"
    """Neither the replicas before nor the new ones, or another move."""


@dataclass(frozen=True, slots=True)
class ChangeCheck:
    """One change as it stands.

    Args:
        stage: Its stage.
        reason: For ELSEWHERE, what the cluster shows instead.
        leader: Leader now, -1 for none or where it is not known.
        missing: Added replicas that are not in sync.
    """

    stage: Stage
    reason: str = ""
    leader: int = -1
    missing: tuple[int, ...] = ()


def check_change(snapshot: ClusterSnapshot, facts: PartitionFacts, change: ReplicaChange) -> ChangeCheck:
    """Finds the stage of a change.

    Args:
        snapshot: The cluster.
        facts: What the plan was made from.
        change: The change, or its inverse.
    """
    if gone := why_gone(snapshot, facts):
        return ChangeCheck(Stage.ELSEWHERE, gone)
    row = snapshot.row_number(*change.key)
    leader, isr = snapshot.integers("leader")[row], snapshot.lists("isr")[row] or []
    missing = tuple(broker for broker in change.adding if broker not in isr)
    stage, reason = _stage(snapshot, row, change, caught_up=not missing)
    return ChangeCheck(stage, reason, -1 if leader is None else leader, missing)


def why_gone(snapshot: ClusterSnapshot, facts: PartitionFacts) -> str:
    """Clause on a partition that is not there any more, or is another one of that name; empty if it is there."""
    row = snapshot.find_row(*facts.key)
    if row is None:
        return "its topic was deleted, or is hidden from these credentials"
    topic_id = snapshot.strings("topic_id")[row]
    if topic_id is not None and facts.topic_id is not None and topic_id != facts.topic_id:
        return f"its topic was deleted and created again (id {topic_id})"
    return ""


def _stage(snapshot: ClusterSnapshot, row: int, change: ReplicaChange, *, caught_up: bool) -> tuple[Stage, str]:
    replicas = tuple(snapshot.lists("replicas")[row] or ())
    adding, removing = snapshot.lists("adding")[row] or [], snapshot.lists("removing")[row] or []
    if adding or removing:
        # A replica that is asked back in flight is in both lists: such a move never ends, and is not the planned one.
        target = tuple(broker for broker in replicas if broker not in removing)
        if target == change.to_replicas and not set(adding) & set(removing):
            return Stage.MOVING, ""
        lists = f"adding {ids(adding)}, removing {ids(removing)}"
        return Stage.ELSEWHERE, f"another reassignment is going on ({lists})"
    if replicas == change.to_replicas:
        return (Stage.AFTER if caught_up else Stage.CATCHING_UP), ""
    if replicas == change.from_replicas:
        return Stage.BEFORE, ""
    if set(replicas) == set(change.from_replicas) != set(change.to_replicas):
        return Stage.TAKEN_BACK, f"its replicas are {ids(replicas)}: the move was cancelled"
    return Stage.ELSEWHERE, f"its replicas are {ids(replicas)}: somebody else changed them"
