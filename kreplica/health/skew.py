"""What lies unevenly on the brokers: leaders, what they are preferred for, replicas, bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kreplica.health.imbalance import BrokerBalance

TOLERATED_PERCENT = 10
"""How far above the even share the fullest broker may be, and always by one."""


class Measure(StrEnum):
    """What is counted."""

    LEADERS = "leaders"
    PREFERRED = "preferred_partitions"
    REPLICAS = "replicas"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Spread:
    """How one measure lies on the live brokers.

    Args:
        measure: What.
        most: The largest number, and on which broker.
        least: The smallest one.
        even: The even share.
    """

    measure: Measure
    most: tuple[int, int]
    least: tuple[int, int]
    even: float

    @property
    def skewed(self) -> bool:
        """Whether the fullest broker is more than TOLERATED_PERCENT, and more than one, above the even share."""
        above = self.most[0] - self.even
        return above >= 1 and above * 100 > self.even * TOLERATED_PERCENT

    def as_row(self) -> dict[str, object]:
        """The form of the summary."""
        return {
            "measure": self.measure.value,
            "most": self.most[0],
            "most_broker": self.most[1],
            "least": self.least[0],
            "least_broker": self.least[1],
            "even": round(self.even, 1),
            "skewed": self.skewed,
        }


def spreads_of(brokers: Sequence[BrokerBalance]) -> dict[Measure, Spread]:
    """How each measure that is known lies on the brokers that are not down; none for fewer than two of them."""
    up = [broker for broker in brokers if broker.alive is not False]
    found: dict[Measure, Spread] = {}
    for measure in Measure:
        values = [(getattr(broker, measure.value), broker.broker) for broker in up]
        if len(up) > 1 and all(value is not None for value, _ in values):
            even = sum(value for value, _ in values) / len(values)
            most = max(values, key=lambda pair: (pair[0], -pair[1]))
            found[measure] = Spread(measure, most, min(values), even)
    return found


def diagnosis(spreads: Mapping[Measure, Spread], non_preferred: int) -> str | None:
    """What is skewed and what would help, in one clause; None if nothing is, or nothing can be said."""
    skewed = {measure for measure, spread in spreads.items() if spread.skewed}
    if Measure.PREFERRED in skewed:
        return (
            "the assignment is skewed: even with every preferred leader leading, leaders would be uneven; electing"
            " them does not help, another order of replicas or another place would"
        )
    if Measure.LEADERS in skewed and non_preferred:
        return "leaders are uneven only because others than the preferred lead: electing the preferred ones evens them"
    if Measure.REPLICAS in skewed:
        return "replica counts are uneven, leaders are not: moving replicas would even them, elections do not"
    if Measure.BYTES in skewed:
        return "counts are even, bytes are not: some partitions are much larger than others"
    return None
