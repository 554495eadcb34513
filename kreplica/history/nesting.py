"""Places of histories that lie in one another: refused before a second history is begun by mistake."""

from __future__ import annotations

import shlex
from pathlib import Path

from kreplica.errors import UsageError
from kreplica.history.months.layout import is_cluster_folder
from kreplica.history.selection import seems_history
from kreplica.system.stores.locations import Place


def refuse_nested(place: Place) -> None:
    """Refuses to begin a history inside another one, or in a folder that holds one.

    In an object store only the names of the place itself are looked at. What is a history already is let be.

    Args:
        place: Where a history is to be, or is.

    Raises:
        UsageError: Another history is around it, or in a folder of it.
    """
    if not isinstance(place, Path):
        if any(map(is_cluster_folder, place.prefix.split("/"))):
            raise UsageError(f"{place} is inside a history", "it is a cluster's folder", "name the history, or another")
        return
    if seems_history(place):
        return
    around = next(filter(seems_history, place.resolve().parents), None)
    if around is not None:
        raise UsageError(f"{place} is inside the history {around}", "", f"--into {shlex.quote(str(around))} adds to it")
    inside = next(filter(seems_history, _folders(place)), None)
    if inside is not None:
        raise UsageError(f"{place} holds the history {inside}", "", f"--into {shlex.quote(str(inside))} adds to it")


def _folders(place: Path) -> list[Path]:
    try:
        return sorted(one for one in place.iterdir() if one.is_dir())
    except OSError:
        return []  # there is none yet
