"""Names similar to one that is not known, which an error suggests after a typing error."""

from __future__ import annotations

import re
from collections.abc import Collection

LISTED = 12
"""Most names that are all listed where none is near."""

_CLOSE = 0.6
"""Least similarity, up to 1 as in difflib, at which a name is suggested."""


def nearest_names(
    name: str, known: Collection[str], most: int = 3, close: float = _CLOSE, parts: bool = True
) -> list[str]:
    """The known names that may be meant, nearest first; none where nothing is close.

    Args:
        name: As given.
        known: The names that there are.
        most: At most so many are given.
        close: How similar a name has to be, up to 1.
        parts: Whether names that contain every word of the given one are near, too.
    """
    having = sorted((one for one in known if parts and _has_words(name, one)), key=lambda one: (len(one), one))
    return list(dict.fromkeys([*having, *_similar(name, known, most, close)]))[:most]


def nearest_or_known(name: str, known: Collection[str], most: int = 3) -> str:
    """Asks whether one of the nearest names is meant; lists the known ones where none is near and they are few.

    Args:
        name: As given.
        known: The names that there are.
        most: At most so many are given where there are more than LISTED.
    """
    near = nearest_names(name, known, most)
    if near:
        return f"did you mean {', '.join(near)}?"
    if len(known) <= LISTED:
        return f"one of {', '.join(known)}" if known else "there is none"
    return f"there are {len(known)}, the nearest are {', '.join(_similar(name, known, most, 0))}"


def _has_words(name: str, one: str) -> bool:
    """True if another name contains every word of a name: ``lag.max`` in ``replica.lag.time.max.ms``."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if len(word) > 1]
    return bool(words) and all(word in one.lower() for word in words)


def _similar(name: str, known: Collection[str], most: int, close: float) -> list[str]:
    from difflib import get_close_matches  # every start of the program would pay for it

    as_written = {one.lower(): one for one in known}
    return [as_written[one] for one in get_close_matches(name.lower(), as_written, most, close)]
