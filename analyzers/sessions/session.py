"""One quiet Spark session: in this process by default, on a standalone master, through Spark Connect, or in the JVM of
spark-submit, whose master and settings then hold.

Nothing of PySpark is imported before a session is asked for, so that a missing extra is one clear line.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from analyzers.sessions.class_path import class_path
from analyzers.sessions.executors import ExecutorWatch, await_executor
from analyzers.sessions.failures import SparkDefectError, cause_of, explained, refused_setting, words_of
from analyzers.sessions.jvm import LOGGING, Jvm, SubmittersJvm, no_remarks, submitters_memory
from analyzers.sessions.unextended import begin_unextended
from kreplica.errors import AuthenticationError, KreplicaError, MissingExtraError, UnreachableError, UsageError
from kreplica.system.environment import SAFE_PATH, environment, restored
from kreplica.system.packages import line_that_adds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import SparkSession as SparkSession  # noqa: PLC0414  # commands name it, but not PySpark


LOCAL_MASTER = "local[*]"
_STANDALONE = "spark://"
CONNECT_PORT = 15002
"""Default port of a Spark Connect server."""
_VERBOSITY = "GRPC_VERBOSITY"
"""gRPC prints a line for each connection that fails, unless it is told not to."""
_NOT_LET_IN = ("StatusCode.UNAUTHENTICATED", "StatusCode.PERMISSION_DENIED")
REACH_SECONDS = 10.0
CONNECT_RETRIES, CONNECT_PAUSE_MS = 7, 3000
SMALL_FLEET = 4_000_000
FEW_ROWS = 10_000
"""Up to so many rows Spark takes longer to write and compile code for a plan than to go through it step by step."""
ROWS_A_PIECE = 200_000
FEWEST_PIECES, MOST_PIECES = 2, 400
"""Numbers of partitions of a shuffle; Spark coalesces small ones."""
KEPT_ROW_BYTES = 256
"""Memory of a row that is kept as it is."""
KEPT_SHARE = 3
"""A third of the memory may be full of kept rows; Spark has six tenths of it for these and for what it works on."""

_DRIVER_MEMORY = "spark.driver.memory"
_HEAP = re.compile(r"(\d+)([kmgt]?)", re.IGNORECASE)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
"""Java's units of memory (``-Xmx``), to which Spark hands this setting as it is."""
_LARGEST_METHOD = "spark.sql.codegen.hugeMethodLimit"
_PAGE = "spark.buffer.pageSize"

_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Java compiles no method above 8000 bytes unless told to; above that Spark is to cut its generated code up.
    _LARGEST_METHOD: "8000",
    # The files are named one by one; to list thousands of them in a Spark job takes ten times as long as to do it here.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    # Snapshots are small files: counted as 4 MiB each, which is Spark's guess, a task would get thirty of them.
    "spark.sql.files.openCostInBytes": "262144",
}
"""Set on any session, a Connect server's too."""

_ONE_PLAN = {"spark.sql.adaptive.enabled": "false"}
_NEVER_FAILING = {"spark.sql.ansi.enabled": "false"}
"""Of sums that cannot overflow. In ANSI mode each addition makes an object first, which would tell where it fails."""
_STEP_BY_STEP = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.driver.maxResultSize": "0",
    # Otherwise PySpark asks Java four things, and looks for IPython, at each function of a column: where it was called.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_WORKERS = {f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()}
"""Python workers of a standalone master inherit nothing of this process."""
_ANY_METHOD = "-XX:-DontCompileHugeMethods"
_CHEAP_JVM = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:InitialRAMPercentage=5 -XX:MetaspaceSize=256m"
    f" -XX:ReservedCodeCacheSize=240m {_ANY_METHOD}"
)
"""A JVM that runs for seconds spends most of them on optimizing its code and on threads that collect garbage. One that
does not optimize has room for 48 MB of code, which a session of several audits fills; and it compiles a large method as
fast as several small ones, so that a row goes through a stage at once and is not copied at each of its steps. Its
23,000 classes take more than the 21 MB from which on it would collect all garbage each time that these have grown. A
heap that begins with a twentieth of the machine, not with a sixty-fourth, is collected a third as often."""
_DRIVER_OPTIONS, _EXECUTOR_OPTIONS = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
_LOGGERS = ("py4j", "DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.client.logging")
"""Loggers that print messages which also arrive as exceptions."""

_LEFT = (
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_CONNECT_AUTHENTICATE_TOKEN",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
)
"""Environment variables that PySpark sets, and leaves."""
_OURS: Mapping[str, str | None] = {"SPARK_REMOTE": None, "SPARK_CONNECT_MODE_ENABLED": None}
"""Either would turn a session of our own into a client of another server, and its columns into that server's."""

