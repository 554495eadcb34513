"""Facts of the brokers of an observation, which all its partitions share. Few differ, so that the client makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of the brokers that an observation tells, for the compiled expressions; null where it knows of none."""

    brokers: int = 0
    live: tuple[int, ...] | None = None
    unsure: tuple[int, ...] | None = None
    racks: tuple[tuple[int, int], ...] | None = None
    rack_count: int | None = None

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bool | None, str | None]]) -> Facts:
        """The facts of brokers: id, whether it is alive, rack. A rack's number is its lowest broker id.

        Without a row nothing is known of brokers: the source does not tell them.
        """
        if not rows:
            return cls()
        numbers: dict[str, int] = {}
        for broker, _, rack in sorted(rows, key=lambda row: row[0]):
            if rack is not None:
                numbers.setdefault(rack, broker)
        known = [(broker, numbers[rack]) for broker, _, rack in rows if rack is not None]
        return cls(
            brokers=len(rows),
            live=tuple(broker for broker, alive, _ in rows if alive),
            unsure=tuple(broker for broker, alive, _ in rows if alive is None),
            racks=tuple(known),
            rack_count=len(numbers) if len(known) == len(rows) else None,
        )

    @property
    def columns(self) -> tuple[object, ...]:
        """The values of CLUSTER_COLUMNS."""
        return self.live, self.unsure, self.racks, self.rack_count

    def differing(self, other: Facts) -> list[int] | None:
        """Brokers of which the other says something else; None if it differs in what concerns all of them."""
        if (self.live is None) != (other.live is None) or self.rack_count != other.rack_count:
            return None
        mine, theirs = self._of_each, other._of_each
        return sorted(broker for broker in mine.keys() | theirs.keys() if mine.get(broker) != theirs.get(broker))

    @property
    def _of_each(self) -> dict[int, tuple[bool, bool, int | None]]:
        """Of each broker of which something is known: alive, maybe alive, number of its rack."""
        live, unsure, racks = set(self.live or ()), set(self.unsure or ()), dict(self.racks or ())
        return {one: (one in live, one in unsure, racks.get(one)) for one in live | unsure | racks.keys()}
