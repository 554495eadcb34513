"""The contract that every command keeps: forms, exit codes, errors, streams, terminals."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import main
from kreplica.errors import ExitCode

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = GOLDEN / "kafka-4.3.1" / "2-broker-killed" / "topics-describe.txt"

COMMANDS = {
    "describe": (["describe", "--under-replicated", "--topic", "orders,single-copy"], "partitions", 8),
    "groups": (["describe", "--all", "--group-by", "broker"], "groups", 3),
    "check": (["check", "--topic", "orders,single-copy"], "findings", 22),
    "recommend": (["recommend"], "recommendations", 4),
    "disks": (["disks", "--broker", "1"], "log_dirs", 2),
    "rebalance-leaders": (["rebalance", "leaders", "--topic", "orders"], "elections", 2),
    "imbalance": (["imbalance"], "brokers", 3),
    "safe-to-stop": (["safe-to-stop", "2"], "partitions", 142),
    "whatif-fail": (["whatif", "fail", "--rack", "r1"], "partitions", 143),
    "roll-plan": (["roll", "plan"], "nodes", 3),
    "wait": (["wait", "--for", "in-sync", "--broker", "3", "--topic", "orders"], "partitions", 6),
}
GROUPS = [group.name for group in main.build_app().registered_groups]
EMPTY = ["describe", "--masked"]
each_command = pytest.mark.parametrize(("command", "rows_name", "count"), COMMANDS.values(), ids=COMMANDS)


@each_command
def test_json_is_one_object_with_the_schema(kreplica: Any, command: list[str], rows_name: str, count: int) -> None:
    document = kreplica(*command, "--dump", "sample", "-o", "json").document
    assert list(document) == ["schema", "clusters", rows_name, "summary", "warnings"]
    assert re.fullmatch(r"kreplica/[a-z-]+/v1", document["schema"])
    assert document["schema"].split("/")[1].startswith(command[0])
    assert len(document[rows_name]) == count
    (cluster,) = document["clusters"]
    assert cluster["cluster_id"] == "i0iQ6TlnRRmrapXchcJ1Uw"
    assert cluster["name"] == "sample"
    assert cluster["taken_at"].startswith("2026-11-21T07:05:54")


@each_command
def test_jsonl_csv_and_markdown_hold_the_same_rows(
    kreplica: Any, command: list[str], rows_name: str, count: int
) -> None:
    words = [*command, "--dump", "sample"]
    rows = kreplica(*words, "-o", "json").document[rows_name]
    assert [json.loads(line) for line in kreplica(*words, "-o", "jsonl").out.splitlines()] == rows
    table = list(csv.DictReader(io.StringIO(kreplica(*words, "-o", "csv").out)))
    assert table == [{name: flat(value) for name, value in row.items()} for row in rows]
    lines = kreplica(*words, "-o", "markdown").out.splitlines()
    assert lines[0] == "| " + " | ".join(rows[0]) + " |"
    assert lines[1] == "| " + " | ".join("---" for _ in rows[0]) + " |"
    assert lines[2] == "| " + " | ".join(flat(value).replace("|", "\\|") for value in rows[0].values()) + " |"
    assert len(lines) == len(rows) + 2


def flat(value: object) -> str:
    """A cell of the flat forms, as the contract says: null empty, lists by commas, objects as JSON."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


@each_command
def test_parquet_through_a_pipe(kreplica: Any, process: Any, command: list[str], rows_name: str, count: int) -> None:
    rows = kreplica(*command, "--dump", "sample", "-o", "json").document[rows_name]
    table = parquet(process, command)
    assert table.num_rows == count
    for row, expected in zip(table.to_pylist(), rows, strict=True):
        assert row.keys() == expected.keys()
        for name, value in expected.items():
            nested = isinstance(value, dict) or (
                isinstance(value, list) and any(isinstance(item, dict) for item in value)
            )
            as_text = nested or name in ("causes", "not_known", "candidates")
            assert (json.loads(row[name]) if as_text else row[name]) == value


