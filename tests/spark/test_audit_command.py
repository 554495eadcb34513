"""kreplica audit from the command line: damaged dumps, forms of the answer, exit codes, an interrupt."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

RunCli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def dumps(root: Path, tmp_path: Path) -> Path:
    """The packaged fleet, copied: there a test may break it."""
    return shutil.copytree(root / "kreplica" / "data" / "fleet", tmp_path / "dumps")


def damage(dumps: Path) -> dict[str, Path]:
    """Truncates one file, removes one, and puts a foreign one beside them."""
    files = sorted((dumps / "partitions").rglob("*.parquet"))
    truncated, removed, foreign = files[1], files[-1], files[0].with_name("part-00000.snappy.parquet")
    truncated.write_bytes(truncated.read_bytes()[:-7])
    removed.unlink()
    foreign.write_bytes(b"PAR1, but of another tool")
    return {"truncated": truncated, "removed": removed, "foreign": foreign}


@pytest.mark.slow
def test_damaged_and_foreign_files_are_named_and_the_rest_is_audited(
    dumps: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    paths = damage(dumps)
    answer = run_cli("audit", dumps, "-o", "json", "--out", tmp_path / "out", "--rule", "offline", timeout=240)
    assert answer.returncode == 1, answer.stderr
    document = json.loads(answer.stdout)
    assert document["schema"] == "kreplica/audit/v1"
    summary = document["summary"]
    assert {item["path"] for item in summary["damaged_files"]} == {str(paths["truncated"]), str(paths["removed"])}
    assert [item["path"] for item in summary["foreign_files"]] == [str(paths["foreign"])]
    assert (summary["snapshots"], summary["snapshots_left_out"]) == (10, 2)
    assert [cluster["snapshots"] for cluster in document["clusters"]] == [5, 5]
    lines = answer.stderr.splitlines()
    assert [line for line in lines if not line.startswith("warning: ")] == []
    assert all(any(str(path) in line for line in lines) for path in paths.values())

    rows = document["findings"]
    assert len(rows) == summary["findings"] == summary["by_rule"]["offline"] > 0
    assert {row["severity"] for row in rows} == {"critical"}
    written = pq.read_table(tmp_path / "out" / "findings").to_pylist()
    assert Counter((row["cluster"], row["topic"], row["partition"]) for row in written) == Counter(
        (row["cluster"], row["topic"], row["partition"]) for row in rows
    )
    counts = pq.read_table(tmp_path / "out" / "counts").to_pylist()
    assert {(row["cluster"], row["taken_at"].isoformat(), row["offline"]) for row in counts} == {
        (row["cluster"], row["taken_at"], row["offline"]) for row in summary["counts"]
    }
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
def test_an_audit_without_findings_is_incomplete_where_files_are_damaged(dumps: Path, run_cli: RunCli) -> None:
    damage(dumps)
    arguments = ("audit", dumps, "--rule", "masked-under-replicated", "--counts", "-o", "csv")
    answer = run_cli(*arguments, timeout=240)
    assert answer.returncode == 5, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("cluster,taken_at,topics,brokers,partitions,under_replicated,")
    assert len(lines) == 1 + 10


def test_strict_stops_at_the_first_wrong_file_and_starts_no_spark(dumps: Path, run_cli: RunCli) -> None:
    paths = damage(dumps)
    answer = run_cli("audit", dumps, "--strict")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: cannot read ")
    assert str(paths["truncated"]) in answer.stderr or str(paths["removed"]) in answer.stderr
    assert f"({len(paths) - 1} more files cannot be read either); " in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "cannot read nowhere; there is no such directory"),
        (["."], "no kreplica snapshots"),
        (["sample", "--cluster", "prod-*"], "none of 12 snapshots is wanted"),
        (["sample", "--since", "yesterday"], "--since yesterday is no moment"),
        (["sample", "--rule", "offlin"], "no rule offlin; did you mean offline?"),
        (["sample", "--master", "yarn"], "yarn is no Spark master"),
        (["sample", "--spark-conf", "memory=1g"], "is no setting of Spark"),
        (["sample", "--fail-on", "fatal"], "fatal"),
        ([], "DIR"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str, run_cli: RunCli) -> None:
    answer = run_cli("audit", *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: ")
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_what_was_written_before_is_not_overwritten(tmp_path: Path, run_cli: RunCli) -> None:
    (tmp_path / "out" / "counts").mkdir(parents=True)
    answer = run_cli("audit", "sample", "--out", tmp_path / "out")
    assert answer.returncode == 2
    assert "is there already; nothing was overwritten" in answer.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["counts"]


def children(process: int) -> list[int]:
    """All descendants that still run."""
    found: list[int] = []
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        child, parent, state = line.split()
        if int(parent) == process and not state.startswith("Z"):
            found += [int(child), *children(int(child))]
    return found


def spark_of(process: int) -> list[int]:
    """Its descendants, once Spark's JVM is one of them: others before it tell which Java there is, and are gone."""
    found = children(process)
    command = ["ps", "-o", "args=", "-p", ",".join(map(str, found or [process]))]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return found if "/pyspark/" in told else []


def is_running(process: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("point", ["the JVM starts", "the findings are written"])
def test_an_interrupt_ends_spark_and_leaves_nothing_half_written(
    tmp_path: Path, point: str, request: pytest.FixtureRequest
) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        [Path(sys.executable).with_name("kreplica"), "audit", "sample", "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    request.addfinalizer(process.kill)
    jvm_starts = point == "the JVM starts"
    reached = (lambda: spark_of(process.pid)) if jvm_starts else (lambda: list(out.glob(".kreplica-*")))
    deadline = time.monotonic() + 240
    while not reached() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5 if jvm_starts else 0)
    started = children(process.pid)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert started
    assert (process.returncode, stdout, stderr) == (130, "", "interrupted\n")
    assert not any(is_running(number) for number in started)
    assert not out.exists() or list(out.iterdir()) == []
