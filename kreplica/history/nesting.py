"""Histories in one another or in dump directories: refused before one is begun by mistake.

A folder with both is taken for a history, and its snapshots are not found.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from kreplica.errors import UsageError
from kreplica.history.months.layout import is_cluster_folder
from kreplica.history.selection import seems_history
from kreplica.store.layout import may_hold_snapshots
from kreplica.system.stores.locations import Place


def refuse_nested(place: Place) -> None:
    """Refuses to begin a history in a dump directory, inside another history, or in a folder that holds one.

    In an object store only the names of the place itself are looked at. What is a history already is let be.

    Args:
        place: Where a history is to be, or is.

    Raises:
        UsageError: It is a dump directory, or another history is around it, or in a folder of it.
    """
    if not isinstance(place, Path):
        if any(map(is_cluster_folder, place.prefix.split("/"))):
            raise UsageError(f"{place} is inside a history", "it is a cluster's folder", "name the history, or another")
        return
    if seems_history(place):
        return
    if may_hold_snapshots(place):
        fix = "a history has a folder of its own: name another one by --into"
        raise UsageError(f"{place} is a dump directory, and no history", fix=fix)
    around = next(filter(seems_history, place.resolve().parents), None)
    if around is not None:
        raise UsageError(f"{place} is inside the history {around}", "", f"--into {shlex.quote(str(around))} adds to it")
    inside = next(filter(seems_history, _folders(place)), None)
    if inside is not None:
        raise UsageError(f"{place} holds the history {inside}", "", f"--into {shlex.quote(str(inside))} adds to it")


def refuse_dumps_in_history(place: Place) -> None:
    """Refuses to begin a dump directory in a history. In an object store it is not looked at.

    Args:
        place: Where snapshots are to be written.

    Raises:
        UsageError: A history is there, and no snapshot yet.
    """
    if isinstance(place, Path) and seems_history(place) and not may_hold_snapshots(place):
        fix = f"name another folder; kreplica audit ingest FOLDER --into {shlex.quote(str(place))} takes them in"
        raise UsageError(f"{place} is a history, and no dump directory", fix=fix)


def _folders(place: Path) -> list[Path]:
    try:
        return sorted(one for one in place.iterdir() if one.is_dir())
    except OSError:
        return []  # there is none yet
