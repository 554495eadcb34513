"""Files that are read or copied whole, up to a size: what has no end, a device or a program that never stops, is
refused.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 64 << 20
"""Settings, keys, tokens, plans of faults: files that people write are far smaller."""
MOST_DUMP_BYTES = 1 << 30
"""Dumps and plans of whole clusters: `kafka-topics --describe` prints some 150 bytes for a partition."""
_PIECE_BYTES = 1 << 20


def read_whole(path: Path, most: int = MOST_BYTES) -> bytes:
    """Reads a file, or a pipe, to its end.

    Raises:
        OSError: It cannot be read, or goes on behind ``most`` bytes.
    """
    with path.open("rb") as file:
        return read_to_end(file, most)


def read_to_end(stream: BinaryIO, most: int) -> bytes:
    """Reads a stream to its end.

    Raises:
        OSError: It cannot be read, or goes on behind ``most`` bytes.
    """
    return b"".join(_pieces(stream, most))


def copy_to_end(stream: BinaryIO, copy: BinaryIO, most: int) -> None:
    """Writes a stream, to its end, into a file.

    Raises:
        OSError: One cannot be read or the other not written, or the stream goes on behind ``most`` bytes.
    """
    for piece in _pieces(stream, most):
        copy.write(piece)


def _pieces(stream: BinaryIO, most: int) -> Iterator[bytes]:
    left = most
    while piece := stream.read(min(_PIECE_BYTES, left + 1)):
        left -= len(piece)
        if left < 0:
            raise OSError(errno.EFBIG, f"more than {most} bytes, which no such file has")
        yield piece
