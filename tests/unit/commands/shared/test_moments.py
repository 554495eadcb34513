"""Moments as a person types them, and reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.shared.values import milliseconds_of, parse_moment, spell_moment
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


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_what_is_printed_can_be_typed(milliseconds: int) -> None:
    """The years 1 to 9999: what a column shows is what --as-of-time takes, to the millisecond."""
    spelt = spell_moment(milliseconds, "milliseconds")
    assert spelt.endswith("Z")
    assert milliseconds_of(parse_moment(spelt, "--as-of-time", NOW)) == milliseconds


def test_a_damaged_timestamp_is_a_number() -> None:
    assert spell_moment(0) == "1970-01-01T00:00:00Z"
    assert spell_moment(1 << 62) == str(1 << 62)
    assert spell_moment(-(1 << 63)) == str(-(1 << 63))