_kept: WeakKeyDictionary[SparkSession, list[Callable[[], object]]] = WeakKeyDictionary()
"""Functions that let go of the rows that are kept, by session."""


def kept(frame: DataFrame) -> DataFrame:
    """The rows, computed once and kept by Spark until their session ends: a server outlives it.

    Of up to ``planned_once`` rows Spark forgets how they came about: to plan what is asked of them takes half as long
    without. On other machines it has to know, since a lost executor takes its rows along.
    """
    session = frame.sparkSession
    if _is_local(session) and _plans_once(session):
        rows: Any = frame.localCheckpoint(eager=False)
        _kept.setdefault(session, []).append(lambda: rows._jdf.queryExecution().logical().rdd().unpersist(False))
        return cast("DataFrame", rows)
    frame.persist()
    _kept.setdefault(session, []).append(frame.unpersist)
    return frame


def _plans_once(session: SparkSession) -> bool:
    return all(session.conf.get(name) == value for name, value in _ONE_PLAN.items())


def _is_local(session: SparkSession) -> bool:
    """True if the one JVM of the session is its own."""
    connected = type(session).__module__.startswith("pyspark.sql.connect")
    return not connected and str(session.sparkContext.master).startswith("local")


def _let_go(session: SparkSession) -> None:
    with contextlib.suppress(Exception):  # of a session that is gone nothing is kept either
        for let_go in reversed(_kept.pop(session, [])):
            let_go()


