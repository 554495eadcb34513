"""The folder that the paths of a table share: it is said once, below the table, and the rows say the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path


def shared_folder(paths: Iterable[str]) -> tuple[list[str], Callable[[str], str]]:
    """The folder that all paths lie in, and a function that gives what is left of a path without it.

    Nothing is shared where that is the root or the working directory.
    """
    try:
        folder = os.path.commonpath([Path(path).parent for path in set(paths)])
    except ValueError:  # no paths, or absolute ones and others
        folder = ""
    if not folder.strip("./"):
        return [], str
    return [folder], lambda path: path.removeprefix(f"{folder}/")
