"""Entry point of the console script: prepares work while the command line is read, then runs the program.

Nothing heavy is imported here. While the command line is read, the other processors are idle; the processes that decode
large files together with this one import numpy meanwhile.
"""

from __future__ import annotations

import gc
import os
import sys

GC_THRESHOLD = 500_000
"""Threshold of garbage collection: rows hold no cycles, and searching them for some doubles the time of a long list."""


def main() -> None:
    """Runs the program; an interrupt during the start leaves no traceback."""
    try:
        _run()
    except KeyboardInterrupt:
        os.write(2, b"interrupted\n")
        sys.exit(130)


def _run() -> None:
    gc.set_threshold(GC_THRESHOLD)  # before the imports, which make many objects that stay
    from commands.shared.interrupts import end_as_by_ctrl_c

    end_as_by_ctrl_c()
    if sys.argv[1:3] == ["decode", "offsets"]:
        from kreplica.formats.consumer_offsets.logs import replay_ahead

        replay_ahead(sys.argv[3:])
    from commands.main import main as program

    program()
