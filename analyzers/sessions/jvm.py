"""The JVM of a Spark session: one that kreplica starts, whose process is known from the beginning and always ended, or
that of spark-submit, which started this process.

PySpark starts the first inside a function that can be interrupted, and would then lose its process; and it installs a
handler of Ctrl-C that calls the JVM in the middle of another call. Both are prevented while it starts.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from analyzers.sessions.spark_classes import beginning_with_archive, leaving_archive

START_SECONDS = 180.0
"""Longest time for the JVM to report its port: it may take minutes on a busy machine, but not forever."""

LEAVE_SECONDS = 10.0
"""Longest time for the JVM to end after each of the three ways to end it."""

ARCHIVE_SECONDS = 600.0
"""Longest time for the JVM to leave an archive of its classes: half a minute of a processor, which may be busy."""

NOTICE_SECONDS = 1.0
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
LOGGING = Path(__file__).with_name("log4j2.properties")
"""Configuration of a JVM's log, of which nothing is left but what ends the JVM."""
_LOG_LEVEL = "spark.log.level"
_LOG_CONFIGURATIONS = ("log4j2.configurationFile", "log4j.configurationFile")
_EXIT_CODES = {
    0: " without starting: an option such as -version has it do something else",
    52: ": out of memory",
    53: ": no folder for its work can be made below spark.local.dir",
    55: ": the disk of spark.local.dir does not take what it writes",
}
"""Exit codes with which Spark itself ends its JVM (SparkExitCode, ExecutorExitCode), in words."""


class Jvm:
    """One JVM; ``end`` it however the session went.

    Args:
        draft: Where it is to leave an archive of the classes that it loaded; None to begin with one where there is one.
    """

    settings: Mapping[str, str] = {}
    """Spark's settings that were made before, and hold."""

    def __init__(self, draft: Path | None = None) -> None:
        self._draft = draft
        self._leave_seconds = LEAVE_SECONDS
        self._process: _Submitted | None = None

    def options(self, asked: str) -> str:
        """Options of its own, about an archive of classes; empty where there is nothing to say.

        Args:
            asked: Options that it gets besides.
        """
        return beginning_with_archive(asked) if self._draft is None else leaving_archive(self._draft)

    def leave_in_peace(self) -> None:
        """Lets it take the time to leave its archive: nothing went wrong so far."""
        if self._draft is not None:
            self._leave_seconds = ARCHIVE_SECONDS

    def lost(self) -> str:
        """Tells in words how the JVM ended; empty while it runs, or if none was started."""
        process = self._process
        if process is None:
            return ""
        with contextlib.suppress(subprocess.TimeoutExpired):  # its connections break a moment before it is gone
            process.wait(timeout=NOTICE_SECONDS)
        code = process.returncode
        if code is None:
            return ""
        if code < 0:
            return f"its JVM was ended by {signal.Signals(-code).name}"
        return f"its JVM ended with exit code {code}" + _EXIT_CODES.get(code, "")

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Notes the process that PySpark starts, and leaves Ctrl-C a plain KeyboardInterrupt."""
        from pyspark import java_gateway
        from pyspark.core import context

        logging.getLogger().addFilter(_is_no_interrupt)
        with (
            _replaced(context, "signal", _NoSignals()),
            _replaced(java_gateway, "Popen", self._open),
            _on_interrupt(self._interrupt),
            no_remarks(),
        ):
            yield

    def _interrupt(self, *_: object) -> NoReturn:
        """Kills a JVM that has not reported its port yet, then interrupts: otherwise nobody could stop it."""
        from pyspark import SparkContext

        if self._process is not None and SparkContext._gateway is None:
            self._process.kill()
        raise KeyboardInterrupt

    def _open(self, *arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        self._process = _Submitted(*arguments, **options)
        return self._process

    def end(self) -> None:
        """Ends the JVM: it holds memory, and nothing may run on after an interrupt."""
        from pyspark import SparkContext

        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        process, self._process = self._process, None
        logging.getLogger().removeFilter(_is_no_interrupt)
        if gateway is not None:
            with contextlib.suppress(Exception):  # the process below is what counts
                gateway.shutdown()
        if process is not None:
            _end(process, self._leave_seconds if gateway is not None else 0.0)


def is_submitted() -> bool:
    """True if spark-submit started this process."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitters_memory() -> int | None:
    """Bytes that the heap of spark-submit's JVM may grow to; None if it did not start this process."""
    if not is_submitted():
        return None
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    gateway: Any = SparkContext._gateway
    return int(gateway.jvm.java.lang.Runtime.getRuntime().maxMemory())


