"""The automatic rate of moves: as much as the cluster bears, between two bounds. Pure: the caller brings the time.

    begin     between the bounds, at their geometric mean; where an earlier run has left a rate, at that one
    halve     a follower outside the plan has left an ISR, or more partitions are at min ISR than before
    wait      30 s after it was halved: a follower needs so long to show whether that helped (replica.lag.time.max.ms)
    raise     by a tenth for each minute in which nothing is out of sync that was in sync when the run began

A change of less than a tenth is not made: the last step up goes to the upper bound, so that no such rest remains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

from kreplica.model.wording.words import counted

Replica: TypeAlias = tuple[str, int, int]
"""Topic, partition and broker."""

SETTLE_SECONDS = 30.0
CALM_SECONDS = 60.0
ADVISED_RATE = 1_000_000
"""The least rate that Kafka advises, in bytes a second."""


@dataclass(frozen=True, slots=True)
class RateBounds:
    """Bounds of an automatic rate, in bytes a second for each broker; the least is not above the most."""

    least: int = ADVISED_RATE
    most: int = 100 * ADVISED_RATE

    def within(self, rate: int) -> int:
        """The rate, or the bound that it is beyond."""
        return min(max(rate, self.least), self.most)


DEFAULT_BOUNDS = RateBounds()


@dataclass(frozen=True, slots=True)
class ReplicationSeen:
    """Replication outside a plan at one look.

    Args:
        at: Seconds of a clock that never goes back.
        out: Followers that are out of sync; replicas that the plan adds or removes, or that anybody adds, are none.
        at_min_isr: Partitions that lack such a follower and have no more than min.insync.replicas in sync.
    """

    at: float
    out: frozenset[Replica]
    at_min_isr: int


@dataclass(frozen=True, slots=True)
class AutomaticRate:
    """The rate that holds, and what it was decided from.

    Args:
        rate: Bytes a second for each broker.
        reason: Reason of its last change, a clause; empty for the first rate.
        halved_at: Time at which trouble was answered last; None for never.
        calm_since: Time of the first look at which all was well and the rate as it is; None where it was not well.
        out, at_min_isr: Trouble that was answered, or was there when the run began, less what has ended since.
        first_out, first_at_min_isr: The same of what was there when the run began.
    """

    rate: int
    reason: str
    halved_at: float | None
    calm_since: float | None
    out: frozenset[Replica]
    at_min_isr: int
    first_out: frozenset[Replica]
    first_at_min_isr: int


def first_rate(bounds: RateBounds, earlier: int | None = None) -> int:
    """The rate to begin with.

    Args:
        bounds: Its bounds.
        earlier: The rate that an earlier run has left; None if none.
    """
    return bounds.within(earlier if earlier is not None else math.isqrt(bounds.least * bounds.most))


def begin(rate: int, seen: ReplicationSeen) -> AutomaticRate:
    """The state at the first look of a run."""
    trouble = seen.out, seen.at_min_isr
    return AutomaticRate(rate, "", None, seen.at, *trouble, *trouble)


def decide(bounds: RateBounds, before: AutomaticRate, seen: ReplicationSeen) -> AutomaticRate:
    """The state after another look; its rate differs from the one before by a tenth of that at least, or not at all."""
    left, grown = seen.out - before.out, seen.at_min_isr - before.at_min_isr
    settled = before.halved_at is None or seen.at - before.halved_at >= SETTLE_SECONDS
    if (left or grown > 0) and settled:
        return _halved(bounds, before, seen, _trouble_words(left, grown))
    now = replace(
        before,
        out=before.out & seen.out,
        at_min_isr=min(before.at_min_isr, seen.at_min_isr),
        first_out=before.first_out & seen.out,
        first_at_min_isr=min(before.first_at_min_isr, seen.at_min_isr),
    )
    if seen.out - now.first_out or seen.at_min_isr > now.first_at_min_isr:
        return replace(now, calm_since=None)
    if now.calm_since is None:
        return replace(now, calm_since=seen.at)
    if seen.at - now.calm_since < CALM_SECONDS:
        return now
    return _changed(replace(now, calm_since=seen.at), _raised(bounds, now.rate), _CALM)


def _halved(bounds: RateBounds, before: AutomaticRate, seen: ReplicationSeen, reason: str) -> AutomaticRate:
    answered = replace(
        before,
        halved_at=seen.at,
        calm_since=None,
        out=seen.out,
        at_min_isr=seen.at_min_isr,
        first_out=before.first_out & seen.out,
        first_at_min_isr=min(before.first_at_min_isr, seen.at_min_isr),
    )
    return _changed(answered, bounds.within(before.rate // 2), reason)


def _raised(bounds: RateBounds, rate: int) -> int:
    """A tenth more; the upper bound where less than a tenth would be left to it."""
    raised = rate + math.ceil(rate / 10)
    return bounds.most if raised + math.ceil(raised / 10) > bounds.most else raised


def _changed(state: AutomaticRate, rate: int, reason: str) -> AutomaticRate:
    small = 10 * abs(rate - state.rate) < state.rate
    return state if small or rate == state.rate else replace(state, rate=rate, reason=reason)


_CALM = f"all has been well for {CALM_SECONDS:g} s"


def _trouble_words(left: frozenset[Replica], grown: int) -> str:
    if left:
        topic, partition, broker = min(left)
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        return f"broker {broker} left the ISR of {topic}-{partition}{more}"
    return f"{counted(grown, 'more partition')} at min ISR"
