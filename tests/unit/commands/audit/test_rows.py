"""Rows that are printed as they are read, and trends that are told in short."""

from __future__ import annotations

import json

import pytest

from commands.audit.answer import StreamedRows
from commands.audit.screen import _trend
from commands.shared.printing.output import Answer, OutputFormat, emit


@pytest.mark.parametrize("output", [OutputFormat.jsonl, OutputFormat.csv, OutputFormat.markdown])
def test_streamed_rows_print_as_a_list_does(output: OutputFormat, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    rows = [{"topic": f"topic-{number}", "partition": number} for number in range(25_000)]
    printed = []
    for form in (rows, StreamedRows(lambda: iter(rows), len(rows))):
        emit(Answer("audit", "findings", ("topic", "partition"), form), output, print)
        printed.append(capfdbinary.readouterr().out)
    assert printed[0] == printed[1]
    assert printed[1].count(b"\n") >= 25_000


def test_streamed_rows_are_read_once_and_in_order() -> None:
    rows = StreamedRows(lambda: iter([{"a": 1}, {"a": 2}, {"a": 3}]), 3)
    assert (len(rows), rows[0], rows[1:5]) == (3, {"a": 1}, [{"a": 2}, {"a": 3}])
    with pytest.raises(AssertionError):
        rows[0]
    assert json.dumps(rows[3:]) == "[]"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0, 0, 0], "0"),
        ([0, 41, 41, 0], "0 → 41 → 0"),
        ([5], "5"),
        ([0, 1, 0, 2, 0, 3, 0, 9, 1, 1], "0 → … 9 … → 1 (8 changes)"),
    ],
)
def test_a_trend_is_told_by_its_changes(values: list[int], told: str) -> None:
    assert _trend(values) == told
