"""Sizes as they are printed: units of 1024, the largest that there is at the end."""

from __future__ import annotations

import pytest

from commands.shared.values import size_words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (-1536, "-1.5 KiB"),
        (2**20, "1.0 MiB"),
        (3 * 2**29, "1.5 GiB"),
        (2**40, "1.0 TiB"),
        (2**50, "1.0 PiB"),
        (2**60, "1024.0 PiB"),
        (2**63 - 1, "8192.0 PiB"),
    ],
)
def test_sizes(count: int, words: str) -> None:
    assert size_words(count) == words
