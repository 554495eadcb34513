"""What a person waits for after a restart, and what is left until it is reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kreplica.model import predicates as known
from kreplica.model.columns import Indices, Mask
from kreplica.model.evaluate import Evaluator
from kreplica.model.expressions import Constant, Contains, Not
from kreplica.model.snapshot import ClusterSnapshot


class Goal(StrEnum):
    """What can be waited for."""

    NO_UNDER_REPLICATED = "no-under-replicated"
    IN_SYNC = "in-sync"


@dataclass(frozen=True, slots=True)
class Left:
    """What is left until a goal is reached.

    Args:
        rows: Partitions that are not as they should be, as rows of the snapshot.
        down: Brokers named that are not up.
        unknown: What cannot be known, one clause each.
    """

    rows: Indices
    down: tuple[int, ...]
    unknown: tuple[str, ...]

    @property
    def reached(self) -> bool:
        """Whether nothing is left as far as it is known."""
        return not len(self.rows) and not self.down

    def words(self) -> str:
        """What is left, in one clause."""
        down = f"broker{'s' * (len(self.down) > 1)} {', '.join(map(str, self.down))} not up"
        out = f"{len(self.rows)} partition{'s' * (len(self.rows) > 1)} not in sync"
        return ", ".join([down] * bool(self.down) + [out] * bool(len(self.rows)))


def what_is_left(snapshot: ClusterSnapshot, goal: Goal, brokers: Sequence[int]) -> Left:
    """What is left until the goal is reached.

    Args:
        snapshot: The cluster.
        goal: NO_UNDER_REPLICATED: no partition is under-replicated, among those with a replica on the brokers where
            some are named. IN_SYNC: the brokers are up, and each replica on them is in the ISR.
        brokers: Ids; at least one for IN_SYNC.
    """
    evaluator = Evaluator(snapshot)
    if goal is Goal.NO_UNDER_REPLICATED:
        return _under_replicated(evaluator, brokers)
    out = np.zeros(len(snapshot.partitions), dtype=np.bool_)
    for broker in brokers:
        held = Contains(known.REPLICAS, Constant(broker))
        out |= evaluator.boolean(held & Not(Contains(known.ISR, Constant(broker)))).is_true()
    states = {broker: snapshot.is_alive(broker) for broker in brokers}
    return Left(
        np.flatnonzero(out),
        tuple(broker for broker, alive in states.items() if alive is False),
        tuple(f"whether broker {broker} is up is not known" for broker, alive in states.items() if alive is None),
    )


def _under_replicated(evaluator: Evaluator, brokers: Sequence[int]) -> Left:
    held: Mask = np.ones(evaluator.length, dtype=np.bool_)
    if brokers:
        on = [evaluator.boolean(Contains(known.REPLICAS, Constant(broker))).is_true() for broker in brokers]
        held = np.logical_or.reduce(on)
    column = evaluator.boolean(known.UNDER_REPLICATED.expression)
    unknown = int((column.is_null() & held).sum())
    words = (f"whether {unknown} partitions are under-replicated is not known",) if unknown else ()
    return Left(np.flatnonzero(column.is_true() & held), (), words)
