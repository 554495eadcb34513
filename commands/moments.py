"""Moments as a person types them: a date, a time, or how long ago; and as a person reads them, and types them again."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from commands.durations import UNIT_SECONDS
from kreplica.errors import UsageError

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
    """``2026-03-01T12:00:00Z`` of ms since the epoch, one word that ``parse_moment`` reads; the number where no date is
    so far away.

    Args:
        milliseconds: Since the epoch.
        timespec: ``seconds`` or ``milliseconds``.
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
