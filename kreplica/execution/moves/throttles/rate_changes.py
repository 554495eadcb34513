"""Changes of the rate of a run while it goes on: by the automatic rule, or as somebody asks for it.

A rate that is asked for ends the automatic one. Every change is in the journal before it is made, by ``Throttling``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kreplica.errors import UnreachableError
from kreplica.execution.moves.clock import MACHINE_CLOCK, Clock
from kreplica.execution.moves.throttles.automatic_rate import (
    AutomaticRate,
    RateBounds,
    Replica,
    ReplicationSeen,
    begin,
    decide,
    first_rate,
)
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import UNDER_REPLICATED_BEFORE_2_5
from kreplica.model.wording.words import rate_words

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.moves.plans.progress import Owed
    from kreplica.execution.moves.throttles.throttling import Throttling
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory

Throttle: TypeAlias = int | RateBounds | None
"""Bytes a second for each broker, the bounds of an automatic rate, or no throttle."""


@dataclass(frozen=True, slots=True)
class RateRequest:
    """A rate that somebody asks a run for.

    Args:
        id: Id of the request, which the journal's line names.
        rate: Bytes a second for each broker.
    """

    id: str
    rate: int


def nobody_asks() -> RateRequest | None:
    """Takes no requests."""
    return None


def rate_to_begin_with(throttle: Throttle, owed: Owed) -> int | None:
    """The first rate of a run: an automatic one goes on from where an earlier run has left it."""
    if not isinstance(throttle, RateBounds):
        return throttle
    return first_rate(throttle, max((note.value for note in owed.rates.values()), default=None))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A change that is decided and not made everywhere: its rate, the journal's message, and the reason as it is told.

    Message and reason are empty once they have been written and told.
    """

    rate: int
    message: str
    reason: str


class RateChanges:
    """Changes of the rate of one run.

    Args:
        throttling: The throttles of the run.
        throttle: The throttle that it was given.
        changes: Changes of its plan: their replicas are not counted as followers outside the plan.
        asked: Gives a request that was not given before; None where there is none.
        tell: Called with each change, as one clause.
        clock: Time as the run counts it.
    """

    def __init__(
        self,
        throttling: Throttling,
        throttle: Throttle,
        changes: Iterable[ReplicaChange],
        asked: Callable[[], RateRequest | None],
        tell: Callable[[str], None],
        clock: Clock = MACHINE_CLOCK,
    ) -> None:
        self._throttling, self._asked, self._tell, self._clock = throttling, asked, tell, clock
        self._bounds = throttle if isinstance(throttle, RateBounds) else None
        self._planned = {(*one.key, broker) for one in changes for broker in (*one.adding, *one.removing)}
        self._state: AutomaticRate | None = None
        self._wanted: _Wanted | None = None
        self._behind: set[int] = set()

    def look(
        self,
        snapshot: ClusterSnapshot,
        in_flight: Sequence[ReplicaChange],
        within: Sequence[ChangedDirectory] = (),
    ) -> None:
        """Changes the rate where that is asked for, or where replication outside the plan suffers or has recovered.

        Args:
            snapshot: The cluster.
            in_flight: Moves in flight.
            within: Changes of log directories in flight.

        Raises:
            ChangeRefusedError: The credentials may not set throttles.
            UnreachableError: The cluster did not answer, and will not.
        """
        request = self._asked()
        if request is not None:
            self._bounds = None
            self._wanted = _Wanted(request.rate, f"rate asked for, request {request.id}", "as asked for")
        elif self._bounds is not None:
            self._follow(self._bounds, replication_seen(snapshot, self._planned, self._clock.now()))
        if self._wanted is not None:
            self._make(self._wanted, in_flight, within)

    def _follow(self, bounds: RateBounds, seen: ReplicationSeen) -> None:
        before = self._state
        if before is None:
            assert self._throttling.rate is not None, "an automatic rate has begun with one"
            self._state = begin(self._throttling.rate, seen)
            return
        self._state = after = decide(bounds, before, seen)
        if after.rate != before.rate:
            self._wanted = _Wanted(after.rate, f"automatic rate: {after.reason}", after.reason)

    def _make(self, wanted: _Wanted, in_flight: Sequence[ReplicaChange], within: Sequence[ChangedDirectory]) -> None:
        """Makes a change; a cluster or a broker that is silent for a moment is asked again at the next look."""
        before = self._throttling.rate
        try:
            behind = self._throttling.change_rate(wanted.rate, in_flight, within, wanted.message)
        except UnreachableError as error:
            if not error.may_pass:
                raise
            self._tell(f"the rate is not changed everywhere yet: {error}")
            return
        if wanted.reason:
            was = f"{rate_words(before)} -> " if before is not None and before != wanted.rate else ""
            self._tell(f"throttle {was}{rate_words(wanted.rate)}: {wanted.reason}")
        for broker in sorted(behind.keys() - self._behind):
            self._tell(f"broker {broker} keeps its rate for now: {behind[broker]}")
        for broker in sorted(self._behind - behind.keys()):
            self._tell(f"broker {broker} has taken the rate")
        self._behind = set(behind)
        self._wanted = _Wanted(wanted.rate, "", "") if behind else None  # in the journal, and told


def replication_seen(snapshot: ClusterSnapshot, planned: set[Replica], at: float) -> ReplicationSeen:
    """Followers that are out of sync, and partitions at min ISR for lack of one.

    Args:
        snapshot: The cluster.
        planned: Replicas that the plan adds or removes.
        at: The time of the look.
    """
    rows = Evaluator(snapshot).boolean(UNDER_REPLICATED_BEFORE_2_5.expression).is_true().nonzero()[0].tolist()
    topics, numbers, min_isr = snapshot.strings("topic"), snapshot.integers("partition"), snapshot.integers("min_isr")
    replicas, isrs, adding = (snapshot.lists(name) for name in ("replicas", "isr", "adding"))
    out: set[Replica] = set()
    at_min_isr = 0
    for row in rows:
        isr, moving = isrs[row] or (), adding[row] or ()
        key = str(topics[row]), int(numbers[row] or 0)
        missing = {(*key, one) for one in replicas[row] or () if one not in isr and one not in moving} - planned
        out |= missing
        least = min_isr[row]
        at_min_isr += bool(missing) and least is not None and len(isr) <= least
    return ReplicationSeen(at, frozenset(out), at_min_isr)
