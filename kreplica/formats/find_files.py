"""Finds and reads the files that decoders are given: the only module of this package that opens files."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kreplica.errors import InputError, os_reason
from kreplica.system.untrusted_files import open_file

DEEPEST = 32
"""Levels below a named directory that are searched for files; deeper ones are refused, never silently left out."""

_WILD = frozenset("*?[")


BEGINNING_BYTES = 512
"""Bytes that are enough to recognise a file."""


def find_files(
    paths: Sequence[str], wanted: Callable[[str], bool], refused: list[InputError] | None = None
) -> list[Path]:
    """Files below the named ones, each once, sorted; a directory that several links lead to is gone through once.

    What a broker would not take for a file or a directory, a pipe or a link that leads nowhere, is not seen here
    either; nor is lost+found, which a broker does not accept and its user may not list.

    Args:
        paths: Files, directories and patterns (``broker-*/data``). A file that is named itself need not be wanted.
        wanted: Tells by its name whether a file in a directory is wanted.
        refused: Takes why directories cannot be listed, and what is beside them is found all the same. Without it, and
            where nothing else is found, the first of them is raised.

    Raises:
        InputError: A path does not exist, a pattern matches nothing, a directory cannot be listed, or directories go
            deeper than DEEPEST.
    """
    found: set[Path] = set()
    visited: set[tuple[int, int]] = set()
    failures: list[InputError] = []
    for path in named_paths(paths, failures):
        found.update(_below(path, wanted, DEEPEST, visited, failures) if path.is_dir() else [path])
    if failures and (refused is None or not found):
        raise failures[0]
    if refused is not None:
        refused += failures
    return sorted(found)


def named_paths(paths: Sequence[str], refused: list[InputError] | None = None) -> Iterator[Path]:
    """The files and directories that are named, or that a pattern matches.

    Args:
        paths: Files, directories and patterns.
        refused: Takes why the system does not let a path be looked at, which is raised without it.

    Raises:
        InputError: A path does not exist, or a pattern matches nothing.
    """
    for text in paths:
        try:
            yield from _expanded(text)
        except OSError as error:
            failure = unreadable(Path(text), error)
            if refused is None:
                raise failure from None
            refused.append(failure)


def is_there(path: Path) -> bool:
    """True if a file is there, as far as its directory may be looked into."""
    try:
        return path.is_file()
    except OSError:
        return False


def may_be_there(path: Path) -> bool:
    """True if a file is there, or may be: where its directory may not be looked into, reading it gives the reason."""
    try:
        return path.exists()
    except OSError:
        return True


def names_in(directory: Path) -> list[str]:
    """Names of the files in a directory.

    Raises:
        InputError: It cannot be listed.
    """
    try:
        entries = _entries(directory)
    except OSError as error:
        raise unreadable(directory, error) from None
    return [entry.name for entry in entries if _kind(entry, []) == "file"]


def read_beginning(path: Path) -> bytes:
    """The first bytes of a file, ``BEGINNING_BYTES`` of them at most; none where a failing disk does not give them.

    Raises:
        InputError: It cannot be read.
    """
    try:
        with os.fdopen(open_file(path), "rb") as file:
            return file.read(BEGINNING_BYTES)
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise unreadable(path, error) from None


def _expanded(text: str) -> list[Path]:
    path = Path(text)
    if path.is_file() or path.is_dir():
        return [path]
    if path.exists():
        raise InputError(text, "", "neither a file nor a directory", "give the bytes of a pipe on standard input")
    matching = [Path(name) for name in glob.glob(text)] if _WILD & set(text) else []  # noqa: PTH207
    if not matching:
        reason = "nothing matches" if _WILD & set(text) else "there is no such file or directory"
        raise InputError(text, "", reason, "name a file, a log directory or a quoted pattern")
    return [each for each in matching if each.is_file() or each.is_dir()]


def _below(
    directory: Path,
    wanted: Callable[[str], bool],
    deeper: int,
    visited: set[tuple[int, int]],
    refused: list[InputError],
) -> Iterator[Path]:
    if not deeper:
        reason = f"{DEEPEST} directories below the one that was named"
        raise InputError(str(directory), "", reason, "name log directories themselves")
    try:
        there, entries = directory.stat(), _entries(directory)
    except OSError as error:
        refused.append(unreadable(directory, error))
        return
    if (there.st_dev, there.st_ino) in visited:
        return
    visited.add((there.st_dev, there.st_ino))
    kinds = [(entry.is_symlink(), entry.name, _kind(entry, refused)) for entry in entries]
    for _, name, kind in sorted(kinds, key=lambda each: each[:2]):  # links last: a directory has its own name
        if kind == "file" and wanted(name):
            yield directory / name
        elif kind == "directory" and name != "lost+found":
            yield from _below(directory / name, wanted, deeper - 1, visited, refused)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        return list(entries)


def _kind(entry: os.DirEntry[str], refused: list[InputError]) -> str | None:
    """The kind of file a broker takes it for (java.io.File.isFile and isDirectory): links count as their targets."""
    try:
        return "directory" if entry.is_dir() else "file" if entry.is_file() else None
    except OSError as error:
        if error.errno != errno.ELOOP:
            refused.append(unreadable(Path(entry.path), error))
        return None


_FIXES: Mapping[type[OSError], str] = {
    PermissionError: "run it as the user that the broker runs as",
    # it was there when its directory was listed: a running broker deletes segments and renames directories
    FileNotFoundError: "it was deleted meanwhile: run it again",
}


def unreadable(path: Path, error: OSError, position: str = "") -> InputError:
    """The error for a read that the system refused."""
    fix = next((what for kind, what in _FIXES.items() if isinstance(error, kind)), "")
    return InputError(str(path), position, os_reason(error), fix)
