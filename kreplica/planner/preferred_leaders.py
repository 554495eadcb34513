"""Partitions not led by their preferred leader, and those whose preferred leader can be elected now.

Elections are put into batches so that no single broker bears a whole batch.

A thousand elections at once onto one broker make it open a thousand logs as leader while its followers wait. The order
made here is proportional: wherever it is cut, each broker has about its share of the part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kreplica.engine.projection.preferred import preferred_obstacles
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import NON_PREFERRED, PREFERRED_LEADER
from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Election:
    """A partition that its preferred leader does not lead.

    Args:
        topic: Topic name.
        partition: Partition index.
        leader: Current leader; None if there is none.
        preferred: Preferred leader: the first of the replicas.
        electable: Whether a preferred election can succeed as far as the snapshot shows.
        reason: Why it can or cannot.
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


Item = TypeVar("Item")


def spread(items: Sequence[Item], broker_of: Callable[[Item], int]) -> tuple[Item, ...]:
    """The items in an order in which those of each broker stand evenly between the others.

    Of a broker with ``k`` of ``n`` items any run of ``m`` of them holds ``k * m / n``, give or take the number of
    brokers; the items of one broker keep their order, and the same items always give the same order.

    Args:
        items: What is to be done.
        broker_of: The broker that an item burdens.
    """
    groups: dict[int, list[Item]] = defaultdict(list)
    for item in items:
        groups[broker_of(item)].append(item)
    placed = [
        ((2 * position + 1) / (2 * len(group)), broker, position)
        for broker, group in groups.items()
        for position in range(len(group))
    ]
    return tuple(groups[broker][position] for _, broker, position in sorted(placed))


def batches(items: Sequence[Item], size: int) -> tuple[tuple[Item, ...], ...]:
    """The items cut into runs of at most ``size``."""
    assert size > 0, "a batch holds at least one item"
    return tuple(tuple(items[begin : begin + size]) for begin in range(0, len(items), size))
