"""The decode commands on standard input: what a file's name tells is given by --stdin-filename."""

from __future__ import annotations

import csv
import io
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commands.decode import stdin

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from log_files.kafka_dumps import GOLDEN

BROKER = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1" / "data"
SEGMENT = f"{0:020}.log"

FILES = {
    "checkpoints --topic orders": "replication-offset-checkpoint",
    "checkpoints": "orders-0/leader-epoch-checkpoint",
    "indexes": f"orders-0/{0:020}.timeindex",
    "metadata": f"__cluster_metadata-0/{0:020}.log",
    "segment": f"orders-0/{SEGMENT}",
    "segment --records": f"orders-0/{SEGMENT}",
    "transactions": f"__transaction_state-17/{SEGMENT}",
}
"""Files of one log directory by what reads them."""


@pytest.fixture
def spool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "spool"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def piped(kreplica: Any, monkeypatch: pytest.MonkeyPatch, spool: Path) -> Any:
    """Runs a command line with a file on standard input; nothing of it is left, and the folder is as before."""

    def run(content: bytes, *words: str | Path) -> Any:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        before = Path.cwd()
        ended = kreplica(*words)
        assert not list(spool.iterdir())
        assert before == Path.cwd()
        return ended

    return run


@pytest.mark.parametrize("command", FILES)
def test_a_file_on_standard_input_says_what_it_says_on_the_disk(kreplica: Any, piped: Any, command: str) -> None:
    name, *more = command.split()
    path = BROKER / FILES[command]
    ended = kreplica("decode", name, path, *more, "-o", "csv")
    assert len(ended.out.splitlines()) > 1
    # a name may be longer than what counts of it: the file and its folder
    for given in (FILES[command], f"/somewhere/else/{FILES[command]}", str(path)):
        again = piped(path.read_bytes(), "decode", name, "-", *more, "-o", "csv", "--stdin-filename", given)
        assert again.code == ended.code
        assert _rows(again.out, FILES[command]) == _rows(ended.out, FILES[command])


def _rows(text: str, name: str) -> list[dict[str, str]]:
    """The rows of CSV; where a file is said it has to be that one; without log directory and age."""
    rows = list(csv.DictReader(io.StringIO(text)))
    assert all(row.pop("file", name).endswith(name) for row in rows)
    return [{key: value for key, value in row.items() if key not in ("log_dir", "age_ms")} for row in rows]


def test_answers_call_the_file_as_the_user_does(kreplica: Any, piped: Any) -> None:
    content = (BROKER / "orders-0" / SEGMENT).read_bytes()[:-1]
    ended = piped(content, "decode", "segment", "-", "-o", "csv", "--stdin-filename", f"tp-7/{42:020}.log")
    assert ended.code == 1
    assert {row["file"] for row in csv.DictReader(io.StringIO(ended.out))} == {f"tp-7/{42:020}.log"}
    assert ended.err.startswith(f"warning: tp-7/{42:020}.log, byte ")
    ended = piped(content, "decode", "segment", "-", "-o", "csv")
    assert {row["file"] for row in csv.DictReader(io.StringIO(ended.out))} == {"standard-input"}


def test_a_checkpoint_of_the_metadata_log(kreplica: Any, piped: Any) -> None:
    path = BROKER / "__cluster_metadata-0" / f"{346:020}-0000000001.checkpoint"
    words = ["--stdin-filename", path.name, "-o", "json"]
    ended, alone = piped(path.read_bytes(), "decode", "metadata", "-", *words), kreplica("decode", "metadata", path)
    assert ended.document["summary"]["next_offset"] == 346
    assert ended.document["clusters"] == [{"cluster_id": None, "metadata_log": path.name}]
    assert "kreplica describe" in alone.out  # a dump on standard input is text: nothing to type next
    assert "kreplica describe" not in piped(path.read_bytes(), "decode", "metadata", "-", *words[:2]).out


def test_what_lies_about_in_the_temporary_folder_is_nobody_s(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, spool: Path
) -> None:
    (spool / "meta.properties").write_text("version=1\ncluster.id=of-somebody-else\nnode.id=1\n")
    path = BROKER / "__cluster_metadata-0" / f"{346:020}-0000000001.checkpoint"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    ended = kreplica("decode", "metadata", "-", "--stdin-filename", path.name, "-o", "json")
    assert ended.document["clusters"][0]["cluster_id"] is None


def test_the_folder_tells_the_partition(kreplica: Any, piped: Any) -> None:
    path = BROKER / "__transaction_state-17" / SEGMENT
    words = ["decode", "transactions", "-", "--transactional-id", "tx-pay-1"]
    named = kreplica(*words[:2], path.parent, *words[3:])
    assert (named.code, named.err) == (1, ""), "it is overdue, and nothing is missing"
    ended = piped(path.read_bytes(), *words, "--stdin-filename", f"__transaction_state-17/{SEGMENT}")
    assert (ended.code, ended.err) == (1, "")
    assert "partition" in piped(path.read_bytes(), *words, "--stdin-filename", SEGMENT).err


