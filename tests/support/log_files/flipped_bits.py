"""Damage by a disk: bits of one byte of a file are others."""

from __future__ import annotations

from pathlib import Path


def flip(path: Path, position: int, bits: int = 1) -> None:
    """Changes bits of the byte at a position; a negative one counts from the end."""
    content = bytearray(path.read_bytes())
    content[position] ^= bits
    path.write_bytes(content)
