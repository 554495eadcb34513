"""kreplica snapshot: what it writes, what it says, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from commands.main import run
from kreplica.config.handle import ClusterHandle
from kreplica.errors import ExitCode

GOLDEN = Path(__file__).parents[2] / "golden"
STATE = GOLDEN / "kafka-3.9.2" / "2-broker-killed"
DUMP = STATE / "topics-describe.txt"
PROGRAM = [sys.executable, "-c", "from commands.start import main; main()"]
ROOT = Path(__file__).parents[3]

Answer = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    """Runs a command line with ``-o json`` and returns exit code and document."""

    def ask(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        code = run([*map(str, arguments), "-o", "json"])
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return code, document

    return ask


def _lines_of_partitions() -> list[str]:
    return [line for line in DUMP.read_text().splitlines() if line.startswith("\t")]


def _written(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_a_dump_becomes_a_snapshot(tmp_path: Path, answer: Answer) -> None:
    code, document = answer("snapshot", "--dump", DUMP, "--out", tmp_path / "dumps")
    assert code == ExitCode.OK
    assert document["schema"] == "kreplica/snapshot/v1"
    (row,) = document["snapshots"]
    assert row["status"] == "written"
    assert row["partitions"] == len(_lines_of_partitions())
    assert row["error"] is None
    manifest = json.loads(Path(row["manifest"]).read_text())
    files = [tmp_path / "dumps" / file["path"] for file in manifest["files"]]
    assert row["bytes"] == sum(file.stat().st_size for file in files)
    assert document["summary"] == {"written": 1, "partial": 0, "failed": 0, "bytes": row["bytes"]}
    (partitions,) = (file for file in files if file.relative_to(tmp_path / "dumps").parts[0] == "partitions")
    leaders = [line.split("Leader: ")[1].split()[0] for line in _lines_of_partitions()]
    assert pq.ParquetFile(partitions).read()["leader"].to_pylist().count(-1) == leaders.count("none")


def test_describe_says_the_same_of_the_snapshot_as_of_the_dump(tmp_path: Path, answer: Answer) -> None:
    answer("snapshot", "--dump", DUMP, "--out", tmp_path)
    question = ("describe", "--under-replicated", "--dump")
    code, of_snapshot = answer(*question, tmp_path)
    assert (code, of_snapshot["partitions"]) == (ExitCode.FINDINGS, answer(*question, DUMP)[1]["partitions"])
    told_by_kafka = (STATE / "topics-under-replicated-partitions.txt").read_text()
    lines = [line.split() for line in told_by_kafka.splitlines() if line.startswith("\t")]
    found = {(row["topic"], row["partition"]) for row in of_snapshot["partitions"]}
    assert found == {(words[1], int(words[3])) for words in lines}


def test_three_runs_give_three_snapshots(tmp_path: Path, answer: Answer) -> None:
    manifests = {answer("snapshot", "--dump", DUMP, "--out", tmp_path)[1]["snapshots"][0]["manifest"] for _ in range(3)}
    assert {str(path) for path in (tmp_path / "manifests").iterdir()} == manifests
    assert len(manifests) == 3


def test_the_screen_shows_the_verdict_first_and_what_to_type_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["snapshot", "--dump", str(DUMP), "--out", str(tmp_path)]) == ExitCode.OK
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == f"OK 1 of 1 snapshot written to {tmp_path}"
    assert lines[1].split() == ["CLUSTER", "NAME", "STATUS", "TAKEN_AT", "PARTITIONS", "BROKERS", "BYTES"]
    assert lines[-1] == f"next     kreplica audit {tmp_path}"
    assert "\x1b" not in captured.err, "no progress where stderr is no terminal"


def test_a_dump_that_cannot_be_read_is_an_error_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.txt"
    assert run(["snapshot", "--dump", str(missing), "--out", str(tmp_path / "dumps")]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: cannot read {missing}; ")
    assert captured.out == ""
    assert _written(tmp_path) == []


def test_a_file_in_the_place_of_the_directory_is_said_before_any_cluster_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert run(["snapshot", "--dump", str(DUMP), "--out", str(tmp_path / "file" / "dumps")]) == ExitCode.USAGE
    assert f"cannot write a snapshot to {tmp_path / 'file' / 'dumps'}; not a directory" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_out_has_to_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["snapshot", "--dump", str(DUMP)]) == ExitCode.USAGE
    assert "--out" in capsys.readouterr().err


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _name_clusters(monkeypatch: pytest.MonkeyPatch, *handles: ClusterHandle) -> None:
    monkeypatch.setattr("kreplica.config.ways_in.resolve_handles", lambda **_: handles)


def _gone(name: str) -> ClusterHandle:
    return ClusterHandle(name, bootstrap_servers=f"127.0.0.1:{_closed_port()}", timeout=2)


def test_one_failed_cluster_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    damaged = tmp_path / "damaged.txt"
    damaged.write_text(DUMP.read_text().replace("Leader: ", "Chief: ", 1))
    first, last = ClusterHandle("first", dump=str(DUMP)), ClusterHandle("last", dump=str(GOLDEN / "kcat/trouble.json"))
    _name_clusters(monkeypatch, first, _gone("gone"), ClusterHandle("damaged", dump=str(damaged)), last)
    code, document = answer("snapshot", "--out", tmp_path / "dumps", "--jobs", "2")
    assert code == ExitCode.INCOMPLETE
    assert [row["status"] for row in document["snapshots"]] == ["written", "failed", "failed", "written"]
    assert [row["name"] for row in document["snapshots"]][1:3] == ["gone", "damaged"]
    assert "line 2" in document["snapshots"][2]["error"]
    assert len(list((tmp_path / "dumps" / "manifests").iterdir())) == 2
    assert any(warning.startswith("gone: ") for warning in document["warnings"])


def test_no_cluster_reached_exits_3_with_a_row_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    _name_clusters(monkeypatch, _gone("a"), _gone("b"))
    code, document = answer("snapshot", "--out", tmp_path)
    assert code == ExitCode.UNREACHABLE
    assert [row["status"] for row in document["snapshots"]] == ["failed", "failed"]
    assert _written(tmp_path) == []


def test_one_unreachable_cluster_is_an_error(tmp_path: Path, answer: Answer) -> None:
    server = f"127.0.0.1:{_closed_port()}"
    code, document = answer("snapshot", "--bootstrap-server", server, "--timeout", "2", "--out", tmp_path)
    assert code == ExitCode.UNREACHABLE
    assert document["schema"] == "kreplica/error/v1"
    assert server in document["error"]["what"] + document["error"]["why"]


def test_a_snapshot_with_gaps_is_partial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    import dataclasses

    from kreplica.model.snapshot import Gap
    from kreplica.sources.dumps.dump import read_dump
    from kreplica.store.writing import write_snapshot

    gap = Gap("hidden-topics", "37 topics are hidden from these credentials", 37)
    write_snapshot(dataclasses.replace(read_dump(str(DUMP)), gaps=(gap,)), tmp_path / "given")
    code, document = answer("snapshot", "--dump", tmp_path / "given", "--out", tmp_path / "dumps")
    assert code == ExitCode.INCOMPLETE
    assert document["snapshots"][0]["status"] == "partial"
    assert document["warnings"] == [gap.message]
    manifest = json.loads(Path(document["snapshots"][0]["manifest"]).read_text())
    assert manifest["snapshot"]["gaps"][0]["count"] == 37


def test_the_same_cluster_under_two_names_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    import dataclasses

    from kreplica.sources.dumps.dump import read_dump
    from kreplica.store.writing import write_snapshot

    write_snapshot(dataclasses.replace(read_dump(str(DUMP)), cluster_id="Zk5"), tmp_path / "given")
    given = str(tmp_path / "given")
    _name_clusters(monkeypatch, ClusterHandle("a", dump=given), ClusterHandle("b", dump=given))
    _, document = answer("snapshot", "--out", tmp_path / "dumps")
    assert "cluster Zk5 was named more than once: audit counts each snapshot" in document["warnings"]


def _all_of(terminal: int) -> str:
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as file:
        while True:
            try:
                shown += file.read(4096)
            except OSError:  # the other side is closed
                return shown.decode()


def test_progress_is_shown_on_a_terminal_and_the_answer_stays_clean(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [*PROGRAM, "snapshot", "--dump", str(DUMP), "--out", str(tmp_path), "-o", "json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=True)
    os.close(theirs)
    shown = _all_of(ours)
    assert "1/1" in shown
    assert json.loads(done.stdout)["snapshots"][0]["status"] == "written"


def test_ctrl_c_ends_at_once_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    """A server that takes the connection and never answers; the program may wait for it for a minute."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        command = [*PROGRAM, "snapshot", "--bootstrap-server", address, "--timeout", "60", "--out", str(tmp_path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        connection, _ = server.accept()
        with connection:
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode == ExitCode.INTERRUPTED
    assert out == ""
    assert f"0 of 1 snapshot written to {tmp_path}" in err
    assert "Traceback" not in err
    assert _written(tmp_path) == []
