"""Finds files of a dump directory that belong to no snapshot. They are never read: readers go by manifests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kreplica.model.tables.schema import TABLES
from kreplica.store.layout import MANIFESTS
from kreplica.store.reading import ManifestListing
from kreplica.store.remote import RemoteFiles
from kreplica.store.verification import FileProblem
from kreplica.system.stores.locations import Place

_UNNAMED = "no manifest names it: it is foreign, or left over from a snapshot that was never finished"
_RANDOM = re.compile(r"-([0-9a-f]{12})\.(?:json|parquet)$")


@dataclass(frozen=True, slots=True)
class Looked:
    """A dump directory, and where in it orphans are looked for.

    Args:
        directory: Absolute, or in an object store.
        folders: Folders of tables, below the directory; None for the whole of it.
        remote: Its files, where it is in an object store.
        span: What names of files that are wanted do not sort before, and what they sort before; empty for no border.
    """

    directory: Place
    folders: Sequence[str] | None
    remote: RemoteFiles | None
    span: tuple[str, str]


def find_orphans(looked: Iterable[Looked], listing: ManifestListing) -> tuple[FileProblem, ...]:
    """Finds orphans in dump directories: files beside the tables, and files of tables that no manifest names.

    Args:
        looked: The directories.
        listing: The manifests found in them, with their problems.

    Returns:
        Orphans in the order of their paths. Hidden files and other folders are not looked at; data files of a damaged
        manifest are left out, since that one is reported.
    """
    named = {str(manifest.location(file)) for manifest in listing.manifests for file in manifest.files}
    excused = {_random(str(problem.path)) for problem in listing.problems} - {""}
    found = []
    for one in looked:
        for path in _files(one):
            if path not in named and _random(path) not in excused and not _outside(path, one.span):
                found.append(FileProblem(path, _UNNAMED))
    return tuple(sorted(found, key=lambda problem: problem.path))


def _outside(path: str, span: tuple[str, str]) -> bool:
    """True for a file of a snapshot that was taken outside the span: its manifest was not opened."""
    first, end = span
    name = path.rpartition("/")[2]
    return bool(_random(path)) and (name < first or bool(end and name >= end))


def _random(path: str) -> str:
    """The part of a file's name that all files of one snapshot share; empty if it has none."""
    match = _RANDOM.search(path)
    return match[1] if match else ""


def _files(one: Looked) -> Iterator[str]:
    directory = one.directory
    if one.remote is not None:
        yield from (str(directory / path) for path in one.remote.sizes)
        return
    assert isinstance(directory, Path), "a folder of this machine"
    if one.folders is not None:
        for folder in one.folders:
            yield from _below(directory / folder)
        return
    if not os.path.isdir(directory / MANIFESTS):  # noqa: PTH112 - of a folder that may not be read nothing is told
        return
    for entry in os.scandir(directory):
        if entry.is_file() and not entry.name.startswith("."):
            yield entry.path
    yield from (path for path in _below(directory / MANIFESTS) if not path.endswith(".json"))
    for table in TABLES:
        yield from _below(directory / table.name)


def _below(folder: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(parent, name) for name in names if not name.startswith("."))  # noqa: PTH118 - speed
