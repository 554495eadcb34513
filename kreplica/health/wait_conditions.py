"""Goals that a user waits for after a restart, and what is left until one is reached.

Also the differences of a cluster between two reads of it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from kreplica.health.quorum import quorum_leader
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Constant, Contains, Expression, Not
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices, Mask
from kreplica.model.wording.words import counted, named


class Goal(StrEnum):
    """Goals that can be waited for."""

    NO_UNDER_REPLICATED = "no-under-replicated"
    IN_SYNC = "in-sync"


@dataclass(frozen=True, slots=True)
class Left:
    """The rest until a goal is reached.

    Args:
        rows: Partitions that are not as they should be, as rows of the snapshot.
        down: Brokers named that are not up.
        unknown: What cannot be known, one clause each.
        leaderless: How many of these partitions have no leader that is live.
    """

    rows: Indices
    down: tuple[int, ...]
    unknown: tuple[str, ...]
    leaderless: int = 0

    @property
    def reached(self) -> bool:
        """True if nothing is left as far as it is known."""
        return not len(self.rows) and not self.down

    def words(self) -> str:
        """Describes what is left, in one clause."""
        down = f"{named('broker', self.down)} not up"
        counts = {"not in sync": len(self.rows) - self.leaderless, "without a live leader": self.leaderless}
        out = [f"{counted(count, 'partition')} {words}" for words, count in counts.items() if count]
        return ", ".join([down] * bool(self.down) + out)


def what_is_left(snapshot: ClusterSnapshot, goal: Goal, brokers: Sequence[int]) -> Left:
    """Returns what is left until the goal is reached.

    Args:
        snapshot: The cluster.
        goal: NO_UNDER_REPLICATED: no partition is under-replicated, among those with a replica on the brokers where
            some are named. IN_SYNC: the brokers are up, and each replica on them is in the ISR. Of either, each of
            these partitions has a leader that is live: without one nothing is replicated.
        brokers: Ids; at least one for IN_SYNC.
    """
    evaluator = Evaluator(snapshot)
    held = _held(evaluator, brokers)
    if goal is Goal.NO_UNDER_REPLICATED:
        return _left(evaluator, held, known.UNDER_REPLICATED.expression, "under-replicated")
    out = [Contains(known.REPLICAS, Constant(one)) & Not(Contains(known.ISR, Constant(one))) for one in brokers]
    left = _left(evaluator, held, functools.reduce(operator.or_, out), "in sync")
    states = {broker: snapshot.is_alive(broker) for broker in brokers}
    down = tuple(broker for broker, alive in states.items() if alive is False)
    doubtful = [f"whether broker {broker} is up is not known" for broker, alive in states.items() if alive is None]
    return replace(left, down=down, unknown=(*doubtful, *left.unknown))


def _held(evaluator: Evaluator, brokers: Sequence[int]) -> Mask:
    """Partitions with a replica on one of the brokers; all where none is named."""
    on = [evaluator.boolean(Contains(known.REPLICAS, Constant(broker))).is_true() for broker in brokers]
    return np.logical_or.reduce(on) if on else np.ones(evaluator.length, dtype=np.bool_)


def _left(evaluator: Evaluator, held: Mask, amiss: Expression, words: str) -> Left:
    """Partitions for which ``amiss`` is true or that have no leader, and what of either cannot be known."""
    out, leaderless = evaluator.boolean(amiss), evaluator.boolean(known.UNAVAILABLE.expression)
    wrong = (out.is_true() | leaderless.is_true()) & held
    unknown = {
        (f"is {words}", f"are {words}"): int((out.is_null() & held & ~wrong).sum()),
        ("has a live leader", "have a live leader"): int((leaderless.is_null() & held & ~wrong).sum()),
    }
    clauses = tuple(
        f"whether {counted(count, 'partition')} {one if count == 1 else several} is not known"
        for (one, several), count in unknown.items()
        if count
    )
    return Left(np.flatnonzero(wrong), (), clauses, int((leaderless.is_true() & held).sum()))


State = tuple[object, ...]


def changes_between(before: ClusterSnapshot, after: ClusterSnapshot) -> tuple[str, ...]:
    """Differences, one clause each; empty if the partitions and brokers are as they were."""
    return (*_brokers(before, after), *_partitions(before, after), *_quorum(before, after))


def _brokers(before: ClusterSnapshot, after: ClusterSnapshot) -> Iterator[str]:
    was, now = _alive(before), _alive(after)
    for broker in sorted(was - now):
        yield f"broker {broker} went down"
    for broker in sorted(now - was):
        yield f"broker {broker} came up"


def _alive(snapshot: ClusterSnapshot) -> set[int]:
    brokers = snapshot.brokers["broker"].to_list()
    return {broker for broker in brokers if isinstance(broker, int) and snapshot.is_alive(broker)}


def _partitions(before: ClusterSnapshot, after: ClusterSnapshot) -> Iterator[str]:
    was, now = _states(before), _states(after)
    both = was.keys() & now.keys()
    counts = {
        "partitions are gone": len(was.keys() - now.keys()),
        "partitions are new": len(now.keys() - was.keys()),
        "partitions have another leader": sum(was[key][0] != now[key][0] for key in both),
        "partitions have another ISR": sum(was[key][1] != now[key][1] for key in both),
        "partitions have other replicas": sum(was[key][2] != now[key][2] for key in both),
    }
    for words, count in counts.items():
        if count:
            yield f"{count} {words}"


def _states(snapshot: ClusterSnapshot) -> dict[State, State]:
    """Leader, ISR as a set, and replicas, by topic and partition."""
    names = ("topic", "partition", "leader", "isr", "replicas")
    columns = zip(*(snapshot.partitions[name].to_list() for name in names), strict=True)
    return {(topic, number): (leader, frozenset(isr), replicas) for topic, number, leader, isr, replicas in columns}


def _quorum(before: ClusterSnapshot, after: ClusterSnapshot) -> Iterator[str]:
    was, now = quorum_leader(before), quorum_leader(after)
    if was is not None and now is not None and was != now:
        yield f"the active controller was {was} and is {now}"
