"""The jars of real Kafka: locked by coordinates and SHA-256, kept in a cache, fetched when missing or damaged."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

from kreplica.errors import SandboxError
from kreplica.folders import cache_folder
from kreplica.sandbox.locks import exclusive

LOCK_SECONDS = 900.0

Fetch = Callable[[tuple["Jar", ...], Path], str]


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar of the lock list: Maven coordinates and the SHA-256 of its bytes in hexadecimal."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def coordinates(self) -> str:
        """``group:artifact:version``."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def path(self) -> PurePosixPath:
        """Where it stands in a folder of Maven's repository layout."""
        folder = PurePosixPath(*self.group.split(".")) / self.artifact / self.version
        return folder / f"{self.artifact}-{self.version}.jar"


def locked_jars(kafka_version: str) -> tuple[Jar, ...]:
    """Return the lock list of one Kafka version, in the order of its class path.

    Raises:
        SandboxError: There is no lock list for that version.
    """
    resource = files("kreplica.sandbox") / f"jars-{kafka_version}.txt"
    if not resource.is_file():
        raise SandboxError(f"the sandbox has no Kafka {kafka_version}")
    lines = resource.read_text(encoding="utf-8").splitlines()
    return tuple(_parse(line) for line in lines if line and not line.startswith("#"))


def _parse(line: str) -> Jar:
    coordinates, sha256 = line.split()
    group, artifact, version = coordinates.split(":")
    return Jar(group, artifact, version, sha256)


def repository() -> Path:
    """Return the folder of the cached jars, in Maven's repository layout."""
    return cache_folder() / "jars"


def class_path(kafka_version: str, fetch: Fetch | None = None) -> tuple[Path, ...]:
    """Return the jars of one Kafka version, every one verified; what is missing or damaged is fetched first.

    Args:
        kafka_version: For example ``4.3.1``.
        fetch: Puts the given jars into a folder in Maven's layout and says what it used; by default Maven or Ivy.

    Raises:
        SandboxError: A jar could not be fetched, or what arrived is not the locked file.
    """
    jars = locked_jars(kafka_version)
    if not _all_intact(jars, repository()):
        with exclusive(cache_folder() / "jars.lock", LOCK_SECONDS, "the cache of jars"):
            _fetch_missing(jars, fetch or _default_fetch())
    return tuple(repository() / jar.path for jar in jars)


def _default_fetch() -> Fetch:
    from kreplica.sandbox.fetch import fetch_jars

    return fetch_jars


def _all_intact(jars: Iterable[Jar], folder: Path) -> bool:
    return all(is_intact(jar, folder) for jar in jars)


def is_intact(jar: Jar, folder: Path) -> bool:
    """Tell whether ``folder`` holds the very bytes the lock list names."""
    path = folder / jar.path
    if not path.is_file():
        return False
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest() == jar.sha256


def _fetch_missing(jars: tuple[Jar, ...], fetch: Fetch) -> None:
    # Looked at again under the lock: the process that held it before may have fetched them.
    missing = tuple(jar for jar in jars if not is_intact(jar, repository()))
    if not missing:
        return
    repository().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache_folder(), ignore_cleanup_errors=True) as draft:
        used = fetch(missing, Path(draft))
        _require_intact(missing, Path(draft), used)
        for jar in missing:
            _move(Path(draft) / jar.path, repository() / jar.path)


def _require_intact(jars: tuple[Jar, ...], folder: Path, used: str) -> None:
    wrong = [jar for jar in jars if not is_intact(jar, folder)]
    if not wrong:
        return
    first = wrong[0]
    state = "differs from the locked SHA-256" if (folder / first.path).is_file() else "did not arrive"
    raise SandboxError(
        f"{len(wrong)} of {len(jars)} jars fetched by {used} cannot be used",
        f"{first.coordinates} {state}",
        "check the proxy or mirror that stands between this machine and the repository",
    )


def _move(source: Path, target: Path) -> None:
    # A rename on one file system: a reader sees the old file or the new one, never a part.
    target.parent.mkdir(parents=True, exist_ok=True)
    source.replace(target)
