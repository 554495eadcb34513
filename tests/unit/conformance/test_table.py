"""The page of conformance keeps what was played, row by row."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.rows import BY_NAME, ROWS
from conformance.script import Explained, Row
from conformance.table import BEGIN, END, record, recorded

from kreplica.sandbox import Mode


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{BEGIN}{END}after\n")
    return file


def test_each_row_is_recorded_by_itself(page: Path) -> None:
    """So that a run that is broken off does not lose what it has."""
    record(page, ROWS, BY_NAME["leader-moved"], Mode.KRAFT, "equal")
    record(page, ROWS, BY_NAME["leader-moved"], Mode.ZOOKEEPER, "different")
    record(page, ROWS, BY_NAME["two-killed"], Mode.KRAFT, "different")
    record(page, ROWS, BY_NAME["two-killed"], Mode.KRAFT, "equal")
    assert recorded(page) == {
        ("leader-moved", Mode.KRAFT): "equal",
        ("leader-moved", Mode.ZOOKEEPER): "different",
        ("two-killed", Mode.KRAFT): "equal",
    }
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| two-killed | " + BY_NAME["two-killed"].title + " | equal | not played |" in text
    assert text.count(" |  |\n") == sum(row.modes == ("kraft",) for row in ROWS)


def test_the_source_of_what_is_explained_stands_below_the_table(page: Path) -> None:
    row = Row("one", "Shows.", (), explained=(Explained(2, "client", "KAFKA-1"),))
    record(page, (row,), row, Mode.KRAFT, "equal")
    assert "KAFKA-1" not in page.read_text()
    record(page, (row,), row, Mode.ZOOKEEPER, "explained")
    assert "\n- one, step 2, client: KAFKA-1\n" in page.read_text()
    assert recorded(page)["one", Mode.ZOOKEEPER] == "explained"
