"""A file that changes between its check and its reading is named, in one line and nothing else."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kreplica.errors import InputError, UsageError
from kreplica.store.selection import Wanted, select_snapshots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_session_leaves_the_environment_to_others_while_it_runs(spark: SparkSession) -> None:
    """Other programs that this process starts are to find what its user set; the system keeps what it began with."""
    assert spark.range(3).count() == 3
    began = dict(line.split("=", 1) for line in Path("/proc/self/environ").read_text().split("\0") if line)
    for name in ("JAVA_HOME", "PYTHONSAFEPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        assert os.environ.get(name) == began.get(name)


def test_a_session_beside_another_is_refused(spark: SparkSession) -> None:
    from analyzers.sessions.session import spark_session

    with socket.create_server(("127.0.0.1", 0)) as server:
        places = {"master": "local[1]"}, {"remote": f"sc://127.0.0.1:{server.getsockname()[1]}"}
        for place in places:
            with pytest.raises(UsageError, match="this process has a Spark session already"), spark_session(**place):
                pass
    assert spark.range(3).count() == 3


@pytest.mark.parametrize("adaptive", ["false", "true"])
def test_what_a_session_keeps_it_lets_go(spark: SparkSession, adaptive: str) -> None:
    from analyzers.sessions.session import _let_go, kept

    _let_go(spark)
    before, setting = set(rows_in_memory(spark)), "spark.sql.adaptive.enabled"
    was = spark.conf.get(setting)
    spark.conf.set(setting, adaptive)
    try:
        one, other = kept(spark.range(7)), kept(spark.range(8))
        assert (one.count(), one.count(), other.count()) == (7, 7, 8)
        assert len(set(rows_in_memory(spark)) - before) == 2
        assert ("Scan ExistingRDD" in one._jdf.queryExecution().executedPlan().toString()) == (adaptive == "false")
    finally:
        spark.conf.set(setting, was)
        _let_go(spark)
    assert not set(rows_in_memory(spark)) - before


def rows_in_memory(spark: SparkSession) -> list[int]:
    return [int(number) for number in spark.sparkContext._jsc.getPersistentRDDs()]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


@pytest.mark.parametrize("harm", [truncate, Path.unlink])
def test_a_file_that_changes_meanwhile_is_named(
    spark: SparkSession, root: Path, tmp_path: Path, harm: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    from analyzers.audit import Audit
    from analyzers.reading.frames import read_fleet
    from analyzers.sessions.failures import explained

    dumps = shutil.copytree(root / "kreplica" / "data" / "fleet", tmp_path / "odd name, 100% [a-b]+{c}")
    selection = select_snapshots([dumps], Wanted())
    assert len(selection.snapshots) == 12
    victim = selection.snapshots[3].partitions
    assert victim is not None
    fleet = read_fleet(spark, selection.snapshots)
    assert fleet.rows.count() == sum(item.partition_rows for item in selection.snapshots)
    harm(Path(victim))
    with pytest.raises(InputError) as raised, explained():
        Audit(fleet, {"offline"}).counts()
    assert raised.value.source == victim
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("spark.driver.extraJavaOptions=-version", "its JVM ended with exit code 0 without starting"),
        ("spark.local.dir=/proc/nowhere", "its JVM ended with exit code 53: no folder for its work"),
        (
            "spark.default.parallelism=some",
            'Spark does not take --spark-conf spark.default.parallelism; For input string: "some"; leave it out',
        ),
    ],
)
def test_a_wrong_setting_is_told_and_is_no_finding(
    setting: str, told: str, run_cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = run_cli("audit", "sample", "--spark-conf", setting, timeout=150)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert told in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


LOSING_THE_JVM = """
import os, signal, sys
import analyzers.fleet_audit
from commands.main import run

judge = analyzers.fleet_audit.run_audit

def losing(spark, *question, **options):
    os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
    return judge(spark, *question, **options)

analyzers.fleet_audit.run_audit = losing
sys.exit(run(["audit", "sample"]))
"""


@pytest.mark.slow
def test_a_jvm_that_is_killed_is_a_cluster_that_went_away() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOSING_THE_JVM], capture_output=True, text=True, timeout=150, check=False
    )
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    line = "error: Spark went away before the work was done; its JVM was ended by SIGKILL; try again"
    assert done.stderr.splitlines()[-1] == line
    assert "Traceback" not in done.stderr
