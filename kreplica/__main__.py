"""``python -m kreplica``: the console script, found through its entry point."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, distribution
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("commands", "analyzers")


def main() -> None:
    """Runs the console script after making sure that the packages beside this one are ours.

    Their names are common words, and ``python -m`` looks into the current folder first.
    """
    home = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        found = _place(name)
        if found != home / name:
            sys.exit(
                f"error: kreplica's package {name} is not found; {found or 'nothing'} stands in its place;"
                " run kreplica from another folder, or rename that one"
            )
    _entry_point().load()()


def _place(name: str) -> Path | None:
    """Returns the file that a top-level name would be imported from; nothing is imported."""
    spec = find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin else None


def _entry_point() -> EntryPoint:
    points = distribution("kreplica").entry_points.select(group="console_scripts", name="kreplica")
    (point,) = points
    return point


if __name__ == "__main__":
    main()
