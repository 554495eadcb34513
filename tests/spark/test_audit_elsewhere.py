"""kreplica audit and audit ingest on a standalone master and through Spark Connect: as in their own process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from histories.folders import contents
from histories.logged_fleet import (
    BUCKET,
    DUMPS,
    HISTORY,
    TOLD,
    LoggedFleet,
    audited_here,
    audited_there,
    ingested,
    make_logged_fleet,
)
from loopback.object_store import object_store

from analyzers.sessions.class_path import class_path
from analyzers.sessions.spark_classes import beginning_with_archive
from kreplica.health.findings import find
from kreplica.monitoring.snapshots.ingestion import ingest_dumps
from kreplica.store.manifest import read_manifest
from kreplica.store.reading import read_snapshot_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RunCli = Callable[..., subprocess.CompletedProcess[str]]

SOON_ENDED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m -XX:ReservedCodeCacheSize=240m"
"""Options of the JVMs of masters, workers and servers, as of kreplica's own: none lives so long that optimized code
pays."""

START_SECONDS = 180.0
STOP_SECONDS = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str], log: Path, folder: Path, around: Mapping[str, str] = os.environ
) -> Iterator[subprocess.Popen[bytes]]:
    """A Spark process on loopback, ended with all it started; it begins with the archive of classes where that is."""
    from kreplica.system.java import java_home_for_spark

    home = {"JAVA_HOME": str(java_home_for_spark()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    options = f"{SOON_ENDED} {beginning_with_archive('')}"
    cheaply = dict.fromkeys(("SPARK_DAEMON_JAVA_OPTS", "SPARK_SUBMIT_OPTS"), options)
    places = {"SPARK_LOG_DIR": str(folder), "SPARK_WORKER_DIR": str(folder / "work")}
    environment = {**around, **home, **places, **cheaply, "SPARK_DAEMON_CLASSPATH": class_path()}
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
        with suppress(ProcessLookupError):  # the test has killed it
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
AUDIT_HISTORY = ("audit", HISTORY, "-o", "jsonl")
INGEST = ("audit", "ingest")


@pytest.fixture(scope="module")
def fleet(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedFleet]:
    with object_store() as store:
        yield make_logged_fleet(root, tmp_path_factory.mktemp("logged") / "history", store)


@pytest.fixture(scope="module")
def logged(spark: SparkSession, fleet: LoggedFleet) -> list[Place]:
    """What an audit of the history finds in this process: much of it is exact."""
    found = audited_here(spark, fleet.history)
    exact = [row[TOLD.index("exact")] for row in found]
    assert (set(exact), len(found) > 500) == ({True, False}, True)
    return found


def folded_here(fleet: LoggedFleet, folder: Path) -> dict[str, bytes]:
    """The files of a history of the twelve snapshots that this process folded."""
    ingest_dumps([fleet.dumps], folder)
    found = contents(folder)
    assert len(found) > 10
    return found


def in_the_store(fleet: LoggedFleet, name: str, folder: Path) -> dict[str, bytes]:
    """The files of a history in the store."""
    fleet.store.download(BUCKET, f"{name}/", folder)
    return contents(folder)


def assert_folded_by(answer: dict[str, Any], by: str, *warnings: str) -> None:
    assert (answer["summary"]["folded_by"], answer["warnings"]) == (by, list(warnings))


def assert_folded_alike(master: str, folder: Path, fleet: LoggedFleet) -> None:
    """Folds snapshots in a store on executors, then some here where executors lack kreplica: the files are the same."""
    (folder / "shadow").mkdir()
    (folder / "shadow" / "kreplica.py").write_text("raise ImportError")
    shadow = ("--spark-conf", f"spark.executorEnv.PYTHONPATH={folder / 'shadow'}")
    place = ("--master", master, "--spark-conf", "spark.executor.memory=512m")
    like = ingested([*INGEST, DUMPS, "--into", f"s3://{BUCKET}/like", *place], folder, fleet.environment)
    assert_folded_by(like, f"Spark on {master}")
    alone = (*place, "--spark-conf", "spark.cores.max=1")  # of one worker: what one executor lacks is enough
    bare = ingested([*INGEST, "sample", "--into", "history bare", *alone, *shadow], folder, fleet.environment)
    reason = f"Spark on {master} did not fold the snapshots, this machine did: an executor has no kreplica"
    assert_folded_by(bare, "this process", reason)
    wanted = folded_here(fleet, folder / "here")
    assert in_the_store(fleet, "like", folder / "like") == contents(folder / "history bare") == wanted


LOSING_A_WORKER = """
import contextlib, os, signal, sys, threading, time
import analyzers.sessions.session
from commands.main import run

