"""What other packages bring: rules and file formats, named by entry points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kreplica.errors import UsageError


def brought(group: str) -> Iterator[Any]:
    """Everything that entry points of a group name; one may name an object or a list of them.

    Args:
        group: The entry point's name, such as ``kreplica.rules``.
    """
    from importlib.metadata import entry_points

    for point in entry_points(group=group):
        found = point.load()
        yield from found if isinstance(found, list | tuple) else [found]


def require_unique(names: Iterable[str], things: str, group: str) -> None:
    """Checks that nothing from outside takes a name that is taken.

    Args:
        names: All names, those of this package too.
        things: What they name, in the plural, for the error.
        group: The entry point's name.

    Raises:
        UsageError: Two have one name.
    """
    every = list(names)
    twice = sorted({name for name in every if every.count(name) > 1})
    if twice:
        fix = f"remove a package that brings some by the entry point {group}"
        raise UsageError(f"two {things} are called {', '.join(twice)}", "names have to be unique", fix)
