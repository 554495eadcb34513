"""Moments in the rows of an audit, as the screen has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any


def moment(time: datetime) -> str:
    """A moment as it is printed."""
    return f"{time:%Y-%m-%d %H:%M:%S}"


def _moment(text: str | None) -> str:
    return "-" if text is None else moment(datetime.fromisoformat(text))


MOMENTS: dict[str, Callable[[Any], str]] = dict.fromkeys(
    ("begun_after", "valid_from", "last_seen", "valid_to"), _moment
)
"""Texts of the columns that are times, UTC."""
