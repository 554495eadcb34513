"""Random failures of brokers around given moments, each of which heals: for plays of what an operator is going to do.

Half of the failures come soon after a moment begins, when a copy has just started or has just joined: what follows a
failure then differs most from what follows one at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from kreplica.engine.fault_plan import At, Crash, Cut, Pause, Plan, Start, Step, Stop, in_order
from kreplica.engine.fuzzing.plans import FaultKind
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import SECOND

KINDS = (FaultKind.CRASH, FaultKind.RESTART, FaultKind.PAUSE, FaultKind.ISOLATE)
"""Kinds of failures; none of them takes records off a disk."""

LONGEST = 30 * SECOND
"""Longest time that a broker is away: longer than every session of Kafka's defaults."""

_NEAR = 3
"""Of so many failures one strikes any broker, the others one of the moment's own."""
_AROUND = SECOND
"""Time before and after a moment in which failures belong to it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time at which something is done.

    Args:
        begin: Microseconds.
        end: Microseconds.
        brokers: Brokers that take part.
    """

    begin: int
    end: int
    brokers: tuple[int, ...]


def broker_failures(moments: Sequence[Moment], brokers: Sequence[int], count: int, chance: Random) -> Plan:
    """Returns a plan in which brokers fail one or several times, and come back.

    Args:
        moments: At least one.
        brokers: All brokers that may fail.
        count: Number of failures; several may overlap.
        chance: The only source of randomness.
    """
    steps: list[Step] = []
    for _ in range(count):
        moment = chance.choice(moments)
        near = moment.brokers and chance.randrange(_NEAR)
        broker = chance.choice(moment.brokers if near else tuple(brokers))
        steps.extend(_failure(f"broker-{broker}", _time(moment, chance), _length(chance), chance))
    return in_order(steps)


def _time(moment: Moment, chance: Random) -> int:
    if chance.random() < 0.5:
        return moment.begin + _spread(max(moment.end - moment.begin, SECOND), chance)
    return chance.randint(max(0, moment.begin - _AROUND), moment.end + _AROUND)


def _length(chance: Random) -> int:
    """A short one as often as one that outlives sessions."""
    if chance.random() < 0.5:
        return _spread(LONGEST, chance)
    return chance.randint(LONGEST // 3, LONGEST)


def _spread(longest: int, chance: Random) -> int:
    """From a tenth of a millisecond to the longest, short and long ones equally often."""
    shortest = MICROSECONDS // 10
    return int(shortest * (longest / shortest) ** chance.random())


def _failure(node: str, begin: int, length: int, chance: Random) -> list[Step]:
    kind = chance.choice(KINDS)
    if kind is FaultKind.PAUSE:
        return [Step(At(time=begin), Pause(node, length))]
    if kind is FaultKind.ISOLATE:
        return [Step(At(time=begin), Cut(node, chance.choice(("*", "active controller")), length))]
    if kind is FaultKind.CRASH:
        return [Step(At(time=begin), Crash(node)), Step(At(time=begin + length), Start(node))]
    # it stops once its leaderships have moved, and who still stops cannot be started
    back = max(begin + length, begin + LONGEST // 3), begin + LONGEST
    return [Step(At(time=begin), Stop(node)), *(Step(At(time=time), Start(node)) for time in back)]
