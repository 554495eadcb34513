"""Moments in the rows of an audit, as the screen has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msgspec import Struct


def moment(time: datetime) -> str:
    """A moment as it is printed."""
    return f"{time:%Y-%m-%d %H:%M:%S}"


def _moment(text: str | None) -> str:
    return "-" if text is None else moment(datetime.fromisoformat(text))


MOMENTS: dict[str, Callable[[Any], str]] = dict.fromkeys(
    ("begun_after", "valid_from", "last_seen", "valid_to"), _moment
)
"""Texts of the columns that are times, UTC."""


def columns_of(row: type[Struct], rows: Sequence[Struct]) -> list[str]:
    """Columns that the screen shows; ``exact`` only where a metadata log tells of any row.

    Args:
        row: Class of the rows.
        rows: The rows.
    """
    from kreplica.model.tables.rows import fields_of

    names = [field.name for field in fields_of(row) if field.meaning.screen]
    return [name for name in names if name != "exact" or any(getattr(one, name) for one in rows)]
