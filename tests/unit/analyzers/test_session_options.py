"""Where Spark may run, and what is said when it cannot. No Spark is started."""

from __future__ import annotations

import socket

import pytest

from analyzers import session
from analyzers.failures import _explanation
from analyzers.session import require_pyspark, settings_for, spark_session
from kreplica.errors import InputError, MissingExtraError, UnreachableError, UsageError


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


def test_settings_grow_with_the_fleet() -> None:
    assert settings_for(1000)["spark.sql.shuffle.partitions"] == "2"
    assert settings_for(10_000_000)["spark.sql.shuffle.partitions"] == "50"
    assert settings_for(10**12)["spark.sql.shuffle.partitions"] == "400"
    assert "spark.driver.extraJavaOptions" in settings_for(1000)
    assert "spark.driver.extraJavaOptions" not in settings_for(10_000_000)
    assert "spark.driver.extraJavaOptions" not in settings_for(1000, "spark://127.0.0.1:7077")
    assert "spark.driver.extraJavaOptions" not in settings_for(1000, remote="sc://127.0.0.1")


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "[FAILED_READ_FILE] Encountered error while reading file file:///data/a%20b.parquet. SQLSTATE: KD001",
            InputError,
            "cannot read /data/a b.parquet",
        ),
        ("Job aborted: java.lang.OutOfMemoryError: Java heap space", UsageError, "Spark ran out of memory"),
        ("Job 3 cancelled because SparkContext was shut down", UnreachableError, "Spark went away"),
    ],
)
def test_failures_of_spark_are_explained(text: str, kind: type[Exception], said: str) -> None:
    found = _explanation(text)
    assert isinstance(found, kind)
    assert said in str(found)


def test_other_failures_of_spark_are_defects() -> None:
    assert _explanation("[UNRESOLVED_COLUMN] no such column") is None
