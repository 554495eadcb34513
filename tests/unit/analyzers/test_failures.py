"""Failures of Spark in the words of kreplica; the cause that is known wins over what the connection says."""

from __future__ import annotations

import pytest

from analyzers.sessions.failures import explained, reason_in_python
from kreplica.errors import UnreachableError


@pytest.mark.parametrize(
    ("lost", "told"),
    [("its JVM was ended by SIGKILL", "its JVM was ended by SIGKILL"), ("", "[Errno 111] Connection refused")],
)
def test_why_the_jvm_is_gone_is_told_before_what_the_connection_says(lost: str, told: str) -> None:
    with pytest.raises(UnreachableError) as raised, explained(lost=lambda: lost):
        raise ConnectionRefusedError(111, "Connection refused")
    assert str(raised.value) == f"Spark went away before the work was done; {told}; try again"


TRACE = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/spark/python/lib/pyspark.zip/pyspark/worker.py", line 4207, in invoke_udf
    func, profiler, deserializer, serializer = read_udfs(
"""
MISMATCH = "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11, PySpark"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"{TRACE}ModuleNotFoundError: No module named 'pyarrow'", "an executor has no pyarrow"),
        (f"{TRACE}ModuleNotFoundError: No module named 'pyarrow'\n SQLSTATE: 38000", "an executor has no pyarrow"),
        (f"{TRACE}pyspark.errors.PySparkRuntimeError: {MISMATCH}\nPlease check", MISMATCH),
        (f"{TRACE}OSError: [Errno 28] none\n SQLSTATE: 38000\n\nJVM stacktrace:\norg.apache.PythonException: x", "28"),
        (": java.lang.IllegalStateException: no worker", "no worker"),
    ],
    ids=["classic", "connect", "version", "with the trace of a JVM", "no Python"],
)
def test_the_reason_of_an_executors_python_is_the_line_of_its_error(said: str, told: str) -> None:
    assert told in reason_in_python(said)
    assert "SQLSTATE" not in reason_in_python(said)
    assert "PythonException" not in reason_in_python(said)
    assert "\n" not in reason_in_python(said)
