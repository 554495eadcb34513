"""Places where Spark may run, and the error when it cannot. No Spark is started."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

from analyzers.sessions import jvm, session, spark_classes
from analyzers.sessions.class_path import FIRST_JARS, class_path
from analyzers.sessions.failures import SparkDefectError, _explanation, _failure, explained
from analyzers.sessions.jvm import Jvm, _end, _Submitted
from analyzers.sessions.session import require_pyspark, settings_for, spark_session
from kreplica.errors import InputError, MissingExtraError, UnreachableError, UsageError


def test_a_file_that_is_here_and_not_where_spark_runs_is_told_from_one_that_was_removed(tmp_path: Path) -> None:
    (tmp_path / "here.parquet").touch()
    for name, kind in (("here.parquet", UsageError), ("gone.parquet", InputError)):
        text = f"[FAILED_READ_FILE.FILE_NOT_EXIST] File file:{tmp_path}/{name} does not exist."
        found = _explanation(f"Error while reading file file:{tmp_path}/{name}. {text}")
        assert type(found) is kind
    assert "TMPDIR" in str(_explanation(f"File file:{tmp_path}/here.parquet does not exist"))
    assert isinstance(_explanation(f"reading file file:{tmp_path}/here.parquet: it is cut off"), InputError)


def test_a_missing_package_is_one_line_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError) as raised:
        require_pyspark()
    assert raised.value.fix == "pip install 'kreplica[spark]'"
    with pytest.raises(MissingExtraError), spark_session():
        pass


@pytest.mark.parametrize(
    "arguments",
    [
        {"master": "yarn"},
        {"master": "spark://"},
        {"master": "local[*"},
        {"master": "spark://host:port"},
        {"remote": "http://host:15002"},
        {"remote": "sc://"},
        {"remote": "sc://host:99999999"},
    ],
)
def test_an_address_of_another_kind_is_refused(arguments: dict[str, str]) -> None:
    with (
        pytest.raises(UsageError, match=r"is no (Spark master|address of a Spark Connect)"),
        spark_session(**arguments),
    ):
        pass


@pytest.mark.parametrize("option", ["master", "remote"])
def test_nobody_there_is_said_at_once(option: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"{'spark' if option == 'master' else 'sc'}://127.0.0.1:{port}"
    with pytest.raises(UnreachableError, match="does not answer"), spark_session(**{option: address}):
        pass


ASKS = """
import os
import sys
from analyzers.sessions import session
from kreplica.errors import KreplicaError

def ask(**where):
    try:
        with session.spark_session(**where):
            pass
    except KreplicaError as error:
        print(f"{type(error).__name__}: {error}")

session.CONNECT_RETRIES = 0
ask(remote=sys.argv[1])
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import SparkConnectClient
SparkConnectClient.release_session = lambda _: print("released")
for address in sys.argv[2:]:
    ask(remote=address)
own = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
ask(remote=sys.argv[2])
ask(master="local[1]")
print("running" if not own.is_stopped else "stopped", flush=True)
os._exit(0)  # its client asks the server for ten minutes what it may let go of
"""


@pytest.mark.one_python
def test_servers_of_another_kind_are_named_and_a_second_session_is_refused() -> None:
    """In a process of its own: where a session of a JVM runs PySpark makes no client of a Connect server."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        _grpc_server("UNIMPLEMENTED") as strange,
        _grpc_server("UNAUTHENTICATED") as closed,
    ):
        answering = threading.Thread(target=_answer_in_http, args=(server,), daemon=True)
        answering.start()
        ports = (server.getsockname()[1], strange, closed)
        addresses = [f"sc://127.0.0.1:{port}" for port in ports]
        command = [sys.executable, "-c", ASKS, *addresses, f"{addresses[1]}/;token=verysecret"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    http, grpc, refused, tls, second, local, own = ended.stdout.splitlines()
    web, other, kept = addresses
    assert http.startswith(f"UnreachableError: {web} does not answer as a Spark Connect server; ")
    assert "HTTP" in http
    assert grpc.startswith(f"UnreachableError: {other} does not answer as a Spark Connect server; it says so; look at ")
    assert refused.startswith(f"AuthenticationError: {kept} does not let you in; it says so; name the token")
    assert tls.startswith(f"UnreachableError: {other} does not answer as a Spark Connect server; ")
    assert tls.endswith("; does it speak TLS? a token, or use_ssl=true, asks for that")
    reason = "this process has a Spark session already, and PySpark has one at a time; stop that one first, "
    assert second.startswith(f"UsageError: cannot begin a session on {other}; {reason}")
    assert local.startswith(f"UsageError: cannot start Spark on local[1]; {reason}")
    assert (own, ended.stderr) == ("running", "")


@contextmanager
def _grpc_server(code: str) -> Iterator[int]:
    """The port of a server that refuses every call by a status."""
    import grpc

    class Refusing(grpc.ServerInterceptor):  # type: ignore[misc, unused-ignore]
        def intercept_service(self, *_: object) -> object:
            def refuse(_: object, context: Any) -> None:
                context.abort(grpc.StatusCode[code], "it says so")

            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(ThreadPoolExecutor(2), interceptors=(Refusing(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


def _answer_in_http(server: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the server is closed
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def test_settings_grow_with_the_fleet() -> None:
    assert settings_for(1000)["spark.sql.shuffle.partitions"] == "2"
    assert settings_for(10_000_000)["spark.sql.shuffle.partitions"] == "50"
    assert settings_for(10**12)["spark.sql.shuffle.partitions"] == "400"
    assert "spark.driver.extraJavaOptions" in settings_for(1000)
    assert "spark.driver.extraJavaOptions" in settings_for(2_000_000)
    assert "spark.driver.extraJavaOptions" not in settings_for(10_000_000)
    assert "spark.executor.extraJavaOptions" in settings_for(1000)
    assert "spark.driver.extraJavaOptions" not in settings_for(1000, remote="sc://127.0.0.1")


@pytest.mark.parametrize("remote", [None, "sc://127.0.0.1"])
@pytest.mark.parametrize(("gibibytes", "most"), [(1, 1_398_101), (5, 6_990_506), (8, 11_184_810)])
def test_a_job_is_planned_again_after_each_stage_where_there_is_no_memory_for_its_rows(
    remote: str | None, gibibytes: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_driver_gibibytes", lambda: gibibytes)
    name = "spark.sql.adaptive.enabled"
    assert settings_for(most, remote)[name] == "false"
    assert name not in settings_for(most + 1, remote)


@pytest.mark.parametrize(
    ("asked", "most"), [("700m", 955_733), ("2G", 2_796_202), ("48g", 67_108_864), ("x", 6_990_506)]
)
def test_rows_are_kept_as_they_are_by_the_memory_that_was_asked_for(
    asked: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third of it by 256 bytes; what Java refuses is as if nothing was asked for."""
    monkeypatch.setattr(session, "_driver_gibibytes", lambda: 5)
    name, memory = "spark.sql.adaptive.enabled", {"spark.driver.memory": asked}
    assert settings_for(most, asked=memory) == {**settings_for(most), **memory, name: "false"}
    assert name not in settings_for(most + 1, asked=memory)
    assert settings_for(1, asked={name: "true"})[name] == "true"


def test_no_code_is_compiled_for_few_rows() -> None:
    name = "spark.sql.codegen.wholeStage"
    assert settings_for(session.FEW_ROWS)[name] == "false"
    assert name not in settings_for(session.FEW_ROWS + 1)


def test_what_cannot_be_computed_fails_where_conditions_of_the_user_are_judged() -> None:
    name = "spark.sql.ansi.enabled"
    assert session._ALWAYS[name] == "true"
    assert name not in settings_for(1000)
    assert settings_for(1000, conditions=False)[name] == "false"


def test_generated_code_is_not_cut_up_where_java_compiles_methods_of_any_size() -> None:
    name = "spark.sql.codegen.hugeMethodLimit"
    assert int(session._settings_of_own_jvm(settings_for(1000))[name]) > int(session._ALWAYS[name])
    own_options = {**settings_for(1000), "spark.driver.extraJavaOptions": "-Xss8m"}
    assert name not in session._settings_of_own_jvm(own_options)
    assert name not in session._settings_of_own_jvm(settings_for(10_000_000))


def test_small_pages_are_cleared_for_small_fleets_alone() -> None:
    name = "spark.buffer.pageSize"
    assert session._settings_of_own_jvm(settings_for(session.SMALL_FLEET))[name] == "4m"
    assert name not in session._settings_of_own_jvm(settings_for(session.SMALL_FLEET + 1))


def test_jars_of_most_classes_are_looked_through_first(tmp_path: Path) -> None:
    names = (
        "aircompressor-2.0.jar",
        "spark-core_2.13-4.3.0.jar",
        "scala-library-2.13.18.jar",
        "spark-sql_2.13-4.3.0.jar",
    )
    for name in (*names, "spark-sql-api_2.13-4.0.0-preview1.jar"):
        (tmp_path / name).touch()
    found = [Path(one).name for one in class_path(tmp_path).split(os.pathsep)]
    assert found == [names[2], names[1], names[3], "spark-sql-api_2.13-4.0.0-preview1.jar"]
    assert class_path(tmp_path / "nowhere") == ""
    other = tmp_path / f"a{os.pathsep}b"
    other.mkdir()
    (other / names[1]).touch()
    assert class_path(other) == ""


def test_the_spark_that_is_installed_has_those_jars() -> None:
    found = class_path().split(os.pathsep)
    assert len(found) == len(FIRST_JARS)
    assert all(Path(one).is_file() for one in found)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "[FAILED_READ_FILE] Encountered error while reading file file:///data/a%20b.parquet. SQLSTATE: KD001",
            InputError,
            "cannot read /data/a b.parquet",
        ),
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space", UsageError, "Spark ran out of memory"),
        (
            "Job aborted due to stage failure\n\tat X\nCaused by: java.io.IOException: No space left on device\n\tat Y",
            UsageError,
            "the disk that Spark works on is full; No space left on device; make room",
        ),
        ("Master removed our application: FAILED", UnreachableError, "Spark went away"),
        (
            (
                "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n"
                '\tdetails = "Connection reset by peer"\n\tdebug_error_string = "x"\n>'
            ),
            UnreachableError,
            "Spark went away before the work was done; Connection reset by peer; try again",
        ),
        ("Job 3 cancelled because SparkContext was shut down", UnreachableError, "Spark went away"),
        ("ExecutorLostFailure Reason: Command exited with code 52", UsageError, "Spark ran out of memory"),
        (
            "Total size of serialized results of 2 tasks (2.0 KiB) is bigger than spark.driver.maxResultSize (1.0 KiB)",
            UsageError,
            "more than Spark hands out at once; Total size",
        ),
    ],
)
def test_failures_of_spark_are_explained(text: str, kind: type[Exception], said: str) -> None:
    found = _failure(text, {}, "")
    assert isinstance(found, kind)
    assert said in str(found)


def test_other_failures_of_spark_are_defects() -> None:
    assert _explanation("[UNRESOLVED_COLUMN] no such column") is None


def raised_by(error: Exception, asked: dict[str, str], lost: str = "") -> Exception:
    try:
        with explained(asked, lambda: lost):
            raise error
    except Exception as found:
        return found


class GoneError(Py4JError):
    """As Py4JJavaError: its words come from the JVM."""

    def __str__(self) -> str:
        raise ConnectionRefusedError


def test_a_setting_that_spark_names_is_the_users_to_mend() -> None:
    error = Py4JError("o1.count\n: java.lang.NumberFormatException: spark.a.b should be int, but was x")
    found = raised_by(error, {"spark.a": "1", "spark.a.b": "x"})
    assert (
        str(found)
        == "Spark does not take --spark-conf spark.a.b; spark.a.b should be int, but was x; leave it out, or mend it"
    )


@pytest.mark.parametrize("error", [GoneError, ConnectionResetError, EOFError, ValueError])
def test_a_lost_jvm_is_told_whatever_broke(error: type[Exception]) -> None:
    found = raised_by(error(), {}, "its JVM was ended by SIGKILL")
    assert isinstance(found, UnreachableError)
    assert found.why == "its JVM was ended by SIGKILL"


def test_a_failure_that_nobody_explains_keeps_its_words_without_the_jvm() -> None:
    found = raised_by(Py4JError("[SOMETHING] is wrong"), {})
    assert (type(found), str(found)) == (SparkDefectError, "[SOMETHING] is wrong")
    assert type(raised_by(GoneError(), {})) is SparkDefectError


@pytest.mark.parametrize("error", [UsageError("told"), KeyError("a defect of ours")])
def test_other_errors_pass(error: Exception) -> None:
    assert raised_by(error, {}) is error


def test_a_jvm_that_ends_well_or_hangs_has_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = _Submitted(["true"])
    ended.wait(10)
    assert ended.poll() == 1
    monkeypatch.setattr(jvm, "START_SECONDS", 0.0)
    hanging = _Submitted(["sleep", "60"])
    time.sleep(0.01)
    assert hanging.poll() is None
    assert hanging.wait(10) == -signal.SIGKILL


def test_a_jvm_that_leaves_an_archive_prints_nothing_about_it(tmp_path: Path) -> None:
    options = Jvm(tmp_path / 'a "b" c.jsa').options("-Xss8m")
    assert shlex.split(options) == [f'-XX:ArchiveClassesAtExit={tmp_path}/a "b" c.jsa', "-Xlog:disable"]


@pytest.mark.parametrize("asked", ["-XX:SharedArchiveFile=/mine.jsa", "-Xshare:off", "-XX:ArchiveClassesAtExit=/a.jsa"])
def test_who_sees_to_archives_himself_is_given_none(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_classes, "archive_options", lambda *_: ["-XX:SharedArchiveFile=/ours.jsa"])
    assert Jvm().options("-Xss8m").startswith("-XX:SharedArchiveFile=/ours.jsa -Xlog:")
    assert Jvm().options(asked) == ""


def test_a_jvm_has_the_time_it_is_given_and_no_more() -> None:
    """It ends when its standard input does; the second goes on, and is ended."""
    program = "import sys, time; sys.stdin.read(); time.sleep(float(sys.argv[1]))"
    for sleeps, seconds, code in (("0.5", 60.0, 0), ("60", 0.5, -signal.SIGTERM), ("60", 0.0, -signal.SIGTERM)):
        with subprocess.Popen([sys.executable, "-c", program, sleeps], stdin=subprocess.PIPE) as process:
            _end(process, seconds)
            assert process.returncode == code


def test_a_jvm_does_not_outlive_a_second_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.PIPE) as process:

        def interrupted(timeout: float | None = None) -> int:
            raise KeyboardInterrupt(timeout)

        with monkeypatch.context() as patched:
            patched.setattr(process, "wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                _end(process, 60.0)
        assert process.wait(timeout=60) == -signal.SIGKILL
