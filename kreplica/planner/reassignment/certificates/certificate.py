"""Certificate: conditions of a plan, its values, bounds that no plan under these conditions goes below, and proofs.

Most bounds are Lagrangian ones. Give every broker a price for a replica on it, or for each byte of one. Then no target
that meets the conditions costs less than the sum, over partitions, of the cheapest way to place each one alone at those
prices, less the most that the brokers' ranges let all of them be paid:

    cost >= sum of cheapest placements(price) - sum over brokers of max(price * lower, price * upper)

Where brokers hold a certain number together, they are paid for that many: those with the highest prices first.
That holds for any prices (weak duality), so whoever has the prices can check the bound without solving anything. Node
potentials of an optimal flow are prices for which it is exact. With a price of 1 for each byte on brokers above their
range it is the covering bound: what is above has to leave.

    kind      proves                                       from
    nothing   0                                            -
    prices    moves or bytes                               a price of each broker
    shares    moves of a balance of topics                 replicas above and below the share of each topic
    levels    the balance of leaders, and its changes      a level and a price of each broker (``leaders.py``)

What has to leave a log directory that is relieved is bounded by covers: no set of its replicas that is large enough is
smaller than the bound. Nobody needs anything but their sizes to check that.

Bounds hold for plans within the ranges that this one keeps. Where it misses what was wanted, ranges are as wide as it
needs, and ``missed`` names what was wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec


class Quantity(StrEnum):
    """Quantities that a plan makes small."""

    MOVES = "moves"
    BYTES = "bytes"
    LEADER_SQUARES = "leader squares"
    LEADER_CHANGES = "leader changes"


class BoundKind(StrEnum):
    """Reasons why there is nothing below a bound."""

    NOTHING = "nothing"
    PRICES = "prices"
    SHARES = "shares"
    LEVELS = "levels"


class Load(StrEnum):
    """Loads of brokers for which there are ranges."""

    COUNT = "count"
    BYTES = "bytes"
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class Bound:
    """A quantity of the plan, and what no other plan goes below.

    Args:
        quantity: Replicas that are added; bytes that are copied, where no more replicas are added than here if moves
            have a cost; squares of the numbers of partitions that brokers lead; preferred leaders that change, where
            the squares are as few.
        value: That of the plan and of what is left out of it together.
        lower_bound: Of every plan that meets the same conditions.
        kind: How it is shown.
        move_cost: Cost of one replica that is added, beside its bytes where the quantity is bytes.
        prices: Price of a unit of the load on each broker, by id; brokers that are not named have price 0.
        load: The load that has a price.
        scale: Number of units of prices that make one of the quantity.
        planned: What of the value the plan takes, where changes are left out of it; None for all.
        limit: Most that the plan was allowed to take; None for any.
    """

    quantity: Quantity
    value: int
    lower_bound: int
    kind: BoundKind
    move_cost: int
    prices: dict[int, int]
    load: Load = Load.COUNT
    scale: int = 1
    planned: int | None = None
    limit: int | None = None

    @property
    def gap(self) -> int:
        """Difference of value and bound; 0 where the plan is optimal."""
        return self.value - self.lower_bound

    @property
    def left(self) -> int:
        """Amount of the value that is left out of the plan."""
        return 0 if self.planned is None else self.value - self.planned

    @property
    def least_left(self) -> int:
        """Lower bound of what a plan within the limit leaves; without a limit, one that takes as much as this."""
        if self.planned is None:
            return 0
        return max(0, self.lower_bound - (self.planned if self.limit is None else self.limit))

    @property
    def closed(self) -> bool:
        """True if neither the whole nor what is left out leaves a gap."""
        return self.gap == 0 and self.left == self.least_left


@dataclass(frozen=True, slots=True)
class LoadBounds:
    """Range of one load of brokers.

    Args:
        load: Bytes or weights; those of numbers stand in the certificate itself.
        lower: Least load by broker id, 0 for those that are not named.
        upper: Greatest load by broker id, any for those that are not named.
    """

    load: Load
    lower: dict[int, int]
    upper: dict[int, int]


@dataclass(frozen=True, slots=True)
class TopicShares:
    """Balance of topics: each broker holds its share of each topic, rounded down or up, or what the plan gives it.

    Args:
        groups: Sets of brokers that share a topic's replicas on them.
        beyond: Replicas of the plan above a share, or missing to it.
    """

    groups: tuple[tuple[int, ...], ...]
    beyond: int


@dataclass(frozen=True, slots=True)
class LeaderProof:
    """Numbers that prove the balance of preferred leaders.

    Args:
        barred: Brokers that may lead nothing.
        levels: Level of each broker by id, 0 for those that are not named.
        prices: Price of each broker by id, 0 for those that are not named.
    """

    barred: tuple[int, ...]
    levels: dict[int, int]
    prices: dict[int, int]


@dataclass(frozen=True, slots=True)
class DirectoryRelief:
    """Relief of one log directory, whose replicas go to other directories of the broker, or to other brokers.

    Args:
        broker: Id of the broker.
        path: The directory.
        target: Bytes that were to stay in use on its volume at most.
        used: Bytes that are in use there once all is made, by the plan.
        value: Bytes of the replicas that leave it.
        lower_bound: Bytes that have to leave it in every plan that reaches the target.
    """

    broker: int
    path: str
    target: int
    used: int
    value: int
    lower_bound: int

    @property
    def short(self) -> int:
        """Bytes by which it is still too full."""
        return max(0, self.used - self.target)

    @property
    def gap(self) -> int:
        """Difference of value and bound; 0 where no plan that reaches the target moves less."""
        return max(0, self.value - self.lower_bound)


@dataclass(frozen=True, slots=True)
class Missed:
    """A broker that the plan leaves outside the range that was wanted.

    Args:
        load: The load.
        broker: Id of the broker.
        reached: Its load by the plan.
        lower: Least that was wanted.
        upper: Most that was wanted.
    """

    load: Load
    broker: int
    reached: int
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Certificate:
    """Conditions of a plan, and bounds of each quantity in the order in which they count.

    Args:
        topics: Names of the topics in scope: of them every partition with a live leader that is not being reassigned
            could be changed.
        replication_factor: Replicas of each partition afterwards, None where their number stays.
        rack_aware: Whether replicas are spread over racks as evenly as brokers allow; otherwise no rack gets worse.
        receivers: Brokers that may be given replicas.
        emptied: Brokers that hold nothing afterwards.
        staying: Brokers that are dead or excluded: their replicas stay.
        lower: Fewest replicas on each broker by id, 0 for those that are not named.
        upper: Most replicas on each broker by id, any number for those that are not named.
        totals: Replicas that sets of brokers hold together.
        stuck: Topic and partition of those that stay as they are, because nothing legal was found for them.
        bounds: Bounds of each quantity.
        loads: Ranges of other loads.
        weights: Topic, partition and weight, where weights are balanced.
        shares: Balance of topics, None where it is no aim.
        leaders: Proof of the balance of leaders, None where it is no aim.
        rest: Topic, partition and replicas of changes that are left out of the plan; with them it meets the conditions.
        missed: Brokers that are left outside the ranges that were wanted.
        named: True if a file named the replicas: any live broker may have them, in any racks, and nobody said what for.
        reliefs: Log directories that are relieved.
    """

    topics: tuple[str, ...]
    replication_factor: int | None
    rack_aware: bool
    receivers: tuple[int, ...]
    emptied: tuple[int, ...]
    staying: tuple[int, ...]
    lower: dict[int, int]
    upper: dict[int, int]
    totals: tuple[tuple[tuple[int, ...], int], ...]
    stuck: tuple[tuple[str, int], ...]
    bounds: tuple[Bound, ...]
    loads: tuple[LoadBounds, ...] = ()
    weights: tuple[tuple[str, int, int], ...] = ()
    shares: TopicShares | None = None
    leaders: LeaderProof | None = None
    rest: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    missed: tuple[Missed, ...] = ()
    named: bool = False
    reliefs: tuple[DirectoryRelief, ...] = ()

    @property
    def falls_short(self) -> bool:
        """True if some range, share or relief is not that which was wanted."""
        short = any(one.short for one in self.reliefs)
        return short or bool(self.missed) or (self.shares is not None and self.shares.beyond > 0)

    @property
    def optimal(self) -> bool:
        """True if something was wanted, no bound leaves a gap, and all of it is that which was wanted."""
        proven = all(bound.closed for bound in self.bounds) and not any(one.gap for one in self.reliefs)
        return proven and not self.named and not self.falls_short


def certificate_object(certificate: Certificate) -> dict[str, Any]:
    """The certificate as an object of JSON, with the gap of each bound."""
    found: dict[str, Any] = msgspec.to_builtins(certificate, str_keys=True)
    for bound, object_ in zip(certificate.bounds, found["bounds"], strict=True):
        object_["gap"] = bound.gap
    for relief, object_ in zip(certificate.reliefs, found["reliefs"], strict=True):
        object_["gap"] = relief.gap
    return {"optimal": certificate.optimal, **found}
