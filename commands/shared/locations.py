"""Places of files as they are typed: a path, file:///DIR or s3://BUCKET/PREFIX."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.system.stores.locations import Place

_SCHEMES = ("s3:", "s3a:", "gs:", "file:", "hdfs:")


def place_for_files(text: str, option: str) -> Place:
    """The place that an option names, in which files will be made.

    Raises:
        UsageError: It is none, or a file is there.
    """
    from kreplica.system.stores.locations import place_of

    place = place_of(text)
    if isinstance(place, Path) and place.is_file():
        raise UsageError(f"{option} {text} is a file", "", "name a folder")
    return place


def path_of_this_machine(path: Path | None) -> Path | None:
    """The path that an option names; a URL, which would be taken for a folder of its name, is refused.

    Raises:
        UsageError: It is a URL.
    """
    scheme = path.parts[0] if path is not None and path.parts else ""
    if scheme in _SCHEMES:
        raise UsageError(f"{path} cannot be written to", f"{scheme}// is not taken here", "name a path of this machine")
    return path
