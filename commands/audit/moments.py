"""Moments in the rows of an audit, as the screen has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any


def _moment(text: str | None) -> str:
    return "-" if text is None else f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S}"


MOMENTS: dict[str, Callable[[Any], str]] = dict.fromkeys(
    ("begun_after", "valid_from", "last_seen", "valid_to"), _moment
)
"""Texts of the columns that are times, UTC."""
