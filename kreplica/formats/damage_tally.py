"""Damage of many files: all of it counted, the first places kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kreplica.formats.damage import Damage

MOST_KEPT = 1000
"""A gigabyte of rubbish is millions of damaged places: that many are kept, the others only counted."""


@dataclass(slots=True)
class DamageTally:
    """Damage as it is gathered.

    Args:
        kept: The first places.
        places: How many there were.
        skipped: Bytes left out at all of them.
    """

    kept: list[Damage] = field(default_factory=list)
    places: int = 0
    skipped: int = 0

    def add(self, damage: Iterable[Damage]) -> None:
        """Takes more places."""
        for each in damage:
            self.places += 1
            self.skipped += each.skipped
            if len(self.kept) < MOST_KEPT:
                self.kept.append(each)

    def join(self, other: DamageTally) -> None:
        """Takes what another tally has."""
        self.kept += other.kept[: MOST_KEPT - len(self.kept)]
        self.places += other.places
        self.skipped += other.skipped
