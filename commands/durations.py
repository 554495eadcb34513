"""Lengths of time as a person types them, and as a person reads them."""

from __future__ import annotations

import re

from kreplica.errors import UsageError
from kreplica.model.durations import spell_duration
from kreplica.time_limits import LONGEST_SECONDS

__all__ = ["UNIT_SECONDS", "parse_duration", "spell_duration"]

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,3})?)(?P<unit>[smhdw]?)", re.ASCII)


def parse_duration(text: str, option: str, *, least: float = 0.0) -> float:
    """Seconds of ``10s``, ``1.5m``, ``30m``, ``2h``, ``7d``, ``1w``; a number alone is seconds.

    Args:
        text: What was typed.
        option: For which option, as the user wrote it.
        least: The shortest length that makes sense, in seconds.

    Raises:
        UsageError: It is no length of time, too short, or longer than a year.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option} {text} is no length of time", fix=f"{option} 10s, {option} 30m or {option} 2h")
    seconds = float(found["number"]) * UNIT_SECONDS[found["unit"] or "s"]
    if seconds < least:
        raise UsageError(f"{option} {text} is too short", f"the least is {spell_duration(least)}")
    if seconds > LONGEST_SECONDS:
        raise UsageError(f"{option} {text} is too long", f"the most is {spell_duration(LONGEST_SECONDS)}")
    return seconds
