"""kreplica sandbox at the command line, on the shared cluster and as real processes that are interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from real_clusters.views import end_offsets
from waiting import until

from commands.main import run
from kreplica.sandbox import ProcessState, Sandbox

pytestmark = pytest.mark.kafka

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _home(sandbox_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_SANDBOX_HOME", str(sandbox_folder))


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["sandbox", *arguments, "-o", "json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_a_broker_is_killed_paused_and_brought_back(kraft_cluster: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    of = ("--name", kraft_cluster.name)
    status = answer(capsys, "status", *of)
    assert status["schema"] == "kreplica/sandbox-status/v1"
    assert status["clusters"][0]["cluster_id"] == kraft_cluster.cluster_id
    assert [(row["id"], row["state"], row["rack"], row["registered"]) for row in status["servers"]] == [
        (1, "running", "rack-a", True),
        (2, "running", "rack-b", True),
        (3, "running", "rack-c", True),
    ]
    killed = answer(capsys, "kill", "3", *of)
    assert [row["state"] for row in killed["servers"]] == ["running", "running", "ended"]
    assert kraft_cluster.process_state(3) is ProcessState.ENDED
    assert run(["sandbox", "kill", "3", *of]) == 2
    assert "server 3 of the sandbox 'kraft' is not running" in capsys.readouterr().err
    assert answer(capsys, "pause", "2", *of)["summary"]["paused"] == 1
    assert answer(capsys, "resume", "2", *of)["summary"]["paused"] == 0
    assert answer(capsys, "start-broker", "3", *of)["summary"] == {
        "sandboxes": 1,
        "running": 3,
        "paused": 0,
        "ended": 0,
    }


def test_a_topic_is_created_loaded_and_deleted(kraft_cluster: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    of = ("--name", kraft_cluster.name)
    created = answer(capsys, "topic", "t", "--replica-assignment", "3:1,1:2", "--config", "retention.ms=777", *of)
    assert [row["replicas"] for row in created["partitions"]] == [[3, 1], [1, 2]]
    assert "retention.ms=777" in kraft_cluster.tool("topics", "--describe", "--topic", "t")

    large = ("--size", "2000", "--delivery-timeout", "60")
    loaded = answer(capsys, "load", "--topic", "t", "--rate", "100", "--seconds", "1", "--idempotent", *large, *of)
    assert loaded["summary"]["acknowledged"] == loaded["summary"]["read_back"] == 100
    assert loaded["summary"]["lost"] == 0
    assert [row["sent"] for row in loaded["partitions"]] == [50, 50]
    words = ("--topic", "t", "--rate", "50", "--seconds", "1", "--idempotent", "--no-consume")
    unread = answer(capsys, "load", *words, *of)
    assert (unread["summary"]["acknowledged"], unread["summary"]["lost"]) == (50, None)
    offsets = kraft_cluster.tool("get-offsets", "--topic", "t", "--time", "-1").split()
    assert sorted(offsets) == ["t:0:75", "t:1:75"]

    assert run(["sandbox", "tool", *of, "topics", "--list"]) == 0
    assert "t" in capsys.readouterr().out.split()
    assert answer(capsys, "topic", "t", "--delete", *of)["summary"]["deleted"] is True
    assert "t" not in kraft_cluster.tool("topics", "--list").split()
    assert run(["sandbox", "tool", *of, "topics", "--describe", "--topic", "t"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["start", "--mode", "raft"], "--mode raft is unknown; there is kraft, zookeeper"),
        (["start", "--listener", "ssl"], "--listener ssl is unknown"),
        (["start", "--set", "a"], "--set 'a' cannot be read"),
        (["start", "--set", "log.dirs=/tmp"], "log.dirs cannot be set"),
        (["start", "--brokers", "0"], "0 brokers cannot be started"),
        (["start", "--name", "a/b"], "'a/b' is no name"),
        (["topic", "t", "--name", "kraft", "--replica-assignment", "1:2,"], "--replica-assignment '1:2,'"),
        (
            ["topic", "t", "--name", "kraft", "--partitions", "3", "--replication-factor", "9"],
            "topic 't' was not created",
        ),
        (["load", "--topic", "nope", "--name", "kraft"], "there is no topic 'nope'"),
        (["load", "--topic", "nope", "--name", "kraft", "--rate", "0"], "rate and seconds"),
        (["load", "--topic", "nope", "--name", "kraft", "--acks", "2"], "acks=2"),
        (["load", "--topic", "nope", "--name", "kraft", "--listener", "tls"], "no listener tls"),
        (["status", "--name", "nope"], "no sandbox named 'nope'; there is: kraft"),
        (["stop", "--name", "nope"], "no sandbox named 'nope'"),
        (["kill", "7", "--name", "kraft"], "no server 7; there is: 1, 2, 3"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    kraft_cluster: Sandbox, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["sandbox", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def begin(*arguments: str, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from commands.start import main; main()", "sandbox", *arguments],
        cwd=ROOT,
        env=os.environ | {"KREPLICA_SANDBOX_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def servers_of(home: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes()
        except OSError:
            continue
        if str(home).encode() in command and b"server.properties" in command and b"StorageTool" not in command:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_start_ends_its_servers(tmp_path: Path, number: signal.Signals) -> None:
    with begin("start", "--brokers", "1", home=tmp_path) as process:
        until(lambda: servers_of(tmp_path) or process.poll() is not None, "a server", pause=0.02)
        assert servers_of(tmp_path)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert servers_of(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_an_interrupted_load_still_reports(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("t")
    home = kraft_cluster.folder.parent
    many = ("--topic", "t", "--rate", "100", "--seconds", "300", "--idempotent")
    with begin("load", *many, "--name", kraft_cluster.name, "-o", "json", home=home) as process:
        until(lambda: end_offsets(kraft_cluster, "t") or process.poll() is not None, "records")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    summary = json.loads(out)["summary"]
    assert process.returncode == 0
    assert summary["interrupted"] is True
    offsets = kraft_cluster.tool("get-offsets", "--topic", "t", "--time", "-1").strip()
    assert summary["acknowledged"] == summary["read_back"] == int(offsets.removeprefix("t:0:")) > 0
    assert err.startswith("ending: ")


def test_start_and_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KREPLICA_SANDBOX_HOME", str(tmp_path))
    assert run(["sandbox", "status"]) == 0
    assert "no sandbox was started" in capsys.readouterr().out
    arguments = ("start", "--brokers", "1", "--racks", "2", "--listener", "scram-sha-256", "--user", "eve=secret")
    started = answer(capsys, *arguments)
    assert [(row["id"], row["rack"]) for row in started["servers"]] == [(1, "rack-1")]
    config = tmp_path / "default" / "client-scram-sha-256-admin.properties"
    assert "admin-secret" in config.read_text()
    assert config.stat().st_mode & 0o077 == 0
    assert run(["sandbox", "start"]) == 2
    assert "there is a sandbox named 'default'" in capsys.readouterr().err
    assert [row["state"] for row in answer(capsys, "kill", "1", "--clean")["servers"]] == ["ended"]
    assert list((tmp_path / "default").rglob(".kafka_cleanshutdown")), "Kafka's own mark of a clean stop"
    assert run(["sandbox", "stop", "--all"]) == 0
    assert "stopped default" in capsys.readouterr().out
    assert servers_of(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
