"""Many rows of partitions that differ in the partition alone: one line on a terminal, a row each elsewhere."""

from __future__ import annotations

from typing import Annotated

import pytest
from msgspec import Struct
from rich.console import Console

from commands.shared.printing.screen import MOST_LISTED, print_gathered
from kreplica.model.tables.rows import Int32, Meaning, of_partition


class Row(Struct, frozen=True):
    topic: Annotated[str, of_partition("topic")]
    partition: Annotated[Int32, of_partition("partition")]
    size: Annotated[int | None, Meaning("bytes")]
    state: Annotated[str, Meaning("state")]


ROWS = [Row("orders", number, number if number else None, "done" if number != 7 else "failed") for number in range(30)]


def printed(rows: list[Row], capsys: pytest.CaptureFixture[str], *, terminal: bool) -> list[list[str]]:
    console = Console(force_terminal=terminal, width=120, no_color=True)
    print_gathered(console, Row, rows, cells={"size": "{} bytes".format}, sums=("size",))
    return [line.split("  ") for line in capsys.readouterr().out.splitlines()]


def test_many_are_gathered_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    header, *lines = printed(ROWS, capsys, terminal=True)
    assert [cell.strip() for cell in header if cell] == ["TOPIC", "PARTITIONS", "SIZE", "STATE"]
    total = sum(range(30)) - 7
    assert [[cell.strip() for cell in line if cell] for line in lines] == [
        ["orders", "0-6,8-29", f"{total} bytes", "done"],
        ["orders", "7", "7 bytes", "failed"],
    ]


@pytest.mark.parametrize(
    ("rows", "terminal"),
    [
        (ROWS, False),
        (ROWS[:MOST_LISTED], True),
        ([Row(f"t{number}", 0, 1, "done") for number in range(30)], True),
    ],
)
def test_each_has_its_line_otherwise(rows: list[Row], terminal: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(printed(rows, capsys, terminal=terminal)) == len(rows) + 1


def test_a_sum_of_nothing_known_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    _, line = printed([Row("orders", number, None, "done") for number in range(30)], capsys, terminal=True)
    assert [cell.strip() for cell in line if cell] == ["orders", "0-29", "-", "done"]
