"""Parses and spells the values that people type and read: durations, moments, sizes and broker ids.

A moment is a date, a time, or a duration before now; it is spelled so that it can be typed again. JSON has bytes where
people read sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from kreplica.errors import UsageError
from kreplica.model.wording.durations import spell_duration
from kreplica.system.time_limits import LONGEST_SECONDS

__all__ = ["UNIT_SECONDS", "parse_duration", "spell_duration"]

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,3})?)(?P<unit>[smhdw]?)", re.ASCII)


MOST_KEPT_SECONDS = 100 * 365.25 * 86_400
"""Longest time that something may be kept: a hundred years."""


def parse_duration(text: str, option: str, *, least: float = 0.0, most: float = LONGEST_SECONDS) -> float:
    """Seconds of ``10s``, ``1.5m``, ``30m``, ``2h``, ``7d``, ``1w``; a number alone is seconds.

    Args:
        text: The text as typed.
        option: Name of the option, for errors.
        least: Shortest allowed duration, in seconds.
        most: Longest allowed duration, in seconds.

    Raises:
        UsageError: It is no length of time, too short, or too long.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option} {text} is no length of time", fix=f"{option} 30s, {option} 2h or {option} 7d")
    seconds = float(found["number"]) * UNIT_SECONDS[found["unit"] or "s"]
    if seconds < least:
        raise UsageError(f"{option} {text} is too short", f"the least is {spell_duration(least)}")
    if seconds > most:
        raise UsageError(f"{option} {text} is too long", f"the most is {spell_duration(most)}")
    return seconds


_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_words(count: int) -> str:
    """``512 bytes``, ``1.5 GiB``: one digit after the point."""
    value, step = float(count), 0
    while abs(value) >= 1024 and step < len(_SIZES) - 1:
        value, step = value / 1024, step + 1
    return f"{count} {_SIZES[0]}" if step == 0 else f"{value:.1f} {_SIZES[step]}"


_SIZE_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,3})?)\s?(?P<unit>[A-Za-z]{0,3})", re.ASCII)


def parse_size(text: str, option: str) -> int:
    """Bytes of ``1500000``, ``50MB``, ``1.5GiB``: MB and the like by thousands, MiB by 1024.

    Raises:
        UsageError: It is no size, or none at all.
    """
    found = _SIZE.fullmatch(text.strip())
    unit = _SIZE_UNITS.get(found["unit"].upper()) if found is not None else None
    size = int(float(found["number"]) * unit) if found is not None and unit is not None else 0
    if size < 1:
        raise UsageError(f"{option} {text} is no size", fix=f"{option} 50MB, {option} 64MiB or {option} 1500000")
    return size


_PERCENT = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})?)\s?%?", re.ASCII)


def parse_percent(text: str, option: str) -> float:
    """Share of ``70%`` or ``70``: 0.7.

    Raises:
        UsageError: It is no number from 1 to 100.
    """
    found = _PERCENT.fullmatch(text.strip())
    percent = float(found["number"]) if found is not None else 0.0
    if not 1 <= percent <= 100:
        raise UsageError(f"{option} {text} is no share", "it is 1% to 100%", f"as in {option} 70%")
    return percent / 100


MOST_DIGITS = 10
"""Digits of a broker id, an int32."""


def parse_ids(texts: Sequence[str], option: str = "--broker") -> tuple[int, ...]:
    """The ids of ``--broker 1,2 --broker 3``, each once.

    Args:
        texts: The texts as typed, one for each time that the option was given.
        option: Name of the option or argument, for errors.

    Raises:
        UsageError: One is no id.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    wrong = [word for word in words if not (word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS)]
    if wrong:
        raise UsageError(f"{option} {wrong[0]!r} is no broker id", "ids are whole numbers", f"as in {option} 1,2")
    return tuple(dict.fromkeys(map(int, words)))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AGO = re.compile(r"(?P<number>\d{1,6})(?P<unit>[smhdw])")


def parse_moment(text: str, option: str, now: datetime | None = None) -> datetime:
    """A moment in UTC: ``2026-03-01``, ``2026-03-01T12:00`` (UTC unless it names a zone), or ``7d`` for seven days ago.

    Raises:
        UsageError: It is none of these.
    """
    try:
        return _moment(text, now or datetime.now(UTC))
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} {text} is no moment", fix=f"{option} 2026-03-01, {option} 2026-03-01T12:00 or {option} 7d"
        ) from None


def parse_coming(text: str, option: str, now: datetime | None = None) -> datetime:
    """A moment to come, in UTC: as ``parse_moment`` has it, but ``7d`` is seven days from now.

    Raises:
        UsageError: It is none, or over.
    """
    now = now or datetime.now(UTC)
    moment = parse_moment(text, option, now)
    moment = now + (now - moment) if _AGO.fullmatch(text) else moment
    if moment <= now:
        raise UsageError(f"{option} {text} is over", "a time to come is wanted", f"as in {option} 7d")
    return moment


def _moment(text: str, now: datetime) -> datetime:
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - timedelta(seconds=int(ago["number"]) * UNIT_SECONDS[ago["unit"]])
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)


def milliseconds_of(moment: datetime) -> int:
    """Milliseconds since the epoch."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def spell_moment(milliseconds: int, timespec: str = "seconds") -> str:
    """``2026-03-01T12:00:00Z`` of ms since the epoch, one word that ``parse_moment`` reads; the number itself where it
    is beyond the range of dates.

    Args:
        milliseconds: Milliseconds since the epoch.
        timespec: ``seconds`` or ``milliseconds``.
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
