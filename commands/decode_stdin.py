"""Standard input, or a pipe, as a file, for decoders that read at any position."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kreplica.errors import UsageError

PIECE_BYTES = 1 << 20


def refuse_stdin(paths: Sequence[str], what: str, why: str) -> None:
    """Refuses ``-`` where the names of files, or other files beside them, tell what the bytes mean.

    Args:
        paths: As the user gave them.
        what: What is read, as the beginning of a sentence: ``an index``.
        why: Why not from there.

    Raises:
        UsageError: ``-`` is among them.
    """
    if "-" in paths:
        raise UsageError(f"{what} cannot be read from standard input", why, "name the files or their directory")


@contextmanager
def named_files(paths: Sequence[str]) -> Iterator[list[str]]:
    """The paths, with a file in place of ``-``, or of a pipe (``<(zcat segment.gz)``), that holds what stands there."""
    if not any(map(_is_stream, paths)):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="kreplica_") as folder:
        yield [_spooled(path, Path(folder)) if _is_stream(path) else path for path in dict.fromkeys(paths)]


def _is_stream(path: str) -> bool:
    return path == "-" or Path(path).is_fifo()


def _spooled(path: str, folder: Path) -> str:
    """Copies a stream; messages name the copy, hence its telling name."""
    copy = folder / ("standard-input" if path == "-" else f"pipe-{Path(path).name}")
    with copy.open("wb") as file, ExitStack() as opened:
        stream = sys.stdin.buffer if path == "-" else opened.enter_context(Path(path).open("rb"))
        shutil.copyfileobj(stream, file, PIECE_BYTES)
    return str(copy)