start = analyzers.sessions.session.spark_session
killed = []

def lose(session):
    while "--master" in sys.argv and not session.sparkContext.statusTracker().getActiveJobsIds():
        time.sleep(0.02)
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
    killed.append(time.monotonic())

@contextlib.contextmanager
def losing(*place):
    with start(*place) as session:
        threading.Thread(target=lose, args=[session], daemon=True).start()
        yield session

analyzers.sessions.session.spark_session = losing
code = run(sys.argv[2:])
print(time.monotonic() - killed[0], file=sys.stderr)
sys.exit(code)
"""


def audit_that_loses(
    worker: subprocess.Popen[bytes], words: Sequence[str], fleet: LoggedFleet
) -> tuple[subprocess.CompletedProcess[str], float]:
    """The audit, in the midst of whose first job the worker is killed with its executor; and the seconds from then.

    A Connect server, whose jobs nobody sees, is killed before the first.
    """
    done = subprocess.run(
        [sys.executable, "-c", LOSING_A_WORKER, str(worker.pid), *words],
        capture_output=True,
        text=True,
        timeout=250,
        env=fleet.environment,
        check=False,
    )
    *said, seconds = done.stderr.splitlines(keepends=True)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, "".join(said)), float(seconds)


@pytest.mark.timeout(900)
def test_of_two_workers_one_may_be_killed_and_the_loss_of_the_last_is_told_within_a_minute(
    spark_home: Path, tmp_path: Path, fleet: LoggedFleet, logged: list[Place]
) -> None:
    """The history that they audit is in an object store, and metadata logs tell of a part of it."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    runner = str(spark_home / "bin" / "spark-class")
    options = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0", master]
    command = [runner, "org.apache.spark.deploy.worker.Worker", *worker]
    log = tmp_path / "master.log"
    with ExitStack() as ending:
        process = running([runner, "org.apache.spark.deploy.master.Master", *options], log, tmp_path)
        await_port(port, ending.enter_context(process), log)
        first, last = (
            ending.enter_context(running(command, tmp_path / name, tmp_path, fleet.environment))
            for name in ("1.log", "2.log")
        )
        await_registered(log, 2)
        assert_folded_alike(master, tmp_path, fleet)
        place = ("--master", master, "--spark-conf", "spark.executor.memory=512m")
        answer, _ = audit_that_loses(first, [*AUDIT_HISTORY, *place], fleet)
        assert audited_there(answer) == logged
        answer, seconds = audit_that_loses(last, [*AUDIT_HISTORY, *place], fleet)
    assert answer.returncode == 3, answer.stderr
    said = "error: Spark went away before the work was done; all its executors are gone, the last on 127.0.0.1:"
    assert answer.stderr.startswith(said), answer.stderr
    assert answer.stderr.count("\n") == 1
    assert seconds < 60


def await_registered(log: Path, workers: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while log.read_text(encoding="utf-8").count("Registering worker") < workers:
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")[-3000:]
        time.sleep(0.3)


@pytest.mark.timeout(900)
def test_a_connect_server_gives_the_same_findings_and_lives_on(
    spark_home: Path,
    tmp_path: Path,
    run_cli: RunCli,
    expected: list[Place],
    fleet: LoggedFleet,
    logged: list[Place],
) -> None:
    """Python of its executors is that which its own environment names, and so are credentials of the store."""
    port, interface = free_port(), free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.port": str(interface),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraClassPath": class_path(),
        "spark.master": "local[2]",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "America/New_York",
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(spark_home / "sbin" / "start-connect-server.sh"), "--wait", *options]
    log = tmp_path / "connect.log"
    place = ("--remote", f"sc://127.0.0.1:{port}")
    around = {**fleet.environment, "PYSPARK_PYTHON": sys.executable}
    with running(command, log, tmp_path, around) as process:
        await_port(port, process, log)
        answer = run_cli(*AUDIT, *place, timeout=300)
        assert findings(answer) == expected
        answer = run_cli(*AUDIT_HISTORY, *place, env=fleet.store.environment, timeout=300)
        assert audited_there(answer) == logged
        assert_folded_by(
            ingested([*INGEST, "sample", "--into", "history", *place], tmp_path, os.environ), f"Spark on {place[1]}"
        )
        assert contents(tmp_path / "history") == folded_here(fleet, tmp_path / "here")
        assert process.poll() is None
        assert kept_by(interface) == []
        answer, seconds = audit_that_loses(process, [*AUDIT, *place], fleet)
    assert answer.returncode == 3, answer.stderr
    assert answer.stderr.startswith("error: Spark went away before the work was done; "), answer.stderr
    assert (answer.stderr.count("\n"), seconds < 60) == (1, True)


