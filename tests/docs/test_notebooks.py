"""Notebooks of the docs show what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from answers import notebooks


@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_kept_in_it(path: Path) -> None:
    assert notebooks.shown(path) == notebooks.kept(path), (
        "python tests/support/answers/notebooks.py keeps what they show now"
    )


def test_there_is_one() -> None:
    assert notebooks.notebooks()
