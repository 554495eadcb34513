"""One quiet Spark session: in this process by default, on a standalone master, or through Spark Connect.

Nothing of PySpark is imported before a session is asked for, so that a missing extra is one clear line.

Turns what Spark raises into errors that name the file, the memory or the server.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from analyzers.jvm import Jvm, no_remarks
from kreplica.errors import InputError, KreplicaError, MissingExtraError, UnreachableError, UsageError
from kreplica.system.environment import SAFE_PATH, environment
from kreplica.system.packages import line_that_adds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as SparkSession  # noqa: PLC0414  # commands name it, but not PySpark


_FILE = re.compile(r"(?:reading file|Path does not exist:?|File) (file:\S+?)\.?(?:\s|$)")
_FULL = ("No space left on device", "Disk quota exceeded")
_MEMORY = ("java.lang.OutOfMemoryError", "not enough memory", "Unable to acquire")
_GONE = (
    "StatusCode.UNAVAILABLE",
    "Connection refused",
    "SparkContext was shut down",
    "has been shut down",
    "All masters are unresponsive",
    "Master removed our application",
    "ExecutorLostFailure",
)
_CLASS = re.compile(r"^(?:Caused by: |: )?(?:[\w$]+\.)+[\w$]+: ")


class SparkDefectError(Exception):
    """A failure of Spark that kreplica cannot explain; its text was fetched before the JVM ended."""


@contextmanager
def explained(asked: Mapping[str, str] | None = None, ended: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Raises a KreplicaError in place of a failure of Spark whose cause the user can do something about.

    The message of Spark's exception is read here, since reading it asks the JVM.

    Args:
        asked: Settings that the user gave.
        ended: Tells how the session's JVM ended; empty while it runs.

    Raises:
        SparkDefectError: The failure is another one.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except KreplicaError:
        raise
    except Exception as error:
        spoken = isinstance(error, PySparkException | Py4JError | ConnectionError | EOFError)
        if not spoken and not ended():
            raise
        raise _failure(words_of(error), asked or {}, ended()) from None


def words_of(error: Exception) -> str:
    """The message of a Spark error; a Py4J error asks the JVM for it, which may be gone."""
    try:
        return str(error).strip() or type(error).__name__
    except Exception:
        return type(error).__name__


def cause_of(words: str) -> str:
    """The line of a stack trace that says what was wrong, without the names of classes."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")] or [line for line in lines if line[:2] == ": "]
    return _CLASS.sub("", (causes or lines)[-1 if causes else 0])


def _failure(words: str, asked: Mapping[str, str], ended: str) -> Exception:
    if found := _explanation(words) or refused_setting(words, asked):
        return found
    if ended:
        why = f"its JVM {ended}"
        return UnreachableError("Spark went away before the audit was done", why, "try again")
    return SparkDefectError(words)


def refused_setting(words: str, asked: Mapping[str, str]) -> UsageError | None:
    """The error for the user's setting that Spark's message names; None if it names none."""
    for name in asked:
        if re.search(rf"{re.escape(name)}(?![\w.])", words):
            return UsageError(f"Spark does not take --spark-conf {name}", cause_of(words), "leave it out, or mend it")
    return None


def _explanation(text: str) -> KreplicaError | None:
    file = _FILE.search(text)
    if file is not None:
        path = unquote(urlsplit(file[1]).path)
        return InputError(path, "", "it was whole when the audit began", "it was changed since then: audit again")
    if any(word in text for word in _FULL):
        fix = "make room, or name a folder on another one: --spark-conf spark.local.dir=DIR"
        return UsageError("the disk that Spark works on is full", cause_of(text), fix)
    if any(word in text for word in _MEMORY):
        fix = "give it more: --spark-conf spark.driver.memory=8g (on a cluster spark.executor.memory)"
        return UsageError("Spark ran out of memory", "the snapshots are more than it can hold", fix)
    if any(word in text for word in _GONE):
        return UnreachableError("Spark went away before the audit was done", cause_of(text), "try again")
    return None


LOCAL_MASTER = "local[*]"
CONNECT_PORT = 15002
"""Default port of a Spark Connect server."""
REACH_SECONDS = 10.0
EXECUTOR_SECONDS = 60.0
SMALL_FLEET = 1_000_000
ROWS_A_PIECE = 200_000
MOST_PIECES = 400
"""Largest number of partitions of a shuffle; Spark coalesces small ones."""

