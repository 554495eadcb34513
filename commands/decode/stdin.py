"""Standard input, or a pipe, as a file with a name, for decoders that read at any position."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from kreplica.errors import InputError, UsageError, os_reason
from kreplica.system.untrusted_files import copy_to_end, copy_whole

MOST_BYTES = 4 << 30
"""Twice the size of the largest segment (segment.bytes is an int32): a longer stream would fill the disk."""
OPTION = "--stdin-filename"


@dataclass(frozen=True, slots=True)
class NameFact:
    """A fact that the name of a file tells and its bytes do not.

    Args:
        what: Kind of the file: ``an index``.
        why: The fact, as a clause.
        example: A name that may be given.
    """

    what: str
    why: str
    example: str


CHECKPOINT = NameFact("a checkpoint", "the name tells what its numbers mean", "orders-0/leader-epoch-checkpoint")
INDEX = NameFact("an index", "the name tells its kind and first offset", "00000000000000000000.timeindex")
METADATA = NameFact("a metadata log", "the name tells where it begins", "00000000000000000000.log")


def refuse_stdin(paths: Sequence[str], what: str, why: str, stdin_filename: str | None = None) -> None:
    """Refuses ``-`` where other files beside the one are read too, and a name for it.

    Args:
        paths: As the user gave them.
        what: Kind of the file, as the beginning of a sentence: ``an index``.
        why: Why it cannot come from standard input.
        stdin_filename: As the user gave it.

    Raises:
        UsageError: ``-`` or ``stdin_filename`` was given.
    """
    if "-" in paths:
        raise UsageError(f"{what} cannot be read from standard input", why, "name the files or their directory")
    _name_of_stdin(paths, stdin_filename, None)


@contextmanager
def named_files(
    paths: Sequence[str], stdin_filename: str | None, name_fact: NameFact | None = None
) -> Iterator[list[str]]:
    """The paths, with ``-`` and pipes (``<(zcat segment.gz)``) replaced by files that hold their content.

    The file lies in a folder of its own, which is gone afterwards. Where nothing else is named that folder is the
    current one, so that answers and messages call the file as the user does.

    Args:
        paths: As the user gave them.
        stdin_filename: Name of the file on standard input; of its folders the last counts.
        name_fact: The fact that a name tells, if no file can be read without it; pipes, which have no name, are then
            left as they are.

    Raises:
        UsageError: The name is missing, is not one, or is given though nothing is read from standard input.
        InputError: A stream cannot be read or kept.
    """
    name = _name_of_stdin(paths, stdin_filename, name_fact)
    streams = [path for path in dict.fromkeys(paths) if path == "-" or (name_fact is None and Path(path).is_fifo())]
    if not streams:
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="kreplica_") as folder, ExitStack() as inside:
        home = Path(folder, "input")  # a level down: decoders look above a file, but not in the user's /tmp
        kept = {path: _kept(path, name, home / str(number)) for number, path in enumerate(streams)}
        if len(set(paths)) == 1 and _can_come_back():
            inside.enter_context(contextlib.chdir(home / "0"))
            kept = {path: file.relative_to(home / "0") for path, file in kept.items()}
        yield [str(kept.get(path, path)) for path in dict.fromkeys(paths)]


def _name_of_stdin(paths: Sequence[str], given: str | None, name_fact: NameFact | None) -> PurePath:
    if given is None:
        if name_fact is not None and "-" in paths:
            fix = f"give it: {OPTION} {name_fact.example}"
            raise UsageError(f"{name_fact.what} on standard input has no name", name_fact.why, fix)
        return PurePath("standard-input")
    if "-" not in paths:
        raise UsageError(f"{OPTION} names what comes on standard input", "- is not among the paths", "add -")
    name = PurePath(*PurePath(given).parts[-2:])
    name = PurePath(name.name) if name.is_absolute() else name
    if not name.name or ".." in name.parts:
        example = name_fact.example if name_fact is not None else "orders-0/00000000000000000000.log"
        raise UsageError(f"{OPTION} {given!r} is no name of a file", "", f"{OPTION} {example}")
    return name


def _can_come_back() -> bool:
    """True if the current folder has a path; one that was deleted has none."""
    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _kept(path: str, name: PurePath, folder: Path) -> Path:
    """Copies a stream into a folder made for it; messages name the copy, so it has the user's name for it."""
    copy = folder / (name if path == "-" else f"pipe-{Path(path).name}")
    try:
        copy.parent.mkdir(parents=True)
        with copy.open("wb") as file:
            if path == "-":
                copy_to_end(sys.stdin.buffer, file, MOST_BYTES)
            else:
                copy_whole(Path(path), file, MOST_BYTES)
    except OSError as error:
        what = "standard input" if path == "-" else path
        raise InputError(what, "", os_reason(error), f"its copy is kept in {tempfile.gettempdir()}") from None
    return copy
