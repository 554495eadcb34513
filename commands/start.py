"""Entry point of the console script: what can be got ready while the command line is read, then the program.

Nothing heavy is imported here. While a command line is read the other processors rest; a process that is to share the
records of a gigabyte imports numpy meanwhile.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the program; whatever ends it before it is fully there leaves no traceback."""
    try:
        _run()
    except KeyboardInterrupt:
        os.write(2, b"interrupted\n")
        sys.exit(130)


def _run() -> None:
    from commands.shared.interrupts import end_as_by_ctrl_c

    end_as_by_ctrl_c()
    if sys.argv[1:3] == ["decode", "offsets"]:
        from kreplica.formats.consumer_offsets.logs import replay_ahead

        replay_ahead(sys.argv[3:])
    from commands.main import main as program

    program()
