"""Rows of a class in every form, and as a table on terminals of any width."""

from __future__ import annotations

import io
import json
from typing import Annotated, Any

import pyarrow.parquet as pq
import pytest
from msgspec import Struct
from rich.console import Console

from commands.shared.printing.output import Answer, OutputFormat, emit
from commands.shared.printing.screen import print_rows
from kreplica.model.tables.rows import Int32, Meaning


class Found(Struct, frozen=True, rename={"from_": "from"}):
    topic: Annotated[str | None, Meaning("topic")]
    from_: Annotated[Int32 | None, Meaning("broker", label="LEADER", drop=2)]
    isr: Annotated[tuple[Int32, ...], Meaning("in-sync replicas", drop=1)]
    message: Annotated[str, Meaning("in words", fold=True)]
    facts: Annotated[dict[str, object], Meaning("an object", screen=False)]


ROWS = [
    Found("orders", 1, (1, 2), "two of three replicas are in sync, which is one too few", {"x": None}),
    Found(None, None, (), "short", {}),
]


def shown(output: OutputFormat, capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    answer = Answer(**{"command": "test", "rows_name": "things", "columns": Found, "rows": ROWS, **changes})
    assert emit(answer, output, lambda _: None) is True
    return capsys.readouterr().out


def test_json_and_jsonl(capsys: pytest.CaptureFixture[str]) -> None:
    expected = [
        {"topic": "orders", "from": 1, "isr": [1, 2], "message": ROWS[0].message, "facts": {"x": None}},
        {"topic": None, "from": None, "isr": [], "message": "short", "facts": {}},
    ]
    assert json.loads(shown(OutputFormat.json, capsys))["things"] == expected
    lines = shown(OutputFormat.jsonl, capsys).splitlines()
    assert [json.loads(line) for line in lines] == expected
    assert [list(json.loads(line)) for line in lines] == [["topic", "from", "isr", "message", "facts"]] * 2


@pytest.mark.parametrize("output", [OutputFormat.json, OutputFormat.jsonl])
def test_what_is_not_unicode_is_escaped(output: OutputFormat, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    row = Found("a\udc80", 1, (1,), "", {})
    assert emit(Answer("test", "things", Found, [row]), output, lambda _: None)
    assert b'"topic": "a\\udc80", "from": 1' in capfdbinary.readouterr().out


def test_several_clusters_lead_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    of = {"row_clusters": ["eu", "us"]}
    for form in (OutputFormat.json, OutputFormat.jsonl):
        text = shown(form, capsys, **of)
        found = json.loads(text)["things"] if form is OutputFormat.json else list(map(json.loads, text.splitlines()))
        assert [next(iter(row.items())) for row in found] == [("cluster", "eu"), ("cluster", "us")]
        assert [row["message"] for row in found] == [row.message for row in ROWS]
    assert shown(OutputFormat.csv, capsys, **of).splitlines()[2] == "us,,,,short,{}"
    assert shown(OutputFormat.csv, capsys, rows=[], row_clusters=[]) == "cluster,topic,from,isr,message,facts\n"
    assert shown(OutputFormat.markdown, capsys, **of).startswith("| cluster | topic | from |")


def test_times_lead_the_clusters_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    of = {"row_clusters": ["eu", "us"], "row_times": ["10:00", "11:00"]}
    for form in (OutputFormat.json, OutputFormat.jsonl):
        text = shown(form, capsys, **of)
        found = json.loads(text)["things"] if form is OutputFormat.json else list(map(json.loads, text.splitlines()))
        assert [list(row.items())[:3] for row in found] == [
            [("taken_at", "10:00"), ("cluster", "eu"), ("topic", "orders")],
            [("taken_at", "11:00"), ("cluster", "us"), ("topic", None)],
        ]
    assert shown(OutputFormat.csv, capsys, **of).splitlines()[2] == "11:00,us,,,,short,{}"


def test_csv_writes_lists_and_objects_as_of_mappings(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(OutputFormat.csv, capsys).splitlines()
    assert lines[0] == "topic,from,isr,message,facts"
    assert lines[1].startswith('orders,1,"1,2",')
    assert lines[1].endswith('"{""x"": null}"')


def test_parquet_has_the_kinds_of_the_class_without_rows(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for rows, clusters in ((ROWS, ["eu", "us"]), ([], [])):
        answer = Answer("test", "things", Found, rows, row_clusters=clusters)
        assert emit(answer, OutputFormat.parquet, lambda _: None)
        table = pq.read_table(io.BytesIO(capfdbinary.readouterr().out))
        assert table.schema.names == ["cluster", "topic", "from", "isr", "message", "facts"]
        assert str(table.schema.field("from").type) == "int32"
        assert str(table.schema.field("isr").type.value_type) == "int32"
        assert table["cluster"].to_pylist() == clusters


def table(capsys: pytest.CaptureFixture[str], width: int | None, **options: Any) -> list[str]:
    console = Console(width=width or 4096, force_terminal=width is not None, no_color=True)
    print_rows(console, Found, ROWS, **options)
    return capsys.readouterr().out.splitlines()


def test_a_table_has_the_labels_of_the_class_and_what_the_screen_shows(capsys: pytest.CaptureFixture[str]) -> None:
    for width in (None, 200):
        assert table(capsys, width) == [
            "TOPIC   LEADER  ISR  MESSAGE",
            "orders  1       1,2  two of three replicas are in sync, which is one too few",
            "-       -       -    short",
        ]


def test_long_text_is_folded_before_a_column_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert table(capsys, 56) == [
        "TOPIC   LEADER  ISR  MESSAGE",
        "orders  1       1,2  two of three replicas are in sync,",
        "                     which is one too few",
        "-       -       -    short",
    ]


def test_columns_are_left_out_in_the_declared_order_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    lines = table(capsys, 48)
    assert lines[0] == "TOPIC   LEADER  MESSAGE"
    assert max(map(len, lines)) <= 48
    assert lines[-2:] == ["left out ISR: a wider terminal or --output json", "         shows it"]
    lines = table(capsys, 40)
    assert lines[0] == "TOPIC   MESSAGE"
    assert " ".join("\n".join(lines).partition("left out ")[2].split()) == (
        "LEADER, ISR: a wider terminal or --output json shows them"
    )


def test_where_no_more_can_be_left_out_text_is_folded_further_and_at_last_not_at_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert table(capsys, 28)[:4] == [
        "TOPIC   MESSAGE",
        "orders  two of three",
        "        replicas are in",
        "        sync, which is one",
    ]
    assert table(capsys, 20)[1:4] == ["orders  two of three", "        replicas are", "        in sync,"]
    assert table(capsys, 19)[1] == "orders  two of three replicas are in sync, which is one too few"


def test_columns_may_be_chosen_and_their_values_formatted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = table(capsys, 200, shown=["from", "topic"], cells={"from": lambda broker: f"b{broker}"})
    assert lines == ["LEADER  TOPIC", "b1      orders", "-       -"]
    assert table(capsys, 200, row_clusters=["eu", "us"], shown=["topic"]) == [
        "CLUSTER  TOPIC",
        "eu       orders",
        "us       -",
    ]


def test_no_rows_print_no_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(Console(), Found, [])
    assert capsys.readouterr().out == ""