def test_what_does_not_end_fills_no_disk(piped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (BROKER / "orders-0" / SEGMENT).read_bytes()
    monkeypatch.setattr(stdin, "MOST_BYTES", len(content))
    assert piped(content, "decode", "segment", "-", "-o", "csv").code == 0
    ended = piped(content + b"\0", "decode", "segment", "-", "-o", "csv")
    assert (ended.code, ended.out) == (2, "")
    assert f"cannot read standard input; more than {len(content)} bytes, which no such file has" in ended.err


def test_standard_input_beside_other_files(piped: Any) -> None:
    index = BROKER / "orders-0" / f"{0:020}.timeindex"
    words = ["decode", "indexes", index, "-", "--stdin-filename", f"{7:020}.timeindex", "-o", "csv"]
    ended = piped(index.read_bytes(), *words)
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert ended.code == 0
    offsets = {Path(row["file"]).name: int(row["offset"]) for row in rows}
    assert offsets[f"{7:020}.timeindex"] == offsets[index.name] + 7  # entries count from the offset of the name


REFUSED = {
    "checkpoints -": "a checkpoint on standard input has no name; the name tells what its numbers mean; give it: "
    "--stdin-filename orders-0/leader-epoch-checkpoint",
    "indexes -": "an index on standard input has no name; ",
    "metadata -": "a metadata log on standard input has no name; ",
    "checkpoints - --stdin-filename leader-epoch-checkpoint": "whose files these are is not known: "
    "leader-epoch-checkpoint; the directory's name tells the partition, ",
    "checkpoints - --stdin-filename nothing-known": "no checkpoint files in nothing-known; ",
    "indexes - --stdin-filename ..": "--stdin-filename '..' is no name of a file; ",
    "indexes - --stdin-filename ../00000000000000000000.index": "--stdin-filename '../00000000000000000000.index' is ",
    "indexes - --stdin-filename /": "--stdin-filename '/' is no name of a file; ",
    "segment - --stdin-filename " + "x" * 300: "cannot read standard input; file name too long",
    "segment - --stdin-filename 00000000000000000000.index": "00000000000000000000.index is an offset index; ",
    "segment . --stdin-filename x": "--stdin-filename names what comes on standard input; - is not among the paths; ",
    "segment . --index --stdin-filename x": "--stdin-filename names what comes on standard input; ",
    "offsets . --stdin-filename x": "--stdin-filename names what comes on standard input; ",
    "offsets --partition-of billing --stdin-filename x": "--partition-of reads no files; ",
    "segment - --index --stdin-filename x": "a segment with its indexes cannot be read from standard input; ",
    "check - --stdin-filename x": "no such option: --stdin-filename",
    "compare -": "a log directory cannot be read from standard input; ",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_read_is_one_line(piped: Any, line: str) -> None:
    ended = piped(b"", "decode", *line.split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {REFUSED[line]}")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("words", [["segment"], ["offsets"], ["transactions", "--events"]])
def test_a_device_without_end_does_not_fill_the_disk(process: Any, words: list[str]) -> None:
    few = (1 << 24, 1 << 24)  # if it is read all the same, that much of it
    with Path("/dev/zero").open("rb") as device:
        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, few)}
        ended = process("decode", *words, "-", stdin=device, **limits)
        out, err = ended.communicate(timeout=60)
    assert (ended.returncode, out) == (2, b"")
    assert err.startswith(b"error: cannot read standard input; a device, neither a file nor a pipe; ")


def test_the_null_device_is_an_empty_file(process: Any) -> None:
    ended = process("decode", "segment", "-", "-o", "json")
    out, _ = ended.communicate(timeout=60)
    assert (ended.returncode, json.loads(out)["batches"]) == (0, [])


def test_an_empty_name_is_none(piped: Any) -> None:
    assert piped(b"", "decode", "segment", "-", "--stdin-filename", "").code == 2


def test_nothing_is_written_where_the_name_leads(piped: Any, tmp_path: Path) -> None:
    piped(b"0\n0\n", "decode", "checkpoints", "-", "--stdin-filename", str(tmp_path / "log-start-offset-checkpoint"))
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".toml"] == ["spool"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_leaves_nothing_behind(process: Any, spool: Path, number: signal.Signals) -> None:
    started = process("decode", "segment", "-", stdin=subprocess.PIPE, env={"TMPDIR": str(spool)})
    started.stdin.write(bytes(3 << 20))
    started.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in spool.rglob("standard-input")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started.send_signal(number)
    started.communicate(timeout=60)
    assert started.returncode == 130
    assert not list(spool.iterdir())


def test_the_current_folder_may_have_been_deleted(tmp_path: Path) -> None:
    script = 'mkdir "$1" && cd "$1" && rmdir "$1" && exec "$2" decode segment -'
    program = Path(sys.executable).with_name("kreplica")
    done = subprocess.run(
        ["sh", "-c", script, "sh", tmp_path / "gone", program], input=b"", capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
