"""Finds files of a dump directory that belong to no snapshot. They are never read: readers go by manifests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kreplica.model.schema import TABLES
from kreplica.store.layout import MANIFESTS
from kreplica.store.reading import ManifestListing
from kreplica.store.verification import FileProblem

_UNNAMED = "no manifest names it: it is foreign, or left over from a snapshot that was never finished"
_RANDOM = re.compile(r"-([0-9a-f]{12})\.(?:json|parquet)$")


def find_orphans(directories: Iterable[Path], listing: ManifestListing) -> tuple[FileProblem, ...]:
    """Finds orphans in dump directories: files beside the tables, and files of tables that no manifest names.

    Args:
        directories: Absolute paths.
        listing: The manifests found in them, with their problems.

    Returns:
        Orphans in the order of their paths. Hidden files and other folders are not looked at; data files of a damaged
        manifest are left out, since that one is reported.
    """
    named = {str(manifest.location(file)) for manifest in listing.manifests for file in manifest.files}
    excused = {_random(str(problem.path)) for problem in listing.problems} - {""}
    found = [FileProblem(str(item.path), item.reason) for item in listing.problems if item.path.is_dir()]
    for directory in directories:
        for path in _files(directory):
            if path not in named and _random(path) not in excused:
                found.append(FileProblem(path, _UNNAMED))
    return tuple(sorted(found, key=lambda problem: problem.path))


def _random(path: str) -> str:
    """The part of a file's name that all files of one snapshot share; empty if it has none."""
    match = _RANDOM.search(path)
    return match[1] if match else ""


def _files(directory: Path) -> Iterator[str]:
    if not (directory / MANIFESTS).is_dir():
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
