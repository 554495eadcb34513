"""Entry point of the console script: what can be got ready while the command line is read, then the program.

Nothing heavy is imported here. To read a command line takes a tenth of a second, in which the other processors rest;
a process that is to share the records of a gigabyte imports numpy meanwhile.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

AHEAD: dict[tuple[str, ...], tuple[str, ...]] = {
    ("decode", "offsets"): ("kreplica.formats.offset_replay", "kreplica.formats.records", "crc32c")
}
"""What the work of a command imports, by the command."""
WORTH_BYTES = 96 << 20
"""Less is read by one process: see kreplica.formats.offset_logs.STRETCH_BYTES."""


def main() -> None:
    """Runs the program."""
    modules = AHEAD.get(tuple(sys.argv[1:3]))
    if modules and _several_processors() and any(map(_is_worth, sys.argv[3:])):
        from kreplica.formats.side_by_side import start_ahead

        start_ahead(modules)
    from commands.main import main as program

    program()


def _several_processors() -> bool:
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1


def _is_worth(word: str) -> bool:
    """Whether it names a large file, or a directory, of which that is not known yet."""
    try:
        return Path(word).is_dir() or Path(word).stat().st_size >= WORTH_BYTES
    except (OSError, ValueError):
        return False
