"""Standard input as a file, for decoders that read at any position."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PIECE_BYTES = 1 << 20


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
