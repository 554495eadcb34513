"""Ends the sandboxes that a test process leaves behind, however it ends: killed, interrupted, or told to go.

    python reaper.py FOLDER PID

Started by the test process, it waits until that is gone, and then removes every sandbox below the folder, which is that
process's own. Where the test process has cleaned up behind itself there is nothing to do.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from kreplica.sandbox.processes import spawn

POLL_SECONDS = 0.5


def start_reaper(folder: Path) -> None:
    """Starts it in a session of its own, which Ctrl-C does not reach."""
    spawn([sys.executable, __file__, str(folder), str(os.getpid())], Path(os.devnull))


def reap(folder: Path) -> None:
    from kreplica.errors import SandboxError
    from kreplica.sandbox.launch import remove_sandbox
    from kreplica.sandbox.servers.nodes import STATE_FILE

    for record in list(folder.rglob(STATE_FILE)):
        with contextlib.suppress(SandboxError):  # the others are to go all the same
            remove_sandbox(record.parent)


if __name__ == "__main__":
    while os.getppid() == int(sys.argv[2]):
        time.sleep(POLL_SECONDS)
    reap(Path(sys.argv[1]))
