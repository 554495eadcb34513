"""Turns what Spark raises into errors that name the file, the memory or the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from kreplica.errors import InputError, KreplicaError, UnreachableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILE = re.compile(r"(?:reading file|Path does not exist:?|File) (file:\S+?)\.?(?:\s|$)")
_MEMORY = ("java.lang.OutOfMemoryError", "not enough memory", "Unable to acquire")
_GONE = ("StatusCode.UNAVAILABLE", "Connection refused", "SparkContext was shut down", "has been shut down")


@contextmanager
def explained() -> Iterator[None]:
    """Raises a KreplicaError in place of a failure of Spark whose cause the user can do something about."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    kinds: Sequence[type[Exception]] = (PySparkException, Py4JError, ConnectionError)
    try:
        yield
    except tuple(kinds) as error:
        found = _explanation(str(error))
        if found is None:
            raise
        raise found from error


def _explanation(text: str) -> KreplicaError | None:
    file = _FILE.search(text)
    if file is not None:
        path = unquote(urlsplit(file[1]).path)
        return InputError(path, "", "it was whole when the audit began", "it was changed since then: audit again")
    if any(word in text for word in _MEMORY):
        fix = "give it more: --spark-conf spark.driver.memory=8g (on a cluster spark.executor.memory)"
        return UsageError("Spark ran out of memory", "the snapshots are more than it can hold", fix)
    if any(word in text for word in _GONE):
        return UnreachableError("Spark went away before the audit was done", text.strip().splitlines()[0], "try again")
    return None