def test_parquet_columns_have_their_types_without_any_row(process: Any) -> None:
    for command in (EMPTY, COMMANDS["describe"][0]):
        types = {field.name: field.type for field in parquet(process, command).schema}
        assert types["topic"] == pa.string()
        assert types["leader_epoch"] == types["partition"] == pa.int32()
        assert types["masked"] == pa.bool_()
        assert types["last_known_elr"].value_type == pa.int32()
        assert types["causes"] == pa.string()


def parquet(process: Any, command: list[str]) -> Any:
    out, err = process(*command, "--dump", "sample", "-o", "parquet").communicate(timeout=60)
    assert all(line.startswith(b"warning: ") for line in err.splitlines()), err
    return pq.read_table(io.BytesIO(out))


@each_command
def test_table_is_the_form_where_none_is_given(kreplica: Any, command: list[str], rows_name: str, count: int) -> None:
    plain = kreplica(*command, "--dump", "sample")
    asked = kreplica(*command, "--dump", "sample", "-o", "table")
    took = re.compile(r"after \d+\.\d s")  # the one thing that two runs may tell differently
    assert (plain.code, took.sub("", plain.out)) == (asked.code, took.sub("", asked.out))
    assert took.sub("", plain.err) == took.sub("", asked.err)
    assert "\x1b" not in plain.out


# errors

USAGE_ERRORS = {
    "no way in": (["describe"], "no cluster is named; give one of --bootstrap-server"),
    "no such option": (["describe", "--xyzzy"], "no such option: --xyzzy; see kreplica describe --help"),
    "nearly an option": (["describe", "--topc", "x"], "no such option: --topc; did you mean --topic?; see kreplica de"),
    "half an option": (
        ["whatif", "run", "it-depends", "--version", "4"],
        "no such option: --version; did you mean --",
    ),
    "an argument as option": (
        ["safe-to-stop", "--broker", "3"],
        "no such option: --broker; give the broker without it: kreplica safe-to-stop BROKER; see kreplica safe-to-stop",
    ),
    "an option as argument": (
        ["whatif", "fail", "3"],
        "unexpected argument 3; here an option stands before each value; see kreplica whatif fail --help",
    ),
    "no such command": (["descrbe"], "no such command 'descrbe'; did you mean describe, decode?; see kreplica --help"),
    "no such form": (
        ["describe", "-o", "xml"],
        "invalid value for '--output' / '-o': 'xml' is not one of 'table', 'json'",
    ),
    "bad regex": (["describe", "--dump", "sample", "--topic", "("], "'(' is not a regular expression; missing )"),
    "no such topic": (
        ["check", "--dump", "sample", "--topic", "order"],
        "no topic matches 'order'; 19 topics are visible; ",
    ),
    "no such broker": (["describe", "--dump", "sample", "--broker", "7"], "no broker 7; known are 1, 2, 3"),
    "no such rule": (["check", "--dump", "sample", "--rule", "nope"], "no rule nope; one of at-min-isr, "),
    "no such file": (["describe", "--dump", "no-such-file.txt"], "cannot read no-such-file.txt; "),
    "all and filter": (["describe", "--dump", "sample", "--all", "--masked"], "--all lists every partition; "),
    "two ways in": (["check", "--dump", "sample", "--context", "x"], ""),
    "change a dump": (["rebalance", "leaders", "--dump", "sample", "--execute"], "a dump cannot be changed; "),
    "watch csv": (["describe", "--dump", "sample", "--watch", "1", "-o", "csv"], "--watch has no end, and csv has one"),
    "watch stdin": (["describe", "--dump", "-", "--watch", "1"], "standard input can be read once only"),
}


