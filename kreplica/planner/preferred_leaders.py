"""Which partitions should be led by their preferred leader again, and which of them can be now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kreplica.engine.preferred import preferred_obstacles
from kreplica.model.evaluate import Evaluator
from kreplica.model.predicates import NON_PREFERRED, PREFERRED_LEADER
from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Election:
    """A partition that its preferred leader does not lead.

    Args:
        topic: Topic name.
        partition: Partition index.
        leader: Who leads now; None if nobody does.
        preferred: Who should: the first of the replicas.
        electable: Whether a preferred election can succeed as far as the snapshot shows.
        reason: Why not, or why it can.
    """

    topic: str
    partition: int
    leader: int | None
    preferred: int
    electable: bool
    reason: str


def plan_elections(snapshot: ClusterSnapshot) -> tuple[Election, ...]:
    """Every partition not led by its preferred leader, in order of topic and partition.

    A preferred replica can be elected when it is alive, its log directory is online and it is in the ISR, or in the
    ELR where the ISR is empty: engine/rules/elections.leader_obstacle.
    """
    evaluator = Evaluator(snapshot)
    rows = np.flatnonzero(evaluator.boolean(NON_PREFERRED.expression).is_true())
    topics, partitions = snapshot.strings("topic").take(rows), snapshot.integers("partition").take(rows)
    leaders = snapshot.integers("leader").take(rows)
    preferred = evaluator.integer(PREFERRED_LEADER).take(rows)
    facts = zip(*(column.to_list() for column in (topics, partitions, leaders, preferred)), strict=True)
    return tuple(
        _election(*known, obstacle=obstacle, alive=snapshot.is_alive(known[3]))
        for known, obstacle in zip(facts, preferred_obstacles(snapshot, rows), strict=True)
    )


def _election(
    topic: str, partition: int, leader: int | None, preferred: int, *, obstacle: str | None, alive: bool | None
) -> Election:
    return Election(
        topic=topic,
        partition=partition,
        leader=None if leader == -1 else leader,
        preferred=preferred,
        electable=obstacle is None,
        reason=obstacle or ("in sync and alive" if alive else "in sync"),
    )
