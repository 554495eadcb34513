"""Moments as a person types them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commands.moments import parse_moment
from kreplica.errors import UsageError

NOW = datetime(2026, 3, 8, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T12:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01 12:00:30", datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)),
        ("2026-03-01T12:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T12:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("90m", datetime(2026, 3, 8, 11, tzinfo=UTC)),
        ("24h", datetime(2026, 3, 7, 12, 30, tzinfo=UTC)),
        ("7d", datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
        ("1w", datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_moment_is_read(text: str, expected: datetime) -> None:
    assert parse_moment(text, "--since", NOW) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "7", "d", "2026-13-01", "7 d", "-7d", "999999w", "0001-01-01T00:00+14:00"]
)
def test_what_is_no_moment_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"--until .*is no moment"):
        parse_moment(text, "--until", NOW)
