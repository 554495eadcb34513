"""Standard input as a file, for decoders that read at any position."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
    """The paths, with a file in place of ``-`` that holds what stands on standard input."""
    if "-" not in paths:
        yield list(paths)
        return
    with tempfile.NamedTemporaryFile(prefix="kreplica-stdin-", suffix=".log") as file:
        while piece := sys.stdin.buffer.read(PIECE_BYTES):
            file.write(piece)
        file.flush()
        yield [file.name if path == "-" else path for path in dict.fromkeys(paths)]
