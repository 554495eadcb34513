"""Lengths of time as a person types and reads them."""

from __future__ import annotations

import pytest

from commands.shared.values import parse_duration, spell_duration
from kreplica.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("10", 10), ("0", 0), ("0.5s", 0.5), ("1.5m", 90), ("30m", 1800), ("2h", 7200), ("7d", 604800),
     ("1w", 604800), (" 5s ", 5)],
)  # fmt: skip
def test_a_length_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text, "--wait") == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5s", "5 s", "5ms", "1h30m", "nan", "inf", "1e3", "٣s", "1.2345s"])
def test_what_is_none_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"--wait .*is no length of time; --wait 30s, --wait 2h or --wait 7d"):
        parse_duration(text, "--wait")


def test_too_short() -> None:
    with pytest.raises(UsageError, match=r"--settle 0\.1s is too short; the least is 1 s"):
        parse_duration("0.1s", "--settle", least=1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.25, "0.2 s"), (9, "9 s"), (65, "1 min 5 s"), (3600, "1 h"), (3605, "1 h"), (7800, "2 h 10 min"),
     (273600, "3 d 4 h"), (59.7, "1 min")],
)  # fmt: skip
def test_a_length_in_words(seconds: float, words: str) -> None:
    assert spell_duration(seconds) == words