@pytest.mark.parametrize(("command", "message"), USAGE_ERRORS.values(), ids=USAGE_ERRORS)
def test_errors_are_one_line_and_exit_2(
    kreplica: Any, command: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kreplica(*command)
    assert (ended.code, ended.out) == (ExitCode.USAGE, "")
    assert ended.err.startswith(f"error: {message}")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("name", ["no such option", "no such topic", "no such file"])
def test_errors_are_an_object_where_json_was_asked_for(kreplica: Any, name: str, form: str) -> None:
    command, message = USAGE_ERRORS[name]
    for words in ([*command, "-o", form], [*command, f"--output={form}"], [*command, f"-o{form}"]):
        ended = kreplica(*words)
        assert ended.document["schema"] == "kreplica/error/v1"
        error = ended.document["error"]
        assert list(error) == ["kind", "what", "why", "fix", "exit_code"]
        assert error["exit_code"] == ended.code == 2
        said = "; ".join(part for part in (error["what"], error["why"], error["fix"]) if part)
        assert ended.err == f"error: {said}\n"
        assert said.startswith(message)


def test_no_words_print_the_help_and_exit_2(kreplica: Any) -> None:
    for words, usage in (
        ([], "Usage: kreplica [OPTIONS] COMMAND"),
        (["rebalance"], "Usage: kreplica rebalance [OPTIONS]"),
    ):
        ended = kreplica(*words)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith(usage)


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_the_list_of_commands_is_not_cut_off(kreplica: Any, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    listed = kreplica(*group.split(), "--help").out.partition("Commands:\n" if group else "See:\n")[2]
    assert listed
    assert "..." not in listed


def test_help_names_every_option_and_exits_0(kreplica: Any) -> None:
    ended = kreplica("describe", "--help")
    assert (ended.code, ended.err) == (0, "")
    for flag in (
        "--under-replicated",
        "--masked",
        "--under-min-isr",
        "--at-min-isr",
        "--unavailable",
        "--offline",
        "--non-preferred",
        "--reassigning",
        "--topic",
        "--exclude-internal",
        "--broker",
        "--group-by",
        "--watch",
        "--all",
        "--exit-zero",
        "--bootstrap-server",
        "--command-config",
        "--dump",
        "--context",
        "--timeout",
    ):
        assert re.search(rf"^ +(?:-\w, )?{flag}(?: |$)", ended.out, re.M), flag
    assert "kreplica 0." in kreplica("--version").out


def test_a_defect_says_where_to_report_it_and_exits_70(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("kreplica.monitoring.description.count_all", broken)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    ended = kreplica("describe", "--dump", "sample", "-o", "json")
    assert ended.code == 70
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("internal error: RuntimeError: first line second line; this is a defect of kreplica")
    assert "please report it" in ended.err
    assert ended.document["error"]["kind"] == "internal"
    assert ended.document["error"]["exit_code"] == 70
    (report,) = tmp_path.glob("kreplica-defect-*.txt")
    assert str(report) in ended.err
    assert "Traceback" in report.read_text()
    assert "broken" in report.read_text()


def test_an_unreachable_server_exits_3_within_the_timeout(kreplica: Any) -> None:
    began = time.monotonic()
    ended = kreplica("describe", "--bootstrap-server", "127.0.0.1:1", "--timeout", "2", "-o", "json")
    assert time.monotonic() - began < 30
    assert ended.code == 3
    assert ended.document["error"]["kind"] == "unreachable"
    assert "127.0.0.1:1" in ended.err
    assert ended.err.count("\n") == 1


def test_exit_zero_is_for_reports(kreplica: Any) -> None:
    assert kreplica("describe", "--dump", "sample", "--offline").code == 1
    assert kreplica("describe", "--dump", "sample", "--offline", "--exit-zero").code == 0
    assert kreplica("check", "--dump", "sample").code == 1
    assert kreplica("check", "--dump", "sample", "--exit-zero").code == 0


# streams


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "markdown"])
@pytest.mark.parametrize(("command", "code"), [(["describe", "--all"], 0), (["check", "--all"], 1)])
def test_a_reader_that_goes_away_is_no_error(process: Any, command: list[str], code: int, form: str) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = process(*command, "--dump", "sample", "-o", form, stdout=write)
    os.close(write)
    _, err = ended.communicate(timeout=60)
    assert (ended.returncode, err) == (code, b"")


@pytest.mark.parametrize("words", [["describe", "--dump", "sample"], ["describe", "--help"], ["--version"]])
def test_a_full_disk_is_a_clear_error(process: Any, words: list[str]) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        ended = process(*words, stdout=full)
        _, err = ended.communicate(timeout=60)
    assert err.decode() == "error: cannot write the answer; no space left on device\n"
    assert ended.returncode == 2


@pytest.mark.parametrize("form", ["table", "json"])
def test_closed_streams_lead_nowhere(form: str) -> None:
    words = ["describe", "--dump", "sample", "--under-replicated", "-o", form]
    command = shlex.join([sys.executable, "-m", "kreplica", *words])
    for closed in (">&-", "<&- >&- 2>&-", "2>&-"):
        ended = subprocess.run(
            ["sh", "-c", f"{command} {closed}"], cwd=ROOT, capture_output=True, timeout=60, check=False
        )
        assert (ended.returncode, ended.stderr) == (1, b"")


def test_names_that_are_no_unicode_break_nothing(process: Any, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(path)).write_bytes(TEXT.read_bytes())
    for form, code in (("json", 1), ("table", 1), ("csv", 1)):
        ended = process("describe", "--dump", os.fsdecode(path), "-o", form)
        out, err = ended.communicate(timeout=60)
        assert ended.returncode == code, err
        assert b"internal" not in err
    ended = process("describe", "--dump", os.fsdecode(path) + "x", "-o", "json")
    out, _ = ended.communicate(timeout=60)
    assert ended.returncode == 2
    assert "caf\\udce9.txtx" in json.dumps(json.loads(out))


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # as Python has it in en_US.UTF-8, and in C.UTF-8
def test_a_folder_that_is_no_unicode_is_escaped_in_rows(process: Any, tmp_path: Path, errors: str) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / f"{0:020}.timeindex").write_bytes(struct.pack(">qI", 9000, 5))
    ended = process("decode", "indexes", folder, "-o", "csv", env={"PYTHONIOENCODING": f"utf-8:{errors}"})
    out, err = ended.communicate(timeout=60)
    assert (ended.returncode, err) == (0, b"")
    assert out.splitlines()[1].startswith(os.fsencode(tmp_path) + b"/caf\\udce9/0")


