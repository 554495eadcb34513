"""The archive of Spark's classes, with which the JVM of an audit begins where ``kreplica audit prepare`` has made one.

It is of the class path that kreplica gives its own JVM, and is handed to no other. A JVM whose class path is another
one, by a setting of the user, loads its classes from the jars as before, without a word.
"""

from __future__ import annotations

from pathlib import Path

from analyzers.sessions.class_path import jars_of_spark
from kreplica.system.class_archives import archive_options
from kreplica.system.java import find_java

_SILENT = "-Xlog:cds*=off -Xlog:class+path*=off"
"""Java prints to stdout why it does without an archive, which belongs to the answer."""
_OWN_CHOICE = ("SharedArchiveFile", "ArchiveClassesAtExit", "SharedArchiveAtExit", "-Xshare", "AOT", "SharedClassList")
"""Words in options of a user who sees to archives himself."""


def spark_jars() -> tuple[Path, ...]:
    """The jars that an archive of Spark's classes is made of.

    Raises:
        OSError: The folder cannot be read.
    """
    return tuple(sorted(jars_of_spark().glob("*.jar")))


def beginning_with_archive(asked: str) -> str:
    """The options of a JVM that begins with the archive; empty without one, or where the user's options name another.

    Args:
        asked: Options that the JVM gets besides.
    """
    if any(word in asked for word in _OWN_CHOICE):
        return ""
    try:
        options = archive_options(find_java().executable, spark_jars())
    except OSError:
        return ""
    return " ".join([*map(_quoted, options), _SILENT]) if options else ""


def leaving_archive(draft: Path) -> str:
    """The options of a JVM that leaves an archive of the classes it has loaded.

    Args:
        draft: Where to.
    """
    return f"{_quoted(f'-XX:ArchiveClassesAtExit={draft}')} -Xlog:disable"


def _quoted(option: str) -> str:
    """The option as Spark splits them (``CommandBuilderUtils.parseOptionString``)."""
    plain = not any(letter in option for letter in " \t'\"\\")
    return option if plain else '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"'
