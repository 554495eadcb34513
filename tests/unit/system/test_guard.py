"""One of many clusters or files that fails, for whatever reason, is named and stops no other."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from commands.main import run
from kreplica.config.handle import ClusterHandle
from kreplica.config.secrets import forget
from kreplica.errors import (
    AuthenticationError,
    ExitCode,
    InputError,
    KreplicaError,
    UnreachableError,
    UsageError,
    worst_of,
)
from kreplica.monitoring import clusters
from kreplica.monitoring.snapshots import taking as snapshots
from kreplica.sources.dumps.dump import read_sample
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure
from kreplica.store.reading import list_manifests
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot
from kreplica.system.deadline import Deadline
from kreplica.system.guard import DefectError, attempt
from kreplica.system.redaction import remember_secret


def test_results_and_errors_of_the_user_are_what_they_are() -> None:
    expected = InputError("a", "", "b")

    def refuse() -> int:
        raise expected

    assert attempt(lambda: 7) == 7
    assert attempt(refuse) is expected


def test_a_defect_is_told_with_its_traceback_in_a_file_and_no_secret() -> None:
    remember_secret("hunter2-hunter2")
    try:
        found = attempt(lambda: {}["hunter2-hunter2"])
    finally:
        forget()
    assert isinstance(found, DefectError)
    assert found.exit_code == ExitCode.INTERNAL
    assert found.what == "KeyError: '(hidden)'"
    (file,) = re.findall(r"with (\S+),", found.fix)
    report = Path(file).read_text(encoding="utf-8")
    Path(file).unlink()
    assert "Traceback (most recent call last)" in report
    assert "hunter2" not in report
    with pytest.raises(KeyboardInterrupt):
        attempt(_interrupt)


def _interrupt() -> None:
    raise KeyboardInterrupt


def broken(handle: ClusterHandle, *_: object) -> Any:
    if handle.name == "broken":
        raise RuntimeError("nobody expected that")
    return read_sample("sample-healthy")


CONTEXTS = """
[contexts.broken]
bootstrap_servers = "127.0.0.1:1"
[contexts.good]
bootstrap_servers = "127.0.0.1:1"
"""


@pytest.mark.parametrize(
    ("command", "code"), [("describe", 5), ("check", 1), ("snapshot", 5)], ids=["describe", "check", "snapshot"]
)
def test_a_defect_in_one_cluster_stops_no_other(
    command: str, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "contexts.toml").write_text(CONTEXTS)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(clusters, "read_snapshot", broken)
    monkeypatch.setattr(snapshots, "read_snapshot", broken)
    words = ["--out", str(tmp_path / "dumps")] if command == "snapshot" else []
    ended = run([command, *words, "--context", "*", "--config", str(tmp_path / "contexts.toml"), "-o", "json"])
    printed = capsys.readouterr()
    assert ended == code, printed.err
    document = json.loads(printed.out)
    assert [cluster["name"] for cluster in document["clusters"]] == ["sample-healthy"]
    assert any(text.startswith("broken: RuntimeError: nobody expected that; ") for text in document["warnings"])
    if command == "snapshot":
        assert document["summary"]["written"] == 1
        assert len(list_manifests([tmp_path / "dumps"]).manifests) == 1


AWAY, REFUSED = UnreachableError("nobody answers"), AuthenticationError("not with these credentials")
FAILURES: dict[str, Exception] = {
    "away": AWAY,
    "refused": REFUSED,
    "unusable": UsageError("no such setting"),
    "defect": RuntimeError("nobody expected that"),
}


@pytest.mark.parametrize(
    "command", [["describe"], ["check"], ["snapshot", "--out", "dumps"]], ids=lambda words: words[0]
)
@pytest.mark.parametrize(
    ("failures", "code"),
    [
        (("away", "defect"), 70),
        (("away", "unusable"), 3),
        (("away", "refused"), 3),
        (("unusable", "unusable"), 2),
        (("unusable", "defect"), 70),
    ],
)
def test_where_every_cluster_fails_the_highest_code_counts_in_whatever_order(
    command: list[str],
    failures: tuple[str, str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(handle: ClusterHandle, *_: object) -> Any:
        raise FAILURES[handle.name.rstrip("12")]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(clusters, "read_snapshot", fail)
    monkeypatch.setattr(snapshots, "read_snapshot", fail)
    names = [f"{name}{number}" for number, name in enumerate(failures, 1)]
    contexts = [f'[contexts.{name}]\nbootstrap_servers = "127.0.0.1:1"\n' for name in names]
    for order in (contexts, contexts[::-1]):
        Path("contexts.toml").write_text("".join(order))
        asked = [word for text in order for word in ("--context", re.findall(r"\.(\w+)\]", text)[0])]
        assert run([*command, *asked, "--config", "contexts.toml"]) == code, capsys.readouterr().err


def test_credentials_that_are_refused_are_not_tried_again_for_a_cluster_that_is_away() -> None:
    assert worst_of([AWAY, REFUSED]) is worst_of([REFUSED, AWAY]) is REFUSED


def test_names_that_are_no_hosts_are_failures_of_one_broker() -> None:
    """As a user writes them, or a broker advertises them."""
    for host, port, reason in (
        ("kafka..prod", 9092, "name not known"),
        ("k" * 64 + ".prod", 9092, "name not known"),
        ("kafka\0prod", 9092, "name not known"),
        ("127.0.0.1", 99999, "99999 is no port"),
        ("127.0.0.1", -1, "-1 is no port"),
    ):
        with pytest.raises(BrokerFailure, match=reason):
            BrokerConnection(Address(host, port), {}, Deadline(5))


def test_damaged_manifests_leave_the_others_to_an_audit(tmp_path: Path) -> None:
    good = write_snapshot(read_sample(), tmp_path / "dumps")
    folder = good.parent
    document = json.loads(good.read_text())
    hostile = {
        "deep": b'{"schema": "kreplica/manifest/v1", "schema_version": 1, "x": ' + b"[" * 200_000,
        "year-1": json.dumps(
            {**document, "snapshot": {**document["snapshot"], "taken_at": "0001-01-01T00:00:00+14:00"}}
        ).encode(),
        "huge": b'{"schema": "kreplica/manifest/v1", "schema_version": ' + b"9" * 5000 + b"}",
        "bytes": b"\xff\xfe\x00",
        "outside": json.dumps({**document, "files": [{**document["files"][0], "path": "../../etc/passwd"}]}).encode(),
        "empty": b"",
    }
    for name, content in hostile.items():
        (folder / f"{name}.json").write_bytes(content)
    os.mkfifo(folder / "pipe.json")
    (folder / "zero.json").symlink_to("/dev/zero")
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "folder.json").mkdir()
    selection = select_snapshots([tmp_path / "dumps"], Wanted())
    assert [snapshot.cluster for snapshot in selection.snapshots] == [read_sample().label]
    told = {Path(problem.path).stem for problem in selection.damaged}
    assert told == {*hostile, "pipe", "zero", "loop"}
    assert [Path(problem.path).name for problem in selection.orphans] == ["folder.json"]


def test_data_files_that_are_no_files_are_damage(tmp_path: Path) -> None:
    kinds = ("zero", "pipe", "loop", "folder")
    for hour, kind in enumerate((*kinds, "good")):
        taken_at = read_sample().taken_at + timedelta(hours=hour)
        manifest = write_snapshot(replace(read_sample(), taken_at=taken_at), tmp_path / kind)
        (file,) = (tmp_path / kind / "partitions").rglob("*.parquet")
        assert manifest.is_file()
        if kind == "good":
            continue
        file.unlink()
        if kind == "pipe":
            os.mkfifo(file)
        elif kind == "folder":
            file.mkdir()
        else:
            file.symlink_to("/dev/zero" if kind == "zero" else file.name)
    selection = select_snapshots([tmp_path / kind for kind in (*kinds, "good")], Wanted())
    assert len(selection.snapshots) == 1
    assert len(selection.damaged) == len(kinds)


def test_one_file_of_a_log_directory_that_cannot_be_read_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "data"
    shutil.copytree(Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "clean" / "broker-1" / "data", home)
    for words in (["check"], ["checkpoints"]):
        run(["decode", *words, str(home), "-o", "json"])
    whole = capsys.readouterr().out.splitlines()
    with (home / "replication-offset-checkpoint").open("wb") as file:
        file.truncate(1 << 29)
    assert run(["decode", "checkpoints", str(home), "-o", "json"]) == ExitCode.FINDINGS
    document = json.loads(capsys.readouterr().out)
    assert len(document["checkpoints"]) == len(json.loads(whole[1])["checkpoints"])
    assert any("replication-offset-checkpoint" in text for text in document["warnings"])
    assert run(["decode", "check", str(home), "-o", "json"]) == ExitCode.FINDINGS
    assert [row["file"] for row in json.loads(capsys.readouterr().out)["findings"]] == [
        str(home / "replication-offset-checkpoint")
    ]


def test_errors_are_told_apart() -> None:
    assert issubclass(DefectError, KreplicaError)
    assert DefectError.exit_code == 70