def test_an_ascii_locale_breaks_nothing(process: Any) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (["--help"], ["describe", "--help"], ["describe", "--exit-zero", "--dump", "sample"]):
        ended = process(*words, env=env)
        _, err = ended.communicate(timeout=60)
        assert (ended.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("form", "spelled"), [("table", b"t\\xf4pic"), ("csv", b"t\\xf4pic"), ("json", "tôpic".encode())]
)
def test_names_that_the_locale_cannot_spell_are_escaped(
    process: Any, tmp_path: Path, form: str, spelled: bytes
) -> None:
    replicas = {"partition": 0, "leader": 1, "replicas": [{"id": 1}, {"id": 2}], "isrs": [{"id": 1}]}
    dump = tmp_path / "kcat.json"
    topics = [{"topic": "tôpic", "partitions": [replicas]}]
    dump.write_text(json.dumps({"brokers": [{"id": 1, "name": "one:9092"}], "topics": topics}), encoding="utf-8")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = process("describe", "--dump", dump, "--under-replicated", "-o", form, env=env)
    out, err = ended.communicate(timeout=60)
    assert (ended.returncode, err) == (1, b"")
    assert spelled in out


def test_interrupting_a_slow_read_exits_130(process: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        ended = process("describe", "--bootstrap-server", address, "--timeout", "50")
        connection, _ = silent.accept()
        with connection:
            ended.send_signal(signal.SIGINT)
            _, err = ended.communicate(timeout=60)
    assert (ended.returncode, err) == (130, b"interrupted\n")


def test_the_form_is_read_before_the_words_are_understood() -> None:
    assert main._requested_output(["describe", "-o", "json"]) == "json"
    assert main._requested_output(["describe", "-ojsonl"]) == "jsonl"
    assert main._requested_output(["describe", "--output=csv"]) == "csv"
    assert main._requested_output(["describe", "-o"]) is None
    assert main._requested_output(["describe", "-o", "xml"]) is None
    assert main._requested_output(["describe", "--offline"]) is None


def test_commands_are_of_this_project() -> None:
    assert sys.modules["commands"].__file__ == str(ROOT / "commands" / "__init__.py")
