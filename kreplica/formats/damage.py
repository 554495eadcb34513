"""Damage is data: ranges that could not be decoded are reported beside the decoded ones.

Damage of many files: all of it counted, the first places kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kreplica.model.wording.words import counted


@dataclass(frozen=True, slots=True)
class Damage:
    """A range of a file that could not be decoded, or has a wrong value.

    Args:
        file: The file's name; empty where only bytes were given.
        position: First byte, counted from the start of the file.
        reason: Description of the fault, in words.
        skipped: Bytes that were left out because of it; 0 where the content was decoded all the same.
        expected: The value that should be there; may be empty.
        found: The value that is there; may be empty.
    """

    file: str
    position: int
    reason: str
    skipped: int
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        where = f"{self.file}, byte {self.position}" if self.file else f"byte {self.position}"
        told = f", expected {self.expected}, found {self.found}" if self.expected else ""
        left_out = f"; {counted(self.skipped, 'byte')} skipped" if self.skipped else ""
        return f"{where}: {self.reason}{told}{left_out}"


def outside(damage: Iterable[Damage], unreadable: Sequence[Damage]) -> list[Damage]:
    """Damage outside the ranges that were not read: those are reported already."""
    return [
        each
        for each in damage
        if not any(
            each.position < lost.position + lost.skipped and lost.position < each.position + max(1, each.skipped)
            for lost in unreadable
        )
    ]


MOST_KEPT = 1000
"""Damaged places that are kept, the others only counted: a gigabyte of garbage has millions."""


@dataclass(slots=True)
class DamageTally:
    """Damage as it is gathered.

    Args:
        kept: The first damaged places.
        places: Number of damaged places.
        skipped: Bytes left out at all of them.
    """

    kept: list[Damage] = field(default_factory=list)
    places: int = 0
    skipped: int = 0

    def add(self, damage: Iterable[Damage]) -> None:
        """Adds damaged places."""
        for each in damage:
            self.places += 1
            self.skipped += each.skipped
            if len(self.kept) < MOST_KEPT:
                self.kept.append(each)

    def join(self, other: DamageTally) -> None:
        """Adds the places of another tally."""
        self.kept += other.kept[: MOST_KEPT - len(self.kept)]
        self.places += other.places
        self.skipped += other.skipped
