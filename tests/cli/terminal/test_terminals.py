"""Output on a terminal, and that of ``--watch`` there and elsewhere."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
from waiting import until

GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = GOLDEN / "kafka-4.3.1" / "2-broker-killed" / "topics-describe.txt"


# --watch


def watching(process: Any, tmp_path: Path, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
    out = tmp_path / "watched"
    with out.open("wb") as stream:
        return process("describe", "--dump", "sample", "--watch", "0.5", *words, stdout=stream), out


def wait_for(printed: Callable[[], bool], ended: subprocess.Popen[bytes]) -> None:
    """Waits until a program that is still running has printed so much."""

    def is_there() -> bool:
        there = printed()
        assert there or ended.poll() is None, ended.communicate()
        return there

    until(is_there, "what the program prints")


def test_watch_adds_rows_round_by_round_until_interrupted(process: Any, tmp_path: Path) -> None:
    ended, out = watching(process, tmp_path, "--offline", "-o", "jsonl")
    wait_for(lambda: out.read_bytes().count(b"\n") >= 4, ended)
    ended.send_signal(signal.SIGINT)
    _, err = ended.communicate(timeout=60)
    assert ended.returncode == 130
    assert err.decode().strip() == "interrupted"
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) % 2 == 0
    assert {(row["topic"], row["partition"]) for row in rows} == {("single-copy", 0), ("single-copy", 2)}
    assert next(iter(rows[0])) == "taken_at"


def test_watch_prints_whole_documents(process: Any, tmp_path: Path) -> None:
    ended, out = watching(process, tmp_path, "--offline", "-o", "json")
    wait_for(lambda: out.read_bytes().count(b"\n") >= 2, ended)
    ended.send_signal(signal.SIGINT)
    ended.communicate(timeout=60)
    assert ended.returncode == 130
    assert {json.loads(line)["schema"] for line in out.read_text().splitlines()} == {"kreplica/describe/v1"}


def test_watch_ends_when_nobody_reads(process: Any) -> None:
    with process("describe", "--dump", "sample", "--watch", "0.5", "--offline") as ended:
        assert ended.stdout.readline().startswith(b"TOPIC")
        ended.stdout.close()
        assert ended.wait(timeout=60) == 0
        assert ended.stderr.read() == b""


def test_watch_goes_on_while_a_cluster_does_not_answer(process: Any, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with errors.open("wb") as stream:
        ended = process(
            "describe", "--bootstrap-server", "127.0.0.1:1", "--timeout", "0.5", "--watch", "0.5", stderr=stream
        )
    wait_for(lambda: errors.read_bytes().count(b"error: ") >= 2, ended)
    ended.send_signal(signal.SIGINT)
    ended.communicate(timeout=60)
    assert ended.returncode == 130


def test_watch_refuses_rows_where_there_are_none(kreplica: Any) -> None:
    ended = kreplica("describe", "--dump", "sample", "--watch", "0.5", "-o", "jsonl")
    assert ended.code == 2
    assert ended.err.startswith(
        "error: without a filter there are no rows to print; --watch -o jsonl would print nothing"
    )


def test_watch_refuses_what_can_never_be_read(process: Any, tmp_path: Path) -> None:
    ended = process("describe", "--dump", str(tmp_path / "none"), "--watch", "0.5")
    _, err = ended.communicate(timeout=60)
    assert ended.returncode == 2
    assert err.startswith(f"error: cannot read {tmp_path}/none".encode())


# terminals


def screen_of(child: pexpect.spawn) -> str:
    text = child.read()
    child.close()
    return str(text).replace("\r\n", "\n")


def test_colour_on_a_terminal_unless_no_color(terminal: Any) -> None:
    child = terminal("describe", "--dump", "sample")
    assert "\x1b[1;31mUNHEALTHY\x1b[0m" in screen_of(child)
    assert child.exitstatus == 1
    plain = screen_of(terminal("describe", "--dump", "sample", env={"NO_COLOR": "1"}))
    assert "\x1b[1;31m" not in plain
    assert "UNHEALTHY" in plain
    assert "\x1b" not in screen_of(terminal("describe", "--dump", "sample", env={"TERM": "dumb"}))
    listing = screen_of(terminal("describe", "--dump", "sample", "--offline", env={"NO_COLOR": "1"}))
    assert "\x1b" not in listing


def test_a_narrow_terminal_keeps_words_and_commands_whole(terminal: Any) -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", screen_of(terminal("describe", "--dump", "sample", size=(24, 60))))
    lines = text.splitlines()
    commands = [line for line in lines if "kreplica " in line]
    assert "         kreplica describe --dump sample --under-replicated --group-by broker" in commands
    assert all(len(line) <= 60 for line in lines if line not in commands)
    assert any(line.startswith("worst ") for line in lines)
    assert "__transaction_state 50 of 50," in re.sub(r"\n +", " ", text)


def test_json_is_indented_on_a_terminal(terminal: Any) -> None:
    text = screen_of(terminal("describe", "--dump", "sample", "-o", "json"))
    assert text.startswith('{\n  "schema": "kreplica/describe/v1",\n')
    assert json.loads(text)["summary"]["counts"]["under_replicated"] == 141


def test_parquet_is_not_for_a_terminal(terminal: Any) -> None:
    child = terminal("describe", "--dump", "sample", "--all", "-o", "parquet")
    assert "error: parquet is not for a terminal; redirect it" in screen_of(child)
    assert child.exitstatus == 2


def test_watch_paints_in_place_and_says_what_does_not_fit(terminal: Any) -> None:
    child = terminal("describe", "--dump", "sample", "--watch", "0.5", "--under-replicated", size=(10, 200))
    for _ in range(2):
        child.expect("\x1b\\[H")
        child.expect("UTC, every 0.5 s; Ctrl-C ends")
        child.expect(r"and \d+ more lines: make the window taller")
        child.expect("\x1b\\[J")
        assert child.before.count("\n") <= 9
    child.sendintr()
    rest = screen_of(child)
    assert "interrupted" in rest
    assert "Traceback" not in rest
    assert child.exitstatus == 130


def test_watch_paints_errors_above_what_was_known(terminal: Any, tmp_path: Path) -> None:
    dump = tmp_path / "dump.txt"
    dump.write_bytes(TEXT.read_bytes())
    child = terminal("describe", "--dump", str(dump), "--watch", "0.5")
    child.expect("UNHEALTHY")
    dump.unlink()
    child.expect("error: cannot read")
    child.expect(r"before that, at \d\d:\d\d:\d\d UTC:")
    child.expect("UNHEALTHY")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130


def test_a_warning_that_the_screen_shows_is_not_printed_again(terminal: Any, kreplica: Any) -> None:
    words = ("recommend", "--dump", "sample", "--topic", "audit.log")
    shown = terminal(*words)
    shown.expect(pexpect.EOF)
    assert shown.before.count("brokers' settings unavailable: 13 rules skipped") == 1
    assert "warning:" not in shown.before
    apart = kreplica(*words)
    assert "warning: brokers' settings unavailable: 13 rules skipped\n" in apart.err, "stderr goes elsewhere"


# what is told twice


def test_stdout_and_stderr_in_one_pipe_tell_a_warning_once(process: Any) -> None:
    words = ("recommend", "--dump", str(TEXT), "--exit-zero")
    warnings = process(*words, stdout=subprocess.DEVNULL).communicate(timeout=60)[1].decode().splitlines()
    assert len(warnings) > 1
    told = process(*words, stderr=subprocess.STDOUT).communicate(timeout=60)[0].decode()
    assert [told.count(line.removeprefix("warning: ")) for line in warnings] == [1] * len(warnings)
    assert told.startswith("WARNING "), "the table comes first"


def test_an_old_dump_tells_its_age_once(kreplica: Any) -> None:
    """The verdict gives the age of a dump, except of one too old, whose age stands among what is missing."""
    waited = kreplica("wait", "--for", "no-under-replicated", "--dump", "sample")
    assert re.findall(r"the dump is .+ old", waited.out) == [waited.err.split(": ")[1].split(",")[0]]
