"""Damage in files, as the decode commands report it: on stderr, and in the summary of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from kreplica.formats.damage import Damage

MOST_TOLD = 10
"""Places that are named on stderr; the summary has all of them."""


def damage_warnings(damage: Sequence[Damage], places: int | None = None) -> list[str]:
    """A line for each of the first places, and one that counts the rest.

    Args:
        damage: The places, or the first of them.
        places: Number of all places; that of ``damage`` if None.
    """
    rest = (len(damage) if places is None else places) - MOST_TOLD
    more = [f"{counted(rest, 'more damaged place')}: see damage in the summary of -o json"] if rest > 0 else []
    return [*map(str, damage[:MOST_TOLD]), *more]


def count_places(count: int) -> str:
    """``1 damaged place``, ``2 damaged places``."""
    from kreplica.model.wording.words import counted

    return counted(count, "damaged place")


def damage_objects(damage: Sequence[Damage]) -> list[dict[str, object]]:
    """Each place as an object of the summary."""
    return [
        {
            "file": each.file,
            "position": each.position,
            "reason": each.reason,
            "skipped": each.skipped,
            "expected": each.expected,
            "found": each.found,
        }
        for each in damage
    ]
