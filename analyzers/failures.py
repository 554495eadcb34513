"""Turns what Spark raises into errors that name the file, the memory or the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from kreplica.errors import InputError, KreplicaError, UnreachableError, UsageError

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
    """A failure of Spark that nobody here can explain, in words that hold when its JVM has ended."""


@contextmanager
def explained(asked: Mapping[str, str] | None = None, ended: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Raises a KreplicaError in place of a failure of Spark whose cause the user can do something about.

    What Spark raises is asked for its words here, since it asks the JVM for them.

    Args:
        asked: Settings that the user gave.
        ended: How the JVM ended that the session is in; empty while it runs.

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
    """What an error of Spark says; a Py4J error asks the JVM, which may be gone."""
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
    """The setting of the user's that Spark names in what it says."""
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