class SubmittersJvm(Jvm):
    """The JVM of spark-submit: it runs already, and ends with this process.

    Args:
        gateway: Connection of PySpark to it.
    """

    def __init__(self, gateway: Any) -> None:
        super().__init__()
        from pyspark import SparkConf

        self._gateway = gateway
        self.settings = dict(SparkConf(_jvm=gateway.jvm).getAll())
        self._be_quiet()

    @classmethod
    def found(cls) -> SubmittersJvm | None:
        """The JVM that started this process; None if it was not spark-submit."""
        if not is_submitted():
            return None
        from pyspark import SparkContext

        SparkContext._ensure_initialized()
        return cls(SparkContext._gateway)

    def lost(self) -> str:
        """As Jvm.lost; how it ended its own parent knows."""
        try:
            self._gateway.jvm.System.currentTimeMillis()
        except Exception:
            return "the JVM of spark-submit has ended"
        return ""

    def end(self) -> None:
        """Nothing: the user's program may go on."""
        logging.getLogger().removeFilter(_is_no_interrupt)

    def options(self, asked: str) -> str:  # noqa: ARG002  # it has begun
        """None: it runs already."""
        return ""

    def _be_quiet(self) -> None:
        """Silences what Spark would print by itself; a log that the user set up stays as it is."""
        if _LOG_LEVEL in self.settings or any(map(self._gateway.jvm.System.getProperty, _LOG_CONFIGURATIONS)):
            return
        java = self._gateway.jvm
        with contextlib.suppress(Exception):  # otherwise Spark sets its log up anew with its first line, over ours
            getattr(getattr(java, "org.apache.spark.util.Utils$"), "MODULE$").initializeLogIfNecessary(False, True)
        java.org.apache.logging.log4j.core.config.Configurator.reconfigure(java.java.net.URI(LOGGING.as_uri()))


class _Submitted(subprocess.Popen[bytes]):
    """The process of the JVM. PySpark polls it while it starts, without ever giving up.

    One that ends well (``-version`` among its options) has not started either, and one that hangs is ended.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._starts_until = time.monotonic() + START_SECONDS
        super().__init__(*arguments, **options)

    def poll(self) -> int | None:
        code = super().poll()
        if code is None and time.monotonic() > self._starts_until:
            self._starts_until = float("inf")  # to kill it polls, too
            self.kill()
        return 1 if code == 0 else code


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """A JVM that has started ends by itself, and tidies up, when its standard input does.

    Args:
        process: The JVM.
        seconds: Longest time for that; 0 for one that has not started.
    """
    assert process.stdin is not None, "PySpark opens a pipe to the JVM"
    ways = ((process.stdin.close, seconds), (process.terminate, LEAVE_SECONDS), (process.kill, LEAVE_SECONDS))
    try:
        for end, longest in ways if seconds else ways[1:]:
            end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=longest)
                return
    except BaseException:  # a second interrupt
        process.kill()
        raise
    finally:
        with contextlib.suppress(OSError):  # what it has not read is lost with it
            process.stdin.close()


@contextmanager
def _on_interrupt(handler: Callable[..., NoReturn]) -> Iterator[None]:
    """Installs a handler of the signals that end a program, in the main thread only: Python allows no other."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in _ENDING if signal.getsignal(number) is signal.default_int_handler]
    for number in numbers:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.default_int_handler)


@contextmanager
def no_remarks() -> Iterator[None]:
    """Silences PySpark's warning that it could not stop: after an interrupt it cannot, and ``Jvm.end`` does it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """True unless Py4J logs an interrupted call, which it does with its stack: the user knows of the interrupt."""
    return "while sending command" not in record.getMessage()


class _NoSignals:
    """Stands in for the module ``signal`` where nothing may be registered."""

    SIGINT = signal.SIGINT

    @staticmethod
    def signal(*_: object) -> None:
        """Does nothing."""


@contextmanager
def _replaced(module: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)
