"""Answers whose rows are printed while they are found: what they look like, and that nobody holds them."""

from __future__ import annotations

import io
import json
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.shared.printing.json_document import JsonDocument
from commands.shared.printing.output import OutputFormat
from commands.shared.printing.screen import MEASURED, print_table
from commands.shared.printing.streams import Ending, LongAnswer, emit_long
from kreplica.errors import InputError
from kreplica.model.tables.columns import IntColumn, StringColumn
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table

FIELDS = {"number": Kind.INT64, "word": Kind.STRING, "said": Kind.STRING}
SCHEMA = TableSchema("t", tuple(Field(name, kind, nullable=True, doc="") for name, kind in FIELDS.items()), sort=())
ENDING = Ending({"rows": 1}, ["mind the gap"], lambda _: print("THE END"))
LENT = 4
"""Tables that may be held at once: the one that is found, the one that is written, and what waits between them."""


class Stdout(io.TextIOWrapper):
    """stdout, a terminal or not, that remembers."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def content(self) -> bytes:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
ROWS = st.dictionaries(st.text(), VALUES, max_size=3)


@given(st.lists(st.lists(ROWS, min_size=1, max_size=3), max_size=3), ROWS, st.booleans())
def test_a_document_in_pieces_is_that_of_the_whole(
    pieces: list[list[dict[str, object]]], summary: dict[str, object], terminal: bool
) -> None:
    before, after = {"schema": "s/v1", "clusters": [{"id": "]"}]}, {"summary": summary, "warnings": ["[]"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stdout := Stdout(terminal=terminal))
        document = JsonDocument(before, "rows")
        document.begin()
        for piece in pieces:
            document.add(msgspec.json.encode(piece)[1:-1])
        document.end(after)
    whole = msgspec.json.encode({**before, "rows": [row for piece in pieces for row in piece], **after})
    if not terminal:
        assert stdout.content() == whole + b"\n"
        return
    shown, expected = stdout.content().decode(), msgspec.json.format(whole, indent=2).decode() + "\n"
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == json.loads(expected)
    assert shown == expected or not expected.replace("\n", "").isprintable()


def test_longer_cells_behind_the_measured_rows_are_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [["a", "b"], ["c", "d"], ["longer", "e"], ["f", "g"]]
    print_table(["X", "Y"], iter(rows), color=False, measured=2)
    assert capsys.readouterr().out == "X  Y\na  b\nc  d\nlonger  e\nf  g\n"
    print_table(["X", "Y"], iter(rows), color=False)
    assert capsys.readouterr().out == "X       Y\na       b\nc       d\nlonger  e\nf       g\n"


def table(begin: int, count: int) -> Table:
    numbers = np.arange(begin, begin + count)
    codes = np.zeros(count, np.int32)
    columns = {
        "number": IntColumn(numbers),
        "word": StringColumn(codes, ("w|\n",)),
        "said": StringColumn(codes, ("[1]",)),
    }
    return Table(SCHEMA, columns)


class Tables:
    """Tables that are counted as long as anybody holds their numbers."""

    def __init__(self, count: int, rows: int) -> None:
        self._count, self._rows = count, rows
        self.most = 0

    def __iter__(self) -> Iterator[Table]:
        held: list[Any] = []
        for index in range(self._count):
            made = table(index * self._rows, self._rows)
            held.append(weakref.ref(made.integers("number").values))
            self.most = max(self.most, sum(each() is not None for each in held))
            yield made
            del made


def answer(tables: Any) -> LongAnswer:
    shown = {"number": "N", "said": "SAID"}
    return LongAnswer(
        "some", "rows", tables, SCHEMA, ("said",), shown, {"said": lambda said: f"<{said}>"}, lambda _: ENDING
    )


@pytest.mark.parametrize("form", [None, *OutputFormat])
def test_tables_are_let_go(form: OutputFormat | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Stdout(terminal=False))
    tables = Tables(20, MEASURED // 5)
    assert emit_long(answer(tables), form)
    measured = 5 if form in (None, OutputFormat.table) else 0
    assert tables.most <= LENT + measured


def test_every_form_has_all_rows_and_the_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, bytes] = {}
    for form in ("json", "jsonl", "csv", "markdown", "table"):
        monkeypatch.setattr(sys, "stdout", stdout := Stdout(terminal=False))
        assert emit_long(answer([table(0, 2), table(0, 0), table(2, 1)]), OutputFormat(form))
        found[form] = stdout.content()
        assert capsys.readouterr().err == "warning: mind the gap\n"
    rows = [{"number": number, "word": "w|\n", "said": [1]} for number in range(3)]
    assert json.loads(found["json"]) == {
        "schema": "kreplica/some/v1",
        "clusters": [],
        "rows": rows,
        "summary": {"rows": 1},
        "warnings": ["mind the gap"],
    }
    assert [json.loads(line) for line in found["jsonl"].splitlines()] == rows
    assert found["csv"] == b'number,word,said\n0,"w|\n",[1]\n1,"w|\n",[1]\n2,"w|\n",[1]\n'
    assert found["markdown"].splitlines()[2:] == [f"| {number} | w\\|  | 1 |".encode() for number in range(3)]
    assert found["table"] == b"N  SAID\n0  <[1]>\n1  <[1]>\n2  <[1]>\nTHE END\n"


def test_no_rows_make_no_table_and_an_empty_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for form, wanted in ((None, b"THE END\n"), (OutputFormat.json, b'"rows":[],"summary"')):
        monkeypatch.setattr(sys, "stdout", stdout := Stdout(terminal=False))
        emit_long(answer([]), form)
        assert wanted in stdout.content()


def test_a_document_that_cannot_be_ended_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def tables() -> Iterator[Table]:
        yield table(0, 2)
        raise InputError("f", "byte 7", "stale file handle")

    monkeypatch.setattr(sys, "stdout", stdout := Stdout(terminal=False))
    with pytest.raises(InputError):
        emit_long(answer(tables()), OutputFormat.json)
    with pytest.raises(json.JSONDecodeError):
        json.loads(stdout.content())
