"""One answer in every form."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest

from commands.shared.printing.output import Answer, OutputFormat, emit, one_line, print_error, stdout_console
from commands.shared.printing.screen import print_lines, print_table, print_verdict
from kreplica.errors import ConfigurationError, UsageError

ROWS = [{"a": 1, "b": [1, 2], "c": MappingProxyType({"x": "ä|\n"})}, {"a": None, "b": [], "c": False}]


def shown(output: OutputFormat | None, capsys: pytest.CaptureFixture[str], **changes: object) -> str:
    answer = Answer(**{"command": "test", "rows_name": "things", "columns": ("a", "b", "c"), "rows": ROWS, **changes})  # type: ignore[arg-type]
    assert emit(answer, output, lambda console: console.print("for [bold]people[/bold] :smile:")) is True
    return capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(OutputFormat.json, capsys, summary={"n": 2}, clusters=[{"cluster": "ü"}], warnings=["w"])
    rows = [{"a": 1, "b": [1, 2], "c": {"x": "ä|\n"}}, {"a": None, "b": [], "c": False}]
    expected = {"clusters": [{"cluster": "ü"}], "things": rows, "summary": {"n": 2}, "warnings": ["w"]}
    assert json.loads(out) == {"schema": "kreplica/test/v1", **expected}
    assert out.count("\n") == 1
    assert "ü" in out


def test_jsonl_of_many_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"a": number} for number in range(2500)]
    out = shown(OutputFormat.jsonl, capsys, rows=rows)
    assert [json.loads(line) for line in out.split("\n")[:-1]] == rows
    assert out.endswith("\n")
    assert shown(OutputFormat.jsonl, capsys, rows=[]) == ""


def test_csv_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"a": 'say "hi"', "b": [1, 2], "c": None}, {"a": "x|y\nz", "b": [], "c": True}]
    assert shown(OutputFormat.csv, capsys, rows=rows) == 'a,b,c\n"say ""hi""","1,2",\n"x|y\nz",,true\n'
    markdown = "| a | b | c |\n| --- | --- | --- |\n" + '| say "hi" | 1,2 |  |\n| x\\|y z |  | true |\n'
    assert shown(OutputFormat.markdown, capsys, rows=rows) == markdown


@pytest.mark.parametrize("output", [None, OutputFormat.table])
def test_the_table_is_for_people_and_no_markup_is_understood(
    output: OutputFormat | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(output, capsys) == "for [bold]people[/bold] :smile:\n"


def test_warnings_go_to_stderr_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    answer = Answer("test", "things", (), (), warnings=["first\nsecond", "third"])
    emit(answer, OutputFormat.csv, lambda _: None)
    assert capsys.readouterr().err == "warning: first second\nwarning: third\n"


def test_nothing_that_moves_the_cursor_reaches_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of groups and of files may have any letters: a line break, an escape sequence, a change of direction."""
    name = "a\nb\x1b[2J\u202e\udcff\U000e0001ü"
    print_table(["A", "B"], [[name, [name]]], color=False)
    console = stdout_console()
    print_verdict(console, "OK", "green", name)
    print_lines(console, "next", [name], whole=True)
    print_lines(console, "means", [name])
    emit(Answer("test", "things", ("a",), [{"a": name}], warnings=[name]), OutputFormat.markdown, lambda _: None)
    told = capsys.readouterr()
    escaped = r"\x1b[2J\u202e\udcff\U000e0001ü"
    assert told.out.splitlines()[1].split("  ") == [rf"a\x0ab{escaped}"] * 2
    assert told.out.count(rf"a\x0ab{escaped}") == 5
    assert told.out.splitlines()[-1] == f"| a b{escaped} |"
    assert told.err == f"warning: a b{escaped}\n"


def test_what_is_no_unicode_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(OutputFormat.json, capsys, rows=[{"a": "\udce9ü"}])
    assert '"\\udce9ü"' in out
    assert json.loads(out)["things"] == [{"a": "\udce9ü"}]


def test_what_has_no_json_form_is_a_defect(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        shown(OutputFormat.json, capsys, rows=[{"a": object()}])


def test_errors(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(UsageError("what", "why\nindeed", "fix"), OutputFormat.table)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: what; why indeed; fix\n")
    print_error(ConfigurationError("what"), OutputFormat.jsonl)
    captured = capsys.readouterr()
    assert captured.err == "error: what\n"
    body = {"kind": "configuration", "what": "what", "why": "", "fix": "", "exit_code": 2}
    assert json.loads(captured.out) == {"schema": "kreplica/error/v1", "error": body}


def test_one_line() -> None:
    assert one_line("a\n b\r\nc") == "a  b c"


def test_tables_align_and_cut_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["A", "LONG"], [[None, []], [True, [1, 2]], ["x" * 200, False]], color=False)
    wide = "x" * 200
    assert capsys.readouterr().out == f"{'A':<200}  LONG\n{'-':<200}  -\n{'yes':<200}  1,2\n{wide}  no\n"
    print_table(["A", "B"], [], color=True)
    assert capsys.readouterr().out in ("\x1b[1mA  B\x1b[0m\n", "A  B\n")
