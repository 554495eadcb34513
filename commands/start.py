"""Entry point of the console script: what can be got ready while the command line is read, then the program.

Nothing heavy is imported here. While a command line is read the other processors rest; a process that is to share the
records of a gigabyte imports numpy meanwhile.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the program."""
    if sys.argv[1:3] == ["decode", "offsets"]:
        from kreplica.formats.offset_logs import replay_ahead

        replay_ahead(sys.argv[3:])
    from commands.main import main as program

    program()