_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Java compiles no method above 8000 bytes; above that Spark is to cut its generated code up: three times as fast.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # The files are named one by one; to list thousands of them in a Spark job takes ten times as long as to do it here.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
}
"""Set on any session, a Connect server's too."""

_QUIET = {"spark.ui.enabled": "false", "spark.driver.maxResultSize": "0"}
_WORKERS = {f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()}
"""Python workers of a standalone master inherit nothing of this process."""
_LOGGERS = ("py4j", "DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.client.logging")
"""Loggers that print messages which also arrive as exceptions."""
_LOGGING = Path(__file__).with_name("log4j2.properties")


@contextmanager
def spark_session(
    master: str = LOCAL_MASTER, remote: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Starts Spark, and stops it however the block ends.

    Args:
        master: ``local[*]``, ``local[4]`` or the ``spark://HOST:PORT`` of a standalone master.
        remote: ``sc://HOST:PORT`` of a Spark Connect server, instead of a master; needs no Java here.
        settings: Further Spark settings; they win over kreplica's own.

    Raises:
        MissingExtraError: PySpark, its Connect client, or Java is not installed.
        UnreachableError: The master or server does not answer, or gives no executor; its JVM was lost.
        UsageError: The address or a setting cannot be used, or the disk that Spark works on is full.
        InputError: A file was changed in the midst of the block.
        SparkDefectError: Spark failed in the block for another reason.
    """
    require_pyspark()
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if remote is not None:
        with _connect_session(remote, settings or {}) as session:
            yield session
        return
    with _classic_session(master, settings or {}) as session:
        yield session


def settings_for(partitions: int, master: str = LOCAL_MASTER, remote: str | None = None) -> dict[str, str]:
    """Settings for that many partition rows: a small job spends its time on starting tasks, not on rows.

    Args:
        partitions: Rows of all snapshots together.
        master: Where Spark will run; settings of the JVM are for a local one only.
        remote: A Connect server, whose JVM runs already.
    """
    pieces = max(2, min(MOST_PIECES, partitions // ROWS_A_PIECE))
    settings = {"spark.sql.shuffle.partitions": str(pieces)}
    if partitions <= SMALL_FLEET and remote is None and _standalone_host(master) is None:
        settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return settings


def require_pyspark() -> None:
    """Raises MissingExtraError, with the line that installs it, unless PySpark is there."""
    if find_spec("pyspark") is None:
        raise MissingExtraError(
            "kreplica audit needs Apache Spark", "the package pyspark is not installed", line_that_adds("spark")
        )


@contextmanager
def _classic_session(master: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from kreplica.system.java import java_home_for_spark

    standalone = _standalone_host(master)
    if standalone is not None:
        _reach(*standalone, what=f"the Spark master {master}")
    java_home = str(java_home_for_spark(quiet=True))
    near = standalone is None or standalone[0] in ("127.0.0.1", "localhost", "::1")
    with environment(_environment_values(java_home, near=near)):
        jvm = Jvm()
        try:
            session = _start(jvm, master, {**_classic_settings(), **_ALWAYS, **settings}, settings)
            try:
                with explained(settings, jvm.ended):
                    _check_settings(session, settings)
                    if standalone is not None:
                        _await_executor(session, master)
                    yield session
            finally:
                with contextlib.suppress(Exception), no_remarks():  # interrupted, it may not answer
                    session.stop()
        finally:
            jvm.end()


def _start(jvm: Jvm, master: str, values: dict[str, str], asked: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    options = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
    values["spark.driver.extraJavaOptions"] = f"{options} {asked.get('spark.driver.extraJavaOptions', '')}".strip()
    builder: Any = SparkSession.builder
    builder = builder.master(master).appName("kreplica audit")
    for name, value in values.items():
        builder = builder.config(name, value)
    try:
        with jvm.starting():
            session: SparkSession = builder.getOrCreate()
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise _start_failure(master, words_of(error), asked, jvm.ended()) from None
    return session


def _start_failure(master: str, words: str, asked: Mapping[str, str], ended: str) -> KreplicaError:
    if refused := refused_setting(words, asked):
        return refused
    what = f"cannot start Spark on {master}"
    if "ended by SIG" in ended:
        return UnreachableError(what, f"its JVM {ended}", "is there memory for it? --spark-conf spark.driver.memory=1g")
    why = f"its JVM {ended}" if ended else cause_of(words)
    return UsageError(what, why, "look at the master's address and the Spark settings")


def _check_settings(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Has Spark validate the settings of its SQL engine now, not at the first query that uses one of them."""
    from pyspark.errors import AnalysisException

    for name, value in settings.items():
        if name.startswith("spark.sql."):
            with contextlib.suppress(AnalysisException):  # a setting that can no longer change was validated before
                session.conf.set(name, value)


def _classic_settings() -> dict[str, str]:
    return {
        **_QUIET,
        **_WORKERS,
        "spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false",
        "spark.driver.memory": f"{_driver_gibibytes()}g",
    }


def _driver_gibibytes() -> int:
    """A quarter of the machine, from 1 to 8 GiB: in local mode the driver is the whole of Spark."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1
    return max(1, min(8, whole // 4 // 2**30))


def _environment_values(java_home: str, *, near: bool) -> dict[str, str | None]:
    values: dict[str, str | None] = {
        "JAVA_HOME": java_home,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        **SAFE_PATH,
        # Either would turn a session of our own into a client of another server.
        "SPARK_REMOTE": None,
        "SPARK_CONNECT_MODE_ENABLED": None,
    }
    if near:
        values["SPARK_LOCAL_IP"] = "127.0.0.1"
    return values


def _await_executor(session: SparkSession, master: str) -> None:
    """Waits for an executor: a standalone master without free workers would let the first job wait forever."""
    deadline = time.monotonic() + EXECUTOR_SECONDS
    context = session.sparkContext._jsc.sc()
    while context.getExecutorMemoryStatus().size() < 2:  # the driver itself is one
        if time.monotonic() > deadline:
            raise UnreachableError(
                f"the Spark master {master} gave no executor within {EXECUTOR_SECONDS:.0f} s",
                "it has no worker, or none with free cores and memory",
                "start a worker, or ask for less: --spark-conf spark.executor.memory=512m",
            )
        time.sleep(0.2)


@contextmanager
def _connect_session(remote: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    host, port = _connect_address(remote)
    if find_spec("grpc") is None:
        raise MissingExtraError(
            "--remote needs the client of Spark Connect", "grpcio is not installed", line_that_adds("spark")
        )
    _reach(host, port, what=f"the Spark Connect server {remote}")
    from pyspark.sql import SparkSession

    with environment({"SPARK_REMOTE": None, "SPARK_LOCAL_REMOTE": None}):
        session = SparkSession.builder.remote(remote).getOrCreate()
    try:
        with explained(settings):
            for name, value in {**_ALWAYS, **settings}.items():
                _set(session, name, value)
            yield session
    finally:
        session.stop()


def _set(session: SparkSession, name: str, value: str) -> None:
    from pyspark.errors import AnalysisException

    try:
        session.conf.set(name, value)
    except AnalysisException as error:
        reason = str(error).strip().splitlines()[0]
        raise UsageError(
            f"the Spark Connect server does not take {name}", reason, "set it where it is started"
        ) from None


def _connect_address(remote: str) -> tuple[str, int]:
    address = urlsplit(remote)
    try:
        host, port = address.hostname, address.port or CONNECT_PORT
    except ValueError:
        host, port = None, 0
    if address.scheme != "sc" or not host:
        raise UsageError(f"{remote} is no address of a Spark Connect server", fix="--remote sc://HOST:15002")
    return host, port


def _standalone_host(master: str) -> tuple[str, int] | None:
    """Host and port of a standalone master, None for a local one."""
    if master == "local" or (master.startswith("local[") and master.endswith("]")):
        return None
    address = urlsplit(master.split(",", 1)[0])
    try:
        host, port = address.hostname, address.port or 7077
    except ValueError:
        host, port = None, 0
    if address.scheme != "spark" or not host:
        raise UsageError(f"{master} is no Spark master kreplica can use", fix="--master local[*] or spark://HOST:7077")
    return host, port


def _reach(host: str, port: int, what: str) -> None:
    """Checks that the address accepts connections: Spark's own clients would retry for minutes."""
    try:
        socket.create_connection((host, port), timeout=REACH_SECONDS).close()
    except OSError as error:
        raise UnreachableError(f"{what} does not answer", error.strerror or str(error), "is it started?") from error
