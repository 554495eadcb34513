"""The order in which a JVM looks through the jars of Spark for a class: those that hold most of them come first.

Spark names its 280 jars in the order of the folder, and Java asks one after the other for each of 20,000 classes.
"""

from __future__ import annotations

import os
from pathlib import Path

FIRST_JARS = (
    "spark-catalyst",
    "scala-library",
    "spark-core",
    "spark-sql",
    "spark-sql-api",
    "spark-common-utils",
    "spark-common-utils-java",
    "spark-unsafe",
    "janino",
    "commons-compiler",
    "py4j",
)
"""Jars by the classes that an audit loads of them, those of most classes first; their names without the version."""


def class_path(jars: Path | None = None) -> str:
    """The jars to look through first, as a class path; empty if the folder has none of them, or cannot stand in one.

    Args:
        jars: Folder of Spark's jars; if None, that of the Spark that PySpark starts.
    """
    folder = jars_of_spark() if jars is None else jars
    if os.pathsep in str(folder):
        return ""
    by_name = {path.name.removesuffix(".jar").rpartition("-")[0].partition("_")[0]: path for path in _jars_in(folder)}
    return os.pathsep.join(str(by_name[name]) for name in FIRST_JARS if name in by_name)


def _jars_in(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.jar"))
    except OSError:
        return []


def jars_of_spark() -> Path:
    """Folder of the jars of the Spark that PySpark starts."""
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"
