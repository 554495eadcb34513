"""The table of docs/gates.md is the one that tests try on dumps and on real clusters."""

from __future__ import annotations

from pathlib import Path

from clusters.gate_situations import PLACES, as_markdown

PAGE = Path(__file__).parents[2] / "docs" / "gates.md"


def test_the_page_has_the_table_that_is_tried() -> None:
    assert PAGE.read_text(encoding="utf-8").endswith(f"\n{as_markdown()}"), f"the page shall end with\n{as_markdown()}"


def test_every_gate_is_tried_in_enough_situations() -> None:
    codes = [code for situations in PLACES.values() for one in situations.values() for code in one.by_gate().values()]
    assert len(codes) >= 54
    assert set(codes) == {0, 1, 2, 3, 5, 130}
