"""The way this kreplica was installed, and the command that adds one of its extras.

Also rules and file formats of other packages, named by entry points.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from kreplica.errors import UsageError

UV_RECEIPT = "uv-receipt.toml"
"""File that ``uv tool install`` leaves in the environment of a tool, which has no pip and that no other pip reaches."""


def line_that_adds(extra: str, environment: Path | None = None) -> str:
    """The line that installs an extra beside this kreplica.

    Args:
        extra: Its name in pyproject.toml.
        environment: The folder of the Python environment; that of this process unless it is given.
    """
    if Path(environment or sys.prefix, UV_RECEIPT).is_file():
        return f"uv tool install 'kreplica[{extra}]{_origin()}'"
    return f"pip install 'kreplica[{extra}]'"  # pip takes what is there already for kreplica, wherever it came from


def _origin() -> str:
    """Origin of the installation, in the form of a requirement (PEP 508); empty for an index of packages.

    Installers record it in direct_url.json (PEP 610).
    """
    try:
        record = distribution("kreplica").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    if record is None:
        return ""
    found = json.loads(record)
    kept = found.get("vcs_info")
    return f" @ {kept['vcs']}+{found['url']}@{kept['commit_id']}" if kept else f" @ {found['url']}"


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


class _Missing(MetaPathFinder):
    """Answers an import of a package as if it were not installed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:  # noqa: ARG002  # importlib's
        """Raises ModuleNotFoundError for that package; of others it knows nothing."""
        if fullname == self._name:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextmanager
def left_out(name: str) -> Iterator[None]:
    """Makes a package look as if it were not installed as long as the block runs, unless it is imported already.

    Others import it where it is there, whether or not they are going to use it.

    Args:
        name: Its name, as it is imported.
    """
    finder = _Missing(name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
