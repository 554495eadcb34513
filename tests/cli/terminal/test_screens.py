"""Screens of 80 and 140 columns: as they were looked at and kept, and no wider than the terminal."""

from __future__ import annotations

import pytest
from answers.screens import COMMANDS, SCREENS, WIDTHS, shown


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_screens_are_those_that_were_kept(name: str, width: int) -> None:
    kept = (SCREENS / f"{name}.{width}.txt").read_text(encoding="utf-8")
    assert shown(name, width) == kept, (
        "look at what changed: python tests/support/answers/screens.py; git diff tests/golden"
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_screens_fit_the_terminal(name: str, width: int) -> None:
    """A line may be wider only where it is meant to be copied: a command, a path, a setting."""
    kept = (SCREENS / f"{name}.{width}.txt").read_text(encoding="utf-8")
    wide = [line for line in kept.splitlines() if len(line) > width and not _to_be_copied(line)]
    assert not wide


def _to_be_copied(line: str) -> bool:
    words = line.split()
    return any(word.startswith(("$", "kreplica", "kafka-", "error:", "warning:")) for word in words[:2])