def kept_by(interface: int) -> object:
    """What a server keeps in memory and on disk, by its own pages."""
    place = f"http://127.0.0.1:{interface}/api/v1/applications"
    with urlopen(place, timeout=30) as answer:
        (application,) = json.load(answer)
    with urlopen(f"{place}/{application['id']}/storage/rdd", timeout=30) as answer:
        return json.load(answer)


SUBMITTED = """
import os
import sys
from pathlib import Path
import analyzers.backfill
import kreplica
from analyzers.sessions.session import planned_once, spark_session
from commands.start import main
from kreplica.monitoring.snapshots.ingestion import ingest_dumps

before = dict(os.environ)
analyzers.backfill.FEW = 12
sample = Path(kreplica.__file__).parent / "data" / "fleet"
found = ingest_dumps([sample], Path("history"), workers=analyzers.backfill.workers_for(None, None, {}))
print(found.by, found.total("added"), list(found.warnings))
with spark_session() as session:
    java = session.sparkContext._jvm.java.lang
    print(session.sparkContext.master, java.Runtime.getRuntime().maxMemory() >> 20, java.ProcessHandle.current().pid())
    print(session.conf.get("spark.sql.files.openCostInBytes"), session.conf.get("spark.sql.shuffle.partitions"))
    assert session.range(5).count() == 5
    assert planned_once({"spark.driver.memory": "8g"}) == java.Runtime.getRuntime().maxMemory() // 3 // 256
print({name: value for name, value in os.environ.items() if before.get(name) != value}, os.getppid(), flush=True)
main()
"""


@pytest.mark.timeout(600)
def test_spark_submit_keeps_its_master_its_memory_and_its_settings(
    tmp_path: Path, expected: list[Place], fleet: LoggedFleet
) -> None:
    """The program folds a history on it, and its third session is the audit; Spark's three lines come before Python."""
    from kreplica.system.java import java_home_for_spark

    program = tmp_path / "program.py"
    program.write_text(SUBMITTED)
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[3]", "--driver-memory", "700m"]
    settings = ["--conf", "spark.sql.shuffle.partitions=3"]
    java = str(java_home_for_spark(quiet=True))
    home = {"JAVA_HOME": java, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [*submit, *settings, str(program), *AUDIT],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, **home},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    folded, session, ours, kept, *rows = done.stdout.splitlines()
    assert folded == "Spark on local[3] 12 []"
    assert contents(tmp_path / "history") == folded_here(fleet, tmp_path / "here")
    master, memory, jvm = session.split()
    assert (master, 600 < int(memory) <= 700, ours) == ("local[3]", True, "262144 3")
    assert kept == f"{{}} {jvm}"
    answer = subprocess.CompletedProcess(done.args, done.returncode, "\n".join(rows), "")
    assert findings(answer) == expected
    assert [line for line in done.stderr.splitlines() if "log4j profile" not in line and " WARN " not in line] == []
    assert len(done.stderr.splitlines()) <= 4


def test_a_master_and_a_server_that_do_not_answer_are_named_at_once(run_cli: RunCli) -> None:
    port = free_port()
    for option, address in (("--master", f"spark://127.0.0.1:{port}"), ("--remote", f"sc://127.0.0.1:{port}")):
        answer = run_cli("audit", "sample", option, address, timeout=60)
        assert answer.returncode == 3
        assert answer.stderr.startswith("error: the Spark ")
        assert f"{address} does not answer" in answer.stderr
        assert answer.stderr.count("\n") == 1