@contextmanager
def spark_session(
    master: str | None = None,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    draft: Path | None = None,
) -> Iterator[SparkSession]:
    """Starts Spark, and stops it however the block ends. The environment of this process is then as it was.

    Args:
        master: ``local[*]``, ``local[4]`` or the ``spark://HOST:PORT`` of a standalone master. If None, that of
            spark-submit where it started this process, otherwise ``local[*]``.
        remote: ``sc://HOST:PORT`` of a Spark Connect server, instead of a master; needs no Java here.
        settings: Further Spark settings; they win over kreplica's own, and those of spark-submit over both.
        draft: Where its JVM is to leave an archive of Spark's classes, if the block ends well.

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
    with restored(_LEFT):
        if remote is not None:
            with _connect_session(remote, settings or {}) as session:
                yield session
        else:
            with environment(_OURS), _classic_session(master, settings or {}, draft) as session:
                yield session


def settings_for(
    partitions: int,
    remote: str | None = None,
    *,
    conditions: bool = True,
    asked: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Settings for that many partition rows: a small job spends its time on starting tasks, not on rows.

    Args:
        partitions: Rows of all snapshots together.
        remote: A Connect server, whose JVMs run already.
        conditions: Whether rules of the user are judged by, whose conditions are to fail where they cannot be computed.
        asked: Settings of the user, which win.
    """
    pieces = max(FEWEST_PIECES, min(MOST_PIECES, partitions // ROWS_A_PIECE))
    settings = {"spark.sql.shuffle.partitions": str(pieces)}
    if not conditions:
        settings |= _NEVER_FAILING
    if partitions <= planned_once(asked):
        settings |= _ONE_PLAN
    if partitions <= FEW_ROWS:
        settings |= _STEP_BY_STEP
    if partitions <= SMALL_FLEET and remote is None:
        settings |= {_DRIVER_OPTIONS: _CHEAP_JVM, _EXECUTOR_OPTIONS: _CHEAP_JVM}
    return {**settings, **(asked or {})}


def planned_once(asked: Mapping[str, str] | None = None) -> int:
    """Most rows for which Spark plans a job once, not again after each stage, and keeps rows as they are.

    Kept rows are coded by column otherwise, and decoded whenever they are asked for: 8 us of a processor for each, half
    as much again as all its tasks take. So only rows for which there is no memory are.

    Args:
        asked: Settings of the user, of which one may say how much memory there is.
    """
    return _driver_bytes(asked or {}) // KEPT_SHARE // KEPT_ROW_BYTES


def require_pyspark() -> None:
    """Raises MissingExtraError, with the line that installs it, unless PySpark is there."""
    if find_spec("pyspark") is None:
        raise MissingExtraError(
            "kreplica audit needs Apache Spark", "the package pyspark is not installed", line_that_adds("spark")
        )


@contextmanager
def _classic_session(master: str | None, settings: Mapping[str, str], draft: Path | None) -> Iterator[SparkSession]:
    jvm = SubmittersJvm.found() or Jvm(draft)
    place = _agreed(master, jvm.settings.get("spark.master")) or LOCAL_MASTER
    starting: Mapping[str, str | None] = {} if isinstance(jvm, SubmittersJvm) else _prepared(place)
    _refuse_second(f"cannot start Spark on {place}")
    options = jvm.options(settings.get(_DRIVER_OPTIONS, ""))  # of the user's Java, not of the one that drops a flag
    try:
        with environment(starting):
            own = {} if isinstance(jvm, SubmittersJvm) else _settings_of_own_jvm(settings)
            values = {**_classic_settings(), **_ALWAYS, **own, **settings}
            values[_DRIVER_OPTIONS] = f"{options} {settings.get(_DRIVER_OPTIONS, '')}".strip()
            session = _start(jvm, place, values, settings)
        try:
            watch = ExecutorWatch(session)
            with explained(settings, lambda: watch.lost() or jvm.lost()):
                _check_settings(session, settings)
                with _with_executors(watch, session, place):
                    yield session
            jvm.leave_in_peace()
        finally:
            # What is kept goes with the context. Let go of right before, it would be on its way when Spark's threads
            # end, which print that as stack traces.
            _kept.pop(session, None)
            with contextlib.suppress(Exception), no_remarks():  # interrupted, it may not answer
                session.stop()
    finally:
        jvm.end()


def _refuse_second(what: str) -> None:
    """Refuses to begin beside a session of this process, which PySpark would hand out in place of a new one.

    It would have other settings, or be on another server, and would be stopped in the end although it is the caller's.

    Raises:
        UsageError: There is one.
    """
    from pyspark import SparkContext

    connected = sys.modules.get("pyspark.sql.connect.session")
    if SparkContext._active_spark_context is None and (
        connected is None or connected.SparkSession._get_default_session() is None
    ):
        return
    why = "this process has a Spark session already, and PySpark has one at a time"
    raise UsageError(what, why, "stop that one first, spark.stop(), or use another process")


def _agreed(master: str | None, submitted: str | None) -> str | None:
    """The master that spark-submit was given wins over none, and is not silently taken in place of another."""
    if master is not None and submitted is not None and master != submitted:
        why = f"spark-submit runs it on {submitted}"
        raise UsageError(f"--master {master} comes too late", why, "leave it out, or give it to spark-submit")
    return submitted or master


def _prepared(master: str) -> dict[str, str | None]:
    """Checks that the master is there; the environment that its JVM starts with."""
    from kreplica.system.java import java_home_for_spark

    standalone = _standalone_host(master)
    if standalone is not None:
        _reach(*standalone, what=f"the Spark master {master}")
    values: dict[str, str | None] = {
        "JAVA_HOME": str(java_home_for_spark(quiet=True)),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        **SAFE_PATH,
    }
    if standalone is None or standalone[0] in ("127.0.0.1", "localhost", "::1"):
        values["SPARK_LOCAL_IP"] = "127.0.0.1"
    return values


def _start(jvm: Jvm, master: str, values: dict[str, str], asked: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    values[_DRIVER_OPTIONS] = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} {values[_DRIVER_OPTIONS]}".strip()
    wanted = {"spark.app.name": "kreplica audit", **values}
    options = {"spark.master": master, **{name: one for name, one in wanted.items() if name not in jvm.settings}}
    builder: Any = SparkSession.builder
    try:
        with jvm.starting():
            if not isinstance(jvm, SubmittersJvm) and SparkContext._active_spark_context is None:
                begin_unextended(SparkContext(conf=SparkConf().setAll(list(options.items()))))
            session: SparkSession = builder.config(map=options).getOrCreate()
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise _start_failure(master, words_of(error), asked, jvm.lost()) from None
    return session


def _start_failure(master: str, words: str, asked: Mapping[str, str], lost: str) -> KreplicaError:
    if refused := refused_setting(words, asked):
        return refused
    what = f"cannot start Spark on {master}"
    if "ended by SIG" in lost:
        return UnreachableError(what, lost, "is there memory for it? --spark-conf spark.driver.memory=1g")
    return UsageError(what, lost or cause_of(words), "look at the master's address and the Spark settings")


def _check_settings(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Has Spark validate the settings of its SQL engine now, not at the first query that uses one of them."""
    from pyspark.errors import AnalysisException

    for name, value in settings.items():
        if name.startswith("spark.sql."):
            with contextlib.suppress(AnalysisException):  # a setting that can no longer change was validated before
                session.conf.set(name, value)


@contextmanager
def _with_executors(watch: ExecutorWatch, session: SparkSession, master: str) -> Iterator[None]:
    if not master.startswith(_STANDALONE):
        yield
        return
    await_executor(session, master)
    with watch.looking():
        yield


def _classic_settings() -> dict[str, str]:
    return {
        **_QUIET,
        **_WORKERS,
        "spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false",
        _DRIVER_MEMORY: f"{_driver_gibibytes()}g",
    }


def _settings_of_own_jvm(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that only a JVM that starts now can be given."""
    own = {"spark.driver.extraClassPath": class_path()}
    if all(_ANY_METHOD in settings.get(name, "") for name in (_DRIVER_OPTIONS, _EXECUTOR_OPTIONS)):
        # Each sort and each sum of a task clears a page first, of up to 64 MB where Spark is not told otherwise.
        own |= {_LARGEST_METHOD: "65535", _PAGE: "4m"}
    return {name: value for name, value in own.items() if value}


def _driver_bytes(asked: Mapping[str, str]) -> int:
    """Memory of the driver: that of spark-submit's, which runs already, that which the user asks for, or ours."""
    if submitted := submitters_memory():
        return submitted
    found = _HEAP.fullmatch(asked.get(_DRIVER_MEMORY, "").strip())
    if found is None:  # none, or one that Java refuses
        return _driver_gibibytes() << 30
    return int(found[1]) << _SHIFTS[found[2].lower()]


def _driver_gibibytes() -> int:
    """A quarter of the machine, from 1 to 8 GiB: in local mode the driver is the whole of Spark."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1
    return max(1, min(8, whole // 4 // 2**30))


@contextmanager
def _connect_session(remote: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    host, port = _connect_address(remote)
    if find_spec("grpc") is None:
        raise MissingExtraError(
            "--remote needs the client of Spark Connect", "grpcio is not installed", line_that_adds("spark")
        )
    place = shown_address(remote)
    _reach(host, port, what=f"the Spark Connect server {place}")
    _refuse_second(f"cannot begin a session on {place}")
    from pyspark.sql import SparkSession

    quiet = os.environ.get(_VERBOSITY, "NONE")
    with environment({"SPARK_REMOTE": None, "SPARK_LOCAL_REMOTE": None, _VERBOSITY: quiet}):
        session: Any = SparkSession.builder.remote(remote).getOrCreate()
    session.client.set_retry_policies([_patience()])
    session.release_session_on_close = False
    try:
        with _no_word_of_retries():
            _greet(session, place)
            session.release_session_on_close = True
            with explained(settings):
                for name, value in {**_ALWAYS, **settings}.items():
                    _set(session, name, value)
                yield session
    except BaseException:
        session.client.set_retry_policies([])  # it has been waited for, or the user waits no longer
        raise
    finally:
        with _no_word_of_retries():
            _let_go(session)
            session.stop()


@contextmanager
def _no_word_of_retries() -> Iterator[None]:
    """Silences PySpark's warning that it tries no more: the error says what became of it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]", category=UserWarning)
        yield


def _patience() -> Any:
    """Tries again for a quarter of a minute; PySpark would for ten minutes, without a word."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    return DefaultPolicy(max_retries=CONNECT_RETRIES, max_backoff=CONNECT_PAUSE_MS)


def _greet(session: SparkSession, place: str) -> None:
    """Has the server show that it is one. Who accepts and says nothing has 20 s from gRPC, then those of the retries.

    A server that is busy is not hurried: gRPC counts the beginning of its connection, and a request has ten minutes.
    """
    try:
        with explained():
            session.conf.get(_LARGEST_METHOD)
    except UnreachableError as error:
        raise _no_server(place, error.why) from None
    except SparkDefectError as error:
        words = str(error)
        if any(word in words for word in _NOT_LET_IN):
            fix = "name the token that it takes: sc://HOST:15002/;token=TOKEN"
            raise AuthenticationError(f"{place} does not let you in", cause_of(words), fix) from None
        raise _no_server(place, cause_of(words)) from None


def _no_server(place: str, reason: str) -> UnreachableError:
    what = f"{place} does not answer as a Spark Connect server"
    if "Tls handshake failed" in reason:
        return UnreachableError(what, reason, "does it speak TLS? a token, or use_ssl=true, asks for that")
    return UnreachableError(what, reason, "look at the port, 15002 unless it was set otherwise")


def _set(session: SparkSession, name: str, value: str) -> None:
    from pyspark.errors import AnalysisException

    try:
        session.conf.set(name, value)
    except AnalysisException as error:
        reason = str(error).strip().splitlines()[0]
        raise UsageError(
            f"the Spark Connect server does not take {name}", reason, "set it where it is started"
        ) from None


def shown_address(remote: str) -> str:
    """The address of a server as it may be shown: a token may follow."""
    return remote.partition(";")[0].rstrip("/")


def _connect_address(remote: str) -> tuple[str, int]:
    address = urlsplit(remote)
    try:
        host, port = address.hostname, address.port or CONNECT_PORT
    except ValueError:
        host, port = None, 0
    if address.scheme != "sc" or not host:
        raise UsageError(
            f"{shown_address(remote)} is no address of a Spark Connect server", fix="--remote sc://HOST:15002"
        )
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
