"""Turns what Spark raises into errors that name the file, the setting, the memory or the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kreplica.errors import InputError, KreplicaError, UnreachableError, UsageError, as_clause

_FILE = re.compile(r"(?:reading file|Path does not exist:?|File) (file:\S+?)\.?(?:\s|$)")
_ABSENT = ("does not exist", "No such file")
_FULL = ("No space left on device", "Disk quota exceeded")
_MEMORY = ("java.lang.OutOfMemoryError", "not enough memory", "Unable to acquire", "Command exited with code 52")
_TOO_MUCH = "spark.driver.maxResultSize"
_GONE = (
    "StatusCode.UNAVAILABLE",
    "Connection refused",
    "SparkContext was shut down",
    "has been shut down",
    "All masters are unresponsive",
    "Master removed our application",
    "ExecutorLostFailure",
)
_WENT_AWAY = "Spark went away before the work was done"
_OF_A_CONDITION = re.compile(
    r"\[((?:INVALID_ARRAY_INDEX|DIVIDE_BY_ZERO|REMAINDER_BY_ZERO|CAST_INVALID_INPUT|CAST_OVERFLOW|ARITHMETIC_OVERFLOW"
    r"|NUMERIC_VALUE_OUT_OF_RANGE|INVALID_PARAMETER_VALUE|CANNOT_PARSE_\w+)[\w.]*)\] ([^\n]{0,300})"
)
"""Errors of values, which only the condition of a user's rule can make."""
_DETAILS = re.compile(r'^\s*details = "(.+)"$', re.MULTILINE)
_CLASS = re.compile(r"^(?:Caused by: |: )?(?:[\w$]+\.)+[\w$]+: ")


class SparkDefectError(Exception):
    """A failure of Spark that kreplica cannot explain; its text was fetched before the JVM ended."""


@contextmanager
def explained(asked: Mapping[str, str] | None = None, lost: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Raises a KreplicaError in place of a failure of Spark whose cause the user can do something about.

    The message of Spark's exception is read here, since reading it asks the JVM.

    Args:
        asked: Settings that the user gave.
        lost: Tells in words what of the session is gone: its JVM, its last executor; empty while it runs.

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
        if not spoken and not lost():
            raise
        raise _failure(words_of(error), asked or {}, lost()) from None


def words_of(error: Exception) -> str:
    """The message of a Spark error; a Py4J error asks the JVM for it, which may be gone."""
    try:
        return str(error).strip() or type(error).__name__
    except Exception:
        return type(error).__name__


def cause_of(words: str) -> str:
    """The line of a stack trace that says what was wrong, without the names of classes; of a call the details."""
    if details := _DETAILS.search(words):
        return details[1]
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")] or [line for line in lines if line[:2] == ": "]
    return _CLASS.sub("", (causes or lines)[-1 if causes else 0])


_PYTHON_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception)\b.*$", re.MULTILINE)
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


def reason_in_python(words: str) -> str:
    """The reason why Python failed on an executor, from a message that holds its stack trace.

    A Connect server goes on with the SQLSTATE, and may with the stack trace of its JVM.
    """
    found = _PYTHON_ERROR.search(words.rpartition("Traceback (most recent call last)")[2])
    if found is None:
        return cause_of(words)
    absent = _NO_MODULE.search(found[0])
    return f"an executor has no {absent[1]}" if absent else found[0]


def _failure(words: str, asked: Mapping[str, str], lost: str) -> Exception:
    if found := _explanation(words) or refused_setting(words, asked):
        return found
    if lost:
        return UnreachableError(_WENT_AWAY, lost, "try again")
    if any(word in words for word in _GONE):
        return UnreachableError(_WENT_AWAY, cause_of(words), "try again")
    return SparkDefectError(words)


def refused_setting(words: str, asked: Mapping[str, str]) -> UsageError | None:
    """The error for the user's setting that Spark's message names; None if it names none."""
    for name in asked:
        if re.search(rf"{re.escape(name)}(?![\w.])", words):
            return UsageError(f"Spark does not take --spark-conf {name}", cause_of(words), "leave it out, or mend it")
    return None


def _of_file(path: str, text: str) -> KreplicaError:
    if any(word in text for word in _ABSENT) and Path(path).is_file():
        what = f"Spark does not find {path}, which is on this machine"
        fix = "name folders that Spark's workers share, by TMPDIR for the copies of an object store"
        return UsageError(what, "it runs on other machines", fix)
    return InputError(path, "", "it was whole when the audit began", "it was changed since then: audit again")


def _explanation(text: str) -> KreplicaError | None:
    file = _FILE.search(text)
    if file is not None:
        return _of_file(unquote(urlsplit(file[1]).path), text)
    if value := _OF_A_CONDITION.search(text):
        fix = "write it so that it gives null there: get(isr, 1), try_divide, try_cast"
        return UsageError("a condition of --rules fails on a row", as_clause(value[2].strip()), fix)
    if any(word in text for word in _FULL):
        fix = "make room, or name a folder on another one: --spark-conf spark.local.dir=DIR"
        return UsageError("the disk that Spark works on is full", cause_of(text), fix)
    if any(word in text for word in _MEMORY):
        fix = "give it more: --spark-conf spark.driver.memory=8g (on a cluster spark.executor.memory)"
        return UsageError("Spark ran out of memory", "the snapshots are more than it can hold", fix)
    if _TOO_MUCH in text:
        fix = f"ask for less (--rule, --cluster, --since), or raise {_TOO_MUCH} where Spark is started"
        return UsageError("the answer is more than Spark hands out at once", cause_of(text), fix)
    return None
