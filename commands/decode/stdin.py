"""Standard input, or a pipe, as a file with a name, for decoders that read at any position."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from kreplica.errors import InputError, UsageError, as_clause
from kreplica.system.untrusted_files import copy_to_end, copy_whole

MOST_BYTES = 4 << 30
"""Twice what a segment can have (segment.bytes is an int32): what goes on would fill the disk it is copied to."""
OPTION = "--stdin-filename"


@dataclass(frozen=True, slots=True)
class Telling:
    """What the name of a file tells that its bytes do not.

    Args:
        what: Of which files this is so: ``an index``.
        why: What the name tells, as a clause.
        example: A name as it may be given.
    """

    what: str
    why: str
    example: str


CHECKPOINT = Telling("a checkpoint", "the name tells what its numbers mean", "orders-0/leader-epoch-checkpoint")
INDEX = Telling("an index", "the name tells its kind and first offset", "00000000000000000000.timeindex")
METADATA = Telling("a metadata log", "the name tells where it begins", "00000000000000000000.log")


def refuse_stdin(paths: Sequence[str], what: str, why: str, stdin_filename: str | None = None) -> None:
    """Refuses ``-`` where other files beside the one are read too, and a name for it.

    Args:
        paths: As the user gave them.
        what: What is read, as the beginning of a sentence: ``an index``.
        why: Why not from there.
        stdin_filename: As the user gave it.

    Raises:
        UsageError: One of them was given.
    """
    if "-" in paths:
        raise UsageError(f"{what} cannot be read from standard input", why, "name the files or their directory")
    _name_of_stdin(paths, stdin_filename, None)


@contextmanager
def named_files(
    paths: Sequence[str], stdin_filename: str | None, telling: Telling | None = None
) -> Iterator[list[str]]:
    """The paths, with a file in place of ``-``, or of a pipe (``<(zcat segment.gz)``), that holds what stands there.

    The file lies in a folder of its own, which is gone afterwards. Where nothing else is named that folder is the
    current one, so that answers and messages call the file as the user does.

    Args:
        paths: As the user gave them.
        stdin_filename: The name of what comes on standard input; of its folders the last counts.
        telling: What names tell, where nothing can be read without; pipes, which have none, are left alone then.

    Raises:
        UsageError: The name is missing, is none, or is given though nothing is read from standard input.
        InputError: A stream cannot be read or kept.
    """
    name = _name_of_stdin(paths, stdin_filename, telling)
    streams = [path for path in dict.fromkeys(paths) if path == "-" or (telling is None and Path(path).is_fifo())]
    if not streams:
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="kreplica_") as folder, ExitStack() as inside:
        home = Path(folder, "input")  # a level down: what decoders look for above a file is not the user's /tmp
        kept = {path: _kept(path, name, home / str(number)) for number, path in enumerate(streams)}
        if len(set(paths)) == 1 and _can_come_back():
            inside.enter_context(contextlib.chdir(home / "0"))
            kept = {path: file.relative_to(home / "0") for path, file in kept.items()}
        yield [str(kept.get(path, path)) for path in dict.fromkeys(paths)]


def _name_of_stdin(paths: Sequence[str], given: str | None, telling: Telling | None) -> PurePath:
    if given is None:
        if telling is not None and "-" in paths:
            fix = f"give it: {OPTION} {telling.example}"
            raise UsageError(f"{telling.what} on standard input has no name", telling.why, fix)
        return PurePath("standard-input")
    if "-" not in paths:
        raise UsageError(f"{OPTION} names what comes on standard input", "- is not among the paths", "add -")
    name = PurePath(*PurePath(given).parts[-2:])
    name = PurePath(name.name) if name.is_absolute() else name
    if not name.name or ".." in name.parts:
        example = telling.example if telling is not None else "orders-0/00000000000000000000.log"
        raise UsageError(f"{OPTION} {given!r} is no name of a file", "", f"{OPTION} {example}")
    return name


def _can_come_back() -> bool:
    """Whether the current folder has a name; one that was deleted has none."""
    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _kept(path: str, name: PurePath, folder: Path) -> Path:
    """Copies a stream into a folder that is made for it; messages name the copy, hence its telling name."""
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
        raise InputError(
            what, "", as_clause(error.strerror or str(error)), f"its copy is kept in {tempfile.gettempdir()}"
        ) from None
    return copy
