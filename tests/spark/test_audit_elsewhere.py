"""kreplica audit on a standalone master and through Spark Connect: the same answer as in its own process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from kreplica.health.findings import find
from kreplica.store.manifest import read_manifest
from kreplica.store.reading import read_snapshot_files

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RunCli = Callable[..., subprocess.CompletedProcess[str]]

START_SECONDS = 90.0
STOP_SECONDS = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: Sequence[str], log: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Spark process on loopback, ended with all it started."""
    from kreplica.system.java import java_home_for_spark

    home = {"JAVA_HOME": str(java_home_for_spark()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    environment = {**os.environ, **home, "SPARK_LOG_DIR": str(folder), "SPARK_WORKER_DIR": str(folder / "work")}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_SECONDS)


def await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.3)
    raise AssertionError(log.read_text(encoding="utf-8")[-3000:])


@pytest.fixture(scope="module")
def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


Place = tuple[object, ...]


def findings(answer: subprocess.CompletedProcess[str]) -> list[Place]:
    assert answer.returncode == 1, answer.stderr
    assert answer.stderr == ""
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    names = ("cluster", "taken_at", "rule", "severity", "topic", "partition", "broker", "message")
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


@pytest.fixture(scope="module")
def expected(root: Path) -> list[Place]:
    """What kreplica check finds in each snapshot of the packaged fleet."""
    found: list[Place] = []
    for path in (root / "kreplica" / "data" / "fleet" / "manifests").iterdir():
        snapshot = read_snapshot_files(read_manifest(path))
        found += [
            (
                *(snapshot.label, snapshot.taken_at.isoformat(), item.rule, item.severity.word),
                *(item.topic, item.partition, item.broker, item.message),
            )
            for item in find(snapshot)
        ]
    return sorted(found, key=repr)


AUDIT = ("audit", "sample", "-o", "jsonl", "--per-snapshot")


@pytest.mark.timeout(600)
def test_a_standalone_master_gives_the_same_findings(
    spark_home: Path, tmp_path: Path, run_cli: RunCli, expected: list[Place]
) -> None:
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    runner = str(spark_home / "bin" / "spark-class")
    options = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    log = tmp_path / "master.log"
    with running([runner, "org.apache.spark.deploy.master.Master", *options], log, tmp_path) as process:
        await_port(port, process, log)
        worker = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", master]
        with running([runner, "org.apache.spark.deploy.worker.Worker", *worker], tmp_path / "worker.log", tmp_path):
            memory = "spark.executor.memory=512m"
            assert findings(run_cli(*AUDIT, "--master", master, "--spark-conf", memory, timeout=300)) == expected


@pytest.mark.timeout(600)
def test_a_connect_server_gives_the_same_findings_and_lives_on(
    spark_home: Path, tmp_path: Path, run_cli: RunCli, expected: list[Place]
) -> None:
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.master": "local[2]",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "America/New_York",
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(spark_home / "sbin" / "start-connect-server.sh"), "--wait", *options]
    log = tmp_path / "connect.log"
    with running(command, log, tmp_path) as process:
        await_port(port, process, log)
        answer = run_cli(*AUDIT, "--remote", f"sc://127.0.0.1:{port}", timeout=300)
        assert findings(answer) == expected
        assert process.poll() is None


def test_a_master_and_a_server_that_do_not_answer_are_named_at_once(run_cli: RunCli) -> None:
    port = free_port()
    for option, address in (("--master", f"spark://127.0.0.1:{port}"), ("--remote", f"sc://127.0.0.1:{port}")):
        answer = run_cli("audit", "sample", option, address, timeout=60)
        assert answer.returncode == 3
        assert answer.stderr.startswith("error: the Spark ")
        assert f"{address} does not answer" in answer.stderr
        assert answer.stderr.count("\n") == 1
